//! Published vectors, and every kernel against the portable one.

use super::*;
use crate::Kernel;
use zerocopy::IntoBytes;

fn block(bytes: [u8; 16]) -> Block {
    Block::from_bits(u128::from_le_bytes(bytes))
}

/// FIPS 197 appendix C.1, read as one block of key stream: the counter is the plaintext.
#[test]
fn fips_197_appendix_c1() {
    let key = block(std::array::from_fn(|i| i as u8));
    let plaintext: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
    let expected = [
        0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30, 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5,
        0x5a,
    ];
    for kernel in Kernel::supported() {
        let mut out = [0; 16];
        Cipher::new(kernel, key).fill_keystream(u128::from_le_bytes(plaintext), &mut out);
        assert_eq!(out, expected, "{}", kernel.name());
    }
}

/// FIPS 197 appendix B and A.1: another key, whose schedule uses all its round constants.
#[test]
fn fips_197_appendix_b() {
    let key = [
        0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f,
        0x3c,
    ];
    let plaintext = [
        0x32, 0x43, 0xf6, 0xa8, 0x88, 0x5a, 0x30, 0x8d, 0x31, 0x31, 0x98, 0xa2, 0xe0, 0x37, 0x07,
        0x34,
    ];
    let expected = [
        0x39, 0x25, 0x84, 0x1d, 0x02, 0xdc, 0x09, 0xfb, 0xdc, 0x11, 0x85, 0x97, 0x19, 0x6a, 0x0b,
        0x32,
    ];
    for kernel in Kernel::supported() {
        let mut out = [0; 16];
        Cipher::new(kernel, block(key)).fill_keystream(u128::from_le_bytes(plaintext), &mut out);
        assert_eq!(out, expected, "{}", kernel.name());
    }
}

#[test]
fn every_kernel_gives_the_portable_bytes() {
    let key = Block::from_bits(0x8765_4321_0fed_cba9_1111_2222_3333_4444);
    let counter = (77 << 64) | (u128::from(u32::MAX) - 20);
    let portable = Cipher::new(Kernel::PORTABLE, key);
    for kernel in Kernel::supported() {
        let cipher = Cipher::new(kernel, key);
        for length in (0..300).chain([511, 512, 513, 1024, 4096, 5000]) {
            let text: Vec<u8> = (0..length).map(|i| (i * 31) as u8).collect();
            let (mut want, mut got) = (text.clone(), text.clone());
            portable.xor_keystream(counter, &mut want);
            cipher.xor_keystream(counter, &mut got);
            assert!(want == got, "{} XOR of {length} bytes", kernel.name());

            cipher.fill_keystream(counter, &mut got);
            let stream: Vec<u8> = want.iter().zip(&text).map(|(a, b)| a ^ b).collect();
            assert!(stream == got, "{} stream of {length} bytes", kernel.name());
        }
        for count in (0..70).chain([200]) {
            let mut want = vec![Block::ZERO; count];
            portable.fill_keystream(1, want.as_mut_bytes());
            let mut got = want.clone();
            portable.hash_tweaked(5_000_000_000, &mut want);
            cipher.hash_tweaked(5_000_000_000, &mut got);
            assert!(want.as_bytes() == got.as_bytes(), "{} hash of {count}", kernel.name());
        }
    }
}

#[test]
#[should_panic(expected = "counter is exhausted")]
fn a_wrapping_counter_stops_the_process() {
    Cipher::new(Kernel::selected(), Block::ZERO).fill_keystream(u128::from(u64::MAX), &mut [0; 32]);
}

#[test]
#[should_panic(expected = "tweaks of a session")]
fn a_wrapping_tweak_stops_the_process() {
    Cipher::new(Kernel::selected(), Block::ZERO).hash_tweaked(u64::MAX, &mut [Block::ZERO; 2]);
}
