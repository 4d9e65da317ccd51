//! Random combinations of what was opened, in segments that are independent of each other.
//!
//! Each segment has coefficients of its own, from a seed that comes from those of all parties.
//! Cost per element: a coefficient from the generator and two products, one if it has no MAC.

use phineus_crypto::field::Field;
use phineus_crypto::{Block, Prg};

/// Elements of a segment: some 50 us of work.
pub(super) const SEGMENT: usize = 1 << 15;

/// Elements for which coefficients are drawn at a time, so that they stay in the cache.
const PIECE: usize = 1024;

/// Segments that are worth a thread.
const SEGMENTS_PER_THREAD: usize = 8;

/// A part of what was opened, with this party's shares of MACs, or of what was told.
pub(super) struct Segment<'a, F: Field> {
    pub(super) x: &'a [F],
    pub(super) macs: Option<&'a [F]>,
    pub(super) seed: Block,
}

/// The combinations of values with MACs and of those without, and of the MACs.
pub(super) fn combine<F: Field>(segments: &[Segment<'_, F>], threads: usize) -> ([F; 2], F) {
    let part = segments.len().div_ceil(threads.max(1));
    if part < SEGMENTS_PER_THREAD {
        return of_some(segments);
    }
    std::thread::scope(|scope| {
        let mut parts = segments.chunks(part);
        let own = parts.next().unwrap_or_default();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || of_some(part))).collect();
        others.into_iter().fold(of_some(own), |([opened, told], macs), other| {
            let (x, m) = other.join().expect("sums do not panic");
            ([opened.add(x[0]), told.add(x[1])], macs.add(m))
        })
    })
}

fn of_some<F: Field>(segments: &[Segment<'_, F>]) -> ([F; 2], F) {
    let mut chi = [F::ZERO; PIECE];
    let ([mut opened, mut told], mut macs) = ([F::ZERO; 2], F::ZERO);
    for Segment { x, macs: shares, seed } in segments {
        let mut coefficients = Prg::from_seed(*seed);
        for (i, x) in x.chunks(PIECE).enumerate() {
            let chi = &mut chi[..x.len()];
            F::fill_random(&mut coefficients, chi);
            let sum = F::dot(chi, x);
            match shares {
                Some(shares) => {
                    opened = opened.add(sum);
                    macs = macs.add(F::dot(chi, &shares[i * PIECE..][..x.len()]));
                }
                None => told = told.add(sum),
            }
        }
    }
    ([opened, told], macs)
}

#[cfg(test)]
mod tests {
    use phineus_crypto::field::F61;

    use super::*;

    #[test]
    fn threads_change_nothing() {
        let mut prg = Prg::from_seed(Block::from_bits(4));
        let mut elements = vec![F61::ZERO; 40 * 1500];
        F61::fill_random(&mut prg, &mut elements);
        let segments: Vec<_> = elements
            .chunks(1500)
            .zip(elements.chunks(1500).rev())
            .enumerate()
            .map(|(i, (x, macs))| Segment {
                x,
                macs: (i % 5 > 0).then_some(macs),
                seed: prg.next_block(),
            })
            .collect();
        let one = combine(&segments, 1);
        for threads in [2, 3, 4, 50] {
            assert!(combine(&segments, threads) == one, "{threads}");
        }
        let first = &segments[1];
        let mut chi = vec![F61::ZERO; 1500];
        let mut coefficients = Prg::from_seed(first.seed);
        F61::fill_random(&mut coefficients, &mut chi[..1024]);
        F61::fill_random(&mut coefficients, &mut chi[1024..]);
        let expected =
            ([F61::dot(&chi, first.x), F61::ZERO], F61::dot(&chi, first.macs.expect("it has")));
        assert!(combine(&segments[1..2], 4) == expected);
    }
}
