//! Several gates at once: lanes are gates, in 2 or 4 vectors; key schedules go by words.
//!
//! A step of `VECTORS` vectors is at most `4 * VECTORS` gates; its key schedules fill `SETS` sets
//! of words, each of which serves two vectors. Per round and set: 15 instructions for the keys;
//! per round and vector: 4 AES instructions to garble, 2 to evaluate. Two sets in one step keep
//! the execution units busy while each waits for its own S-box.

use crate::x86::RCON;
use crate::x86::key_words::{KeyWords, TweakedKeys};
use crate::x86::zmm::{
    V, WIDTH, aesenc, aesenclast, load, load_rows, select_mask, sigma, splat, store, store_rows,
    xor, xor_if, xor3, zero,
};
use crate::{AndIndex, Block, Delta, GarbledGate};

/// Bytes of the rows of the gates in one vector.
const ROWS: usize = WIDTH * GarbledGate::BYTES;

/// Garbles any number of gates, in steps of `4 * VECTORS`; the last one may be shorter.
#[inline(never)]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(super) fn garble<const VECTORS: usize, const SETS: usize>(
    start: Block,
    delta: &Delta,
    first_index: AndIndex,
    a: &[Block],
    b: &[Block],
    out: &mut [Block],
    rows: &mut [u8],
) {
    let delta = splat(delta.block());
    let mut keys = TweakedKeys::new(start, first_index.tweaks().0);
    let step = WIDTH * VECTORS;
    let labels = a.chunks(step).zip(b.chunks(step)).zip(out.chunks_mut(step));
    for (((a, b), out), rows) in labels.zip(rows.chunks_mut(ROWS * VECTORS)) {
        let labels = [load_all::<VECTORS>(a), load_all::<VECTORS>(b)];
        let keys = std::array::from_fn::<_, SETS, _>(|_| keys.next_keys());
        let hashes = hash_both(keys, labels, delta);

        let outputs = out.chunks_mut(WIDTH).zip(rows.chunks_mut(ROWS));
        for (v, (out, rows)) in (0..VECTORS).zip(outputs) {
            let (a0, b0) = (labels[0][v], labels[1][v]);
            let ([ha0, ha1], [hb0, hb1]) = (hashes[0][v], hashes[1][v]);
            let (pa, pb) = (select_mask(a0), select_mask(b0));
            let (ha, hb) = (xor(ha0, ha1), xor(hb0, hb1));
            let garbler_half = xor_if(ha, pb, delta);
            let wg0 = xor_if(ha0, pa, garbler_half);
            let we0 = xor_if(hb0, pb, hb);
            store(out, xor(wg0, we0));
            store_rows(rows, garbler_half, xor(hb, a0));
        }
    }
}

/// Evaluates any number of gates, in steps as [`garble`].
#[inline(never)]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(super) fn evaluate<const VECTORS: usize, const SETS: usize>(
    start: Block,
    first_index: AndIndex,
    a: &[Block],
    b: &[Block],
    out: &mut [Block],
    rows: &[u8],
) {
    let mut keys = TweakedKeys::new(start, first_index.tweaks().0);
    let step = WIDTH * VECTORS;
    let labels = a.chunks(step).zip(b.chunks(step)).zip(out.chunks_mut(step));
    for (((a, b), out), rows) in labels.zip(rows.chunks(ROWS * VECTORS)) {
        let labels = [load_all::<VECTORS>(a), load_all::<VECTORS>(b)];
        let keys = std::array::from_fn::<_, SETS, _>(|_| keys.next_keys());
        let [ha, hb] = hash_active(keys, labels);

        let outputs = out.chunks_mut(WIDTH).zip(rows.chunks(ROWS));
        for (v, (out, rows)) in (0..VECTORS).zip(outputs) {
            let (a, b) = (labels[0][v], labels[1][v]);
            let (garbler_half, evaluator_half) = load_rows(rows);
            let known = xor_if(zero(), select_mask(a), garbler_half);
            let known = xor_if(known, select_mask(b), xor(evaluator_half, a));
            store(out, xor3(ha[v], hb[v], known));
        }
    }
}

/// The hashes of garbling or evaluating that many gates and nothing else: the limit.
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
pub(in crate::half_gates) fn hashes_alone(start: Block, garbling: bool, gates: usize) -> Block {
    let delta = splat(start);
    let mut keys = TweakedKeys::new(start, 0);
    let mut sum = zero();
    for _ in 0..gates.div_ceil(4 * WIDTH) {
        let keys = [keys.next_keys(), keys.next_keys()];
        let labels = [[delta; 4]; 2];
        if garbling {
            for [first, second] in hash_both(keys, labels, delta).into_iter().flatten() {
                sum = xor3(sum, first, second);
            }
        } else {
            for hash in hash_active(keys, labels).into_iter().flatten() {
                sum = xor(sum, hash);
            }
        }
    }
    let mut out = [Block::ZERO; WIDTH];
    store(&mut out, sum);
    out[0]
}

/// The labels in `blocks`, zeros where there are none.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn load_all<const VECTORS: usize>(blocks: &[Block]) -> [V; VECTORS] {
    let mut vectors = [zero(); VECTORS];
    for (vector, blocks) in vectors.iter_mut().zip(blocks.chunks(WIDTH)) {
        *vector = load(blocks);
    }
    vectors
}

/// `[H(x), H(x ^ delta)]` for every vector of both inputs: the first under the garbler's keys,
/// the second under the evaluator's.
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn hash_both<const VECTORS: usize, const SETS: usize>(
    mut keys: [KeyWords; SETS],
    labels: [[V; VECTORS]; 2],
    delta: V,
) -> [[[V; 2]; VECTORS]; 2] {
    let difference = sigma(delta);
    let mut state = [[[delta; 2]; VECTORS]; 2];
    let round_keys = keys.map(|keys| keys.round_keys());
    for v in 0..VECTORS {
        for n in 0..2 {
            let first = xor(sigma(labels[n][v]), key_of(&round_keys, n, v));
            state[n][v] = [first, xor(first, difference)];
        }
    }
    let mut rcon = first_rcon();
    loop {
        keys = keys.map(|keys| keys.next_round(rcon));
        let round_keys = keys.map(|keys| keys.round_keys());
        for v in 0..VECTORS {
            for n in 0..2 {
                let key = key_of(&round_keys, n, v);
                state[n][v] = [aesenc(state[n][v][0], key), aesenc(state[n][v][1], key)];
            }
        }
        rcon = next_rcon(rcon);
        if rcon == RCON[9] {
            break;
        }
    }
    let round_keys = keys.map(|keys| keys.next_round(RCON[9]).round_keys());
    for v in 0..VECTORS {
        for n in 0..2 {
            // The feed-forward of the hash, folded into the last round key.
            let first = xor(sigma(labels[n][v]), key_of(&round_keys, n, v));
            let [state0, state1] = state[n][v];
            state[n][v] = [
                aesenclast(state0, first),
                aesenclast(state1, xor(first, difference)),
            ];
        }
    }
    state
}

/// `H(x)` for every vector of both inputs, under keys as in [`hash_both`].
#[inline]
#[target_feature(enable = "vaes,avx512f,avx512bw,avx512vl,gfni,aes")]
fn hash_active<const VECTORS: usize, const SETS: usize>(
    mut keys: [KeyWords; SETS],
    labels: [[V; VECTORS]; 2],
) -> [[V; VECTORS]; 2] {
    let mut state = labels;
    let round_keys = keys.map(|keys| keys.round_keys());
    for v in 0..VECTORS {
        for n in 0..2 {
            state[n][v] = xor(sigma(labels[n][v]), key_of(&round_keys, n, v));
        }
    }
    let mut rcon = first_rcon();
    loop {
        keys = keys.map(|keys| keys.next_round(rcon));
        let round_keys = keys.map(|keys| keys.round_keys());
        for v in 0..VECTORS {
            for n in 0..2 {
                state[n][v] = aesenc(state[n][v], key_of(&round_keys, n, v));
            }
        }
        rcon = next_rcon(rcon);
        if rcon == RCON[9] {
            break;
        }
    }
    let round_keys = keys.map(|keys| keys.next_round(RCON[9]).round_keys());
    for v in 0..VECTORS {
        for n in 0..2 {
            let last = xor(sigma(labels[n][v]), key_of(&round_keys, n, v));
            state[n][v] = aesenclast(state[n][v], last);
        }
    }
    state
}

/// The round key of vector `v` for input `n`: a set has two vectors for each input.
#[inline]
fn key_of<const SETS: usize>(round_keys: &[[V; 4]; SETS], n: usize, v: usize) -> V {
    round_keys[v / 2][2 * n + v % 2]
}

/// The first round constant, which the compiler must not know, so that the loop stays one.
///
/// Unrolled, it is ordered by register pressure: all key schedules first, then one state after
/// the other, which waits for every AES instruction and spills a hundred registers. (The loop
/// tests at its end, since a test before it makes paths that meet through memory.)
#[inline]
fn first_rcon() -> i32 {
    std::hint::black_box(RCON[0])
}

/// The next round constant: the product with x in the field of AES.
#[inline]
fn next_rcon(rcon: i32) -> i32 {
    (rcon << 1) ^ ((rcon >> 7) * 0x11B)
}
