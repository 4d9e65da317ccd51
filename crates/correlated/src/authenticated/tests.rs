//! The dealer's correlated randomness opens to correct values, and its speed.

use std::time::Instant;

use phineus_crypto::Block;
use phineus_crypto::field::{F32, F61, F128, Field};

use super::*;

/// The values that shares of all parties are, after a look at their MACs.
fn values<F: Field>(dealers: &[Dealer<F>], shares: &[Vec<Share<F>>]) -> Vec<F> {
    let key = dealers.iter().fold(F::ZERO, |key, dealer| key.add(dealer.delta()));
    (0..shares[0].len())
        .map(|i| {
            let sum = shares.iter().fold(Share::ZERO, |sum, shares| sum.add(shares[i]));
            assert!(sum.mac == sum.value.mul(key), "MAC {i} in {}", F::NAME);
            sum.value
        })
        .collect()
}

fn dealers<F: Field>(parties: usize) -> Vec<Dealer<F>> {
    (0..parties).map(|me| Dealer::insecure(Block::from_bits(5), me, parties)).collect()
}

/// Has all dealers make `N` columns with the given lengths.
fn made<F: Field, const N: usize>(
    dealers: &mut [Dealer<F>],
    lens: [usize; N],
    make: impl Fn(&mut Dealer<F>, [&mut [Share<F>]; N]) -> Result<(), crate::CorrelatedError>,
) -> [Vec<F>; N] {
    let mut columns: [Vec<Vec<Share<F>>>; N] = [(); N].map(|()| Vec::new());
    for dealer in dealers.iter_mut() {
        let mut made = lens.map(|len| vec![Share::ZERO; len]);
        make(dealer, made.each_mut().map(Vec::as_mut_slice)).expect("the dealer does not fail");
        columns.iter_mut().zip(made).for_each(|(column, made)| column.push(made));
    }
    columns.map(|shares| values(dealers, &shares))
}

fn material_is_right<F: Field>(parties: usize) {
    let mut dealers = dealers::<F>(parties);
    for n in [1, 70, 1024, 2500] {
        let [a, b, c] = made(&mut dealers, [n; 3], |dealer, [a, b, c]| dealer.triples(a, b, c));
        assert!((0..n).all(|i| a[i].mul(b[i]) == c[i]) && a[0] != b[0]);
        let [a, c] = made(&mut dealers, [n; 2], |dealer, [a, c]| dealer.squares(a, c));
        assert!((0..n).all(|i| a[i].mul(a[i]) == c[i]) && a[0] != b[0]);
        let [bits] = made(&mut dealers, [n], |dealer, [bits]| dealer.bits(bits));
        let ones = bits.iter().filter(|bit| **bit == F::ONE).count();
        let zeros = bits.iter().filter(|bit| **bit == F::ZERO).count();
        assert!(ones + zeros == n && (n == 1 || ones > n / 3 && zeros > n / 3));
        for owner in 0..parties {
            let known = std::cell::RefCell::new(Vec::new());
            let [masks] = made(&mut dealers, [n], |dealer, [masks]| {
                let mut values = vec![F::ZERO; n];
                let owns = dealer.me() == owner;
                dealer.masks(owner, masks, owns.then_some(&mut values[..]))?;
                if owns {
                    known.replace(values);
                }
                Ok(())
            });
            assert!(masks == *known.borrow() && masks[0] != a[0]);
        }
    }
    let sizes =
        [([1, 1, 1], 1), ([5, 3, 1], 4), ([1500, 4, 2], 1), ([3, 1500, 1], 2), ([7, 2, 9], 3)];
    for ([rows, cols, vectors], count) in sizes {
        let size = MatrixSize { rows, cols, vectors };
        let lens = [size.entries(), size.factors(), size.results()].map(|len| count * len);
        let [a, b, c] =
            made(&mut dealers, lens, |dealer, [a, b, c]| dealer.matrix_triples(size, a, b, c));
        let vectors = b.chunks_exact(cols as usize).zip(c.chunks_exact(rows as usize));
        for (i, (vector, expected)) in vectors.enumerate() {
            let mut product = vec![F::ZERO; rows as usize];
            let matrix = &a[i / size.vectors as usize * size.entries()..][..size.entries()];
            F::mat_vec_add(&mut product, matrix, vector);
            assert!(product == *expected, "{size:?} in {}", F::NAME);
        }
    }
}

#[test]
fn what_the_dealer_gives_is_right() {
    for parties in [2, 3, 5] {
        material_is_right::<F61>(parties);
        material_is_right::<F32>(parties);
        material_is_right::<F128>(parties);
    }
}

#[test]
fn shares_are_linear() {
    let parties = 3;
    let mut dealers = dealers::<F61>(parties);
    let [k, l] = [F61::new(1 << 60), F61::from_signed(-3)];
    let mut all = Vec::new();
    let mut expected = Vec::new();
    for (me, dealer) in dealers.iter_mut().enumerate() {
        let mut x = [Share::ZERO; 2];
        let mut clear = [F61::ZERO; 2];
        let own = (me == 0).then_some(&mut clear[..]);
        dealer.masks(0, &mut x, own).expect("the dealer does not fail");
        let delta = dealer.delta();
        let sum = x[0].scale(k).add(x[1]).sub(Share::public(l, me, delta));
        all.push(vec![sum, x[0].add_public(k, me, delta)]);
        if me == 0 {
            expected = vec![clear[0].mul(k).add(clear[1]).sub(l), clear[0].add(k)];
        }
    }
    assert!(values(&dealers, &all) == expected);
}

fn print<F: Field>(me: usize, parties: usize) {
    let n = 1 << 16;
    let mut dealer = Dealer::<F>::insecure(Block::from_bits(1), me, parties);
    let mut columns = [(); 3].map(|()| vec![Share::ZERO; n]);
    let mut speed = |what: &str, shares: usize, run: &mut dyn FnMut(&mut Dealer<F>)| {
        run(&mut dealer);
        let start = Instant::now();
        (0..10).for_each(|_| run(&mut dealer));
        let rate = (10 * shares) as f64 / start.elapsed().as_secs_f64() / 1e6;
        println!("  party {me} of {parties}, {what}: {rate:.0} million shares per second");
    };
    speed("triples", 3 * n, &mut |dealer| {
        let [a, b, c] = &mut columns;
        dealer.triples(a, b, c).expect("the dealer does not fail");
    });
    let (rows, cols) = (1024, 64);
    let [a, b, c] = &mut columns;
    speed("matrices", rows * cols, &mut |dealer| {
        let (b, c) = (&mut b[..cols], &mut c[..rows]);
        let size = MatrixSize { rows: rows as u32, cols: cols as u32, vectors: 1 };
        dealer.matrix_triples(size, a, b, c).expect("the dealer does not fail");
    });
}

#[test]
#[ignore = "a measurement"]
fn measure() {
    for (me, parties) in [(0, 2), (1, 2), (0, 3)] {
        println!("{}, {}, {}:", F32::NAME, F61::NAME, F128::NAME);
        print::<F32>(me, parties);
        print::<F61>(me, parties);
        print::<F128>(me, parties);
    }
}
