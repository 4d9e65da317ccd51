use super::*;

fn block(hex: u128) -> Block {
    // RFC 8452 writes the bytes of a block in order.
    Block::from_bits(hex.swap_bytes())
}

/// RFC 8452, appendix A.
#[test]
fn the_published_vector_on_every_kernel() {
    let key = block(0x2562_9347_5892_4276_1d31_f826_ba4b_757b);
    let first = block(0x4f4f_9566_8c83_dfb6_4017_62bb_2d01_a262);
    let second = block(0xd1a2_4ddd_2721_d006_bbe4_5f20_d3c9_f362);
    let expected = block(0xf7a3_b47b_8461_19fa_e5b7_866c_f5e5_b77e);
    for kernel in Kernel::supported() {
        let hash = Polyval::new(kernel, key).hash(first.as_bytes(), second);
        assert_eq!(hash.to_bits(), expected.to_bits(), "{}", kernel.name());
    }
}

/// Lengths around blocks, vectors, steps and pages; the portable form is the `polyval` crate.
#[test]
fn every_kernel_gives_the_hash_of_the_portable_one() {
    let mut prg = crate::Prg::with_kernel(Kernel::PORTABLE, Block::from_bits(8452));
    let mut content = vec![Block::ZERO; 4100];
    prg.fill_blocks(&mut content);
    let content = content.as_bytes();
    let around = |length: usize| (length - 2)..(length + 18);
    let lengths = (0..130).chain(around(1008)).chain(around(1024)).chain(around(2048));
    for length in lengths.chain(around(65_536)) {
        let (key, last) = (prg.next_block(), prg.next_block());
        let expected = Polyval::new(Kernel::PORTABLE, key).hash(&content[..length], last);
        for kernel in Kernel::supported() {
            let hash = Polyval::new(kernel, key).hash(&content[..length], last);
            assert_eq!(hash.to_bits(), expected.to_bits(), "{}, {length}", kernel.name());
        }
    }
}

/// The key with all coefficients set and the zero key reach both ends of the reduction.
#[test]
fn extreme_keys_and_contents() {
    for key in [0, 1, 1 << 127, u128::MAX, 1 << 64, u128::from(u64::MAX)] {
        for filling in [0, 0xFF] {
            let content = [filling; 3 * 1024 + 5];
            let key = Block::from_bits(key);
            let last = Block::from_bits(u128::MAX);
            let expected = Polyval::new(Kernel::PORTABLE, key).hash(&content, last);
            for kernel in Kernel::supported() {
                let hash = Polyval::new(kernel, key).hash(&content, last);
                assert_eq!(hash.to_bits(), expected.to_bits(), "{}", kernel.name());
            }
        }
    }
}
