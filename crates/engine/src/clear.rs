//! The clear driver: runs a program on values that are not hidden. It defines the correct results.
//!
//! It computes each operation by its meaning in the op table, in integers, and shares no code
//! with the circuits of the protocols that are tested against it. A wire is a byte of 0 or 1.

use std::convert::Infallible;

use phineus_bytecode::meaning::of_party_key;
use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Description, Instruction, Lane, Lanes, Op};

use crate::data::{Inputs, Outputs, from_bits, to_bits};
use crate::driver::Driver;
use crate::permutations::OwnPermutations;

/// Computes in the clear, for all parties at once.
pub struct ClearDriver {
    inputs: Inputs,
    outputs: Vec<Outputs>,
    /// Of all parties. No result depends on which they are.
    permutations: OwnPermutations,
    random: SeededRng,
    /// Rows of tables, and of shared ones what they are now.
    tables: Vec<Vec<u128>>,
    shared: Vec<Vec<u128>>,
}

impl ClearDriver {
    /// A driver of the program that `description` describes, which reads all parties' `inputs` and writes each
    /// party's outputs.
    pub fn new(description: &Description, inputs: Inputs, outputs: Vec<Outputs>) -> ClearDriver {
        let permutations = OwnPermutations::new(description);
        let tables = description.tables.iter().map(|table| vec![0; table.rows as usize]);
        let (tables, shared) = (tables.clone().collect(), tables.collect());
        ClearDriver { inputs, outputs, permutations, random: SeededRng::new(1), tables, shared }
    }

    /// Each party's outputs.
    pub fn into_outputs(self) -> Vec<Outputs> {
        self.outputs
    }

    /// Works on a shared table, but for lookups. All keys are 0 here, so pads cancel.
    fn change_shared(&mut self, i: &Instruction, results: &mut [&mut [u8]], operands: &[&[u8]]) {
        let (table, row) = (i.immediates[0] as usize, i.immediates[1] as usize);
        let lanes = |k: usize| lanes_of(operands[k], i.lanes as usize);
        match i.op {
            Op::SharedSet => {
                let rows = self.shared[table][row..].iter_mut().zip(lanes(0));
                rows.for_each(|(row, set)| *row = row_bits(set));
            }
            Op::SharedHide => {
                self.tables[table].clone_from(&self.shared[table]);
                results[0].fill(0);
            }
            op => {
                assert_eq!(op, Op::SharedAdd, "the others are done above");
                let (index, change) = (lanes(0)[0].as_limbs()[0] as usize, lanes(1)[0]);
                let row = self.shared[table].get_mut(index);
                row.into_iter().for_each(|row| *row ^= row_bits(change));
            }
        }
    }

    /// Sets rows of a table, or looks them up.
    fn look_up(&mut self, i: &Instruction, results: &mut [&mut [u8]], operands: &[&[u8]]) {
        if i.op.is_of_shared_table() && i.op != Op::SharedLookUp {
            return self.change_shared(i, results, operands);
        }
        let [table, row, low, high] = i.immediates;
        let (table, lanes) = (&mut self.tables[table as usize], i.lanes as usize);
        if i.op == Op::TableSet {
            table[row as usize..][..lanes].fill(u128::from(high) << 64 | u128::from(low));
            return;
        }
        let operand = lanes_of(operands[0], lanes);
        if matches!(i.op, Op::TableTell | Op::TableOpen) {
            let rows = table[row as usize..].iter_mut().zip(operand);
            rows.for_each(|(row, told)| *row = row_bits(told));
            return;
        }
        let row = |index: Lane| table.get(index.as_limbs()[0] as usize).copied().unwrap_or(0);
        let rows = operand.into_iter().map(|index| Lane::from(row(index)));
        to_bits(rows, lanes, results[0]);
    }
}

/// The lowest bits of a lane, as many as a row of a table has at most.
pub fn row_bits(lane: Lane) -> u128 {
    let [low, high, ..] = *lane.as_limbs();
    u128::from(high) << 64 | u128::from(low)
}

fn lanes_of(wires: &[u8], count: usize) -> Lanes {
    (0..count).map(|j| from_bits(wires, count, j)).collect()
}

impl Driver for ClearDriver {
    type Wire = u8;
    type Error = Infallible;

    fn input(&mut self, instruction: &Instruction, wires: &mut [u8]) -> Result<(), Infallible> {
        to_bits(self.inputs.lanes(instruction), instruction.lanes as usize, wires);
        Ok(())
    }

    fn output(&mut self, instruction: &Instruction, wires: &[u8]) -> Result<(), Infallible> {
        let values = lanes_of(wires, instruction.lanes as usize);
        for outputs in &mut self.outputs {
            outputs.write(instruction, values.iter().copied());
        }
        Ok(())
    }

    fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [u8]],
        operands: &[&[u8]],
    ) -> Result<(), Infallible> {
        if instruction.op.is_of_party_key() {
            let lanes = of_party_key(instruction).into_iter();
            to_bits(lanes, instruction.lanes as usize, results[0]);
            return Ok(());
        }
        if instruction.op.is_of_table() {
            self.look_up(instruction, results, operands);
            return Ok(());
        }
        let meaning = instruction.op.info().meaning.expect("a computation has a meaning");
        let values: Vec<Lanes> = (0..operands.len())
            .map(|k| lanes_of(operands[k], instruction.operand_shape(k).lanes as usize))
            .collect();
        for (result, lanes) in results.iter_mut().zip(meaning(instruction, &values)) {
            let count = lanes.len();
            to_bits(lanes.into_iter(), count, result);
        }
        Ok(())
    }

    fn reveal(&mut self, instruction: &Instruction, wires: &[u8]) -> Result<Lane, Infallible> {
        let value = from_bits(wires, 1, 0);
        if instruction.op != Op::Locate {
            return Ok(value);
        }
        let told = self.permutations.told_positions(instruction);
        let position = told.get(value.as_limbs()[0] as usize).copied().unwrap_or(0);
        let place = self.permutations.place(instruction, position);
        self.permutations.end_located(instruction);
        Ok(Lane::from(place))
    }

    fn permute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [u8]],
        operands: &[&[u8]],
    ) -> Result<(), Infallible> {
        let lanes = instruction.lanes as usize;
        if instruction.op == Op::Tell {
            let told = lanes_of(operands[0], lanes).into_iter();
            // A program that tells no permutation has no meaning; nothing is hidden here anyhow.
            let _ = self.permutations.tell(instruction, told);
            return Ok(());
        }
        if instruction.op == Op::SwapKnown {
            let swap = Instruction { op: Op::CondSwap, ..*instruction };
            return self.compute(&swap, results, operands);
        }
        let random = &mut self.random;
        let draw = &mut |words: &mut [u64]| words.fill_with(|| random.next_u64());
        let values = self.permutations.bring(instruction, draw);
        to_bits(values.iter().map(|&value| Lane::from(value)), lanes, results[0]);
        Ok(())
    }

    fn opened(&self, port: u32) -> Result<Lane, Infallible> {
        Ok(self.outputs[0].opened(port))
    }

    fn finish(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
