//! Claims of narrowing, held against values.

use std::collections::HashMap;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Instruction, Lane, Lanes};
use phineus_plan::NarrowClaim;

/// What is wrong.
pub type Fault = String;

/// Instructions whose results are named in order.
#[derive(Default)]
pub struct Draft {
    pub made: Vec<Instruction>,
    pub next: u64,
}

impl Draft {
    /// Adds an instruction; returns the name of its first result.
    pub fn push(&mut self, mut i: Instruction) -> u64 {
        for k in 0..i.result_count() {
            i.results[k] = self.next;
            self.next += 1;
        }
        self.made.push(i);
        i.results[0]
    }
}

/// Any cost, the same each time: each form of an operation must be right, not only the cheapest.
pub fn and_gates(seed: u64, i: &Instruction) -> u64 {
    let key = (i.op as u64) << 16 | u64::from(i.element.width()) << 1;
    let key = key | u64::from(i.element.is_signed());
    SeededRng::new(seed ^ SeededRng::new(key).next_u64()).below(1000)
}

/// A lane as a signed integer, if 128 bits hold it.
fn signed(value: u128, width: u16) -> i128 {
    let shift = 128 - u32::from(width);
    ((value << shift) as i128) >> shift
}

/// Holds a claim against the lanes of the value.
pub fn holds(claim: &NarrowClaim, lanes: &[Lane], width: u16) -> Result<(), Fault> {
    if width > 128 {
        return Ok(());
    }
    for lane in lanes {
        let value = u128::try_from(*lane).expect("it has as many bits");
        let is_known = value & claim.zeros == 0 && value & claim.ones == claim.ones;
        let is_within = (claim.unsigned.0..=claim.unsigned.1).contains(&value);
        let is_signed_within = (claim.signed.0..=claim.signed.1).contains(&signed(value, width));
        if !(is_known && is_within && is_signed_within) {
            return Err(format!("a lane is {value:#x}, and claimed is {claim:x?}"));
        }
    }
    Ok(())
}

/// Holds the needed bits of a value against those of the narrowed program.
pub fn is_placed(
    claim: &NarrowClaim,
    (lanes, width): (&[Lane], u16),
    values: &HashMap<u64, Lanes>,
) -> Result<(), Fault> {
    for (k, lane) in lanes.iter().enumerate() {
        let bit = |at: u16| match claim.place {
            None => claim.ones >> at & 1 == 1,
            Some(place) if at < place.offset => claim.ones >> at & 1 == 1,
            Some(place) => {
                let (source, last) = (values[&place.name][k], place.length - 1);
                let bit = |at: u16| source.bit(usize::from(place.start + at));
                match at - place.offset {
                    inner if inner <= last => bit(inner),
                    _ => place.is_signed && bit(last),
                }
            }
        };
        let is_needed = |at: u16| width > 128 || claim.demanded >> at & 1 == 1;
        if let Some(wrong) = (0..width).find(|&at| is_needed(at) && bit(at) != lane.bit(at.into()))
        {
            return Err(format!("bit {wrong} of lane {k} is {}: {claim:x?}", bit(wrong)));
        }
    }
    Ok(())
}
