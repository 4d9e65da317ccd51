//! The known attacks on the sizes in use, and the estimator against published figures.

use phineus_crypto::{Block, Prg};

use crate::lpn::LpnParameters;
use attacks::{Instance, all, least, local, published};

#[path = "../../examples/lpn_attacks/attacks/mod.rs"]
mod attacks;

/// Bits that every attack on every size takes at least. An iteration more gives an attacker another
/// instance with a secret, a noise and a code of its own, so this does not depend on their number.
const BITS: f64 = 134.0;

#[test]
fn every_attack_on_every_size_takes_2_to_the_134() {
    for size in LpnParameters::ALL {
        let instance = Instance::new(size.length(), size.secret_length(), size.trees());
        let estimates = all(instance, LpnParameters::ROW_ENTRIES);
        let attack = least(&estimates);
        let (name, source, bits) = (attack.attack, attack.source, attack.bits);
        assert!(bits >= BITS, "{size:?}: {name} ({source}) takes 2^{bits:.1}");
        // The largest that has the bits: a tenth more trees would not.
        let trees = size.trees() * 11 / 10;
        let more = Instance::new(trees << size.depth(), size.secret_length(), trees);
        assert!(local::best_isd(more, LpnParameters::ROW_ENTRIES) < BITS, "{size:?}");
    }
}

/// Parity checks that a test of one linear combination could use are biased, but not to be found.
#[test]
fn light_parity_checks_take_more_to_find() {
    for size in LpnParameters::ALL {
        let instance = Instance::new(size.length(), size.secret_length(), size.trees());
        let check = local::lightest_check(instance, LpnParameters::ROW_ENTRIES);
        assert!(check.rows > 7000.0 && check.bias < -39.0, "{size:?}: {} rows", check.rows);
        assert!(check.finding > 20_000.0, "{size:?}: 2^{} information sets", check.finding);
    }
}

/// As they were before, chosen for 128 bits against the attacks on random codes.
#[test]
fn the_sizes_of_before_fall_short() {
    for (trees, secret_bits, depth) in [(850, 16, 10), (1170, 17, 11), (1520, 18, 12)] {
        let instance = Instance::new(trees << depth, 1 << secret_bits, trees);
        assert!((published::hybrid(instance) - 128.3).abs() < 0.5);
        assert!((local::random_isd(instance, 10) - 85.6).abs() < 1.0);
    }
}

/// Samples, secret and errors of the sets that papers since ePrint 2019/273 compare, and log2 of
/// what pooled Gauss and BJMM cost there by ePrint 2022/712 (Gauss as others cite it, BJMM from memory:
/// the text was not at hand).
const COMPARED: [(usize, usize, usize, f64, f64); 7] = [
    (1 << 10, 652, 57, 111.0, 94.0),
    (1 << 12, 1589, 98, 100.0, 83.0),
    (1 << 14, 3482, 198, 101.0, 86.0),
    (1 << 16, 7391, 389, 103.0, 91.0),
    (1 << 18, 15336, 760, 105.0, 95.0),
    (1 << 20, 32771, 1419, 107.0, 99.0),
    (1 << 22, 67440, 2735, 108.0, 104.0),
];

/// The papers round to whole bits.
#[test]
fn gauss_and_bjmm_agree_with_the_papers() {
    for (n, k, t, gauss, bjmm) in COMPARED {
        let instance = Instance::new(n, k, t);
        let found =
            (published::gauss(instance), published::bjmm_up_to(instance, ((n - k) / 8 + 5) as f64));
        assert!((found.0 - gauss).abs() < 1.0 && (found.1 - bjmm).abs() < 1.0, "{n}: {found:?}");
    }
}

/// The script of the authors of ePrint 2022/712 and 2025/1284 (lpnestimator.com), which has the
/// formulas of the other papers too, printed these figures for the first four sets.
#[test]
fn the_other_attacks_agree_with_the_script_of_their_authors() {
    let enumeration = [77.357, 78.121, 83.940, 89.903];
    let representations = [76.325, 78.330, 85.301, 92.362];
    let permutation = [94.415, 95.935, 102.648, 109.504];
    let hybrid = [78.435, 82.157, 88.971, 90.902];
    let statistical = [193.992, 153.951, 150.189, 148.029];
    agree(published::regular_enumeration, &enumeration, 0.2);
    agree(published::regular_representations, &representations, 0.2);
    agree(published::regular_permutation, &permutation, 0.2);
    agree(published::hybrid, &hybrid, 0.2);
    agree(published::statistical_decoding, &statistical, 0.2);
    agree(published::stern, &[96.939, 86.275, 90.366], 0.2);
    // The script does not guess in all blocks, which is cheaper.
    agree(published::algebraic, &[101.48, 101.59], 1.0);
}

fn agree(attack: impl Fn(Instance) -> f64, printed: &[f64], tolerance: f64) {
    for ((n, k, t, ..), printed) in COMPARED.into_iter().zip(printed) {
        let found = attack(Instance::new(n, k, t));
        assert!((found - printed).abs() < tolerance, "n = {n}: {found:.2}, not {printed}");
    }
}

/// A small random code: dropping the columns with the fewest rows finds a smaller part than random
/// columns do, and none below the bound.
#[test]
fn the_bound_on_rows_within_columns_holds() {
    let (n, k) = (4096, 512);
    let instance = Instance::new(n, k, 64);
    let given = std::env::var("PHINEUS_LPN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u128 = given.unwrap_or_else(|| {
        Prg::from_os().expect("the system has randomness").next_block().to_bits()
    });
    let mut prg = Prg::from_seed(Block::from_bits(seed));
    let mut rows = vec![[0u16; 10]; n];
    let mut bytes = vec![0u8; n * 20];
    prg.fill_bytes(&mut bytes);
    for (entry, bytes) in rows.as_flattened_mut().iter_mut().zip(bytes.as_chunks::<2>().0) {
        *entry = u16::from_le_bytes(*bytes) % k as u16;
    }
    // Drop the column with the fewest rows until no more rows are left than columns.
    let mut columns = vec![true; k];
    let (mut inside, mut count) = (rows.clone(), k);
    while inside.len() > count {
        let mut degrees = vec![0u32; k];
        inside.iter().flatten().for_each(|&entry| degrees[usize::from(entry)] += 1);
        let fewest = (0..k).filter(|&c| columns[c]).min_by_key(|&c| degrees[c]);
        let fewest = fewest.expect("columns are left");
        columns[fewest] = false;
        inside.retain(|row| !row.contains(&(fewest as u16)));
        count -= 1;
    }
    let (found, bound) = (count as f64 / k as f64, local::best_fraction(instance, 10));
    let random = local::random_fraction(instance, 10);
    assert!(bound < found && found < random, "{bound} {found} {random}, PHINEUS_LPN_SEED={seed}");
}
