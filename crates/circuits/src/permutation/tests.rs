//! Control bits against the network they control, sorts against the standard library.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::*;

/// Runs `case` on generators with fresh seeds; a failure prints the seed, and the environment
/// variable `PHINEUS_TEST_SEED` replays it.
fn with_fresh_seeds(cases: usize, mut case: impl FnMut(&mut Random)) {
    let mut seeds = match std::env::var("PHINEUS_TEST_SEED") {
        Ok(text) => Random(text.parse().expect("PHINEUS_TEST_SEED is a number")),
        // The standard library seeds its hashes from the operating system.
        Err(_) => Random(RandomState::new().build_hasher().finish()),
    };
    for _ in 0..cases {
        let printed = PrintedSeed(seeds.0);
        case(&mut Random(printed.0));
        seeds = Random(seeds.next());
    }
}

struct PrintedSeed(u64);

impl Drop for PrintedSeed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("to replay this case: PHINEUS_TEST_SEED={}", self.0);
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn permutation(&mut self, items: usize) -> Vec<u32> {
        random_permutation(items, &mut |words| words.fill_with(|| self.next()))
    }
}

/// Where the network moves each item.
fn apply(items: usize, bits: &[u8]) -> Vec<u32> {
    let mut contents: Vec<usize> = (0..items).collect();
    let mut bits = bits.iter();
    for Layer { stride, switches } in layers(items as u64) {
        let stride = stride as usize;
        for i in (0..items).filter(|i| i & stride == 0).take(switches as usize) {
            match bits.next().expect("a bit for each switch") {
                0 => {}
                1 => contents.swap(i, i + stride),
                bit => panic!("{bit} is not a bit"),
            }
        }
    }
    assert_eq!(bits.next(), None);
    let mut image = vec![0; items];
    for (position, &item) in contents.iter().enumerate() {
        image[item] = position as u32;
    }
    image
}

/// Calls `visit` with each permutation of the items from `fixed` on.
fn permutations(image: &mut [u32], fixed: usize, visit: &mut dyn FnMut(&[u32])) {
    if fixed == image.len() {
        return visit(image);
    }
    for i in fixed..image.len() {
        image.swap(fixed, i);
        permutations(image, fixed + 1, visit);
        image.swap(fixed, i);
    }
}

/// Waksman's number of switches, by its recursion.
fn waksman(items: u64) -> u64 {
    match items {
        0 | 1 => 0,
        2 => 1,
        _ => items - 1 + waksman(items / 2) + waksman(items.div_ceil(2)),
    }
}

#[test]
fn layers_and_switches_are_counted() {
    let layers =
        |items| layers(items).map(|layer| (layer.stride, layer.switches)).collect::<Vec<_>>();
    assert_eq!(layers(1), []);
    assert_eq!(layers(2), [(1, 1)]);
    assert_eq!(layers(5), [(1, 2), (2, 2), (4, 1), (2, 1), (1, 2)]);
    assert_eq!(layers(8), [(1, 4), (2, 4), (4, 4), (2, 2), (1, 3)]);
    for items in (1..2000).chain([ITEMS_MAX - 1, ITEMS_MAX]) {
        assert_eq!(switch_count(items), waksman(items), "{items} items");
    }
}

#[test]
fn switches_are_numbered_by_position() {
    // Bit 3 is the second switch of the layer with stride 2: positions 1 and 3.
    assert_eq!(apply(4, &[0, 0, 0, 1, 0]), [0, 3, 2, 1]);
    assert_eq!(apply(4, &[0, 1, 0, 0, 0]), [0, 1, 3, 2]);
}

#[test]
fn control_bits_of_all_small_permutations() {
    let mut count = 0;
    for items in 1..=8 {
        let mut image: Vec<u32> = (0..items).collect();
        permutations(&mut image, 0, &mut |image| {
            let bits = control_bits(image);
            assert_eq!(bits.len() as u64, switch_count(image.len() as u64));
            assert_eq!(apply(image.len(), &bits), image);
            count += 1;
        });
    }
    assert_eq!(count, 1 + 2 + 6 + 24 + 120 + 720 + 5040 + 40_320);
}

/// All sizes up to 70, and larger ones whose sub-networks have odd sizes at many levels.
#[test]
fn control_bits_of_permutations_of_any_size() {
    with_fresh_seeds(3, |random| {
        let drawn: Vec<usize> = (0..20).map(|_| 1 + (random.next() % 3000) as usize).collect();
        for items in (1..=70).chain([127, 129, 255, 257, 1000, 1023, 1025]).chain(drawn) {
            for _ in 0..3 {
                let image = random.permutation(items);
                let bits = control_bits(&image);
                assert_eq!(bits.len() as u64, switch_count(items as u64));
                assert_eq!(apply(items, &bits), image, "{items} items");
                assert_eq!(control_bits_with(&image, 64), bits);
            }
        }
    });
}

#[test]
fn control_bits_of_random_permutations() {
    with_fresh_seeds(4, |random| {
        for log2 in 1..=12 {
            let image = random.permutation(1 << log2);
            let bits = control_bits(&image);
            assert_eq!(apply(image.len(), &bits), image);
            // Sizes that need words of 128 bits are too large for a test.
            for word_bits_min in [64, 128] {
                assert_eq!(control_bits_with(&image, word_bits_min), bits);
            }
        }
    });
}

/// One cycle of `n / 2` elements needs the widest windows.
#[test]
fn control_bits_of_structured_permutations() {
    for items in (1..=10).flat_map(|log2| [1u32 << log2, (1 << log2) + 1, 3 << log2]) {
        let images: [&dyn Fn(u32) -> u32; 5] = [
            &|i| i,
            &|i| items - 1 - i,
            &|i| (i + 1) % items,
            &|i| (i + items - 1) % items,
            &|i| if items % 5 == 0 { i } else { (i * 5 + 3) % items },
        ];
        for image in images {
            let image: Vec<u32> = (0..items).map(image).collect();
            assert_eq!(apply(image.len(), &control_bits(&image)), image);
        }
    }
}

#[test]
fn images_that_are_no_permutation_panic() {
    for image in
        [&[0, 1, 3][..], &[0, 2, 2], &[0, 4, 1, 2], &[], &[0, 1, 1, 2], &[1; 8], &[1], &[2, 0]]
    {
        let image = image.to_vec();
        assert!(std::panic::catch_unwind(|| control_bits(&image)).is_err());
    }
    assert_eq!(inverse(&[0, 2, 2]), None);
}

#[test]
fn sort_of_all_bits_sorts() {
    // By the 0-1 principle this proves the networks of these lengths.
    for length in 0..=13 {
        for case in 0u64..1 << length {
            let mut values: Vec<u64> = (0..length).map(|i| case >> i & 1).collect();
            oblivious_sort(&mut values);
            assert!(values.is_sorted() && values.iter().sum::<u64>() == case.count_ones().into());
        }
    }
}

#[test]
fn sort_of_random_values_sorts() {
    with_fresh_seeds(200, |random| {
        let length = random.next() % 600;
        let mask = [u64::MAX, 15, 1 << 63 | 7][random.next() as usize % 3];
        let mut values: Vec<u64> = (0..length).map(|_| random.next() & mask).collect();
        let mut expected = values.clone();
        expected.sort_unstable();
        oblivious_sort(&mut values);
        assert_eq!(values, expected);
    });
}

#[test]
fn sort_of_lanes_sorts_each() {
    with_fresh_seeds(50, |random| {
        let (lanes, rows) = (1 << (random.next() % 7), random.next() as usize % 40);
        let mut values: Vec<u64> = (0..lanes * rows).map(|_| random.next()).collect();
        let column = |values: &[u64], lane| -> Vec<u64> {
            values.iter().skip(lane).step_by(lanes).copied().collect()
        };
        let mut expected: Vec<_> = (0..lanes).map(|lane| column(&values, lane)).collect();
        expected.iter_mut().for_each(|column| column.sort_unstable());
        sort_lanes(&mut values, lanes);
        for (lane, expected) in expected.iter().enumerate() {
            assert_eq!(&column(&values, lane), expected);
        }
    });
}

thread_local!(static COMPARATORS: Cell<u64> = const { Cell::new(0) });

/// A word that counts the comparators it passes.
#[derive(Clone, Copy)]
struct Counted;

impl Zeroize for Counted {
    fn zeroize(&mut self) {}
}

impl Word for Counted {
    fn pack(_: [u32; 3], _: u32) -> Self {
        Counted
    }

    fn unpack(self, _: u32) -> [u32; 3] {
        [0; 3]
    }

    fn exchange(_: &mut Self, _: &mut Self) {
        COMPARATORS.set(COMPARATORS.get() + 1);
    }
}

#[test]
fn comparators_are_counted() {
    for log2 in 1..=12 {
        COMPARATORS.set(0);
        sort_lanes(&mut vec![Counted; 1 << log2], 1);
        assert_eq!(COMPARATORS.get(), (log2 * log2 - log2 + 4) * (1 << log2) / 4 - 1);
    }
}

#[test]
fn inverse_inverts() {
    with_fresh_seeds(50, |random| {
        let items = random.next() as usize % 300;
        let image = random.permutation(items);
        let inverse = inverse(&image).expect("a permutation");
        assert!((0..items).all(|i| inverse[image[i] as usize] == i as u32));
    });
}

#[test]
fn random_permutations_are_permutations_and_spread() {
    with_fresh_seeds(1, |random| {
        let mut counts = [0u32; 24];
        for _ in 0..24_000 {
            let image = random.permutation(4);
            let mut sorted = image.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
            let below = |i: usize| image[i + 1..].iter().filter(|&&x| x < image[i]).count();
            counts[below(0) * 6 + below(1) * 2 + below(2)] += 1;
        }
        // Each count has mean 1000 and deviation 31: seven deviations.
        assert!(counts.iter().all(|count| count.abs_diff(1000) < 217), "{counts:?}");
    });
}

#[test]
fn equal_keys_are_drawn_again() {
    let mut random = Random(1);
    let mut draws = 0;
    let image = random_permutation(5, &mut |words| {
        draws += 1;
        words.fill_with(|| random.next());
        if draws <= 2 {
            // The keys of items 1 and 3 differ in the 32 bits that are not used.
            words[6] = words[2];
            words[7] = words[3] ^ 1;
        }
    });
    assert_eq!((draws, image.len()), (3, 5));
}

#[test]
#[ignore = "prints times"]
fn times_of_control_bits() {
    let mut random = Random(1);
    for log2 in [10, 12, 14, 16, 18] {
        let image = random.permutation(1 << log2);
        let times = (0..5).map(|_| {
            let start = std::time::Instant::now();
            std::hint::black_box(control_bits(std::hint::black_box(&image)));
            start.elapsed()
        });
        println!("2^{log2} items: {:?}, best of 5", times.min().expect("five"));
    }
}
