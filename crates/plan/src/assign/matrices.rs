//! Products of matrices, which no sharing computes as a whole.

use phineus_bytecode::{Instruction, Op, Sharing};

use super::{AssignedValue, Assigner};
use crate::error::Error;
use crate::sharings::Ancestry;

impl<E: FnMut(&Instruction) -> Result<(), Error>> Assigner<'_, E> {
    /// A product of matrices as products with vectors, one beside the other.
    pub(super) fn mat_mul(
        &mut self,
        instruction: &Instruction,
        sharing: Sharing,
    ) -> Result<(), Error> {
        let element = instruction.element.shared(sharing);
        let [columns, vectors, ..] = instruction.immediates;
        let rows = instruction.lanes / vectors as u32;
        let matrix = self.name(instruction.operands[0], sharing)?;
        let all = self.name(instruction.operands[1], sharing)?;
        let mut products = Vec::with_capacity(vectors as usize);
        for k in 0..vectors {
            let mut vector = Instruction::new(Op::LaneSlice, element, columns as u32);
            vector.immediates = [k * columns, columns * vectors, 0, 0];
            vector.operands[0] = all;
            let vector = if vectors == 1 { all } else { self.define(vector)? };
            let mut product = Instruction::new(Op::MatMul, element, rows);
            product.immediates = [columns, 1, 0, 0];
            product.operands = [matrix, vector, 0];
            let product = match sharing {
                Sharing::Arithmetic => self.mat_vec(&product)?,
                _ => self.define(product)?,
            };
            products.push((product, rows));
        }
        while products.len() > 1 {
            let pairs = products.chunks(2).map(|pair| match *pair {
                [(low, own), (high, more)] => {
                    let mut both = Instruction::new(Op::LaneConcat, element, own + more);
                    both.immediates[0] = u64::from(own);
                    both.operands = [low, high, 0];
                    Ok((self.define(both)?, own + more))
                }
                _ => Ok(pair[0]),
            });
            products = pairs.collect::<Result<Vec<_>, Error>>()?;
        }
        let mut names = [None; 4];
        names[sharing as usize] = Some(products[0].0);
        let shape = instruction.result_shape(0);
        let (is_switch, ancestry) = (false, Ancestry::default());
        let value = AssignedValue { names, shape, source: None, is_switch, ancestry };
        self.values.insert(instruction.results[0], value);
        Ok(())
    }

    /// A product of matrix and vector, which have names, as products of entries and a tree of sums.
    fn mat_vec(&mut self, instruction: &Instruction) -> Result<u64, Error> {
        let element = instruction.element;
        let (rows, columns) = (instruction.lanes, instruction.immediates[0]);
        let entries = instruction.operand_shape(0).lanes;
        let [matrix, vector, _] = instruction.operands;
        let mut repeated = Instruction::new(Op::LaneRepeat, element, entries);
        repeated.immediates[0] = columns;
        repeated.operands[0] = vector;
        let mut products = Instruction::new(Op::Mul, element, entries);
        products.operands = [matrix, self.define(repeated)?, 0];
        let products = self.define(products)?;
        let mut sums = Vec::with_capacity(columns as usize);
        for column in 0..columns {
            let mut slice = Instruction::new(Op::LaneSlice, element, rows);
            slice.immediates = [column * u64::from(rows), u64::from(entries), 0, 0];
            slice.operands[0] = products;
            sums.push(self.define(slice)?);
        }
        while sums.len() > 1 {
            let pairs = sums.chunks(2).map(|pair| match *pair {
                [a, b] => {
                    let mut add = Instruction::new(Op::Add, element, rows);
                    add.operands = [a, b, 0];
                    self.define(add)
                }
                _ => Ok(pair[0]),
            });
            sums = pairs.collect::<Result<Vec<_>, _>>()?;
        }
        Ok(sums[0])
    }
}
