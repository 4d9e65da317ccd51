//! `aes128` and `sha256`: standard primitives on many blocks, among two or more parties.
//!
//! Either the first party has the key, or the messages, and the second the blocks, and the others
//! bring nothing; or each brings a table of every input, and the key and the blocks are the
//! exclusive or of all of them, so that nobody knows them.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Instruction, Lane, Op, Table};
use phineus_frontend::{
    Arguments, Parameter, Program, ProgramError, Tracer, Value, column, parties_parameter,
    party_names, receivers, to_parameter,
};

use super::choices::choice;
use super::random::random_table;
use super::sites;

/// Encrypts blocks under the other site's key.
pub(super) struct Aes128;

/// Hashes messages of one block.
pub(super) struct Sha256;

/// The pieces of `width` bits in reverse order.
///
/// Hexadecimal text has the first byte, or word, on top; the operations have it at bit 0.
fn reversed_lane(lane: Lane, lane_width: usize, width: usize) -> Lane {
    let mask = (Lane::ONE << width) - Lane::ONE;
    (0..lane_width / width)
        .fold(Lane::ZERO, |result, index| (result << width) | ((lane >> (index * width)) & mask))
}

/// Result of the operation on single lanes.
fn meaning(op: Op, width: u16, operands: &[Lane]) -> Lane {
    let instruction = Instruction::new(op, ElementType::unsigned(width), 1);
    let operands: Vec<Vec<Lane>> = operands.iter().map(|&lane| vec![lane]).collect();
    let meaning = op.info().meaning.expect("it computes");
    meaning(&instruction, &operands)[0][0]
}

fn block_column(name: &str) -> Column {
    column(name, ElementType::unsigned(128), Encoding::Hex)
}

/// Whether all parties bring a part of every input, as parameter `inputs` says.
fn is_shared(arguments: &Arguments) -> Result<bool, ProgramError> {
    Ok(choice(arguments, "inputs", &["owners", "shared"])? == "shared")
}

fn parameters(n: &str, to: &str) -> Vec<Parameter> {
    vec![
        Parameter::new("n", "1000", n),
        Parameter::new("inputs", "owners", "who brings them: owners, or shared by all parties"),
        parties_parameter("2"),
        to_parameter(to),
    ]
}

/// The ports of an input: name and party. One for each party if it is shared.
fn ports(
    name: &str,
    owner: usize,
    arguments: &Arguments,
    names: &[String],
) -> Result<Vec<(String, String)>, ProgramError> {
    if !is_shared(arguments)? {
        return Ok(vec![(name.to_owned(), names[owner].clone())]);
    }
    Ok(names.iter().map(|party| (format!("{name}_{party}"), party.clone())).collect())
}

/// How many rows the ports have, which is the same for all.
fn rows_of(ports: &[(String, String)], arguments: &Arguments) -> Result<u64, ProgramError> {
    arguments.equal_rows(ports.iter().map(|(port, _)| port.as_str()), "n")
}

/// The chunks of `columns`, each the exclusive or of all ports.
#[track_caller]
fn read(
    tracer: &Tracer,
    ports: &[(String, String)],
    rows: u64,
    columns: &[Column],
) -> Vec<Vec<Value>> {
    let tables = ports.iter().map(|(port, party)| {
        let mut input = tracer.input(port, rows).by(party);
        for column in columns {
            input = input.column(column.clone());
        }
        input.read().into_columns()
    });
    let all = tables.reduce(|sum, table| {
        let columns = sum.iter().zip(&table);
        columns.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a.xor(b)).collect()).collect()
    });
    all.expect("an input has a port")
}

/// The cells of a column that is the exclusive or of tables.
fn cell(tables: &[Table], row: u64, column: usize) -> Lane {
    tables.iter().fold(Lane::ZERO, |sum, table| sum ^ table.cell(row, column))
}

impl Program for Aes128 {
    fn name(&self) -> &str {
        "aes128"
    }

    fn about(&self) -> &str {
        "site_b's blocks under site_a's AES-128 key, as hexadecimal text in the order of FIPS-197"
    }

    fn parameters(&self) -> Vec<Parameter> {
        parameters("blocks, where no file says", "all")
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        party_names(arguments)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let names = party_names(arguments)?;
        let [key_ports, block_ports] =
            [ports("key", 0, arguments, &names)?, ports("blocks", 1, arguments, &names)?];
        let rows = rows_of(&block_ports, arguments)?;
        let key = read(tracer, &key_ports, 1, &[block_column("key")]);
        let blocks = read(tracer, &block_ports, rows, &[block_column("block")]);
        let round_keys = key[0][0].reverse_pieces(8).aes128_key_schedule();
        let encrypted = blocks[0]
            .iter()
            .map(|chunk| chunk.reverse_pieces(8).aes128_round_keys(&round_keys).reverse_pieces(8));
        tracer
            .output("result", &receivers(arguments, &names)?)
            .chunks(block_column("encrypted"), encrypted.collect())
            .write();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let (keys, blocks) = inputs.split_at(inputs.len() / 2);
        let key = reversed_lane(cell(keys, 0, 0), 128, 8);
        let mut table = Table::new(vec![block_column("encrypted")]);
        for row in 0..blocks[0].row_count() {
            let block = reversed_lane(cell(blocks, row, 0), 128, 8);
            let encrypted = meaning(Op::Aes128, 128, &[key, block]);
            table.push(&[reversed_lane(encrypted, 128, 8)]);
        }
        Some(Ok(vec![table]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let names = party_names(arguments).ok()?;
        let block_ports = ports("blocks", 1, arguments, &names).ok()?;
        let rows = rows_of(&block_ports, arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let sizes = [("key", 1), ("block", rows)];
        let mut tables = Vec::new();
        for (name, rows) in sizes {
            for _ in &block_ports {
                tables.push(random_table(vec![block_column(name)], rows, &mut random));
            }
        }
        Some(tables)
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

pub(super) fn initial_state() -> Lane {
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
        parameters("messages, where no file says", "site_b")
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        party_names(arguments)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let names = party_names(arguments)?;
        let ports = ports("messages", 0, arguments, &names)?;
        let columns = ["first_half", "second_half"].map(half_column);
        let messages = read(tracer, &ports, rows_of(&ports, arguments)?, &columns);
        let state = tracer.constant(ElementType::unsigned(256), initial_state());
        let halves = messages[0].iter().zip(&messages[1]);
        let digests = halves.map(|(first, second)| {
            let (first, second) = (first.reverse_pieces(32), second.reverse_pieces(32));
            state.sha256_compress(&first, &second).reverse_pieces(32)
        });
        tracer
            .output("result", &receivers(arguments, &names)?)
            .chunks(half_column("digest"), digests.collect())
            .write();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let mut table = Table::new(vec![half_column("digest")]);
        for row in 0..inputs[0].row_count() {
            let [first, second] =
                [0, 1].map(|column| reversed_lane(cell(inputs, row, column), 256, 32));
            let digest = meaning(Op::Sha256Compress, 256, &[initial_state(), first, second]);
            table.push(&[reversed_lane(digest, 256, 32)]);
        }
        Some(Ok(vec![table]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let names = party_names(arguments).ok()?;
        let ports = ports("messages", 0, arguments, &names).ok()?;
        let rows = rows_of(&ports, arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let columns = ["first_half", "second_half"].map(half_column).to_vec();
        let tables = ports.iter().map(|_| random_table(columns.clone(), rows, &mut random));
        Some(tables.collect())
    }
}
