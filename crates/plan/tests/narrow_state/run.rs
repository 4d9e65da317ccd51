//! Runs of random programs of several blocks in the clear.

use std::collections::HashMap;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Description, Instruction, Lane, Lanes, Op};
use phineus_plan::StatePlace;

/// All that a program has besides values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceContents {
    /// Nothing before the first store.
    pub slots: Vec<Option<Lanes>>,
    pub regions: Vec<Lanes>,
    pub tables: Vec<Lanes>,
    /// By memory and column.
    pub cells: Vec<Vec<Lanes>>,
    /// The row that was accessed last, by memory.
    rows: Vec<usize>,
}

/// The values of a block by name, and what it gives out, in order.
pub type BlockValues = (HashMap<u64, Lanes>, Vec<Lanes>);

impl PlaceContents {
    pub fn at_start(description: &Description) -> PlaceContents {
        let zeros = |rows: u64| vec![Lane::ZERO; rows as usize];
        let memories = description.memories.iter();
        PlaceContents {
            slots: vec![None; description.slots.len()],
            regions: description.regions.iter().map(|region| zeros(region.rows)).collect(),
            tables: description.tables.iter().map(|table| zeros(table.rows)).collect(),
            rows: vec![0; description.memories.len()],
            cells: memories
                .map(|memory| memory.columns.iter().map(|_| zeros(memory.rows)).collect())
                .collect(),
        }
    }

    /// All that is in a place now.
    pub fn of(&self, place: StatePlace) -> &[Lane] {
        match place {
            StatePlace::Slot(slot) => self.slots[slot as usize].as_deref().unwrap_or_default(),
            StatePlace::Region(region) => &self.regions[region as usize],
            StatePlace::Table(table) => &self.tables[table as usize],
            StatePlace::Cells { memory, column } => &self.cells[memory as usize][column as usize],
        }
    }

    /// Runs a block, in so manieth iteration; `seed` decides what comes in and which rows are accessed.
    pub fn run(&mut self, block: &[Instruction], iteration: u64, seed: u64) -> BlockValues {
        let (mut values, mut given): BlockValues = Default::default();
        let mut stored = Vec::new();
        for i in block {
            let operands: Vec<Lanes> =
                i.operands().iter().map(|name| values[name].clone()).collect();
            let results = match i.op {
                Op::Output => {
                    given.push(operands[0].clone());
                    continue;
                }
                Op::Store => {
                    stored.push((i.immediates[0] as usize, operands[0].clone()));
                    continue;
                }
                Op::Input => vec![brought(seed, i)],
                op if op.info().meaning.is_some() => {
                    (op.info().meaning.expect("it computes"))(i, &operands)
                }
                _ => self.access(i, &operands, (iteration, seed)).into_iter().collect(),
            };
            values.extend(i.results().iter().copied().zip(results));
        }
        for (slot, lanes) in stored {
            self.slots[slot] = Some(lanes);
        }
        (values, given)
    }

    /// The result of an access to a place.
    fn access(
        &mut self,
        i: &Instruction,
        operands: &[Lanes],
        (iteration, seed): (u64, u64),
    ) -> Option<Lanes> {
        let [place, second, third, fourth] = i.immediates;
        let place = place as usize;
        let lanes = i.lanes as usize;
        match i.op {
            Op::Load => Some(self.slots[place].clone().expect("the first block stored it")),
            Op::RegionLoad | Op::RegionStore => {
                let first = (second + iteration * third) as usize;
                self.rows_of(place, first, (lanes, operands))
            }
            Op::RegionLoadAt | Op::RegionStoreAt => {
                let groups = self.regions[place].len() / lanes;
                let group = SeededRng::new(seed ^ place as u64).below(groups as u64) as usize;
                self.rows_of(place, group * lanes, (lanes, operands))
            }
            Op::TableSet => {
                let value = Lane::from_limbs([third, fourth, 0, 0]);
                self.tables[place].iter_mut().take(lanes).for_each(|row| *row = value);
                None
            }
            Op::TableOpen => {
                let rows = self.tables[place].iter_mut().zip(&operands[0]);
                rows.for_each(|(row, &lane)| *row = lane);
                None
            }
            Op::TableLookUp => {
                let row = |index: &Lane| {
                    let index = index.as_limbs()[0] as usize;
                    self.tables[place].get(index).copied().unwrap_or(Lane::ZERO)
                };
                Some(operands[0].iter().map(row).collect())
            }
            Op::MemoryOpen => {
                self.rows[place] = operands[0][0].as_limbs()[0] as usize;
                None
            }
            Op::MemorySet => {
                let cells = self.cells[place][second as usize].iter_mut();
                cells.zip(&operands[0]).for_each(|(cell, &lane)| *cell = lane);
                None
            }
            Op::MemoryCell => {
                let cell = self.cells[place][second as usize].get(self.rows[place]);
                Some(vec![cell.copied().unwrap_or(Lane::ZERO)])
            }
            Op::MemoryChange => {
                let row = self.rows[place];
                if let Some(cell) = self.cells[place][second as usize].get_mut(row) {
                    *cell = operands[0][0];
                }
                None
            }
            op => panic!("{} is not drawn", op.info().name),
        }
    }

    /// Reads rows of a region, or writes the operand there. Behind the last row comes the first.
    fn rows_of(
        &mut self,
        region: usize,
        first: usize,
        (lanes, operands): (usize, &[Lanes]),
    ) -> Option<Lanes> {
        let rows = &mut self.regions[region];
        let count = rows.len();
        let place = |k: usize| (first + k) % count;
        match operands.first() {
            None => Some((0..lanes).map(|k| rows[place(k)]).collect()),
            Some(cells) => {
                cells.iter().enumerate().for_each(|(k, &lane)| rows[place(k)] = lane);
                None
            }
        }
    }
}

/// Lanes for an input, all of them at a boundary or any: the same each time.
fn brought(seed: u64, i: &Instruction) -> Lanes {
    let lane = |k: u32| {
        let mixed = [u64::from(k), i.immediates[0], i.immediates[1], i.immediates[2]];
        let mixed = mixed.iter().fold(seed, |seed, &part| SeededRng::new(seed ^ part).next_u64());
        SeededRng::new(mixed).lane(i.element.width())
    };
    (0..i.lanes).map(lane).collect()
}
