//! Random programs of several blocks that write to and read from carried values, regions, tables and memories.

use std::collections::HashMap;

use phineus_bytecode::random::{RandomOptions, SeededRng, random_program};
use phineus_bytecode::{
    BlockEnd, CarriedSlot, Description, ElementType, Flow, Instruction, LookupTable, Memory, Op,
    Region, Successor,
};

use crate::claims::Draft;

/// A program of one block or several.
pub struct BlockProgram {
    pub description: Description,
    pub flow: Flow,
    pub blocks: Vec<Vec<Instruction>>,
}

/// What a program has besides values.
#[derive(Default)]
struct Places {
    slots: Vec<CarriedSlot>,
    regions: Vec<Region>,
    tables: Vec<LookupTable>,
    memories: Vec<Memory>,
}

/// A block, and the next name of a value.
struct BlockEditor<'a> {
    random: &'a mut SeededRng,
    places: &'a mut Places,
    draft: Draft,
    /// Slots that the block stores, and tables that it sets.
    stored: Vec<u64>,
    /// The first block has nothing to load.
    is_first: bool,
    /// The next row of an input that nothing else reads.
    inputs: u64,
}

impl BlockEditor<'_> {
    fn emit(
        &mut self,
        op: Op,
        (element, lanes): (ElementType, u32),
        operands: &[u64],
        immediates: [u64; 4],
    ) -> u64 {
        let mut i = Instruction::new(op, element, lanes);
        i.operands[..operands.len()].copy_from_slice(operands);
        i.immediates = immediates;
        self.draft.push(i)
    }

    fn constant(&mut self, shape: (ElementType, u32)) -> u64 {
        let lane = match self.random.below(3) {
            0 => phineus_bytecode::Lane::from(self.random.below(3)),
            _ => self.random.lane(shape.0.width()),
        };
        let mask = phineus_bytecode::mask_of(shape.0.width());
        self.emit(Op::Constant, shape, &[], (lane & mask).into_limbs())
    }

    fn input(&mut self, shape: (ElementType, u32)) -> u64 {
        self.inputs += 1;
        self.emit(Op::Input, shape, &[], [0, 0, self.inputs, 0])
    }

    /// A value of few bits, or of any.
    fn begin_value(&mut self, shape: (ElementType, u32)) -> u64 {
        match self.random.below(4) {
            0 => self.constant(shape),
            1 => self.input(shape),
            _ => {
                let (element, lanes) = shape;
                let from = self.random.below(u64::from(element.width())) as u16 + 1;
                let narrow = self.input((ElementType::unsigned(from), lanes));
                let signed = self.random.below(2);
                self.emit(Op::Cast, shape, &[narrow], [from.into(), signed, 0, 0])
            }
        }
    }

    fn index(&mut self, width: u16, lanes: u32) -> u64 {
        let shape = (ElementType::unsigned(width), lanes);
        if self.random.one_in(3) { self.constant(shape) } else { self.input(shape) }
    }

    fn slot(&mut self, (element, lanes): (ElementType, u32)) -> u64 {
        let slots = &mut self.places.slots;
        let alike = |slot: &CarriedSlot| (slot.element, slot.lanes) == (element, lanes);
        let found: Vec<u64> = (0..).zip(&*slots).filter(|(_, s)| alike(s)).map(|s| s.0).collect();
        if found.is_empty() || found.len() < 3 && self.random.one_in(4) {
            slots.push(CarriedSlot { element, lanes });
            return slots.len() as u64 - 1;
        }
        *self.random.pick(&found)
    }

    fn region(&mut self, (element, lanes): (ElementType, u32)) -> u64 {
        let regions = &mut self.places.regions;
        let fits = |region: &Region| {
            region.element == element && region.rows.is_multiple_of(u64::from(lanes))
        };
        match regions.iter().position(fits) {
            Some(found) => found as u64,
            None => {
                let rows = u64::from(lanes) * (1 + self.random.below(3));
                regions.push(Region { element, rows });
                regions.len() as u64 - 1
            }
        }
    }

    fn table(&mut self, element: ElementType) -> u64 {
        let tables = &mut self.places.tables;
        match tables.iter().position(|table| table.element == element) {
            Some(found) => found as u64,
            None => {
                let rows = 1 + self.random.below(5);
                tables.push(LookupTable { element, rows, known_to: None, is_shared: false });
                tables.len() as u64 - 1
            }
        }
    }

    /// A column of a memory.
    fn cells(&mut self, element: ElementType) -> [u64; 2] {
        for (memory, shape) in (0..).zip(&self.places.memories) {
            if let Some(column) = shape.columns.iter().position(|&column| column == element) {
                return [memory, column as u64];
            }
        }
        let name = "m".to_owned();
        let (rows, columns) = (1 + self.random.below(4), vec![element]);
        let memory = Memory { name, columns, rows, method: None, is_linked: false };
        self.places.memories.push(memory);
        [self.places.memories.len() as u64 - 1, 0]
    }

    /// Something that comes from a place, or from a party.
    fn source(&mut self, shape: (ElementType, u32)) -> u64 {
        let (element, lanes) = shape;
        match self.random.below(8) {
            0..=3 if !self.is_first => {
                let slot = self.slot(shape);
                self.emit(Op::Load, shape, &[], [slot, 0, 0, 0])
            }
            4 => {
                let region = self.region(shape);
                let row = self.random.below(3);
                let stride = self.random.below(3);
                self.emit(Op::RegionLoad, shape, &[], [region, row, stride, 0])
            }
            5 => {
                let region = self.region(shape);
                self.emit(Op::RegionLoadAt, shape, &[], [region, 0, 0, 0])
            }
            6 if element.width() <= 128 => {
                let table = self.table(element);
                let index = self.index(4, lanes);
                self.emit(Op::TableLookUp, shape, &[index], [table, 4, 0, 0])
            }
            7 if lanes == 1 => {
                let [memory, column] = self.opened_cells(element);
                self.emit(Op::MemoryCell, shape, &[], [memory, column, 0, 0])
            }
            _ => self.begin_value(shape),
        }
    }

    /// A column of a memory, of which a row is opened at a secret index.
    fn opened_cells(&mut self, element: ElementType) -> [u64; 2] {
        let [memory, column] = self.cells(element);
        let index = self.index(3, 1);
        self.emit(Op::MemoryOpen, (ElementType::unsigned(3), 1), &[index], [memory, 0, 0, 0]);
        [memory, column]
    }

    /// Writes a value to a place, or gives it out.
    fn sink(&mut self, shape: (ElementType, u32), value: u64, output: &Instruction) {
        let (element, lanes) = shape;
        match self.random.below(8) {
            0..=2 => {
                let slot = self.slot(shape);
                self.store(slot, shape, value);
            }
            3 => {
                let region = self.region(shape);
                let (row, stride) = (self.random.below(3), self.random.below(3));
                self.emit(Op::RegionStore, shape, &[value], [region, row, stride, 0]);
            }
            4 => {
                let region = self.region(shape);
                self.emit(Op::RegionStoreAt, shape, &[value], [region, 0, 0, 0]);
            }
            5 if element.width() <= 128 => {
                let table = self.table(element);
                match self.random.below(2) {
                    0 => self.emit(Op::TableOpen, shape, &[value], [table, 0, 0, 0]),
                    _ => {
                        let lane = self.random.lane(element.width()).into_limbs();
                        self.emit(Op::TableSet, shape, &[], [table, 0, lane[0], lane[1]])
                    }
                };
            }
            6 if lanes == 1 => {
                let [memory, column] = self.opened_cells(element);
                self.emit(Op::MemoryChange, shape, &[value], [memory, column, 0, 0]);
            }
            7 => {
                let [memory, column] = self.cells(element);
                self.emit(Op::MemorySet, shape, &[value], [memory, column, 0, 0]);
            }
            _ => {
                self.draft.push(Instruction { operands: [value, 0, 0], ..*output });
            }
        }
    }

    fn store(&mut self, slot: u64, shape: (ElementType, u32), value: u64) {
        if !self.stored.contains(&slot) {
            self.stored.push(slot);
            self.emit(Op::Store, shape, &[value], [slot, 0, 0, 0]);
        }
    }

    /// Copies a program of one block, whose inputs come from places and whose outputs go there.
    fn copy(&mut self, program: &[Instruction]) {
        let mut names: HashMap<u64, u64> = HashMap::new();
        for i in program {
            let mut made = *i;
            for k in 0..i.operands().len() {
                made.operands[k] = names[&i.operands[k]];
            }
            match i.op {
                Op::Input => {
                    let source = self.source((i.element, i.lanes));
                    names.insert(i.results[0], source);
                }
                Op::Output => self.sink((i.element, i.lanes), made.operands[0], i),
                _ => {
                    let first = self.draft.push(made);
                    names.extend(i.results().iter().copied().zip(first..));
                }
            }
        }
    }

    /// A carried value becomes something that is computed from it, as counters and sums are.
    fn accumulate(&mut self) {
        let Some(slot) = (self.places.slots.len() as u64).checked_sub(1) else { return };
        let slot = self.random.below(slot + 1);
        let CarriedSlot { element, lanes } = self.places.slots[slot as usize];
        let shape = (element, lanes);
        let before = self.emit(Op::Load, shape, &[], [slot, 0, 0, 0]);
        let term =
            if self.random.one_in(2) { self.begin_value(shape) } else { self.constant(shape) };
        let ops = [Op::Add, Op::Add, Op::Sub, Op::Min, Op::Max, Op::And, Op::Or, Op::Xor, Op::Rem];
        let op = *self.random.pick(&ops);
        let mut after = self.emit(op, shape, &[before, term], [0; 4]);
        if self.random.one_in(3) {
            let choice = self.input((ElementType::BIT, lanes));
            after = self.emit(Op::Mux, shape, &[choice, after, before], [0; 4]);
        }
        if self.random.one_in(4) {
            let bound = self.constant(shape);
            after = self.emit(Op::Min, shape, &[after, bound], [0; 4]);
        }
        self.store(slot, shape, after);
    }
}

/// How the blocks follow each other: forwards, back to earlier ones, and some repeated.
fn flow(random: &mut SeededRng, count: u32) -> Flow {
    let has_loops = !random.one_in(3);
    let blocks = (0..count).map(|block| {
        let then = block + 1;
        let next = match random.below(4) {
            _ if then == count => Successor::End,
            0 | 1 if has_loops && block > 0 => {
                Successor::Repeat { block, iterations: 2 + random.below(5), then }
            }
            2 => {
                let first = if has_loops { 1 } else { then };
                let other = first + random.below(u64::from(count - first)) as u32;
                Successor::Branch { register: 0, nonzero: other, zero: then }
            }
            _ => Successor::Jump { block: then },
        };
        BlockEnd { steps: Vec::new(), next }
    });
    Flow { registers: 1, blocks: blocks.collect() }
}

/// A random program.
pub fn block_program(seed: u64) -> BlockProgram {
    let random = &mut SeededRng::new(seed);
    let count = if random.one_in(6) { 1 } else { 2 + random.below(4) as u32 };
    let flow = if count == 1 { Flow::of_one_block() } else { flow(random, count) };
    let width_max = *random.pick(&[1, 3, 8, 9, 17, 33, 64, 128, 160]);
    let (_, mut description) = random_program(0, &RandomOptions::default());
    let (mut places, mut blocks, mut inputs) = (Places::default(), Vec::new(), 0);
    for block in 0..count {
        let options = RandomOptions {
            instruction_count: 2 + random.below(14) as usize,
            width_max,
            wires_max: 192,
            live_max: 2 + random.below(6) as usize,
            ..RandomOptions::default()
        };
        let (piece, _) = random_program(random.next_u64(), &options);
        let (draft, stored) = (Draft::default(), Vec::new());
        let (places, is_first) = (&mut places, block == 0);
        let mut editor = BlockEditor { random, places, draft, stored, is_first, inputs };
        editor.copy(&piece);
        if !is_first {
            (0..editor.random.below(3)).for_each(|_| editor.accumulate());
        }
        inputs = editor.inputs;
        blocks.push(editor.draft.made);
    }
    if count > 1 {
        begin_all(random, &mut places, &mut blocks[0], inputs);
    }
    let Places { slots, regions, tables, memories } = places;
    description.slots = slots.into();
    description.regions = regions.into();
    description.tables = tables.into();
    description.memories = memories.into();
    description.is_block = count > 1;
    BlockProgram { description, flow, blocks }
}

/// The first block stores all carried values.
fn begin_all(
    random: &mut SeededRng,
    places: &mut Places,
    block: &mut Vec<Instruction>,
    inputs: u64,
) {
    let next = block.iter().map(|i| i.result_count() as u64).sum();
    let stored = block.iter().filter(|i| i.op == Op::Store).map(|i| i.immediates[0]).collect();
    let draft = Draft { made: std::mem::take(block), next };
    let slots = places.slots.clone();
    let mut editor = BlockEditor { random, places, draft, stored, is_first: true, inputs };
    for (slot, CarriedSlot { element, lanes }) in (0..).zip(slots) {
        if !editor.stored.contains(&slot) {
            let value = editor.begin_value((element, lanes));
            editor.store(slot, (element, lanes), value);
        }
    }
    *block = editor.draft.made;
}
