//! Bitwise functions of up to three values, and their forms with one product.
//!
//! A function of three bits is a polynomial modulo 2. Without the product of all three bits, its products of
//! two are one product of sums: with `p ab + q ac + r bc`, `(a + rc)(b + qc) + qrc` if `p = 1`, else
//! `c (qa + rb)`.

use phineus_bytecode::{Instruction, Op};

/// Values that a function is of.
const LEAVES_MAX: usize = 3;

/// What each leaf is in a table: bit `k` is the leaf's bit in case `k`.
const LEAF_TABLES: [u8; LEAVES_MAX] = [0xaa, 0xcc, 0xf0];

/// The names of the values that a function is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaves {
    names: [u64; LEAVES_MAX],
    count: u8,
}

impl Leaves {
    fn as_slice(&self) -> &[u64] {
        &self.names[..usize::from(self.count)]
    }

    /// Which leaf `name` is; a new one if there is space.
    fn index(&mut self, name: u64) -> Option<usize> {
        if let Some(found) = self.as_slice().iter().position(|&leaf| leaf == name) {
            return Some(found);
        }
        let index = usize::from(self.count);
        *self.names.get_mut(index)? = name;
        self.count += 1;
        Some(index)
    }
}

/// A bitwise function of up to three values.
#[derive(Clone, Copy, Debug)]
pub(super) struct BitFunction {
    pub(super) leaves: Leaves,
    /// Bit `k` is the result where leaf `j` has bit `j` of `k`.
    pub(super) table: u8,
    /// Instructions with an AND that only this value needs, as the program has it.
    pub(super) products: u8,
}

impl BitFunction {
    /// The value with this name.
    pub(super) fn of_value(name: u64) -> BitFunction {
        let leaves = Leaves { names: [name, 0, 0], count: 1 };
        BitFunction { leaves, table: LEAF_TABLES[0], products: 0 }
    }

    pub(super) fn complement(self) -> BitFunction {
        BitFunction { table: !self.table, ..self }
    }

    /// `a op b`, unless it is of too many values.
    pub(super) fn joined(op: Op, a: &BitFunction, b: &BitFunction) -> Option<BitFunction> {
        let mut leaves = a.leaves;
        let second = b.on(&mut leaves)?;
        let (table, product) = match op {
            Op::And => (a.table & second, 1),
            Op::Or => (a.table | second, 1),
            Op::Xor => (a.table ^ second, 0),
            _ => return None,
        };
        // Of one value twice, what it needs is counted once.
        let inner = if a.leaves == b.leaves && a.table == b.table { 0 } else { b.products };
        let products = a.products.saturating_add(inner).saturating_add(product);
        Some(BitFunction { leaves, table, products })
    }

    /// The table as a function of `leaves`, to which its own are added.
    fn on(&self, leaves: &mut Leaves) -> Option<u8> {
        let mut places = [0; LEAVES_MAX];
        for (place, &name) in places.iter_mut().zip(self.leaves.as_slice()) {
            *place = leaves.index(name)?;
        }
        let own_case = |case: u8| -> u8 {
            let bits = places.iter().take(self.leaves.count.into()).enumerate();
            bits.map(|(own, &place)| (case >> place & 1) << own).sum()
        };
        Some((0..8).map(|case| (self.table >> own_case(case) & 1) << case).sum())
    }
}

/// A function with at most one product: of two sums of leaves, and a sum with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OneProduct {
    /// The leaves of each sum, as bits.
    factors: Option<[u8; 2]>,
    linear: u8,
    constant: bool,
}

impl OneProduct {
    /// The form of a function, unless it has a product of three bits.
    pub(super) fn of(table: u8) -> Option<OneProduct> {
        let terms = polynomial(table);
        let has = |monomial: u8| terms >> monomial & 1;
        if has(0b111) == 1 {
            return None;
        }
        let [p, q, r] = [has(0b011), has(0b101), has(0b110)];
        let (factors, more) = match (p, q | r) {
            (1, _) => (Some([1 | r << 2, 2 | q << 2]), (q & r) << 2),
            (_, 1) => (Some([4, q | r << 1]), 0),
            _ => (None, 0),
        };
        let linear = (has(1) | has(2) << 1 | has(4) << 2) ^ more;
        Some(OneProduct { factors, linear, constant: has(0) == 1 })
    }

    /// ANDs a bit.
    pub(super) fn products(&self) -> u8 {
        self.factors.is_some().into()
    }

    /// Emits it as the result of `i`.
    pub(super) fn emit(
        &self,
        i: &Instruction,
        leaves: &Leaves,
        next_name: &mut u64,
        made: &mut Vec<Instruction>,
    ) {
        let first = made.len();
        let mut push = |op: Op, operands: &[u64]| {
            let mut instruction = Instruction::new(op, i.element, i.lanes);
            instruction.operands[..operands.len()].copy_from_slice(operands);
            instruction.results[0] = *next_name;
            *next_name += 1;
            made.push(instruction);
            instruction.results[0]
        };
        let names = |sum: u8| {
            let bits = leaves.names.iter().enumerate();
            bits.filter(move |&(leaf, _)| sum >> leaf & 1 == 1).map(|(_, &name)| name)
        };
        let mut terms: Vec<u64> = names(self.linear).collect();
        if let Some(factors) = self.factors {
            let factors = factors.map(|sum| {
                let sum = names(sum).reduce(|a, b| push(Op::Xor, &[a, b]));
                sum.expect("a factor has a leaf")
            });
            terms.push(push(Op::And, &factors));
        }
        let sum = terms.into_iter().reduce(|a, b| push(Op::Xor, &[a, b]));
        if let (Some(sum), true) = (sum, self.constant) {
            push(Op::Not, &[sum]);
        }
        if made.len() == first {
            // A leaf as it is, or a constant.
            let mut instruction = Instruction { op: Op::Constant, ..*i };
            match sum {
                Some(leaf) => {
                    instruction.op = Op::Cast;
                    instruction.operands = [leaf, 0, 0];
                    instruction.immediates = [i.element.width().into(), 0, 0, 0];
                }
                None => {
                    let width = if self.constant { u32::from(i.element.width()) } else { 0 };
                    let ones = |limb: u32| match width.saturating_sub(64 * limb) {
                        0 => 0,
                        bits => u64::MAX >> (64 - bits.min(64)),
                    };
                    instruction.immediates = [0, 1, 2, 3].map(ones);
                    instruction.operands = [0; 3];
                }
            }
            made.push(instruction);
        }
        made.last_mut().expect("there is an instruction").results[0] = i.results[0];
    }
}

/// The polynomial modulo 2: bit `k` is the coefficient of the product of the leaves in `k`.
fn polynomial(table: u8) -> u8 {
    let mut terms = table;
    for (leaf, has_leaf) in LEAF_TABLES.into_iter().enumerate() {
        terms ^= terms << (1 << leaf) & has_leaf;
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The function of a form, from its own sums.
    fn table(form: &OneProduct) -> u8 {
        let sum = |leaves: u8| {
            let tables = LEAF_TABLES.iter().enumerate();
            tables.filter(|&(leaf, _)| leaves >> leaf & 1 == 1).fold(0, |sum, (_, t)| sum ^ t)
        };
        let product = form.factors.map_or(0, |[a, b]| sum(a) & sum(b));
        product ^ sum(form.linear) ^ if form.constant { u8::MAX } else { 0 }
    }

    /// A product of three bits has an odd number of ones; all other functions have a form.
    #[test]
    fn forms_of_all_functions() {
        for function in 0..=u8::MAX {
            match OneProduct::of(function) {
                Some(form) => assert_eq!(table(&form), function),
                None => assert!(function.count_ones() % 2 == 1),
            }
        }
        assert_eq!(
            (0..=u8::MAX).filter(|&function| OneProduct::of(function).is_some()).count(),
            128
        );
    }

    #[test]
    fn functions_are_joined_on_all_their_values() {
        let [a, b, c] = [10, 20, 30].map(BitFunction::of_value);
        let joined = |op: Op, a: &BitFunction, b: &BitFunction| {
            BitFunction::joined(op, a, b).expect("it is of three values")
        };
        let and = |a: &BitFunction, b: &BitFunction| joined(Op::And, a, b);
        let or = |a: &BitFunction, b: &BitFunction| joined(Op::Or, a, b);
        let majority = or(&or(&and(&a, &b), &and(&a, &c)), &and(&c, &b));
        assert_eq!((majority.table, majority.products), (0xe8, 5));
        assert_eq!(OneProduct::of(majority.table).map(|form| form.products()), Some(1));
        let d = BitFunction::of_value(40);
        assert!(BitFunction::joined(Op::And, &majority, &d).is_none());
    }
}
