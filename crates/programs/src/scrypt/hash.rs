//! PBKDF2-HMAC-SHA-256 of one iteration, on secret bytes (RFC 8018, RFC 2104).
//!
//! Cost: a compression for each block of 64 bytes of the salt, and 2 or 3 for each 32 bytes of the key; 4 for the
//! password.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Tracer, Value};

use super::super::encryption::initial_state;

/// Bytes, secret or public: one lane of 8 bits each.
pub(super) type Bytes = Vec<Value>;

/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;
/// Digests that fit into one value.
const LANES: usize = 16;

const STATE: ElementType = ElementType::unsigned(256);

/// Public bytes.
#[track_caller]
fn public(tracer: &Tracer, bytes: &[u8]) -> Bytes {
    let byte = |&byte: &u8| tracer.constant(ElementType::unsigned(8), Lane::from(byte));
    bytes.iter().map(byte).collect()
}

/// The bits of all parts, the first lowest.
#[track_caller]
pub(super) fn bits_joined(mut parts: Vec<Value>) -> Value {
    while parts.len() > 1 {
        let pairs = parts.chunks(2).map(|pair| match pair {
            [low, high] => low.bit_concat(high),
            alone => alone[0].clone(),
        });
        parts = pairs.collect();
    }
    parts.pop().expect("there is a part")
}

/// Half a block: the first word lowest, and in each word the first byte on top.
#[track_caller]
fn half(bytes: &[Value]) -> Value {
    bits_joined(bytes.chunks(4).flat_map(|word| word.iter().rev().cloned()).collect())
}

/// The bytes of a digest of one lane.
#[track_caller]
fn digest_bytes(digest: &Value) -> Bytes {
    (0..32).map(|byte| digest.bit_slice(32 * (byte / 4) + 24 - 8 * (byte % 4), 8)).collect()
}

/// What follows a message of `length` bytes (FIPS 180-4, section 5.1.1).
fn padding(length: usize) -> Vec<u8> {
    let zeros = (2 * BLOCK - 9 - length % BLOCK) % BLOCK;
    let bits = 8 * length as u64;
    [vec![0x80], vec![0; zeros], bits.to_be_bytes().to_vec()].concat()
}

#[track_caller]
fn compress(state: Value, blocks: &[Value]) -> Value {
    blocks.chunks(BLOCK).fold(state, |state, block| {
        state.sha256_compress(&half(&block[..BLOCK / 2]), &half(&block[BLOCK / 2..]))
    })
}

#[track_caller]
fn sha256(tracer: &Tracer, message: &[Value]) -> Bytes {
    let padded = [message.to_vec(), public(tracer, &padding(message.len()))].concat();
    digest_bytes(&compress(tracer.constant(STATE, initial_state()), &padded))
}

/// The states of SHA-256 after the two blocks that HMAC makes of its key.
struct HmacKey {
    inner: Value,
    outer: Value,
}

impl HmacKey {
    #[track_caller]
    fn new(tracer: &Tracer, key: &[Value]) -> HmacKey {
        let mut block = if key.len() > BLOCK { sha256(tracer, key) } else { key.to_vec() };
        block.extend(public(tracer, &vec![0; BLOCK - block.len()]));
        let state = |pad: u8| {
            let pad = &public(tracer, &[pad])[0];
            let padded: Bytes = block.iter().map(|byte| byte.xor(pad)).collect();
            compress(tracer.constant(STATE, initial_state()), &padded)
        };
        HmacKey { inner: state(0x36), outer: state(0x5c) }
    }
}

/// The first `length` bytes of the key that `password` and `salt` give.
#[track_caller]
pub(super) fn pbkdf2(tracer: &Tracer, password: &[Value], salt: &[Value], length: usize) -> Bytes {
    let key = HmacKey::new(tracer, password);
    // Blocks differ in their number, which follows the salt: what lies before is hashed once.
    let (same, rest) = salt.split_at(salt.len() / BLOCK * BLOCK);
    let inner = compress(key.inner, same);
    let end = padding(BLOCK + salt.len() + 4);
    let outer_end = public(tracer, &padding(BLOCK + 32));
    let outer_end = half(&outer_end);
    let numbers: Vec<u32> = (1..=length.div_ceil(32) as u32).collect();
    let mut bytes = Bytes::new();
    for numbers in numbers.chunks(LANES) {
        let mut tails = numbers.iter().map(|number| {
            let number = public(tracer, &number.to_be_bytes());
            let tail = [rest.to_vec(), number, public(tracer, &end)].concat();
            tail.chunks(BLOCK / 2).map(half).collect::<Vec<_>>()
        });
        let first = tails.next().expect("there is a number");
        let mut halves: Vec<Vec<Value>> = first.into_iter().map(|half| vec![half]).collect();
        tails.for_each(|tail| halves.iter_mut().zip(tail).for_each(|(all, half)| all.push(half)));
        let joined = |half: Vec<Value>| Value::joined(half).expect("there is a number");
        let halves: Vec<Value> = halves.into_iter().map(joined).collect();
        let digests = halves
            .chunks(2)
            .fold(inner.clone(), |state, block| state.sha256_compress(&block[0], &block[1]));
        let lanes = digests.lanes();
        let digests = key.outer.sha256_compress(&digests, &outer_end.tile(lanes));
        bytes.extend((0..lanes).flat_map(|lane| digest_bytes(&digests.lane_slice(lane, 1))));
    }
    bytes.truncate(length);
    bytes
}
