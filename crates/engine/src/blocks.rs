//! Runs a program of several blocks, and holds the values that they carry.
//!
//! A driver lives through all blocks: no counter, label or triple of one is used again in another.
//! What is carried lies, as the protocol holds it, in memory of its own, outside the frames, and a
//! block that loads a value and stores another one in its place has two places for it: a store
//! takes effect where its block ends.
//!
//! Cost: a copy of each value that is loaded or stored. Memory: [`CarriedLayout::bytes`].
//! Not protected: all parties learn which blocks run, and how often.

use std::io::{Read, Seek};

use phineus_bytecode::limits::FRAME_INSTRUCTIONS;
use phineus_bytecode::{
    BlockValues, CarriedSlot, Description, Flow, Instruction, Lane, Layout, Op, ProgramReader,
};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::driver::Driver;
use crate::interpret::{BlockMemory, RunError, RunMemory, run_instructions};
use crate::storage::{FrameMemory, StorageError};

/// Bytes of the pages that carried values lie in.
const PAGE_BYTES: u32 = 1 << 16;

/// Where carried values lie.
#[derive(Clone, Debug)]
pub struct CarriedLayout {
    /// By carried value, in units: its length, and its places, which may be the same.
    places: Vec<(usize, [usize; 2])>,
    wires: usize,
    unit_bytes: usize,
}

impl CarriedLayout {
    /// For these values; `places` says of each how many it has: two if a
    /// block loads and stores it, and none if it is not carried here.
    pub fn new(
        slots: &[CarriedSlot],
        layout: Layout,
        places: impl Fn(usize) -> usize,
    ) -> CarriedLayout {
        let mut wires = 0;
        let place = |(slot, carried): (usize, &CarriedSlot)| {
            let (count, first) = (places(slot), wires);
            let length = if count == 0 { 0 } else { layout.units(carried.shape()) as usize };
            wires += count * length;
            (length, [first, wires - length])
        };
        let places = slots.iter().enumerate().map(place).collect();
        CarriedLayout { places, wires, unit_bytes: layout.unit_bytes.into() }
    }

    /// Bytes of all values, in whole pages, and of the notes of where they are.
    pub fn bytes(&self) -> u64 {
        let notes = self.places.len() * (size_of::<(usize, [usize; 2])>() + size_of::<bool>());
        u64::from(self.pages()) * u64::from(PAGE_BYTES) + notes as u64
    }

    fn pages(&self) -> u32 {
        let pages = (self.wires * self.unit_bytes).div_ceil(PAGE_BYTES as usize).max(1);
        u32::try_from(pages).expect("carried values are part of a memory limit")
    }
}

/// The values that blocks carry. Wiped on drop.
pub struct Carried {
    memory: FrameMemory,
    layout: CarriedLayout,
    /// Of each value, which of its places holds it.
    current: Vec<bool>,
    /// Values that the block at hand stores.
    stored: Vec<usize>,
}

impl Carried {
    /// Room for them.
    ///
    /// # Errors
    /// If the operating system gives no memory.
    pub fn new(layout: CarriedLayout) -> Result<Carried, StorageError> {
        let memory = FrameMemory::new(layout.pages(), PAGE_BYTES)?;
        let current = vec![false; layout.places.len()];
        Ok(Carried { memory, layout, current, stored: Vec::new() })
    }

    /// Loads or stores.
    pub(crate) fn step<W: Copy + FromBytes + IntoBytes + Immutable>(
        &mut self,
        instruction: &Instruction,
        frames: &mut FrameMemory,
    ) {
        let slot = instruction.immediates[0] as usize;
        let (length, places) = self.layout.places[slot];
        let current = self.current[slot];
        if instruction.op == Op::Load {
            let from = places[usize::from(current)];
            let to = instruction.results[0] as usize;
            frames
                .slice_mut::<W>(to..to + length)
                .copy_from_slice(self.memory.slice(from..from + length));
        } else {
            let to = places[usize::from(!current)];
            let from = instruction.operands[0] as usize;
            self.memory
                .slice_mut::<W>(to..to + length)
                .copy_from_slice(frames.slice(from..from + length));
            self.stored.push(slot);
        }
    }

    /// Makes the stored values those that later blocks load.
    fn end_block(&mut self) {
        for slot in self.stored.drain(..) {
            self.current[slot] = !self.current[slot];
        }
    }

    /// The wires of a value, to write.
    fn wires<W: FromBytes + IntoBytes>(&mut self, slot: usize) -> &mut [W] {
        let (length, places) = self.layout.places[slot];
        let from = places[usize::from(self.current[slot])];
        self.memory.slice_mut(from..from + length)
    }
}

/// End of a block: the values that it opens and publishes.
struct DriverValues<'a, D> {
    driver: &'a mut D,
    carried: &'a mut Carried,
    slots: &'a [CarriedSlot],
}

impl<D: Driver> BlockValues for DriverValues<'_, D> {
    type Error = D::Error;

    fn opened(&self, port: u32) -> Result<Lane, D::Error> {
        self.driver.opened(port)
    }

    fn publish(&mut self, slot: u32, value: u64) -> Result<(), D::Error> {
        let CarriedSlot { element, lanes } = self.slots[slot as usize];
        let mut constant = Instruction::new(Op::Constant, element, lanes);
        let value = Lane::from(value) & phineus_bytecode::mask_of(element.width());
        constant.immediates = value.into_limbs();
        self.driver.compute(&constant, &mut [self.carried.wires(slot as usize)], &[])
    }
}

/// A program of several planned blocks.
pub struct BlockProgram<'a, R> {
    /// The blocks, by their numbers.
    pub blocks: &'a mut [ProgramReader<R>],
    /// Which block follows which.
    pub flow: &'a Flow,
    /// The description of the whole program.
    pub description: &'a Description,
}

/// Runs the blocks of a program from the first to one that ends it.
///
/// `enter` is called with the number of each block before it runs. Other blocks
/// lead to a block `turns_max` times at most. `progress` is as for [`crate::run`]; the instructions of all iterations count.
///
/// # Errors
/// [`RunError`]; driver, memory and carried values must not be used after one.
///
/// # Panics
/// If the plan is wrong: the verifier and the checker accept none that is.
pub fn run_blocks<R: Read + Seek, D: Driver>(
    BlockProgram { blocks, flow, description }: BlockProgram<'_, R>,
    driver: &mut D,
    (memory, carried): (&mut RunMemory, &mut Carried),
    turns_max: u64,
    enter: &mut dyn FnMut(usize),
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(), RunError<D::Error>> {
    let mut state = flow.begin();
    let mut turns = vec![0; blocks.len()];
    let mut instructions = Vec::with_capacity(FRAME_INSTRUCTIONS);
    let (mut next, mut done) = (Some(0), 0);
    while let Some(block) = next {
        if turns[block] == turns_max {
            return Err(RunError::TooManyTurns { block, turns: turns_max });
        }
        // How often a block is repeated is stated by the program.
        turns[block] += u64::from(state.iteration() == 0);
        enter(block);
        memory.regions.iteration = state.iteration();
        let room = BlockMemory {
            memory: &mut *memory,
            carried: Some(&mut *carried),
            instructions: &mut instructions,
        };
        run_instructions(&mut blocks[block], driver, room, (&mut done, &mut *progress))?;
        // The next block uses frames and slots in its own way.
        memory.drain()?;
        driver.end_block().map_err(RunError::Driver)?;
        carried.end_block();
        let mut end = DriverValues { driver, carried, slots: &description.slots };
        next = flow.leave(description, block, &mut state, &mut end).map_err(RunError::Driver)?;
        // A short block in a long loop reports too.
        if !progress(done) {
            return Err(RunError::Interrupted);
        }
    }
    driver.finish().map_err(RunError::Driver)?;
    Ok(())
}
