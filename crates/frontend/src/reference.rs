//! Runs a program in the clear, instruction by instruction: slow, simple, for tests of programs.
//!
//! Follows the meanings of the op table alone. Keeps every value, so it is for small programs.

use std::convert::Infallible;
use std::io::{Read, Seek};

use phineus_bytecode::meaning::{self, Lanes, mask_of};
use phineus_bytecode::{
    BlockDirectory, BlockValues, CarriedSlot, CowList, Description, Instruction, Lane, Memory, Op,
    Permutation, PermutationKind, ProgramReader, Table, row_of_group,
};
use phineus_circuits::permutation::{control_bits, inverse};

use crate::arguments::Arguments;
use crate::error::ProgramError;
use crate::program::{Program, trace_to_file};

/// Traces `program` and runs it on `inputs`, one table for each input port; gives the outputs.
pub fn run(
    program: &dyn Program,
    arguments: &Arguments,
    inputs: &[Table],
) -> Result<Vec<Table>, ProgramError> {
    let (file, _) = trace_to_file(program, arguments)?;
    run_file(file, inputs)
}

/// Runs a program file on `inputs`; gives what it reveals at its end.
pub fn run_file(mut file: impl Read + Seek, inputs: &[Table]) -> Result<Vec<Table>, ProgramError> {
    if let Some(blocks) = BlockDirectory::read(&mut file)? {
        let mut state = ReferenceState::new(&blocks.description, inputs)?;
        let mut flow = blocks.flow.begin();
        let mut next = Some(0);
        while let Some(block) = next {
            state.iteration = flow.iteration() as usize;
            state.run(&mut blocks.open(&mut file, block)?)?;
            let left = blocks.flow.leave(&blocks.description, block, &mut flow, &mut state);
            next = left.unwrap_or_else(|never| match never {});
        }
        let opened = |index: &usize| !blocks.description.is_opened(*index);
        let outputs = state.outputs.into_iter().enumerate();
        return Ok(outputs.filter(|(index, _)| opened(index)).map(|(_, table)| table).collect());
    }
    let mut reader = ProgramReader::open(file)?;
    let mut state = ReferenceState::new(&reader.description().clone(), inputs)?;
    state.run(&mut reader)?;
    Ok(state.outputs)
}

/// State of the plaintext reference: the values that a program has computed so far.
struct ReferenceState<'a> {
    inputs: &'a [Table],
    outputs: Vec<Table>,
    values: Vec<Lanes>,
    slots: CowList<CarriedSlot>,
    carried: Vec<Lanes>,
    /// Values that the current block stores for later ones.
    stored: Vec<(usize, Lanes)>,
    memories: Vec<ReferenceMemory>,
    regions: Vec<Lanes>,
    tables: Vec<Lanes>,
    /// Of those that are shared, what they are now; `tables` are their rows as they were hidden last.
    shared: Vec<Lanes>,
    registers: Vec<u64>,
    /// Permutations are not at random here, as no result depends on them: each is a rotation by one, or what was
    /// told.
    permutations: Vec<Vec<u32>>,
    kinds: Vec<PermutationKind>,
    /// Their control bits, when they have been asked for.
    switches: Vec<Vec<u8>>,
    /// How often the block at hand has run in a row before.
    iteration: usize,
}

impl ReferenceState<'_> {
    fn new<'a>(
        description: &Description,
        inputs: &'a [Table],
    ) -> Result<ReferenceState<'a>, ProgramError> {
        check_inputs(description, inputs)?;
        let outputs = description.outputs.iter();
        Ok(ReferenceState {
            inputs,
            outputs: outputs.map(|port| Table::zeros(port.columns.clone(), port.rows)).collect(),
            values: Vec::new(),
            slots: description.slots.clone(),
            carried: vec![Lanes::new(); description.slots.len()],
            stored: Vec::new(),
            memories: description.memories.iter().map(ReferenceMemory::new).collect(),
            regions: description.regions.iter().map(|region| zeros(region.rows)).collect(),
            tables: description.tables.iter().map(|table| zeros(table.rows)).collect(),
            shared: description.tables.iter().map(|table| zeros(table.rows)).collect(),
            registers: vec![0; description.registers as usize],
            permutations: description.permutations.iter().map(rotation).collect(),
            kinds: description.permutations.iter().map(|permutation| permutation.kind).collect(),
            switches: vec![Vec::new(); description.permutations.len()],
            iteration: 0,
        })
    }

    /// Runs a block.
    fn run(&mut self, reader: &mut ProgramReader<impl Read + Seek>) -> Result<(), ProgramError> {
        self.values.clear();
        reader.for_each::<ProgramError>(|instruction| {
            self.step(instruction);
            Ok(())
        })?;
        for (slot, lanes) in self.stored.drain(..) {
            self.carried[slot] = lanes;
        }
        Ok(())
    }
}

/// A memory in the clear.
struct ReferenceMemory {
    /// Cells by column and row.
    columns: Vec<Lanes>,
    /// The index of the last access.
    index: Lane,
}

impl ReferenceMemory {
    fn new(shape: &Memory) -> ReferenceMemory {
        let column = vec![Lane::ZERO; shape.rows as usize];
        ReferenceMemory { columns: vec![column; shape.columns.len()], index: Lane::ZERO }
    }

    /// The cell of the last access; nothing beyond the last row.
    fn cell(&mut self, column: usize) -> Option<&mut Lane> {
        let row = usize::try_from(self.index).ok()?;
        self.columns[column].get_mut(row)
    }
}

fn zeros(rows: u64) -> Lanes {
    vec![Lane::ZERO; rows as usize]
}

/// Switches of pairs in some iteration of a block. Unlike other permutations these look random: programs may fail if
/// they do not. (The mixing is that of SplitMix64.)
fn pairs(permutation: usize, iteration: usize, switches: std::ops::Range<usize>) -> Lanes {
    let mix = |word: u64| {
        let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    };
    let of_iteration = mix(mix(permutation as u64 + 1).wrapping_add(iteration as u64));
    switches.map(|switch| Lane::from(mix(of_iteration ^ switch as u64) & 1)).collect()
}

fn rotation(permutation: &Permutation) -> Vec<u32> {
    (0..permutation.items).map(|item| (item + 1) % permutation.items).collect()
}

impl BlockValues for ReferenceState<'_> {
    type Error = Infallible;

    fn opened(&self, port: u32) -> Result<Lane, Infallible> {
        Ok(self.outputs[port as usize].cell(0, 0))
    }

    fn publish(&mut self, slot: u32, value: u64) -> Result<(), Infallible> {
        let CarriedSlot { element, lanes } = self.slots[slot as usize];
        let value = Lane::from(value) & mask_of(element.width());
        self.carried[slot as usize] = vec![value; lanes as usize];
        Ok(())
    }
}

fn check_inputs(
    description: &phineus_bytecode::Description,
    inputs: &[Table],
) -> Result<(), ProgramError> {
    let (wanted, found) = (description.inputs.len(), inputs.len());
    if wanted != found {
        return Err(ProgramError::Refused(format!("the program has {wanted} inputs, got {found}")));
    }
    for (port, table) in description.inputs.iter().zip(inputs) {
        if port.columns != table.columns() || port.rows != table.row_count() {
            let (name, rows, found) = (&port.name, port.rows, table.row_count());
            return Err(ProgramError::Refused(format!(
                "input '{name}' needs {rows} rows of its columns, got {found} rows"
            )));
        }
    }
    Ok(())
}

impl ReferenceState<'_> {
    /// An instruction on a memory.
    fn memory_step(&mut self, i: &Instruction) {
        let [index, column, row, stride] = i.immediates.map(|word| word as usize);
        let memory = &mut self.memories[index];
        let operand = i.operands().first().map(|&name| self.values[name as usize].clone());
        match (i.op, operand) {
            (Op::MemorySet, Some(cells)) => {
                let row = row + self.iteration * stride;
                memory.columns[column][row..row + cells.len()].copy_from_slice(&cells);
            }
            (Op::MemoryOpen | Op::MemoryFollow, Some(opened)) => memory.index = opened[0],
            (Op::MemoryLink, None) => self.values.push(vec![Lane::from(column as u64)]),
            (Op::MemoryNext, None) => {
                let next = memory.index + Lane::ONE;
                let rows = Lane::from(memory.columns[0].len() as u64);
                self.values.push(vec![if next == rows { Lane::ZERO } else { next }]);
            }
            (Op::MemoryChange, Some(changed)) => {
                if let Some(cell) = memory.cell(column) {
                    *cell = changed[0];
                }
            }
            (Op::MemoryCell, None) => {
                let cell = memory.cell(column).copied().unwrap_or_default();
                self.values.push(vec![cell]);
            }
            (op, _) => unreachable!("{} is not about a memory", op.info().name),
        }
    }

    /// An instruction on a table that all parties know.
    fn table_step(&mut self, i: &Instruction) {
        let [table, row, low, high] = i.immediates;
        if i.op.is_of_shared_table() && i.op != Op::SharedLookUp {
            return self.shared_step(i);
        }
        let table = &mut self.tables[table as usize];
        if i.op == Op::TableSet {
            let rows = row as usize..row as usize + i.lanes as usize;
            table[rows].fill(Lane::from_limbs([low, high, 0, 0]));
            return;
        }
        let operand = &self.values[i.operands[0] as usize];
        if matches!(i.op, Op::TableTell | Op::TableOpen) {
            table[row as usize..][..operand.len()].copy_from_slice(operand);
            return;
        }
        let row = |index: &Lane| {
            let index = usize::try_from(*index).ok();
            index.and_then(|index| table.get(index)).copied().unwrap_or_default()
        };
        let found = operand.iter().map(row).collect();
        self.values.push(found);
    }

    /// An instruction on a shared table, but a lookup. Keys are 0 where nothing is hidden, so pads cancel.
    fn shared_step(&mut self, i: &Instruction) {
        let (table, row) = (i.immediates[0] as usize, i.immediates[1] as usize);
        let operand = |k: usize| &self.values[i.operands[k] as usize];
        match i.op {
            Op::SharedSet => {
                self.shared[table][row..][..i.lanes as usize].copy_from_slice(operand(0));
            }
            Op::SharedHide => {
                self.tables[table].clone_from(&self.shared[table]);
                self.values.push(vec![Lane::ZERO; 2]);
            }
            op => {
                assert_eq!(op, Op::SharedAdd, "the others are done above");
                let (index, change) = (usize::try_from(operand(0)[0]), operand(1)[0]);
                let row = index.ok().and_then(|index| self.shared[table].get_mut(index));
                row.into_iter().for_each(|row| *row ^= change);
            }
        }
    }

    /// An instruction on registers, regions and permutations.
    fn state_step(&mut self, i: &Instruction) {
        if i.op == Op::SwapKnown {
            return self.step(&Instruction { op: Op::CondSwap, immediates: [0; 4], ..*i });
        }
        let ReferenceState { values, regions, registers, permutations, kinds, switches, .. } = self;
        let [first, second, stride, _] = i.immediates.map(|word| word as usize);
        let row = match i.op {
            Op::RegionLoadAt | Op::RegionStoreAt => {
                row_of_group(registers[second], i.immediates[2], i.lanes) as usize
            }
            Op::RegionLoad | Op::RegionStore => {
                (second + self.iteration * stride) % regions[first].len()
            }
            _ => second,
        };
        let rows = row..row + i.lanes as usize;
        let operand = i.operands().first().map(|&name| values[name as usize].clone());
        match (i.op, operand) {
            (Op::Reveal, Some(value)) => registers[first] = value[0].as_limbs()[0],
            (Op::RegionStore | Op::RegionStoreAt, Some(value)) => {
                regions[first][rows].copy_from_slice(&value);
            }
            (Op::Tell, Some(value)) => {
                switches[first].clear();
                let told = value.iter().map(|lane| lane.as_limbs()[0] as u32);
                permutations[first][rows].iter_mut().zip(told).for_each(|(to, told)| *to = told);
            }
            (Op::Switches, _) if kinds[first] == PermutationKind::RandomPairs => {
                values.push(pairs(first, self.iteration, rows));
            }
            (Op::Switches, _) => {
                if switches[first].is_empty() {
                    switches[first] = control_bits(&permutations[first]);
                }
                values.push(switches[first][rows].iter().map(|&bit| Lane::from(bit)).collect());
            }
            (Op::Origins, _) => {
                let origins = inverse(&permutations[first]).expect("it is a permutation");
                values.push(origins[rows].iter().map(|&row| Lane::from(row)).collect());
            }
            (Op::Locate, Some(value)) => {
                let from = |permutation: usize, item: u64| {
                    let found =
                        permutations[permutation].iter().position(|&to| u64::from(to) == item);
                    found.unwrap_or(0) as u64
                };
                let position = from(second, value[0].as_limbs()[0]);
                registers[first] = from(i.immediates[2] as usize, position);
            }
            (Op::RegionLoad | Op::RegionLoadAt, _) => values.push(regions[first][rows].to_vec()),
            (op, _) => unreachable!("{} keeps no state", op.info().name),
        }
    }

    fn step(&mut self, i: &Instruction) {
        let ReferenceState { inputs, outputs, values, .. } = self;
        let [port, column, row, _] = i.immediates.map(|word| word as usize);
        match i.op {
            Op::Input => {
                let rows = (row..row + i.lanes as usize).map(|row| row as u64);
                let lanes = rows.map(|row| inputs[port].cell(row, column)).collect();
                values.push(lanes);
            }
            Op::Output => {
                for (lane, &value) in values[i.operands[0] as usize].iter().enumerate() {
                    outputs[port].set_cell((row + lane) as u64, column, value);
                }
            }
            Op::Load => values.push(self.carried[port].clone()),
            Op::Store => self.stored.push((port, values[i.operands[0] as usize].clone())),
            op if op.is_of_memory() => self.memory_step(i),
            op if op.is_of_table() => self.table_step(i),
            op if op.is_of_party_key() => self.values.push(meaning::of_party_key(i)),
            op if op.is_about_state() => self.state_step(i),
            _ => {
                let operands: Vec<Lanes> =
                    i.operands().iter().map(|&name| values[name as usize].clone()).collect();
                let meaning = i.op.info().meaning.expect("only ports have no meaning");
                for (index, result) in meaning(i, &operands).into_iter().enumerate() {
                    let mask = mask_of(i.result_shape(index).width);
                    debug_assert!(result.iter().all(|&lane| lane & mask == lane));
                    values.push(result);
                }
            }
        }
    }
}
