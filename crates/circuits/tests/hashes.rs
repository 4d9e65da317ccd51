//! AES-128 and SHA-256 against published vectors and other implementations.

mod common;

use aes::cipher::{BlockCipherEncrypt, KeyInit};
use common::{TestRng, unwritten};
use phineus_circuits::{ClearAlgebra, CountingAlgebra, DepthAlgebra};

/// Bit-major wires of byte strings, one per lane: bit `i` is bit `i % 8` of byte `i / 8`.
fn bytes_to_wires<const N: usize>(values: &[[u8; N]]) -> Vec<u8> {
    let bit = |i: usize| values.iter().map(move |value| value[i / 8] >> (i % 8) & 1);
    (0..8 * N).flat_map(bit).collect()
}

fn wires_to_bytes<const N: usize>(wires: &[u8], lanes: usize) -> Vec<[u8; N]> {
    assert!(wires.iter().all(|&wire| wire <= 1), "every output wire was written");
    let byte = |j: usize, k: usize| {
        (0..8).fold(0, |byte, bit| byte | wires[(8 * k + bit) * lanes + j] << bit)
    };
    (0..lanes).map(|j| std::array::from_fn(|k| byte(j, k))).collect()
}

fn random_bytes<const N: usize>(random: &mut TestRng, lanes: usize) -> Vec<[u8; N]> {
    (0..lanes).map(|_| std::array::from_fn(|_| random.word() as u8)).collect()
}

mod aes_128 {
    use super::*;
    use phineus_circuits::aes::*;

    fn encrypt(keys: &[[u8; 16]], blocks: &[[u8; 16]]) -> [Vec<[u8; 16]>; 2] {
        let lanes = keys.len();
        let (key, block) = (bytes_to_wires(keys), bytes_to_wires(blocks));
        let alg = &mut ClearAlgebra;
        let mut out = unwritten(128 * lanes);
        aes128(alg, &mut out, &key, &block, lanes, &mut unwritten(scratch_wires(lanes)));
        let together = wires_to_bytes(&out, lanes);

        let mut round_keys = unwritten(ROUND_KEYS * 128 * lanes);
        let mut out = unwritten(128 * lanes);
        let scratch = &mut unwritten(scratch_wires(lanes));
        aes128_key_schedule(alg, &mut round_keys, &key, lanes, scratch);
        let scratch = &mut unwritten(scratch_wires(lanes));
        aes128_encrypt_with_round_keys(alg, &mut out, &round_keys, &block, lanes, scratch);
        [together, wires_to_bytes(&out, lanes)]
    }

    fn hex(text: &str) -> [u8; 16] {
        std::array::from_fn(|i| {
            u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("a vector is hexadecimal")
        })
    }

    #[test]
    fn fips_197_vectors() {
        // FIPS 197, appendix B and appendix C.1.
        let keys =
            [hex("2b7e151628aed2a6abf7158809cf4f3c"), hex("000102030405060708090a0b0c0d0e0f")];
        let blocks =
            [hex("3243f6a8885a308d313198a2e0370734"), hex("00112233445566778899aabbccddeeff")];
        let wanted =
            [hex("3925841d02dc09fbdc118597196a0b32"), hex("69c4e0d86a7b0430d8cdb78070b4c55a")];
        for got in encrypt(&keys, &blocks) {
            assert_eq!(got, wanted);
        }
    }

    #[test]
    fn fips_197_key_expansion() {
        // FIPS 197, appendix A.1: the last round key.
        let key = bytes_to_wires(&[hex("2b7e151628aed2a6abf7158809cf4f3c")]);
        let mut round_keys = unwritten(ROUND_KEYS * 128);
        let scratch = &mut unwritten(scratch_wires(1));
        aes128_key_schedule(&mut ClearAlgebra, &mut round_keys, &key, 1, scratch);
        assert_eq!(round_keys[..128], key);
        let last = wires_to_bytes(&round_keys[10 * 128..], 1);
        assert_eq!(last, [hex("d014f9a8c9ee2589e13f0cc8b6630ca6")]);
    }

    #[test]
    fn random_blocks_against_the_aes_crate() {
        let seed = 0x5eed_0005;
        println!("seed {seed:#x}");
        let mut random = TestRng(seed);
        for lanes in [1, 2, 3, 7, 16, 33, 63, 64, 65, 130] {
            let keys: Vec<[u8; 16]> = random_bytes(&mut random, lanes);
            let blocks: Vec<[u8; 16]> = random_bytes(&mut random, lanes);
            let wanted: Vec<[u8; 16]> = keys
                .iter()
                .zip(&blocks)
                .map(|(key, block)| {
                    let mut block = (*block).into();
                    aes::Aes128::new(&(*key).into()).encrypt_block(&mut block);
                    block.into()
                })
                .collect();
            for got in encrypt(&keys, &blocks) {
                assert_eq!(got, wanted, "{lanes} lanes");
            }
        }
    }

    #[test]
    fn costs() {
        for lanes in [1, 5, 16, 100] {
            let scratch = &mut vec![(); scratch_wires(lanes)];
            let (key, mut out) = (vec![(); 128 * lanes], vec![(); 128 * lanes]);
            let mut round_keys = vec![(); ROUND_KEYS * 128 * lanes];
            let mut counter = CountingAlgebra::default();
            aes128(&mut counter, &mut out, &key, &key, lanes, scratch);
            assert_eq!(counter.ands, 6400 * lanes as u64);
            let mut counter = CountingAlgebra::default();
            aes128_key_schedule(&mut counter, &mut round_keys, &key, lanes, scratch);
            assert_eq!(counter.ands, 1280 * lanes as u64);
            let mut counter = CountingAlgebra::default();
            let alg = &mut counter;
            aes128_encrypt_with_round_keys(alg, &mut out, &round_keys, &key, lanes, scratch);
            assert_eq!(counter.ands, 5120 * lanes as u64);
        }
        // One lane: six batches in each of ten rounds for the state, and six for the round key.
        let scratch = &mut [(); scratch_wires(1)];
        let mut counter = CountingAlgebra::default();
        aes128(&mut counter, &mut [(); 128], &[(); 128], &[(); 128], 1, scratch);
        assert_eq!(counter.and_batches, 2 * 10 * 6);
        let (mut out, scratch) = ([0; 128], &mut [0; scratch_wires(1)]);
        aes128(&mut DepthAlgebra, &mut out, &[0; 128], &[0; 128], 1, scratch);
        assert_eq!(out.iter().max(), Some(&60));
    }
}

mod sha_256 {
    use super::*;
    use phineus_circuits::sha256::*;
    use sha2::block_api::compress256;

    /// Words to bit-major wires, least significant bit first.
    fn words_to_wires<const N: usize>(values: &[[u32; N]]) -> Vec<u8> {
        let bit = |i: usize| values.iter().map(move |v| (v[i / 32] >> (i % 32) & 1) as u8);
        (0..32 * N).flat_map(bit).collect()
    }

    fn compress(states: &[[u32; 8]], blocks: &[[u32; 16]]) -> Vec<[u32; 8]> {
        let lanes = states.len();
        let (state, block) = (words_to_wires(states), words_to_wires(blocks));
        let mut out = unwritten(256 * lanes);
        let scratch = &mut unwritten(scratch_wires(lanes));
        sha256_compress(&mut ClearAlgebra, &mut out, &state, &block, lanes, scratch);
        wires_to_bytes::<32>(&out, lanes)
            .into_iter()
            .map(|bytes| {
                std::array::from_fn(|k| {
                    u32::from_le_bytes(std::array::from_fn(|i| bytes[4 * k + i]))
                })
            })
            .collect()
    }

    const INITIAL: [u32; 8] = [
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
        0x5be0cd19,
    ];

    #[test]
    fn the_hash_of_abc() {
        // FIPS 180-2, appendix B.1.
        let mut block = [0; 16];
        block[0] = 0x61626380;
        block[15] = 24;
        let wanted = [
            0xba7816bf, 0x8f01cfea, 0x414140de, 0x5dae2223, 0xb00361a3, 0x96177a9c, 0xb410ff61,
            0xf20015ad,
        ];
        assert_eq!(compress(&[INITIAL], &[block]), [wanted]);
    }

    #[test]
    fn random_blocks_against_the_sha2_crate() {
        let seed = 0x5eed_0006;
        println!("seed {seed:#x}");
        let mut random = TestRng(seed);
        for lanes in [1, 2, 3, 7, 16, 33] {
            let mut words = |_| random.word() as u32;
            let states: Vec<[u32; 8]> =
                (0..lanes).map(|_| std::array::from_fn(&mut words)).collect();
            let blocks: Vec<[u32; 16]> =
                (0..lanes).map(|_| std::array::from_fn(&mut words)).collect();
            let wanted: Vec<[u32; 8]> = states
                .iter()
                .zip(&blocks)
                .map(|(state, block)| {
                    let mut state = *state;
                    let mut bytes = [0; 64];
                    for (bytes, word) in bytes.chunks_exact_mut(4).zip(block) {
                        bytes.copy_from_slice(&word.to_be_bytes());
                    }
                    compress256(&mut state, &[bytes]);
                    state
                })
                .collect();
            assert_eq!(compress(&states, &blocks), wanted, "{lanes} lanes");
        }
    }

    #[test]
    fn costs() {
        for lanes in [1, 5] {
            let mut counter = CountingAlgebra::default();
            let (state, block) = (vec![(); 256 * lanes], vec![(); 512 * lanes]);
            let (mut out, mut scratch) = (state.clone(), vec![(); scratch_wires(lanes)]);
            sha256_compress(&mut counter, &mut out, &state, &block, lanes, &mut scratch);
            assert_eq!(counter.ands, SHA256_ANDS * lanes as u64);
            assert!(counter.and_batches < 2500, "batches do not depend on the lanes");
        }
        let (mut out, mut scratch) = ([0; 256], vec![0; scratch_wires(1)]);
        sha256_compress(&mut DepthAlgebra, &mut out, &[0; 256], &[0; 512], 1, &mut scratch);
        assert!(out.iter().max() < Some(&2500), "ripples of a round run in step");
    }
}
