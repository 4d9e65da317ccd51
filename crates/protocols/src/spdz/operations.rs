//! [`Scripts`]: the script of each kind of instruction, recorded once; [`SpdzRounds`]: what the
//! planner must know of them.

use std::collections::HashMap;
use std::sync::Arc;

use phineus_bytecode::layout::element_count;
use phineus_bytecode::{ElementType, Instruction, Interaction, Op, RoundModel, Sharing};
use phineus_circuits::record::{CircuitTemplate, LocalGate as Gate};
use phineus_correlated::authenticated::MatrixSize;
use phineus_crypto::field::FieldName;
use phineus_engine::bits::{Family, is_repeated, record, template_lanes};

use super::Masks;
use super::script::{Modulus, Script, ScriptRecorder, ShareRow};
use crate::recorded::RecordedCircuits;

/// How an instruction is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// Without the others: sums and public multiples of elements.
    Linear,
    /// Without the others: elements move.
    Movement,
    /// By a script; with rounds if it has any.
    Script,
    /// With a matrix triple.
    MatMul,
    /// The owner tells everybody its values under masks that only it knows.
    Input,
    /// Opens values that must be zero.
    Zeros,
    /// The owner brings switches of its permutation, as bits like those of inputs.
    Switches,
    /// Opens a value to all, of which nothing is used before a check.
    Reveal,
    /// The engine moves rows of regions.
    Rows,
}

/// How `instruction` is done; outputs aside.
pub(super) fn method(instruction: &Instruction) -> Method {
    let is_integer = instruction.element.sharing() == Sharing::Arithmetic;
    match instruction.op {
        Op::Input => Method::Input,
        Op::MatMul => Method::MatMul,
        Op::RequireZero => Method::Zeros,
        Op::Switches => Method::Switches,
        Op::Reveal => Method::Reveal,
        op if op.is_region() => Method::Rows,
        Op::LaneSlice
        | Op::LaneConcat
        | Op::LaneReverse
        | Op::LaneTile
        | Op::LaneRepeat
        | Op::LaneDeinterleave
        | Op::LaneInterleave => Method::Movement,
        Op::Constant
        | Op::Add
        | Op::Sub
        | Op::Neg
        | Op::Not
        | Op::LaneSum
        | Op::Cast
        | Op::ShiftLeft
            if is_integer =>
        {
            Method::Linear
        }
        Op::ShiftRight if is_integer && instruction.immediates[0] == 0 => Method::Linear,
        // An element that is 0 or 1 is a bit.
        Op::Convert if is_integer || instruction.element.width() == 1 => Method::Linear,
        Op::Constant
        | Op::Not
        | Op::ShiftLeft
        | Op::ShiftRight
        | Op::RotateLeft
        | Op::Cast
        | Op::BitSlice
        | Op::BitConcat
        | Op::Reshape
        | Op::ReversePieces
            if !is_integer =>
        {
            Method::Movement
        }
        _ => Method::Script,
    }
}

/// Returns whether an instruction depends on the ranges that the planner knows of integers: those whose
/// script has a mask of [`ScriptRecorder::mask_of`].
pub(super) fn may_open_narrowly(instruction: &Instruction) -> bool {
    let looks =
        matches!(instruction.op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Abs | Op::ShiftRight);
    looks && is_integer(instruction) && method(instruction) == Method::Script
}

/// The sides of the matrices that a product of matrices multiplies.
pub(super) fn matrix_size(instruction: &Instruction) -> MatrixSize {
    let [cols, vectors, ..] = instruction.immediates.map(|side| side as u32);
    MatrixSize { rows: instruction.lanes / vectors, cols, vectors }
}

/// Key of instructions with the same script.
type Key = (Op, ElementType, u32, [u64; 4], bool);

static RECORDED: RecordedCircuits<(Modulus, Key), Script> = RecordedCircuits::new();

/// The script for a modulus and an instruction with this key.
fn recorded(modulus: Modulus, key: Key, instruction: &Instruction) -> Arc<Script> {
    RECORDED.get((modulus, key), || {
        let script = match is_integer(instruction) {
            true => integer_script(instruction, modulus),
            false => from_template(record(instruction, Family::LeastDepth), modulus),
        };
        let bytes = script.memory_bytes();
        (script, bytes)
    })
}

/// Whether an instruction computes on integers in the field, and not on bits.
fn is_integer(i: &Instruction) -> bool {
    i.element.sharing() == Sharing::Arithmetic || i.op == Op::Convert
}

/// Scripts for the instructions met so far.
pub(super) struct Scripts {
    modulus: Modulus,
    by_key: HashMap<Key, Arc<Script>>,
}

impl Scripts {
    pub(super) fn new(modulus: Modulus) -> Scripts {
        Scripts { modulus, by_key: HashMap::new() }
    }

    /// The script of an instruction, and the lanes of its rows.
    pub(super) fn of(&mut self, instruction: &Instruction) -> (Arc<Script>, usize) {
        let lanes = match is_integer(instruction) {
            true => instruction.lanes,
            false => template_lanes(instruction),
        };
        // Where rows are whole lane vectors, the script does not depend on how many lanes.
        let key_lanes = if lanes == 1 { instruction.lanes } else { 0 };
        let Instruction { op, element, immediates, .. } = *instruction;
        let key = (op, element, key_lanes, immediates, instruction.is_square());
        let modulus = self.modulus;
        let script = self.by_key.entry(key).or_insert_with(|| recorded(modulus, key, instruction));
        (script.clone(), lanes as usize)
    }

    /// Bytes of all of them, and of the largest one.
    pub(super) fn memory_bytes(&self) -> [u64; 2] {
        let all = self.by_key.values().map(|script| script.memory_bytes());
        all.fold([0, 0], |[sum, largest], bytes| [sum + bytes, largest.max(bytes)])
    }
}

/// Operands of comparisons, of right shifts and of what is made of them are in the range of the
/// instruction's type.
fn integer_script(i: &Instruction, modulus: Modulus) -> Script {
    let (width, signed) = (u32::from(i.element.width()), i.element.is_signed());
    let mut r = ScriptRecorder::new(modulus);
    let x = r.inputs(if i.is_square() { 1 } else { i.op.info().operands.len() });
    let k = r.prime_bits;
    // Of the difference of two.
    let mask = |r: &mut ScriptRecorder| r.mask_of(width);
    let outputs = match i.op {
        Op::Mul if i.is_square() => vec![r.product(x[0], x[0])],
        Op::Mul | Op::And | Op::Mask => vec![r.product(x[0], x[1])],
        Op::Or => vec![r.or(x[0], x[1])],
        Op::Xor => vec![r.xor(x[0], x[1])],
        Op::Mux => vec![r.select(x[0], x[1], x[2])],
        Op::CondSwap => {
            let difference = r.sub(x[2], x[1]);
            let moved = r.product(x[0], difference);
            vec![r.add(x[1], moved), r.sub(x[2], moved)]
        }
        Op::Eq | Op::Ne => {
            let mask = mask(&mut r);
            let difference = r.sub(x[0], x[1]);
            let zero = r.is_zero(difference, mask);
            vec![if i.op == Op::Eq { zero } else { r.not(zero) }]
        }
        Op::Lt | Op::Le => {
            let mask = mask(&mut r);
            let (a, b) = if i.op == Op::Lt { (x[0], x[1]) } else { (x[1], x[0]) };
            let difference = r.sub(a, b);
            let less = r.is_negative(difference, mask);
            vec![if i.op == Op::Lt { less } else { r.not(less) }]
        }
        Op::Abs => {
            let mask = mask(&mut r);
            let negative = r.is_negative(x[0], mask);
            let part = r.product(negative, x[0]);
            vec![r.combine(&[(x[0], 1), (part, -2)], 0)]
        }
        Op::Reduce => {
            let mask = r.whole_mask();
            vec![r.reduce(x[0], mask, width, signed)]
        }
        Op::ShiftRight => {
            let amount = i.immediates[0].min(u64::from(width)) as u32;
            if signed && amount + 1 >= width || amount > k - 2 {
                // Nothing is left but the sign.
                let mask = mask(&mut r);
                let negative = r.is_negative(x[0], mask);
                vec![r.combine(&[(negative, -1)], 0)]
            } else {
                let mask = r.mask_of(amount.max(width - 1));
                let offset = if signed { 1 << (width - 1) } else { 0 };
                vec![r.shift_right(x[0], mask, amount, offset)]
            }
        }
        Op::Convert => {
            let mask = r.whole_mask();
            r.decompose(x[0], mask, width)
        }
        _ => panic!("{} is not lowered to integers", i.op.info().name),
    };
    r.finish(&outputs)
}

/// Converts a circuit on bits to a script on bits that are elements of a field.
fn from_template(template: CircuitTemplate, modulus: Modulus) -> Script {
    let mut r = ScriptRecorder::new(modulus);
    let inputs = r.inputs(template.input_count as usize);
    let mut slots: Vec<Option<ShareRow>> = inputs.into_iter().map(Some).collect();
    slots.resize(template.slot_count as usize, None);
    let get =
        |slots: &[Option<ShareRow>], slot: u32| slots[slot as usize].expect("written before read");
    for level in &template.levels {
        for gate in &level.local {
            let (out, row) = match *gate {
                Gate::Xor { out, a, b } => (out, r.xor(get(&slots, a), get(&slots, b))),
                Gate::Not { out, a } => (out, r.not(get(&slots, a))),
                Gate::Constant { out, value } => (out, r.constant(i128::from(value))),
            };
            slots[out as usize] = Some(row);
        }
        let results: Vec<ShareRow> = level
            .ands
            .iter()
            .map(|and| r.product(get(&slots, and.a), get(&slots, and.b)))
            .collect();
        for (and, row) in level.ands.iter().zip(results) {
            slots[and.out as usize] = Some(row);
        }
    }
    let outputs: Vec<ShareRow> = template.outputs.iter().map(|&slot| get(&slots, slot)).collect();
    // Scheduling takes memory of its own.
    drop((template, slots));
    r.finish(&outputs)
}

/// Whether each element of operand `k` is repeated in all lanes of a row.
pub(super) fn repeats(instruction: &Instruction, k: usize) -> bool {
    instruction.element.sharing() != Sharing::Arithmetic && is_repeated(instruction, k)
}

/// The rounds of the instructions of SPDZ.
pub struct SpdzRounds {
    element_bytes: u64,
    field: FieldName,
    parties: usize,
    pub(super) scripts: Scripts,
}

impl SpdzRounds {
    /// For this field and so many parties, with narrow masks.
    pub fn new(field: FieldName, parties: usize) -> SpdzRounds {
        let scripts = Scripts::new(Modulus::new(field.modulus(), parties, Masks::Narrow));
        SpdzRounds { element_bytes: field.bytes() as u64, field, parties, scripts }
    }

    /// Rounds if comparisons use these masks.
    #[must_use]
    pub fn with_masks(self, masks: Masks) -> SpdzRounds {
        let modulus = Modulus::new(self.field.modulus(), self.parties, masks);
        SpdzRounds { scripts: Scripts::new(modulus), ..self }
    }

    /// Bytes to open an element: its share and MAC, and those of the last round; buffers grow by an
    /// eighth.
    fn opening_bytes(&self) -> u64 {
        grown(4 * self.element_bytes)
    }
}

/// Memory of an instruction in flight besides its elements.
const FLIGHT_BYTES: u64 = 512;
/// Memory of an instruction that is batched with others of its kind: an entry of 40 bytes in each
/// of two queues, whose buffers double.
const BATCHED_BYTES: u64 = 160;

/// Bytes of a buffer that holds so many, and grows by an eighth.
fn grown(bytes: u64) -> u64 {
    bytes + bytes.div_ceil(8)
}

impl RoundModel for SpdzRounds {
    fn interaction(&mut self, instruction: &Instruction) -> Interaction {
        let share_bytes = 2 * self.element_bytes;
        let shape = instruction.shape();
        // A finish has no operands: whether this is a square must not depend on them.
        let instruction = &Instruction { operands: [0, 1, 2], ..*instruction };
        match instruction.op {
            Op::Round => return Interaction::default(),
            // A share, its mask and what it opens to.
            Op::Output => {
                let each = share_bytes + 2 * self.element_bytes + self.opening_bytes();
                let held = grown(u64::from(element_count(shape)) * each);
                return Interaction { rounds: 1, held_bytes: BATCHED_BYTES + held };
            }
            _ => {}
        }
        match method(instruction) {
            Method::Linear | Method::Movement | Method::Rows => Interaction::default(),
            Method::Input | Method::Switches => {
                let elements = u64::from(element_count(shape));
                // A share, what is told, and what was in the last round.
                let each = share_bytes + 2 * self.element_bytes;
                Interaction { rounds: 1, held_bytes: BATCHED_BYTES + grown(elements * each) }
            }
            Method::Zeros | Method::Reveal => {
                let held = u64::from(element_count(shape)) * self.opening_bytes();
                Interaction { rounds: 1, held_bytes: BATCHED_BYTES + held }
            }
            Method::MatMul => {
                let size = matrix_size(instruction);
                let opened = (size.entries() + size.factors()) as u64;
                let shares = grown((opened + size.results() as u64) * share_bytes);
                let held = BATCHED_BYTES + shares + opened * self.opening_bytes();
                Interaction { rounds: 1, held_bytes: held }
            }
            Method::Script => {
                let (script, lanes) = self.scripts.of(instruction);
                let widest = script.levels.iter().map(|level| level.amounts());
                let widest = widest.max_by_key(|amounts| amounts.opened()).unwrap_or_default();
                let rows = u64::from(script.slot_count) + u64::from(script.public_count);
                let triples = 3 * widest.products + 2 * widest.squares;
                let held = (rows + triples as u64) * share_bytes
                    + widest.opened() as u64 * (share_bytes + self.opening_bytes());
                let held_bytes = FLIGHT_BYTES + held * lanes as u64;
                Interaction { rounds: script.rounds() as u32, held_bytes }
            }
        }
    }
}
