//! scryptROMix (RFC 7914, sections 3 to 5), on rows of a memory that is read at secret indices.
//!
//! Cost: Salsa20/8 takes 144 additions of 32 bits, which are 4,464 ANDs under garbled circuits. There are `4 n r` of
//! them, and `n` reads of a memory of `n` rows of `1024 r` bits.

use phineus_bytecode::ElementType;
use phineus_frontend::{LoopState, Tracer, Value};
use phineus_oblivious::{Memory, MemoryMethod};

/// The words of a block of 64 bytes by diagonal of their matrix: the columns of a round are then lanes.
const DIAGONALS: [[usize; 4]; 4] = [[0, 5, 10, 15], [4, 9, 14, 3], [8, 13, 2, 7], [12, 1, 6, 11]];

/// Half a block in a column of the memory.
const HALF: ElementType = ElementType::unsigned(256);

/// A block of 16 words: its diagonals, each 4 lanes of 32 bits.
#[derive(Clone)]
pub(super) struct SalsaBlock([Value; 4]);

impl SalsaBlock {
    /// From words of one lane.
    #[track_caller]
    pub(super) fn new(words: &[Value]) -> SalsaBlock {
        SalsaBlock(DIAGONALS.map(|diagonal| {
            let words = diagonal.map(|word| words[word].clone());
            Value::joined(words.to_vec()).expect("4 words")
        }))
    }

    /// The words, each of one lane.
    #[track_caller]
    pub(super) fn words(&self) -> Vec<Value> {
        let places = (0..4).flat_map(|diagonal| (0..4).map(move |lane| (diagonal, lane)));
        let mut words: Vec<(usize, Value)> = places
            .map(|(diagonal, lane)| {
                (DIAGONALS[diagonal][lane], self.0[diagonal].lane_slice(lane as u32, 1))
            })
            .collect();
        words.sort_by_key(|(word, _)| *word);
        words.into_iter().map(|(_, word)| word).collect()
    }

    /// Cells of a row of the memory.
    #[track_caller]
    fn halves(&self) -> [Value; 2] {
        let [a, b, c, d] = &self.0;
        [a.lane_concat(b).reshape(HALF.width()), c.lane_concat(d).reshape(HALF.width())]
    }

    #[track_caller]
    fn from_halves(halves: &[Value]) -> SalsaBlock {
        let lanes = [0, 1].map(|half: usize| halves[half].reshape(32));
        SalsaBlock(
            [0, 1, 2, 3]
                .map(|diagonal| lanes[diagonal / 2].lane_slice(4 * (diagonal % 2) as u32, 4)),
        )
    }

    #[track_caller]
    fn xor(&self, other: &SalsaBlock) -> SalsaBlock {
        SalsaBlock([0, 1, 2, 3].map(|diagonal: usize| self.0[diagonal].xor(&other.0[diagonal])))
    }

    #[track_caller]
    fn salsa20_8(&self) -> SalsaBlock {
        let mut x = self.0.clone();
        // A round of columns and one of rows, which are the columns of the rotated diagonals.
        for _ in 0..8 {
            x = quarter_rounds(x);
            let [a, b, c, d] = x;
            x = [a, d.lane_rotate(1), c.lane_rotate(2), b.lane_rotate(3)];
        }
        SalsaBlock([0, 1, 2, 3].map(|diagonal: usize| self.0[diagonal].add(&x[diagonal])))
    }
}

/// Four quarter rounds, one a lane.
#[track_caller]
fn quarter_rounds([a, b, c, d]: [Value; 4]) -> [Value; 4] {
    let b = b.xor(&a.add(&d).rotate_left(7));
    let c = c.xor(&b.add(&a).rotate_left(9));
    let d = d.xor(&c.add(&b).rotate_left(13));
    let a = a.xor(&d.add(&c).rotate_left(18));
    [a, b, c, d]
}

#[track_caller]
fn block_mix(blocks: &[SalsaBlock]) -> Vec<SalsaBlock> {
    let mut x = blocks.last().expect("there is a block").clone();
    let (mut even, mut odd) = (Vec::new(), Vec::new());
    for (index, block) in blocks.iter().enumerate() {
        x = x.xor(block).salsa20_8();
        if index % 2 == 0 { &mut even } else { &mut odd }.push(x.clone());
    }
    even.extend(odd);
    even
}

/// What `n` steps that fill the memory and `n` that read it make of the blocks; `n` is a power of two.
#[track_caller]
pub(super) fn ro_mix(
    tracer: &Tracer,
    mut x: Vec<SalsaBlock>,
    n: u64,
    method: Option<MemoryMethod>,
) -> Vec<SalsaBlock> {
    let elements = vec![HALF; 2 * x.len()];
    let mut memory = Memory::zeros(tracer, "rows", &elements, n, method);
    x = tracer.repeat(n, x, |x| {
        let row: Vec<Value> = x.iter().flat_map(SalsaBlock::halves).collect();
        memory.set_each_iteration(0, 1, &row);
        block_mix(&x)
    });
    tracer.repeat(n, x, |x| {
        // Integerify: the last block's first word modulo n.
        let last = x.last().expect("there is a block");
        let index = last.0[0].lane_slice(0, 1).bit_slice(0, n.ilog2() as u16);
        let row = memory.read(&index);
        let blocks = x.iter().zip(row.chunks(2));
        let sums: Vec<SalsaBlock> =
            blocks.map(|(block, halves)| block.xor(&SalsaBlock::from_halves(halves))).collect();
        block_mix(&sums)
    })
}

impl LoopState for SalsaBlock {
    fn values(&self, values: &mut Vec<Value>) {
        values.extend_from_slice(&self.0);
    }

    fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> SalsaBlock {
        SalsaBlock(self.0.each_ref().map(|value| value.rebuilt(values)))
    }
}
