//! Secret rows that are opened under pads of both parties, and constant ones, looked up at secret indices.

use phineus_bytecode::random::random_inputs;
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, InputPort, Instruction, LookupTable, Op,
    OutputPort, RowOrder,
};

use crate::programs::Program;

const ROW: ElementType = ElementType::unsigned(128);
const INDEX: ElementType = ElementType::unsigned(8);

/// Rows of the hidden table: more than a leaf of a point function has values.
const ROWS: u64 = 140;

/// Rows that are opened together.
const TOGETHER: u32 = 28;

/// The tables, of hidden and of constant rows.
const HIDDEN: u64 = 0;
const CONSTANT: u64 = 1;

/// Instructions whose results are numbered in order.
#[derive(Default)]
pub struct Draft {
    pub instructions: Vec<Instruction>,
    next: u64,
}

impl Draft {
    /// Adds an instruction; returns the name of its last result.
    pub fn push(
        &mut self,
        op: Op,
        (element, lanes): (ElementType, u32),
        operands: &[u64],
        immediates: [u64; 4],
    ) -> u64 {
        let mut made = Instruction::new(op, element, lanes);
        made.operands[..operands.len()].copy_from_slice(operands);
        made.immediates = immediates;
        for place in made.results.iter_mut().take(op.info().results.len()) {
            *place = self.next;
            self.next += 1;
        }
        self.instructions.push(made);
        self.next.wrapping_sub(1)
    }
}

/// The first party brings rows, and the second one an index.
pub fn program(seed: u64) -> Program {
    let mut draft = Draft::default();
    let part = (ROW, TOGETHER);
    for first in (0..ROWS).step_by(TOGETHER as usize) {
        let mut row = draft.push(Op::Input, part, &[], [0, 0, first, 0]);
        for party in 0..2 {
            let pad = draft.push(Op::PartyPad, part, &[], [party, HIDDEN, first, 0]);
            row = draft.push(Op::Xor, part, &[row, pad], [0; 4]);
        }
        draft.push(Op::TableOpen, part, &[row], [HIDDEN, first, 0, 0]);
    }
    draft.push(Op::TableSet, (INDEX, 5), &[], [CONSTANT, 2, 0xa5, 0]);
    let index = draft.push(Op::Input, (INDEX, 1), &[], [1, 0, 0, 0]);
    let number = draft.push(Op::Cast, (ROW, 1), &[index], [8, 0, 0, 0]);
    let mut found = draft.push(Op::TableLookUp, (ROW, 1), &[index], [HIDDEN, 8, 0, 0]);
    for party in 0..2 {
        let key = draft.push(Op::PartyKey, (ROW, 1), &[], [party, HIDDEN, 0, 0]);
        let pad = draft.push(Op::Aes128, (ROW, 1), &[key, number], [0; 4]);
        found = draft.push(Op::Xor, (ROW, 1), &[found, pad], [0; 4]);
    }
    // Beyond the last row pads are left, which differ from run to run.
    let last = draft.push(Op::Constant, (INDEX, 1), &[], [ROWS - 1, 0, 0, 0]);
    let is_row = draft.push(Op::Le, (INDEX, 1), &[index, last], [0; 4]);
    found = draft.push(Op::Mask, (ROW, 1), &[is_row, found], [0; 4]);
    let low = draft.push(Op::BitSlice, (ElementType::unsigned(4), 1), &[index], [0, 8, 0, 0]);
    let constant = draft.push(Op::TableLookUp, (INDEX, 1), &[low], [CONSTANT, 4, 0, 0]);
    draft.push(Op::Output, (ROW, 1), &[found], [0; 4]);
    draft.push(Op::Output, (INDEX, 1), &[constant], [1, 0, 0, 0]);
    let column = |element| Column { name: "c".to_owned(), element, encoding: Encoding::Hex };
    let input = |name: &str, party, rows, element| InputPort {
        name: name.to_owned(),
        party,
        rows,
        columns: vec![column(element)],
        order: RowOrder::Given,
    };
    let output = |name: &str, element| OutputPort {
        name: name.to_owned(),
        parties: vec![0, 1],
        rows: 1,
        columns: vec![column(element)],
        rows_of: None,
    };
    let table = |element, rows| LookupTable { element, rows, known_to: None, is_shared: false };
    let description = Description {
        name: "look-ups".to_owned(),
        parties: vec!["a".to_owned(), "b".to_owned()],
        inputs: vec![input("rows", 0, ROWS, ROW), input("index", 1, 1, INDEX)].into(),
        outputs: vec![output("found", ROW), output("constant", INDEX)].into(),
        tables: vec![table(ROW, ROWS), table(INDEX, 16)].into(),
        ..Description::default()
    };
    let tables = random_inputs(seed, &description);
    Program { instructions: draft.instructions, description, tables }
}
