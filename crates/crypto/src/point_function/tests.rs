//! Keys, values and sums of rows against their definitions.

use super::*;

fn fresh() -> (Prg, u128) {
    let seed = Prg::from_os().expect("this machine has randomness").next_block().to_bits();
    (Prg::from_seed(Block::from_bits(seed)), seed)
}

fn values(points: PointBits, key: &[Block]) -> Vec<Block> {
    let mut values = vec![Block::ZERO; points.leaves()];
    evaluate(points, key, &mut values, &mut vec![Block::ZERO; points.leaves()]);
    values
}

#[test]
fn shares_add_up_to_one_at_the_point_alone() {
    let (mut prg, seed) = fresh();
    for bits in [1, 2, 6, 7, 8, 9, 12, 15] {
        let points = PointBits::new(bits);
        for _ in 0..5 {
            let point = prg.next_block().to_bits() as u64 & ((1 << bits) - 1);
            let mut keys = [0; 2].map(|_| vec![Block::ZERO; points.key_blocks()]);
            let [first, second] = &mut keys;
            deal(points, point, &mut prg, [first, second]);
            let [first, second] = keys.map(|key| values(points, &key));
            for (leaf, (first, second)) in first.iter().zip(&second).enumerate() {
                let here = point as usize >> 7 == leaf;
                let expected = if here { 1 << (point & 127) } else { 0 };
                let found = first.to_bits() ^ second.to_bits();
                assert!(found == expected, "{bits} bits, point {point}, leaf {leaf}, seed {seed}");
            }
            // Neither share says where it is.
            let ones: u32 = first.iter().map(|block| block.to_bits().count_ones()).sum();
            assert!(bits < 12 || ones.abs_diff(1 << (bits - 1)) < 1 << (bits - 3), "seed {seed}");
        }
    }
}

#[test]
fn leaves_differ_at_the_point_alone() {
    let (mut prg, seed) = fresh();
    for bits in [8, 9, 12, 15, 18] {
        let points = PointBits::new(bits);
        for _ in 0..5 {
            let point = prg.next_block().to_bits() as u64 & ((1 << bits) - 1);
            let mut keys = [0; 2].map(|_| vec![Block::ZERO; points.key_blocks()]);
            let [first, second] = &mut keys;
            deal(points, point, &mut prg, [first, second]);
            let [first, second] = keys.map(|key| {
                let mut nodes = vec![Block::ZERO; points.leaves() / 2];
                let mut blocks = vec![Block::ZERO; points.leaves()];
                let mut bits = vec![u64::MAX; points.leaves().div_ceil(64)];
                let sum = evaluate_leaves(points, &key, &mut nodes, (&mut bits, &mut blocks));
                let expected = blocks.iter().fold(0, |sum, block| sum ^ block.to_bits());
                assert!(sum.to_bits() == expected, "seed {seed}");
                // Under other numbers than the hashes that the values are made of.
                let values = values(points, &key);
                let mut both = blocks.iter().zip(&values);
                assert!(both.all(|(a, b)| a.to_bits() != b.to_bits()), "seed {seed}");
                (bits, blocks)
            });
            for leaf in 0..points.leaves() {
                let here = point as usize >> 7 == leaf;
                let bits = [&first.0, &second.0].map(|bits| bits[leaf / 64] >> (leaf % 64) & 1);
                assert!((bits[0] != bits[1]) == here, "leaf {leaf}, seed {seed}");
                let blocks = [&first.1, &second.1].map(|blocks| blocks[leaf].to_bits());
                assert!((blocks[0] != blocks[1]) == here, "leaf {leaf}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_row_is_selected_at_any_offset() {
    let (mut prg, seed) = fresh();
    for (bits, width) in [(1, 1), (3, 5), (7, 128), (8, 64), (10, 65), (14, 128), (15, 3)] {
        let points = PointBits::new(bits);
        let mut rows = BitRows::new(points, width);
        let mask = |word: usize| match usize::from(width) - 64 * word {
            64.. => u64::MAX,
            bits => (1 << bits) - 1,
        };
        let words = usize::from(width).div_ceil(64);
        let all: Vec<Vec<u64>> = (0..1 << bits)
            .map(|number| {
                let drawn = prg.next_block().to_bits();
                let row: Vec<u64> =
                    (0..words).map(|word| (drawn >> (64 * word)) as u64 & mask(word)).collect();
                rows.set(number, &vec![u64::MAX; words]);
                rows.set(number, &row);
                row
            })
            .collect();
        for _ in 0..10 {
            let drawn = prg.next_block().to_bits() as u64;
            let below = (1 << bits) - 1;
            let (point, index) = (drawn & below, drawn >> 32 & below);
            let mut keys = [0; 2].map(|_| vec![Block::ZERO; points.key_blocks()]);
            let [first, second] = &mut keys;
            deal(points, point, &mut prg, [first, second]);
            let shares = keys.map(|key| {
                let mut sum = vec![u64::MAX; words];
                rows.select(&values(points, &key), point ^ index, &mut sum);
                sum
            });
            for word in 0..words {
                let found = shares[0][word] ^ shares[1][word];
                let expected = all[index as usize][word];
                assert!(found == expected, "{bits} bits, {width} wide, row {index}, seed {seed}");
            }
        }
    }
}

#[test]
fn bits_change_places_with_those_at_the_offset() {
    let (mut prg, seed) = fresh();
    let bits = prg.next_block();
    for offset in 0..128 {
        let moved = shifted(bits, offset).to_bits();
        for bit in 0..128 {
            let expected = bits.to_bits() >> (bit ^ offset) & 1;
            assert!(moved >> bit & 1 == expected, "bit {bit}, offset {offset}, seed {seed}");
        }
    }
}
