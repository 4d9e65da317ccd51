//! Computes a program with sharings in the clear: of an additive share modulo `2^w` nobody knows more
//! than its low `w` bits, so that what lies above them is drawn.

use std::collections::HashMap;

use phineus_bytecode::layout::ring_bytes;
use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{ElementType, Instruction, Lane, Lanes, Op, Sharing, mask_of};

use super::evaluate::{Brought, Fault};

/// Returns whether additive shares compute this.
pub fn can_be_additive(i: &Instruction) -> bool {
    let widens = i.op == Op::LaneSum && i.immediates[0] != u64::from(i.element.width());
    i.op.is_arithmetic() && !widens
}

/// Returns the outputs of a program, in order.
///
/// # Errors
/// If an operand has another sharing than its instruction, or additive shares are asked for what they
/// cannot compute.
pub fn given(
    program: &[Instruction],
    brought: Brought<'_>,
    random: &mut SeededRng,
) -> Result<Vec<Lanes>, Fault> {
    let mut values: HashMap<u64, (Sharing, Lanes)> = HashMap::new();
    let mut given = Vec::new();
    for i in program {
        let sharing = i.element.sharing();
        let is_additive = sharing == Sharing::Arithmetic;
        let wanted = match i.op {
            Op::Convert => Sharing::from_code(i.immediates[0]).unwrap_or_default(),
            _ => sharing,
        };
        let mut operands = Vec::new();
        for name in i.operands() {
            let (found, lanes) = &values[name];
            if *found != wanted {
                return Err(format!("%{name} is {found:?}: {i:?}"));
            }
            operands.push(lanes.clone());
        }
        if is_additive && !can_be_additive(i) {
            return Err(format!("this is not for additive shares: {i:?}"));
        }
        let width = i.element.width();
        let cut = |lanes: &Lanes| lanes.iter().map(|&lane| lane & mask_of(width)).collect();
        let results = match i.op {
            op if op.is_input_or_load() => vec![brought(i)],
            op if op.is_output_or_store() => {
                given.push(cut(&operands[0]));
                continue;
            }
            Op::Convert => vec![cut(&operands[0])],
            op => {
                let mut ring = *i;
                if is_additive && op != Op::Constant {
                    let whole = 8 * ring_bytes(width) as u16;
                    ring.element = ElementType::integer(whole, i.element.is_signed());
                    if op == Op::LaneSum {
                        ring.immediates[0] = u64::from(whole);
                    }
                }
                (op.info().meaning.expect("it computes"))(&ring, &operands)
            }
        };
        for (&name, lanes) in i.results().iter().zip(results) {
            let hide = |lane: Lane| match is_additive {
                true => {
                    let above = Lane::from(random.next_u64()) << usize::from(width);
                    ((lane & mask_of(width)) | above) & mask_of(8 * ring_bytes(width) as u16)
                }
                false => lane,
            };
            values.insert(name, (sharing, lanes.into_iter().map(hide).collect()));
        }
    }
    Ok(given)
}
