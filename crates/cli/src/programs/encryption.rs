//! `aes128` and `sha256`: standard primitives on many blocks.

use phineus_bytecode::{Column, ElementType, Encoding, Instruction, Lane, Op, Table};
use phineus_frontend::{
    Arguments, Element, Parameter, Program, ProgramError, Tracer, U128, U256, Value, column,
};

use super::random::Random;
use super::sorting::{receivers, to_parameter};
use super::{SITES, sites};

/// Encrypts blocks under the other site's key.
pub(super) struct Aes128;

/// Hashes messages of one block.
pub(super) struct Sha256;

/// The pieces of `width` bits in reverse order: no gates.
///
/// Hexadecimal text has the first byte, or word, on top; the operations have it at bit 0.
#[track_caller]
fn reversed_pieces(value: &Value, width: u16) -> Value {
    let count = value.width() / width;
    let mut pieces: Vec<Value> =
        (0..count).rev().map(|index| value.bit_slice(index * width, width)).collect();
    // In pairs, so that each wire is copied log times.
    while pieces.len() > 1 {
        let pairs = pieces.chunks(2).map(|pair| match pair {
            [low, high] => low.bit_concat(high),
            _ => pair[0].clone(),
        });
        pieces = pairs.collect();
    }
    pieces.pop().expect("a value has a piece")
}

/// As [`reversed_pieces`], in plain integers.
fn reversed_lane(lane: Lane, lane_width: usize, width: usize) -> Lane {
    let mask = (Lane::ONE << width) - Lane::ONE;
    (0..lane_width / width)
        .fold(Lane::ZERO, |result, index| (result << width) | ((lane >> (index * width)) & mask))
}

/// What the operation means on single lanes.
fn meaning(op: Op, width: u16, operands: &[Lane]) -> Lane {
    let instruction = Instruction::new(op, ElementType::unsigned(width), 1);
    let operands: Vec<Vec<Lane>> = operands.iter().map(|&lane| vec![lane]).collect();
    let meaning = op.info().meaning.expect("it computes");
    meaning(&instruction, &operands)[0][0]
}

fn block_column(name: &str) -> Column {
    column(name, ElementType::unsigned(128), Encoding::Hex)
}

impl Program for Aes128 {
    fn name(&self) -> &str {
        "aes128"
    }

    fn about(&self) -> &str {
        "site_b's blocks under site_a's AES-128 key, as hexadecimal text in the order of FIPS-197"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("n", "1000", "blocks, where no file says"), to_parameter("both")]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let key = tracer.input("key", 1).by(SITES[0]).hex::<U128>("key").vector::<U128>();
        let blocks = tracer
            .input("blocks", arguments.rows("blocks")?)
            .by(SITES[1])
            .hex::<U128>("block")
            .vector::<U128>();
        let round_keys = reversed_pieces(key.get(0).value(), 8).aes128_key_schedule();
        let encrypted = blocks.chunks().iter().map(|chunk| {
            reversed_pieces(&reversed_pieces(chunk, 8).aes128_round_keys(&round_keys), 8)
        });
        tracer
            .output("result", &receivers(arguments)?)
            .chunks(block_column("encrypted"), encrypted.collect())
            .write();
        Ok(())
    }

    fn twin(&self, _: &Arguments, inputs: &[Table]) -> Option<Result<Vec<Table>, ProgramError>> {
        let key = reversed_lane(inputs[0].cell(0, 0), 128, 8);
        let mut table = Table::new(vec![block_column("encrypted")]);
        for row in 0..inputs[1].row_count() {
            let block = reversed_lane(inputs[1].cell(row, 0), 128, 8);
            let encrypted = meaning(Op::Aes128, 128, &[key, block]);
            table.push(&[reversed_lane(encrypted, 128, 8)]);
        }
        Some(Ok(vec![table]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let mut random = Random::new(seed);
        let mut key = Table::new(vec![block_column("key")]);
        key.push(&[random.bits(128)]);
        let mut blocks = Table::new(vec![block_column("block")]);
        for _ in 0..arguments.rows("blocks").ok()? {
            blocks.push(&[random.bits(128)]);
        }
        Some(vec![key, blocks])
    }
}

/// FIPS 180-4, section 5.3.3: the initial state, word 0 first.
const SHA256_STATE: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

fn initial_state() -> Lane {
    SHA256_STATE.iter().rev().fold(Lane::ZERO, |state, &word| (state << 32) | Lane::from(word))
}

fn half_column(name: &str) -> Column {
    column(name, ElementType::unsigned(256), Encoding::Hex)
}

impl Program for Sha256 {
    fn name(&self) -> &str {
        "sha256"
    }

    fn about(&self) -> &str {
        "the SHA-256 digests of site_a's messages, each one padded block in two hexadecimal halves"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::new("n", "1000", "messages, where no file says"), to_parameter("site_b")]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let messages = tracer
            .input("messages", arguments.rows("messages")?)
            .by(SITES[0])
            .hex::<U256>("first_half")
            .hex::<U256>("second_half")
            .read();
        let state = tracer.constant(ElementType::unsigned(256), initial_state());
        let halves = messages.chunks(0).iter().zip(messages.chunks(1));
        let digests = halves.map(|(first, second)| {
            let (first, second) = (reversed_pieces(first, 32), reversed_pieces(second, 32));
            reversed_pieces(&state.sha256_compress(&first, &second), 32)
        });
        tracer
            .output("result", &receivers(arguments)?)
            .chunks(half_column("digest"), digests.collect())
            .write();
        Ok(())
    }

    fn twin(&self, _: &Arguments, inputs: &[Table]) -> Option<Result<Vec<Table>, ProgramError>> {
        let mut table = Table::new(vec![half_column("digest")]);
        for row in 0..inputs[0].row_count() {
            let [first, second] =
                [0, 1].map(|column| reversed_lane(inputs[0].cell(row, column), 256, 32));
            let digest = meaning(Op::Sha256Compress, 256, &[initial_state(), first, second]);
            table.push(&[reversed_lane(digest, 256, 32)]);
        }
        Some(Ok(vec![table]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let mut random = Random::new(seed);
        let columns = ["first_half", "second_half"].map(half_column).to_vec();
        let mut table = Table::new(columns);
        for _ in 0..arguments.rows("messages").ok()? {
            table.push(&[random.bits(256), random.bits(256)]);
        }
        Some(vec![table])
    }
}
