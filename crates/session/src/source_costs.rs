//! Which source lines of a program cost the most, at which widths.
//!
//! The costs are those of the program as it is planned: narrowed and rewritten, each instruction under the line that it
//! was recorded for. They are ANDs of circuits, so of protocols that compute on bits.

use std::collections::HashMap;

use phineus_bytecode::{ElementType, Instruction, Op};
use phineus_engine::bits::{Family, executed_ands, record, template_lanes};
use phineus_frontend::{LineRun, SourceLine};
use phineus_plan::Scratch;

use crate::choices::ProtocolVariant;
use crate::failure::{Failure, codes};
use crate::planning::{blocks_with_state, family_of, narrowed_with_lines};
use crate::protocol::Protocol;
use crate::protocol::list::GARBLED;
use crate::traced::TracedFile;

/// Memory of the stages that narrow the program.
const STAGE_MEMORY_BYTES: u64 = 64 << 20;

/// What a line costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCost {
    /// The line; without a name it is what no line asked for.
    pub source: SourceLine,
    /// ANDs of all of it.
    pub ands: u64,
    /// Its operations, the costliest first.
    pub operations: Vec<OperationCost>,
}

/// What one kind of operation costs on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationCost {
    /// The operation.
    pub op: Op,
    /// The type that it is computed in.
    pub element: ElementType,
    /// How often it is computed: lanes of all instructions.
    pub count: u64,
    /// ANDs of all of it.
    pub ands: u64,
}

impl OperationCost {
    /// What would make such operations cheaper, if anything usually does.
    pub fn remedy(&self) -> Option<&'static str> {
        let width = self.element.width();
        match self.op {
            Op::Mul | Op::MulFull if width > 8 => Some(
                "a product of half the bits takes a third of the ANDs: state what values can be (PH_RANGE, narrower \
                 types)",
            ),
            Op::Div | Op::Rem | Op::DivRem => Some(
                "a division by a constant takes less than half, one by a power of two nothing; a party can bring \
                 the reciprocal of what it knows",
            ),
            Op::ShiftLeftBy | Op::ShiftRightBy | Op::RotateLeftBy => {
                Some("a shift by a public amount takes no ANDs")
            }
            Op::Mux | Op::CondSwap | Op::Mask => Some(
                "selections come from secret conditions and indices: choose an index instead of a row, or a row once \
                 and not each of its fields",
            ),
            _ => None,
        }
    }
}

/// The lines of a program in the order of their costs, the dearest first.
///
/// # Errors
/// If its lines were not noted, or the protocol does not compute on bits.
pub fn costliest_lines(
    traced: &TracedFile,
    optimised: (Protocol, ProtocolVariant),
    scratch: &Scratch,
) -> Result<Vec<LineCost>, Failure> {
    let Some(family) = family_of(traced, optimised) else {
        let message =
            format!("costs of lines are ANDs, and {} does not compute on bits", optimised.0.name());
        return Err(Failure::new(codes::NO_SOURCES, message)
            .remedy("ask for them under garbled, gmw, bmr or mixed"));
    };
    let Some(sources) = &traced.sources else {
        let message = "the lines of the program are not known";
        return Err(Failure::new(codes::NO_SOURCES, message).remedy(
            "name a program in C or a built-in one, not a file that is traced, planned or in text",
        ));
    };
    // Two parties garble circuits that are not recorded.
    let family = (optimised.0 != GARBLED).then_some(family);
    let mut costs = Costs { family, known: HashMap::new(), lines: HashMap::new() };
    let none = Vec::new();
    match &traced.blocks {
        None => {
            let lines = sources.blocks.first().unwrap_or(&none);
            costs.add(traced, optimised, (lines, 1), scratch)?;
        }
        Some(blocks) => {
            let times = blocks.flow.times_or_once();
            let blocks = blocks_with_state(blocks, optimised, STAGE_MEMORY_BYTES, scratch)?;
            for (number, part) in blocks.parts.iter().enumerate() {
                let lines = sources.blocks.get(number).unwrap_or(&none);
                costs.add(part, optimised, (lines, times[number]), scratch)?;
            }
        }
    }
    Ok(costs.in_order(&sources.lines))
}

/// What tells operations of a line apart.
type Kind = (Op, ElementType);

struct Costs {
    /// The family of the circuits if they are recorded.
    family: Option<Family>,
    /// ANDs of instructions that were met before.
    known: HashMap<(Kind, u32, [u64; 4], bool), u64>,
    /// By line and kind: how often, and ANDs.
    lines: HashMap<u32, HashMap<Kind, (u64, u64)>>,
}

impl Costs {
    /// Adds a block that runs so many times.
    fn add(
        &mut self,
        part: &TracedFile,
        optimised: (Protocol, ProtocolVariant),
        (lines, times): (&[LineRun], u64),
        scratch: &Scratch,
    ) -> Result<(), Failure> {
        let (program, lines) =
            narrowed_with_lines(part, optimised, lines, STAGE_MEMORY_BYTES, scratch)?;
        let mut lines = lines.iter().flat_map(|run| (0..run.count).map(|_| run.line));
        program.file.reader()?.for_each::<Failure>(|instruction| {
            let line = lines.next().unwrap_or_default();
            if instruction.op.info().meaning.is_some() {
                let ands = self.ands(instruction) * times;
                if ands > 0 {
                    let kind = (instruction.op, instruction.element);
                    let cost = self.lines.entry(line).or_default().entry(kind).or_default();
                    *cost = (cost.0 + u64::from(instruction.lanes) * times, cost.1 + ands);
                }
            }
            Ok(())
        })
    }

    fn ands(&mut self, i: &Instruction) -> u64 {
        let key = ((i.op, i.element), i.lanes, i.immediates, i.is_square());
        let count = || match self.family {
            Some(family) => record(i, family).and_count() as u64 * u64::from(template_lanes(i)),
            None => executed_ands(i),
        };
        *self.known.entry(key).or_insert_with(count)
    }

    fn in_order(self, names: &[SourceLine]) -> Vec<LineCost> {
        let line = |(number, kinds): (u32, HashMap<Kind, (u64, u64)>)| {
            let operation =
                |((op, element), (count, ands))| OperationCost { op, element, count, ands };
            let mut operations: Vec<OperationCost> = kinds.into_iter().map(operation).collect();
            operations.sort_by_key(|cost| (u64::MAX - cost.ands, cost.op, cost.element.width()));
            LineCost {
                source: names[number as usize].clone(),
                ands: operations.iter().map(|cost| cost.ands).sum(),
                operations,
            }
        };
        let mut all: Vec<LineCost> = self.lines.into_iter().map(line).collect();
        all.sort_by(|a, b| {
            let place = |cost: &LineCost| (cost.source.file.clone(), cost.source.line);
            b.ands.cmp(&a.ands).then_with(|| place(a).cmp(&place(b)))
        });
        all
    }
}
