//! Classes of instructions that get their sharing together.
//!
//! Instructions carry no source places, so a class is what instructions have in common: operation, width, the power of two
//! of lanes, and the same of their operands and of their operands' operands. The iterations of an unrolled loop fall into
//! one class for each instruction of its body, however many they are. Memory is bounded: from [`CLASSES_MAX`] classes on,
//! new instructions go by operation and width alone.

use std::collections::HashMap;

use phineus_bytecode::{Instruction, Op};

/// The most classes that look at operands.
const CLASSES_MAX: usize = 1024;

/// The most classes of operation and width alone.
const COARSE_CLASSES_MAX: u64 = 256;

/// What a value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ancestry {
    /// Of the instruction alone.
    own: u64,
    /// With its operands.
    near: u64,
}

/// Keys of an instruction's class, the finer one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClassKeys {
    fine: u64,
    coarse: u64,
}

/// Adds `value` to a key. The constants are those of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn mixed(key: u64, value: u64) -> u64 {
    let mut z = (key ^ value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The keys of an instruction whose operands have these ancestries, and the ancestry of its results.
pub(crate) fn classified(
    i: &Instruction,
    operand: impl Fn(usize) -> Ancestry,
) -> (ClassKeys, Ancestry) {
    let kind = (u64::from(i.op as u8) << 16) | u64::from(i.element.width());
    if i.op.is_carrying() {
        // What blocks carry has one sharing in all of them.
        let fine = mixed(mixed(0, u64::from(Op::Load as u8)), i.immediates[0]);
        let keys = ClassKeys { fine, coarse: fine };
        return (keys, Ancestry { own: fine, near: fine });
    }
    let own = mixed(kind, u64::from(i.lanes.ilog2()));
    let (mut near, mut fine) = (own, own);
    for k in 0..i.operand_count() {
        let Ancestry { own: parent, near: grandparents } = operand(k);
        near = mixed(near, parent);
        fine = mixed(fine, grandparents);
    }
    (ClassKeys { fine, coarse: mixed(0, kind) % COARSE_CLASSES_MAX }, Ancestry { own, near })
}

/// Numbers of classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassNumbers {
    fine: HashMap<u64, u32>,
    coarse: HashMap<u64, u32>,
}

impl ClassNumbers {
    /// The class with these keys, if there is one.
    pub(crate) fn find(&self, keys: ClassKeys) -> Option<u32> {
        self.fine.get(&keys.fine).or_else(|| self.coarse.get(&keys.coarse)).copied()
    }

    /// The class with these keys; `next` is the number of a new one.
    pub(crate) fn find_or_add(&mut self, keys: ClassKeys, next: u32) -> u32 {
        match self.fine.get(&keys.fine) {
            Some(&class) => class,
            None if self.fine.len() < CLASSES_MAX => *self.fine.entry(keys.fine).or_insert(next),
            None => *self.coarse.entry(keys.coarse).or_insert(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use phineus_bytecode::ElementType;

    #[test]
    fn classes_are_bounded() {
        let mut numbers = ClassNumbers::default();
        let mut most = 0;
        for k in 0..100_000u64 {
            let i = Instruction::new(Op::Add, ElementType::unsigned(1 + (k % 900) as u16), 1);
            let ancestry = Ancestry { own: k, near: mixed(k, 1) };
            let (keys, _) = classified(&i, |_| ancestry);
            let found = numbers.find_or_add(keys, most);
            most = most.max(found + 1);
            assert_eq!(numbers.find(keys), Some(found));
        }
        assert!(most as usize <= CLASSES_MAX + COARSE_CLASSES_MAX as usize, "{most}");
    }
}
