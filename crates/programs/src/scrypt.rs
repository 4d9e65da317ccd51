//! `scrypt`: a key of one party's password and another's salt, by a function that is hard on memory.
//!
//! RFC 7914. Each step of its second half reads a row that the secret state chooses from a [`Memory`], by the method
//! that parameter `memory` says. Zahur et al., "Revisiting Square-Root ORAM", IEEE S&P 2016, section V.
//!
//! Cost: `17,856 n r p` ANDs of Salsa20/8 (`mix.rs`), and `n p` reads of `n` rows of `1024 r` bits.
//!
//! [`Memory`]: phineus_oblivious::Memory

mod hash;
mod mix;
mod plaintext;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Parameter, Program, ProgramError, Tracer, U8, Value, column, receivers, to_parameter,
};
use phineus_oblivious::MemoryMethod;

use super::choices::{memory_method, memory_parameter};
use super::random::random_table;
use super::{sites, unrolled};
use hash::{Bytes, bits_joined, pbkdf2};
use mix::{SalsaBlock, ro_mix};

/// The most bytes of a password, a salt or a key.
const BYTES_MAX: u64 = 1 << 16;

/// The most rows of the memory.
const N_MAX: u64 = 1 << 24;

/// Derives a key from a password.
pub(super) struct Scrypt;

/// The cost parameters of RFC 7914, and how many bytes the key has.
struct Cost {
    n: u64,
    r: u64,
    p: u64,
    length: u64,
}

impl Cost {
    fn of(arguments: &Arguments) -> Result<Cost, ProgramError> {
        let n = arguments.count("n")?;
        if !(2..=N_MAX).contains(&n) || !n.is_power_of_two() {
            return Err(arguments.bad("n", &format!("a power of two, 2 to {N_MAX}")));
        }
        let small = |name: &str| match arguments.count(name)? {
            count if count <= BYTES_MAX => Ok(count),
            _ => Err(arguments.bad(name, &format!("1 to {BYTES_MAX}"))),
        };
        let cost = Cost { n, r: small("r")?, p: small("p")?, length: small("dklen")? };
        // A row is mixed in each of two loops: 2 r blocks of some 180 instructions.
        let mixed = 2 * 180 * 2 * u128::from(cost.r * cost.p);
        unrolled::limited(mixed, "use a smaller r or p")?;
        Ok(cost)
    }
}

/// How many bytes an input has, and nothing if they are too many.
fn bytes_of(arguments: &Arguments, port: &str) -> Result<u64, ProgramError> {
    let bytes = arguments.equal_rows([port], &format!("{port}_bytes"))?;
    if bytes > BYTES_MAX {
        let what = format!("the {port} has at most {BYTES_MAX} bytes, not {bytes}");
        return Err(ProgramError::Refused(what));
    }
    Ok(bytes)
}

fn byte_column() -> Column {
    column("byte", ElementType::unsigned(8), Encoding::Hex)
}

/// Words of 4 bytes, the first lowest.
#[track_caller]
fn words(bytes: &[Value]) -> Vec<Value> {
    bytes.chunks(4).map(|word| bits_joined(word.to_vec())).collect()
}

#[track_caller]
fn mixed(tracer: &Tracer, bytes: &[Value], n: u64, method: Option<MemoryMethod>) -> Bytes {
    let blocks = words(bytes).chunks(16).map(SalsaBlock::new).collect();
    let mixed = ro_mix(tracer, blocks, n, method);
    let words = mixed.iter().flat_map(SalsaBlock::words);
    words.flat_map(|word| (0..4).map(move |byte| word.bit_slice(8 * byte, 8))).collect()
}

impl Program for Scrypt {
    fn name(&self) -> &str {
        "scrypt"
    }

    fn about(&self) -> &str {
        "the scrypt key (RFC 7914) of site_a's password and site_b's salt"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new(
                "n",
                "16",
                "rows of the memory, a power of two (Litecoin: n=1024 r=1 p=1 dklen=32)",
            ),
            Parameter::new("r", "1", "128-byte pieces of a row"),
            Parameter::new("p", "1", "how often the memory is filled and read"),
            Parameter::new("dklen", "64", "bytes of the key"),
            Parameter::new("password_bytes", "8", "bytes of the password, where no file says"),
            Parameter::new("salt_bytes", "8", "bytes of the salt, where no file says"),
            memory_parameter(),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let method = memory_method(arguments)?;
        let cost = Cost::of(arguments)?;
        let sizes = [bytes_of(arguments, "password")?, bytes_of(arguments, "salt")?];
        let names = sites();
        let to = receivers(arguments, &names)?;
        let read = |port: &str, rows: u64, party: &str| -> Bytes {
            let bytes = tracer.input(port, rows).by(party).hex::<U8>("byte").lanes(1).read();
            bytes.into_columns().remove(0)
        };
        let password = read("password", sizes[0], &names[0]);
        let salt = read("salt", sizes[1], &names[1]);
        let part = 128 * cost.r as usize;
        let bytes = pbkdf2(tracer, &password, &salt, part * cost.p as usize);
        let parts = bytes.chunks(part);
        let bytes: Bytes = parts.flat_map(|bytes| mixed(tracer, bytes, cost.n, method)).collect();
        let key = pbkdf2(tracer, &password, &bytes, cost.length as usize);
        tracer.output("key", &to).chunks(byte_column(), key).write();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let bytes = |table: &Table| -> Vec<u8> {
            (0..table.row_count()).map(|row| table.cell(row, 0).as_limbs()[0] as u8).collect()
        };
        Some(Cost::of(arguments).map(|cost| {
            let key = plaintext::scrypt(&bytes(&inputs[0]), &bytes(&inputs[1]), &cost);
            let mut table = Table::new(vec![byte_column()]);
            key.iter().for_each(|&byte| table.push(&[Lane::from(byte)]));
            vec![table]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let mut random = SeededRng::new(seed);
        let mut table = |port: &str| {
            let bytes = bytes_of(arguments, port).ok()?;
            Some(random_table(vec![byte_column()], bytes, &mut random))
        };
        Some(vec![table("password")?, table("salt")?])
    }
}

#[cfg(test)]
mod tests;
