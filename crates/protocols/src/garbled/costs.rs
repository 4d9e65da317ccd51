//! Costs of garbled circuits: exact totals of a program, and predicted time.

use std::collections::{BTreeMap, HashMap};

use phineus_bytecode::{BlockCosts, CostModel, Description, Instruction, Op, Sharing};
use phineus_engine::{OwnPermutations, bits};
use phineus_ot::{FieldBits, extension_bytes, random_extension_bytes, setup_bytes};
use zeroize::Zeroizing;

use crate::garbled::limits::OTS_PER_BATCH;
use crate::garbled::lookup::table_bytes;
use crate::garbled::rounds::RoundCount;
use crate::garbled::row_swaps::swap_bytes;
use crate::garbled::switch_ots::{SwitchOts, WantedSwitches};
use crate::garbled::tables::is_last_told;
use crate::garbled::{
    EVALUATOR, GARBLER, is_on_shares, is_share, learns, owner, packed_bytes, takes_transfers,
    takes_transfers_back,
};

/// The names of the totals.
pub mod totals {
    use phineus_bytecode::Description;

    /// AND gates.
    pub const AND_GATES: &str = "and_gates";
    /// Input bits of the garbler.
    pub const GARBLER_INPUT_BITS: &str = "garbler_input_bits";
    /// Input bits of the evaluator, which are also oblivious transfers.
    pub const EVALUATOR_INPUT_BITS: &str = "evaluator_input_bits";
    /// Bits of XOR shares that become garbled, each by a transfer with a random choice; not stated if there are none.
    pub const LABELLED_SHARE_BITS: &str = "labelled_share_bits";
    /// Switches of rows that the garbler knows, each a transfer in which it chooses; not stated if there are none.
    pub const GARBLER_SWITCHES: &str = "garbler_switches";
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

    /// A total that not all plans state.
    ///
    /// # Panics
    /// If the program is not planned.
    pub fn or_none(description: &Description, name: &str) -> u64 {
        let plan = description.plan.as_ref().expect("the program is planned");
        plan.costs.get(name).copied().unwrap_or(0)
    }
}

/// Nanoseconds per AND gate of a wide batch, sending included: the slower party on a 2-core
/// machine over loopback TLS (benches/RESULTS.md, end to end).
const NS_PER_AND: u64 = 30;

/// Nanoseconds of a switch, for each 128 bits of its rows.
const NS_PER_SWITCH: u64 = 40;

/// Nanoseconds of the base OTs, if the evaluator brings anything.
pub const SETUP_NS: u64 = 10_000_000;

/// A row of a table that is looked up in: a hash, which takes some half of what a gate takes, and few bytes.
const NS_PER_LOOKUP_ROW: u64 = 15;

/// Nanoseconds per instruction besides its gates.
const NS_PER_INSTRUCTION: u64 = 60;

/// Wires moved in a nanosecond: 16 bytes in and out at 10 GB/s or so.
const WIRES_PER_NS_INVERSE: u64 = 3;

/// Key of instructions with the same cost.
type CostKey = (Op, u16, bool, u32, [u64; 4], bool);

/// Cost of one instruction of a template.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) and_gates: u64,
    pub(crate) scratch_wires: u64,
    pub(crate) duration_ns: u64,
}

/// The cost model of garbled circuits.
pub struct GarbledCosts {
    templates: HashMap<CostKey, Cost>,
    /// The templates met last, by a hash: most instructions repeat one of few.
    recent: Vec<Option<(CostKey, Cost)>>,
    and_gates: u64,
    scratch_wires: u64,
    compute_ns: u64,
    input_bits: [u64; 2],
    labelled_share_bits: u64,
    garbler_switches: u64,
    switch_ots: SwitchOts,
    output_bytes: [u64; 2],
    /// Answers that blocks wait for before another one begins.
    block_rounds: u64,
    /// Rounds of openings inside the program, and whether the evaluator answers after the last of them.
    rounds: RoundCount,
}

const RECENT: usize = 256;

impl Default for GarbledCosts {
    fn default() -> GarbledCosts {
        GarbledCosts {
            templates: HashMap::new(),
            recent: vec![None; RECENT],
            and_gates: 0,
            scratch_wires: 0,
            compute_ns: 0,
            input_bits: [0; 2],
            labelled_share_bits: 0,
            garbler_switches: 0,
            switch_ots: SwitchOts::default(),
            output_bytes: [0; 2],
            block_rounds: 0,
            rounds: RoundCount::default(),
        }
    }
}

impl GarbledCosts {
    /// Gates, scratch memory and time of an instruction.
    pub(crate) fn cost(&mut self, instruction: &Instruction) -> Cost {
        let is_gate = instruction.op.info().meaning.is_some() && instruction.op != Op::Constant;
        let immediates = match instruction.op {
            _ if is_gate => instruction.immediates,
            // The bits of an index.
            Op::TableLookUp => [0, instruction.immediates[1], 0, 0],
            _ => [0; 4],
        };
        let element = instruction.element;
        let (is_signed, is_square) = (element.is_signed(), instruction.is_square());
        let template =
            (instruction.op, element.width(), is_signed, instruction.lanes, immediates, is_square);
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
            self.rounds.opened();
        }
    }

    /// Counts what an instruction on permutations or shares sends.
    fn count_rows(&mut self, i: &Instruction, description: &Description) {
        let bytes = packed_bytes(i) as u64;
        if takes_transfers_back(description, i) {
            let field = FieldBits::DEFAULT;
            self.garbler_switches += u64::from(i.lanes);
            let sent = &mut self.output_bytes[0];
            let make = |switches: std::ops::Range<u64>| {
                *sent += extension_bytes(switches.end - switches.start, field);
                Ok::<_, std::convert::Infallible>(Zeroizing::default())
            };
            let wanted = WantedSwitches::of(description, i);
            let Ok(is_new) = self.switch_ots.bring(&wanted, make, |_| {});
            if is_new {
                self.rounds.spoken();
            }
        } else if i.op == Op::Switches && owner(description, i) == EVALUATOR {
            self.output_bytes[0] += bytes;
            self.rounds.spoken();
        } else if i.op == Op::SwapKnown && owner(description, i) == GARBLER {
            self.output_bytes[1] += swap_bytes(i) as u64;
            self.rounds.told();
        } else if i.op == Op::SwapKnown {
            self.output_bytes[0] += swap_bytes(i) as u64;
            self.rounds.spoken();
        } else if i.op == Op::Convert && is_on_shares(description, i) && !is_share(description, i) {
            self.labelled_share_bits += u64::from(i.shape().wires());
            self.output_bytes[1] += bytes;
            self.rounds.told();
        }
    }
}

/// Bytes of so many transfers, in batches.
fn in_batches(count: u64, bytes: impl Fn(u64) -> u64) -> u64 {
    let batch = OTS_PER_BATCH as u64;
    count / batch * bytes(batch) + bytes(count % batch)
}

/// Counts the gates of an instruction and predicts its duration.
fn measure(instruction: &Instruction) -> Cost {
    let info = instruction.op.info();
    let wires = |shape: phineus_bytecode::Shape| shape.wires() as usize;
    // Of shares 128 bits take as much memory as a label.
    let moved_wires = |shape: phineus_bytecode::Shape| match shape.sharing {
        Sharing::Boolean => wires(shape) / 128,
        Sharing::Any | Sharing::Arithmetic | Sharing::Garbled => wires(shape),
    };
    let moved: usize = (0..info.results.len())
        .map(|k| moved_wires(instruction.result_shape(k)))
        .chain((0..info.operands.len()).map(|k| moved_wires(instruction.operand_shape(k))))
        .sum();
    let (mut and_gates, mut scratch_wires) = (0, 0);
    if info.meaning.is_some() {
        and_gates = bits::executed_ands(instruction);
        scratch_wires = bits::scratch_wires(instruction) as u64;
    }
    let switches = match instruction.op {
        Op::SwapKnown => {
            u64::from(instruction.lanes) * u64::from(instruction.element.width()).div_ceil(128)
        }
        _ => 0,
    };
    let rows = match instruction.op {
        Op::Locate => 1 << instruction.element.width(),
        Op::TableLookUp => u64::from(instruction.lanes) << instruction.operand_shape(0).width,
        _ => 0,
    };
    let duration_ns = switches * NS_PER_SWITCH
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
        if cost.and_gates > 0 {
            self.rounds.spoken();
        }
        if instruction.op.is_private() {
            let wires = u64::from(instruction.shape().wires());
            if takes_transfers(description, instruction) {
                self.input_bits[1] += wires;
            } else if owner(description, instruction) == GARBLER {
                self.input_bits[0] += wires;
            }
        }
        self.count_rows(instruction, description);
        if instruction.op == Op::Output {
            let bytes = packed_bytes(instruction) as u64;
            let sent = |to: u16| {
                if learns(description, instruction, to) { bytes } else { 0 }
            };
            if sent(EVALUATOR) > 0 {
                self.rounds.spoken();
            }
            self.output_bytes[0] += sent(EVALUATOR);
            self.output_bytes[1] += sent(GARBLER);
            if sent(GARBLER) > 0 {
                self.rounds.answered();
            }
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
                self.rounds.opened();
            }
        }
        cost.duration_ns
    }

    fn totals(&self, _: &Description) -> BTreeMap<String, u64> {
        let (ots, labelled) = (self.input_bits[1], self.labelled_share_bits);
        let field = FieldBits::DEFAULT;
        let [mut garbler, mut evaluator] = self.output_bytes;
        // Start value and seed; then the rows.
        garbler += 32 + 32 * self.and_gates;
        let (from_sender, from_receiver) = setup_bytes(field);
        if ots + labelled > 0 {
            garbler += from_sender;
            evaluator += from_receiver
                + in_batches(ots, |count| extension_bytes(count, field))
                + in_batches(labelled, |count| random_extension_bytes(count, field));
        }
        if self.garbler_switches > 0 {
            garbler += from_receiver;
            evaluator += from_sender;
        }
        let has_transfers = ots + labelled + self.garbler_switches > 0;
        let mut inside = self.rounds;
        if self.block_rounds == 0 {
            inside.end();
        }
        let rounds = RoundCount::of_set_up(has_transfers) + self.block_rounds + inside.total();
        let setup_ns = if has_transfers { SETUP_NS } else { 0 };
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
        let of_some = [
            (totals::LABELLED_SHARE_BITS, labelled),
            (totals::GARBLER_SWITCHES, self.garbler_switches),
        ];
        let of_some = of_some.into_iter().filter(|&(_, value)| value > 0);
        entries.into_iter().chain(of_some).map(|(name, value)| (name.to_string(), value)).collect()
    }
}

impl BlockCosts for GarbledCosts {
    fn end_block(&mut self) {
        // The answer, and what follows from it.
        self.block_rounds += 2 * u64::from(self.rounds.take_answered());
    }

    fn add_block(&mut self, block: &GarbledCosts, times: u64) {
        self.and_gates += block.and_gates * times;
        self.labelled_share_bits += block.labelled_share_bits * times;
        self.garbler_switches += block.garbler_switches * times;
        self.scratch_wires = self.scratch_wires.max(block.scratch_wires);
        self.compute_ns += block.compute_ns * times;
        self.block_rounds += block.block_rounds * times;
        self.rounds.add(block.rounds, times);
        for party in 0..2 {
            self.input_bits[party] += block.input_bits[party] * times;
            self.output_bytes[party] += block.output_bytes[party] * times;
        }
    }
}
