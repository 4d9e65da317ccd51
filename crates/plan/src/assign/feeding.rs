//! [`Feeding`]: which movements of lanes feed arithmetic operations only.
//!
//! Inputs and constants can be brought in in any sharing. So a movement of them, such as a slice of a vector, can have the
//! sharing in which its result is needed. A pass from the last instruction to the first finds it.
//!
//! Memory: an entry for each value that is alive; a bit for each instruction in a file.

use std::io::{Read, Seek, Write};

use phineus_bytecode::limits::RING_WIDTH_MAX;
use phineus_bytecode::{Instruction, Op, ProgramReader, Sharing};

use super::ChosenSharings;
use super::assignment::Assignment;
use crate::annotate::NAMES_PER_FRAME;
use crate::error::Error;
use crate::scratch::{Position, ScratchFile};
use crate::value_map::ValueMap;

/// Bytes of bits that are written and read at once.
const PIECE_BYTES: usize = 512;

/// Which instructions take arithmetic shares.
#[derive(Clone, Copy)]
pub(super) struct FedOps {
    /// Sums besides products.
    sums: bool,
    /// Only those of which the program says nothing else.
    as_stated: bool,
}

impl FedOps {
    /// Those under an assignment, if it looks at operands.
    pub(super) fn of(assignment: Assignment, chosen: Option<&ChosenSharings>) -> Option<FedOps> {
        match (chosen, assignment) {
            (Some(ChosenSharings::Arithmetic), _) => Some(FedOps { sums: true, as_stated: true }),
            (Some(ChosenSharings::One(_) | ChosenSharings::Classes(_)), _) => None,
            (None, Assignment::Arithmetic) => Some(FedOps { sums: true, as_stated: false }),
            (None, Assignment::ArithmeticProducts) => Some(FedOps { sums: false, as_stated: true }),
            (
                None,
                Assignment::Uniform(_) | Assignment::Stated(_) | Assignment::GarbledBesideRows,
            ) => None,
        }
    }

    /// Whether `i` takes its operands as arithmetic shares, if its own results are needed so or not.
    fn takes(self, i: &Instruction, results: bool) -> bool {
        match i.element.sharing() {
            Sharing::Any => {}
            stated if self.as_stated => return stated == Sharing::Arithmetic,
            Sharing::Arithmetic | Sharing::Boolean | Sharing::Garbled => {}
        }
        let width = i.element.width();
        let fits = width > 1 && width <= RING_WIDTH_MAX;
        fits && match i.op {
            Op::Mul | Op::MatMul => true,
            Op::Add | Op::Sub | Op::Neg => self.sums,
            Op::LaneSum => self.sums && i.immediates[0] == u64::from(width),
            op => op.is_lane_movement() && results,
        }
    }
}

/// A bit for each instruction, from the last to the first.
pub(super) struct Feeding {
    file: ScratchFile,
    instructions: u64,
    /// Number of the piece in `bits`.
    piece: Option<u64>,
    bits: [u8; PIECE_BYTES],
}

impl Feeding {
    /// Looks at all uses in `program`; writes to `file`, which is empty.
    pub(super) fn find<R: Read + Seek + Send>(
        program: &mut ProgramReader<R>,
        mut file: ScratchFile,
        ops: FedOps,
        memory_bytes: u64,
    ) -> Result<Feeding, Error> {
        let mut tables = file.tables(memory_bytes);
        let all = program.instruction_count();
        let (mut index, mut frame) = (all, Vec::new());
        // 1 while all uses that have been seen are of arithmetic shares.
        let mut uses = ValueMap::new();
        let mut bits = Vec::with_capacity(PIECE_BYTES);
        for number in (0..program.frame_count()).rev() {
            program.read_frame(number, &mut frame)?;
            for i in frame.iter().rev() {
                let results = i.results().iter().filter_map(|&result| uses.remove(result));
                let (count, fed) =
                    results.fold((0, true), |(n, all), use_| (n + 1, all & (use_ == 1)));
                let feeds = count > 0 && fed;
                let takes = ops.takes(i, feeds);
                for &operand in i.operands() {
                    let before = uses.value(operand).unwrap_or(1);
                    uses.insert(operand, before & u64::from(takes));
                }
                let place = (all - index) % 8;
                if place == 0 {
                    if bits.len() == PIECE_BYTES {
                        file.write_all(&bits)?;
                        bits.clear();
                    }
                    bits.push(0);
                }
                if let Some(last) = bits.last_mut() {
                    *last |= u8::from(feeds && takes) << place;
                }
                index -= 1;
            }
            let bytes = uses.memory_bytes_after(NAMES_PER_FRAME);
            tables.count(bytes, uses.len(), Position { read: index, all })?;
        }
        bits.resize(PIECE_BYTES, 0);
        file.write_all(&bits)?;
        Ok(Feeding { file, instructions: all, piece: None, bits: [0; PIECE_BYTES] })
    }

    /// Whether instruction number `index` is a movement whose results feed arithmetic sharing only.
    pub(super) fn is_feeding(&mut self, index: u64) -> Result<bool, Error> {
        let place = self.instructions - 1 - index;
        let (byte, bit) = (place / 8, place % 8);
        let piece = byte / PIECE_BYTES as u64;
        if self.piece != Some(piece) {
            self.file.read_exact_at(&mut self.bits, piece * PIECE_BYTES as u64)?;
            self.piece = Some(piece);
        }
        Ok(self.bits[byte as usize % PIECE_BYTES] >> bit & 1 == 1)
    }
}
