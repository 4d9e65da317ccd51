//! Costs of garbled circuits: exact totals of a program, and predicted time.

use std::collections::{BTreeMap, HashMap};

use phineus_bytecode::{BlockCosts, CostModel, Description, Instruction, Op};
use phineus_circuits::{BitAlgebra, CountingAlgebra};
use phineus_engine::{OwnPermutations, bits};
use phineus_ot::{FieldBits, extension_bytes, setup_bytes};

use crate::garbled::limits::OTS_PER_BATCH;
use crate::garbled::lookup::table_bytes;
use crate::garbled::tables::is_last_told;
use crate::garbled::{EVALUATOR, GARBLER, learns, owner, packed_bytes};

/// The names of the totals.
pub mod totals {
    use phineus_bytecode::Description;

    /// AND gates.
    pub const AND_GATES: &str = "and_gates";
    /// Input bits of the garbler.
    pub const GARBLER_INPUT_BITS: &str = "garbler_input_bits";
    /// Input bits of the evaluator, which are also the oblivious transfers.
    pub const EVALUATOR_INPUT_BITS: &str = "evaluator_input_bits";
    /// Payload bytes from garbler to evaluator.
    pub const GARBLER_SENT_BYTES: &str = "sent_bytes_0";
    /// Payload bytes from evaluator to garbler.
    pub const EVALUATOR_SENT_BYTES: &str = "sent_bytes_1";
    /// Times that a party must wait for an answer, at least.
    pub const ROUNDS: &str = "rounds";
    /// Wires of scratch memory of the largest operation.
    pub const SCRATCH_WIRES: &str = "scratch_wires";
    /// Predicted nanoseconds of computation of one party.
    pub const COMPUTE_NS: &str = "compute_ns";
    /// Time of the base OTs, during which everything else waits; part of the time above.
    pub const SETUP_NS: &str = "setup_ns";

    /// A total of a planned program.
    ///
    /// # Panics
    /// If the program is not planned for garbled circuits.
    pub fn value(description: &Description, name: &str) -> u64 {
        let plan = description.plan.as_ref().expect("the program is planned");
        *plan.costs.get(name).expect("the plan is for garbled circuits")
    }
}

/// Nanoseconds per AND gate of a wide batch, sending included: the slower party on a 2-core
/// machine over loopback TLS (benches/RESULTS.md, end to end).
const NS_PER_AND: u64 = 30;

/// Nanoseconds of an AND with a known bit, as [`NS_PER_AND`]: 17 of processor time in a shuffle of 2^12 rows of 16 bytes.
const NS_PER_KNOWN_AND: u64 = 20;

/// Nanoseconds of the base OTs, if the evaluator brings anything.
const SETUP_NS: u64 = 10_000_000;

/// A row of a table that is looked up in: a hash, which takes some half of what a gate takes, and few bytes.
const NS_PER_LOOKUP_ROW: u64 = 15;

/// Nanoseconds per instruction besides its gates.
const NS_PER_INSTRUCTION: u64 = 60;

/// Wires moved in a nanosecond: 16 bytes in and out at 10 GB/s or so.
const WIRES_PER_NS_INVERSE: u64 = 3;

/// Key of instructions with the same cost.
type CostKey = (Op, u16, bool, u32, [u64; 4]);

/// Cost of one instruction of a template.
#[derive(Clone, Copy)]
struct Cost {
    and_gates: u64,
    scratch_wires: u64,
    duration_ns: u64,
}

/// The cost model of garbled circuits.
pub struct GarbledCosts {
    templates: HashMap<CostKey, Cost>,
    /// The templates met last, by a hash: most instructions repeat one of few.
    recent: Vec<Option<(CostKey, Cost)>>,
    and_gates: u64,
    /// Of those, the ones with a bit that one party knows.
    known_gates: u64,
    scratch_wires: u64,
    compute_ns: u64,
    input_bits: [u64; 2],
    output_bytes: [u64; 2],
    /// Answers that blocks wait for before another one begins.
    block_rounds: u64,
    /// Rounds of openings inside the program, and whether the evaluator answers after the last of them.
    opening_rounds: u64,
    is_answered: bool,
}

const RECENT: usize = 256;

impl Default for GarbledCosts {
    fn default() -> GarbledCosts {
        GarbledCosts {
            templates: HashMap::new(),
            recent: vec![None; RECENT],
            and_gates: 0,
            known_gates: 0,
            scratch_wires: 0,
            compute_ns: 0,
            input_bits: [0; 2],
            output_bytes: [0; 2],
            block_rounds: 0,
            opening_rounds: 0,
            is_answered: false,
        }
    }
}

impl GarbledCosts {
    fn cost(&mut self, instruction: &Instruction) -> Cost {
        let is_gate = instruction.op.info().meaning.is_some() && instruction.op != Op::Constant;
        let immediates = match instruction.op {
            _ if is_gate => instruction.immediates,
            // The bits of an index.
            Op::TableLookUp => [0, instruction.immediates[1], 0, 0],
            _ => [0; 4],
        };
        let element = instruction.element;
        let template =
            (instruction.op, element.width(), element.is_signed(), instruction.lanes, immediates);
        let mixed = (instruction.op as usize * 31 + usize::from(element.width())) * 31
            + instruction.lanes as usize * 7
            + (immediates[0] as usize).wrapping_mul(131)
            + (immediates[1] as usize).wrapping_mul(17);
        let slot = &mut self.recent[mixed % RECENT];
        if let Some((found, cost)) = slot
            && *found == template
        {
            return *cost;
        }
        let cost = *self.templates.entry(template).or_insert_with(|| measure(instruction));
        *slot = Some((template, cost));
        cost
    }
}

impl GarbledCosts {
    /// Counts what an instruction on a table sends besides transfers.
    fn count_table(&mut self, i: &Instruction, description: &Description) {
        let bytes = packed_bytes(i) as u64;
        match i.op {
            Op::TableSet => return,
            Op::TableTell => self.output_bytes[1] += bytes,
            op => {
                assert_eq!(op, Op::TableLookUp, "it is about a table");
                let table = table_bytes(i.operand_shape(0).width, i.element.width());
                self.output_bytes[0] += u64::from(i.lanes) * table;
                self.output_bytes[1] += bytes;
            }
        }
        if i.op == Op::TableLookUp || is_last_told(description, i) {
            // The answer, and what follows from it.
            self.opening_rounds += 2;
            self.is_answered = false;
        }
    }
}

/// Counts the gates of an instruction by running its circuit on an algebra that counts.
fn measure(instruction: &Instruction) -> Cost {
    let info = instruction.op.info();
    let wires = |shape: phineus_bytecode::Shape| shape.wires() as usize;
    let moved: usize = (0..info.results.len())
        .map(|k| wires(instruction.result_shape(k)))
        .chain((0..info.operands.len()).map(|k| wires(instruction.operand_shape(k))))
        .sum();
    let (mut and_gates, mut scratch_wires) = (0, 0);
    if info.meaning.is_some() {
        type Wire = <CountingAlgebra as BitAlgebra>::Wire;
        let scratch = bits::scratch_wires(instruction);
        let blank = |count: usize| vec![Wire::default(); count];
        let mut results: Vec<Vec<Wire>> =
            (0..info.results.len()).map(|k| blank(wires(instruction.result_shape(k)))).collect();
        let operands: Vec<Vec<Wire>> =
            (0..info.operands.len()).map(|k| blank(wires(instruction.operand_shape(k)))).collect();
        let mut results: Vec<&mut [Wire]> = results.iter_mut().map(Vec::as_mut_slice).collect();
        let operands: Vec<&[Wire]> = operands.iter().map(Vec::as_slice).collect();
        let mut counter = CountingAlgebra::default();
        bits::execute(&mut counter, instruction, &mut results, &operands, &mut blank(scratch));
        and_gates = counter.ands;
        scratch_wires = scratch as u64;
    }
    let known = if instruction.op == Op::SwapKnown { instruction.shape().wires() } else { 0 };
    let rows = match instruction.op {
        Op::Locate => 1 << instruction.element.width(),
        Op::TableLookUp => u64::from(instruction.lanes) << instruction.operand_shape(0).width,
        _ => 0,
    };
    let duration_ns = u64::from(known) * NS_PER_KNOWN_AND
        + rows * NS_PER_LOOKUP_ROW
        + and_gates * NS_PER_AND
        + moved as u64 / WIRES_PER_NS_INVERSE
        + NS_PER_INSTRUCTION;
    Cost { and_gates, scratch_wires, duration_ns }
}

impl CostModel for GarbledCosts {
    fn duration_ns(&mut self, instruction: &Instruction) -> u64 {
        self.cost(instruction).duration_ns
    }

    fn count(&mut self, instruction: &Instruction, description: &Description) {
        self.count_and_predict(instruction, description);
    }

    fn count_and_predict(&mut self, instruction: &Instruction, description: &Description) -> u64 {
        let cost = self.cost(instruction);
        self.and_gates += cost.and_gates;
        self.scratch_wires = self.scratch_wires.max(cost.scratch_wires);
        self.compute_ns += cost.duration_ns;
        if instruction.op.is_private() {
            let party = usize::from(owner(description, instruction) == EVALUATOR);
            self.input_bits[party] += u64::from(instruction.shape().wires());
            if instruction.op == Op::Switches && party == 1 {
                self.output_bytes[0] += packed_bytes(instruction) as u64;
            }
        }
        if instruction.op == Op::SwapKnown {
            let gates = u64::from(instruction.shape().wires());
            self.and_gates += gates;
            self.known_gates += gates;
        }
        if instruction.op == Op::Output {
            let bytes = packed_bytes(instruction) as u64;
            let sent = |to: u16| {
                if learns(description, instruction, to) { bytes } else { 0 }
            };
            self.output_bytes[0] += sent(EVALUATOR);
            self.output_bytes[1] += sent(GARBLER);
            self.is_answered |= sent(GARBLER) > 0;
        }
        if instruction.op.is_of_table() {
            self.count_table(instruction, description);
        }
        if instruction.op.opens_inside() || instruction.op == Op::Tell {
            let bytes = packed_bytes(instruction) as u64;
            self.output_bytes[0] += match instruction.op {
                Op::Reveal => bytes,
                Op::Locate => table_bytes(instruction.element.width(), instruction.element.width()),
                _ => 0,
            };
            self.output_bytes[1] += bytes;
            if instruction.op.opens_inside()
                || OwnPermutations::is_last_told(description, instruction)
            {
                // The answer, and what follows from it.
                self.opening_rounds += 2;
                self.is_answered = false;
            }
        }
        cost.duration_ns
    }

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        let ots = self.input_bits[1];
        let field = FieldBits::DEFAULT;
        let [mut garbler, mut evaluator] = self.output_bytes;
        // Start value and seed; then the rows.
        garbler += 32 + 32 * self.and_gates - 16 * self.known_gates;
        let mut rounds = 1 + self.block_rounds + self.opening_rounds;
        if self.block_rounds == 0 {
            rounds += u64::from(self.is_answered);
        }
        if ots > 0 {
            let (from_sender, from_receiver) = setup_bytes(field);
            garbler += from_sender;
            let (full, rest) = (ots / OTS_PER_BATCH as u64, ots % OTS_PER_BATCH as u64);
            evaluator += from_receiver
                + full * extension_bytes(OTS_PER_BATCH as u64, field)
                + extension_bytes(rest, field);
            // Base OTs: both send at once, then the trees and OTs go out together.
            rounds += 2;
        }
        let setup_ns = if ots > 0 { SETUP_NS } else { 0 };
        let entries = [
            (totals::AND_GATES, self.and_gates),
            (totals::GARBLER_INPUT_BITS, self.input_bits[0]),
            (totals::EVALUATOR_INPUT_BITS, ots),
            (totals::GARBLER_SENT_BYTES, garbler),
            (totals::EVALUATOR_SENT_BYTES, evaluator),
            (totals::ROUNDS, rounds),
            (totals::SCRATCH_WIRES, self.scratch_wires),
            (totals::COMPUTE_NS, self.compute_ns + setup_ns),
            (totals::SETUP_NS, setup_ns),
        ];
        entries.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }
}

impl BlockCosts for GarbledCosts {
    fn end_block(&mut self) {
        // The answer, and what follows from it.
        self.block_rounds += 2 * u64::from(std::mem::take(&mut self.is_answered));
    }

    fn add_block(&mut self, block: &GarbledCosts, times: u64) {
        self.and_gates += block.and_gates * times;
        self.known_gates += block.known_gates * times;
        self.scratch_wires = self.scratch_wires.max(block.scratch_wires);
        self.compute_ns += block.compute_ns * times;
        self.block_rounds += block.block_rounds * times;
        self.opening_rounds += block.opening_rounds * times;
        for party in 0..2 {
            self.input_bits[party] += block.input_bits[party] * times;
            self.output_bytes[party] += block.output_bytes[party] * times;
        }
    }
}
