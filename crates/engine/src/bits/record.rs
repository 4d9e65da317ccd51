//! Instructions as recorded templates, for protocols that run them level by level on rows.
//!
//! An operation that does the same to every lane is recorded for one lane: a row of the template
//! is then one bit of all lanes. Reductions over lanes are recorded with every operand wire as a
//! row of one lane.

use phineus_bytecode::{Instruction, Op};
use phineus_circuits::aes::ROUND_KEYS;
use phineus_circuits::least_depth::{adder, aes, count, divider, multiplier, order, sha256, shift};
use phineus_circuits::record::{CircuitTemplate, Recorder, Wire};

/// Which circuit of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// With the fewest ANDs: where an AND costs and a round does not.
    FewestAnds,
    /// With the fewest levels of ANDs: where each level is a round.
    LeastDepth,
    /// As `LeastDepth`; a repeated operand ([`is_repeated`]) has slots of its own
    /// ([`CircuitTemplate::with_inputs_apart`]).
    LeastDepthApart,
}

/// Lanes that a row of the instruction's template has: all or one.
pub fn template_lanes(instruction: &Instruction) -> u32 {
    if is_lane_wise(instruction.op) { instruction.lanes } else { 1 }
}

/// Whether each wire of operand `k` is repeated in all lanes of a row of its own, as all lanes use
/// the same round keys. Only the first operand ever is.
pub fn is_repeated(instruction: &Instruction, k: usize) -> bool {
    instruction.op == Op::Aes128RoundKeys && k == 0
}

/// The template of an instruction. Of the circuits with the fewest ANDs that of a square ([`Instruction::is_square`])
/// is smaller than that of a product, and does not use its second operand. Those of least depth are the same: the end
/// of an instruction that takes rounds no longer knows its operands.
///
/// Its inputs are the wires of operand 0, then those of operand 1, and so on, and its outputs
/// those of result 0, then of result 1; bit-major, as a value of [`template_lanes`] lanes has them
/// where that is one lane, else one row for each bit.
///
/// # Panics
/// On operations that are not computed: input, output and directives.
pub fn record(instruction: &Instruction, family: Family) -> CircuitTemplate {
    let lanes = if is_lane_wise(instruction.op) { 1 } else { instruction.lanes };
    let instruction = Instruction { lanes, ..*instruction };
    let mut recorder = Recorder::new();
    let operands: Vec<Vec<Wire>> = (0..instruction.op.info().operands.len())
        .map(|k| recorder.inputs(instruction.operand_shape(k).wires() as usize))
        .collect();
    let shallow = match family {
        Family::FewestAnds => None,
        Family::LeastDepth | Family::LeastDepthApart => {
            least_depth(&mut recorder, &instruction, &operands)
        }
    };
    let results = shallow.unwrap_or_else(|| fewest_ands(&mut recorder, &instruction, &operands));
    let template = recorder.finish(&results.concat());
    match family {
        Family::LeastDepthApart if is_repeated(&instruction, 0) => {
            template.with_inputs_apart(operands[0].len() as u32)
        }
        Family::FewestAnds | Family::LeastDepth | Family::LeastDepthApart => template,
    }
}

/// Whether the operation does the same to every lane, with operands and results of `n` lanes.
fn is_lane_wise(op: Op) -> bool {
    match op {
        Op::Reshape | Op::Aes128KeySchedule => false,
        _ => !(Op::LaneSlice as u8..=Op::MatMul as u8).contains(&(op as u8)),
    }
}

fn fewest_ands(
    recorder: &mut Recorder,
    instruction: &Instruction,
    operands: &[Vec<Wire>],
) -> Vec<Vec<Wire>> {
    let mut results: Vec<Vec<Wire>> = (0..instruction.op.info().results.len())
        .map(|k| vec![Wire::ZERO; instruction.result_shape(k).wires() as usize])
        .collect();
    let mut scratch = vec![Wire::ZERO; super::scratch_wires(instruction)];
    let operands: Vec<&[Wire]> = operands.iter().map(Vec::as_slice).collect();
    let mut slices: Vec<&mut [Wire]> = results.iter_mut().map(Vec::as_mut_slice).collect();
    super::execute(recorder, instruction, &mut slices, &operands, &mut scratch);
    results
}

/// The results, or `None` for operations whose other circuit has the least depth too.
fn least_depth(
    r: &mut Recorder,
    instruction: &Instruction,
    operands: &[Vec<Wire>],
) -> Option<Vec<Vec<Wire>>> {
    let width = usize::from(instruction.element.width());
    let signed = instruction.element.is_signed();
    let a = operands.first()?.as_slice();
    let b = operands.get(1).map_or(&[][..], Vec::as_slice);
    let result = match instruction.op {
        Op::Add => adder::add(r, a, b),
        Op::Sub => adder::sub(r, a, b),
        Op::Neg => adder::neg(r, a),
        Op::Abs if signed => adder::abs(r, a),
        Op::Mul => multiplier::mul(r, a, b),
        Op::MulFull => multiplier::mul_full(r, a, b, signed),
        Op::Div | Op::Rem | Op::DivRem => return Some(divide(r, instruction, a, b)),
        Op::Min => order::min(r, a, b, signed),
        Op::Max => order::max(r, a, b, signed),
        Op::Eq => vec![order::eq(r, a, b)],
        Op::Ne => vec![!order::eq(r, a, b)],
        Op::Lt => vec![order::lt(r, a, b, signed)],
        Op::Le => vec![order::le(r, a, b, signed)],
        Op::ShiftLeftBy => shift::shl(r, a, b),
        Op::ShiftRightBy => shift::shr(r, a, b, signed),
        Op::RotateLeftBy => shift::rotl(r, a, b),
        Op::Popcount => count::popcount(r, a, width),
        Op::LeadingZeros => count::leading_zeros(r, a, width),
        Op::AllBits => vec![order::all(r, a)],
        Op::AnyBit => vec![order::any(r, a)],
        Op::LaneSum => {
            let [from_width, from_lanes, ..] = instruction.immediates.map(|word| word as usize);
            let values = split_lanes(a, from_lanes, from_width.min(width));
            count::sum(r, &values, width, signed)
        }
        Op::LaneAnd | Op::LaneOr => {
            let values = split_lanes(a, instruction.immediates[0] as usize, width);
            if instruction.op == Op::LaneAnd {
                count::lane_and(r, &values)
            } else {
                count::lane_or(r, &values)
            }
        }
        Op::MatMul => {
            let [columns, vectors, ..] = instruction.immediates.map(|word| word as usize);
            let rows = instruction.lanes as usize / vectors;
            let entries = split_lanes(a, rows * columns, width);
            let factors = split_lanes(b, columns * vectors, width);
            let mut lane = |lane: usize| {
                let vector = &factors[lane / rows * columns..][..columns];
                let entries = entries[lane % rows..].iter().step_by(rows).zip(vector);
                let products: Vec<Vec<Wire>> =
                    entries.map(|(entry, factor)| multiplier::mul(r, entry, factor)).collect();
                count::sum(r, &products, width, false)
            };
            join_lanes(&(0..rows * vectors).map(&mut lane).collect::<Vec<_>>())
        }
        Op::Aes128 => aes::aes128(r, a, b),
        Op::Aes128KeySchedule => join_lanes(&aes::key_schedule(r, a)),
        Op::Aes128RoundKeys => aes::encrypt_with_round_keys(r, &split_lanes(a, ROUND_KEYS, 128), b),
        Op::Sha256Compress => sha256::sha256_compress(r, a, &[b, &operands[2]].concat()),
        _ => return None,
    };
    Some(vec![result])
}

fn divide(r: &mut Recorder, instruction: &Instruction, a: &[Wire], b: &[Wire]) -> Vec<Vec<Wire>> {
    let (quotient, remainder) = if instruction.element.is_signed() {
        divider::divrem_signed(r, a, b)
    } else {
        divider::divrem_unsigned(r, a, b)
    };
    match instruction.op {
        Op::Div => vec![quotient],
        Op::Rem => vec![remainder],
        _ => vec![quotient, remainder],
    }
}

/// The low `width` bits of each lane of a bit-major value.
fn split_lanes(value: &[Wire], lanes: usize, width: usize) -> Vec<Vec<Wire>> {
    (0..lanes).map(|lane| (0..width).map(|bit| value[bit * lanes + lane]).collect()).collect()
}

/// The inverse of [`split_lanes`].
fn join_lanes(lanes: &[Vec<Wire>]) -> Vec<Wire> {
    (0..lanes[0].len()).flat_map(|bit| lanes.iter().map(move |lane| lane[bit])).collect()
}

#[cfg(test)]
mod tests;
