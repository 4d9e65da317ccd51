//! [`MatrixProductQueue`]: the products of matrices of a round.
//!
//! With a matrix triple `(A, B, A B)`, `E = X - A` and `F = Y - B`:
//! `X Y = A B + E (B + F) + A F`. Only `E` and `F` are opened: each entry of both matrices once.
//!
//! Products of one size wait for each other until they fill a part of the cache: then they take
//! their triples, and what hides them is opened, together. What they need lies in the same memory
//! round after round. Memory per product of `r` rows, `c` columns and `v` vectors, which are the
//! columns of `Y`, in shares: `r c + c v + r v`.
//! Invariant: operands leave this memory only with a triple's shares taken off.

use std::ops::Range;

use phineus_correlated::authenticated::{AuthenticatedRandomness, MatrixSize, Share};
use phineus_crypto::field::{Field, MatrixProduct, MatrixProducts, OnCpu, ProductTerm};
use zeroize::Zeroizing;

use super::Opening;
use super::check::make_room;
use super::run::{FlightContext, ShareBuffer};
use crate::ProtocolError;

/// Elements of memory that each entry of a matrix takes: its share and that of a triple, and for a
/// product with a single column a share of the result.
const ELEMENTS_OF_ENTRY: usize = 6;

/// The second-level cache of a machine that nobody has asked: no processor of the last ten years
/// has a smaller one.
const CACHE_BYTES: usize = 256 << 10;

/// Entries of a group, whatever the cache: more saves nothing, and takes memory.
const TOGETHER: Range<usize> = 1024..16_384;

/// Entries that are worth a thread: some 100 us of work, and starting one takes 20.
const ENTRIES_PER_THREAD: usize = 65_536;

/// Entries of matrices that take their triples together: with these they fill half of a cache.
fn together<F: Field>(cache_bytes: usize) -> usize {
    let entries = cache_bytes / 2 / (ELEMENTS_OF_ENTRY * F::BYTES);
    entries.clamp(TOGETHER.start, TOGETHER.end)
}

/// How many products wait for triples, of which size.
#[derive(Clone, Copy, Default)]
struct PendingProducts {
    size: Option<MatrixSize>,
    count: usize,
}

/// Products of one size that took their triples together.
struct ProductGroup {
    size: MatrixSize,
    count: usize,
    matrices_at: usize,
    vectors_at: usize,
    opened_at: usize,
}

/// Products whose operands are opened under masks at the end of the round; after it, until the next
/// is begun, the products.
pub(super) struct MatrixProductQueue<F: Field> {
    threads: usize,
    /// Entries that take their triples together, the same at all parties.
    together: usize,
    /// Operands that wait for triples, all of one size.
    waiting: PendingProducts,
    waiting_matrices: ShareBuffer<F>,
    waiting_vectors: ShareBuffer<F>,
    groups: Vec<ProductGroup>,
    matrices: ShareBuffer<F>,
    vectors: ShareBuffer<F>,
    products: ShareBuffer<F>,
    is_done: bool,
    /// Makes the products of rounds that it takes.
    device: Option<Box<dyn MatrixProducts<F>>>,
}

impl<F: Field> MatrixProductQueue<F> {
    pub(super) fn new(threads: usize) -> MatrixProductQueue<F> {
        let nothing = || Zeroizing::new(Vec::new());
        MatrixProductQueue {
            threads,
            together: together::<F>(CACHE_BYTES),
            waiting: PendingProducts::default(),
            waiting_matrices: nothing(),
            waiting_vectors: nothing(),
            groups: Vec::new(),
            matrices: nothing(),
            vectors: nothing(),
            products: nothing(),
            is_done: false,
            device: None,
        }
    }

    /// Has so many threads make products, and a device those that it takes.
    pub(super) fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Has groups fill half of such a cache. All parties say the same: what a group opens lies
    /// together.
    pub(super) fn set_cache(&mut self, bytes: usize) {
        self.together = together::<F>(bytes);
    }

    /// As [`Self::set_threads`].
    pub(super) fn set_device(&mut self, device: Option<Box<dyn MatrixProducts<F>>>) {
        self.device = device;
    }

    /// Begins a product; returns where it will be among [`MatrixProductQueue::done`].
    pub(super) fn issue<M: AuthenticatedRandomness<F>>(
        &mut self,
        context: &mut FlightContext<'_, F, M>,
        size: MatrixSize,
        (matrix, vectors): (&[Share<F>], &[Share<F>]),
    ) -> Result<Range<usize>, ProtocolError> {
        let lens = (matrix.len(), vectors.len());
        assert_eq!(lens, (size.entries(), size.factors()), "rows, columns and vectors");
        if std::mem::take(&mut self.is_done) {
            self.products.clear();
        }
        if self.waiting.size != Some(size) {
            self.flush(context)?;
            self.waiting.size = Some(size);
        }
        self.waiting_matrices.extend_from_slice(matrix);
        self.waiting_vectors.extend_from_slice(vectors);
        let at = self.products.len() + self.waiting.count * size.results();
        self.waiting.count += 1;
        if self.waiting_matrices.len() >= self.together {
            self.flush(context)?;
        }
        Ok(at..at + size.results())
    }

    /// Takes triples for what waits, and has what they hide opened.
    pub(super) fn flush<M: AuthenticatedRandomness<F>>(
        &mut self,
        context: &mut FlightContext<'_, F, M>,
    ) -> Result<(), ProtocolError> {
        let PendingProducts { size: Some(size), count: count @ 1.. } = self.waiting else {
            return Ok(());
        };
        let (matrices_at, vectors_at) = (self.matrices.len(), self.vectors.len());
        let a = lengthen(&mut self.matrices, count * size.entries());
        let b = lengthen(&mut self.vectors, count * size.factors());
        let c = lengthen(&mut self.products, count * size.results());
        context.correlated.matrix_triples(size, a, b, c)?;
        F::sub_assign(Share::elements_mut(&mut self.waiting_matrices), Share::elements(a));
        F::sub_assign(Share::elements_mut(&mut self.waiting_vectors), Share::elements(b));
        let opened_at = context.opening.push(&self.waiting_matrices);
        context.opening.push(&self.waiting_vectors);
        self.waiting_matrices.clear();
        self.waiting_vectors.clear();
        self.waiting.count = 0;
        self.groups.push(ProductGroup { size, count, matrices_at, vectors_at, opened_at });
        Ok(())
    }

    /// Ends the round: makes the products of what was opened.
    pub(super) fn take<M>(&mut self, context: &FlightContext<'_, F, M>) {
        assert_eq!(self.waiting.count, 0, "what waits takes its triples before the round ends");
        let MatrixProductQueue {
            threads,
            together,
            groups,
            matrices,
            vectors,
            products,
            device,
            ..
        } = self;
        let (opening, me, delta) = (&*context.opening, context.me, context.delta);
        for group in &*groups {
            group.unmask(vectors, opening, |f| Share::public(f, me, delta));
        }
        let triples = Triples { matrices, vectors, opening };
        let work = groups.iter().map(ProductGroup::work).sum();
        match device {
            Some(device) if device.takes(work) => {
                let mut all = Vec::new();
                each(groups, &triples, products, |product| all.push(product));
                device.add(&mut all);
            }
            _ => on_threads((*threads, *together), groups, products, |groups, products| {
                each(groups, &triples, products, |product| OnCpu.add(&mut [product]));
            }),
        }
        self.groups.clear();
        self.matrices.clear();
        self.vectors.clear();
        self.is_done = true;
    }

    /// The shares of the products of the round that has ended, in the order of their issue.
    pub(super) fn done(&self) -> &[Share<F>] {
        assert!(self.is_done, "products are taken before others are begun");
        &self.products
    }
}

/// The triples of all groups, unmasked, and what was opened.
struct Triples<'a, F: Field> {
    matrices: &'a [Share<F>],
    vectors: &'a [Share<F>],
    opening: &'a Opening<F>,
}

/// Calls `make` for each product of some groups, whose shares are next to each other.
fn each<'a, F: Field>(
    groups: &[ProductGroup],
    triples: &Triples<'a, F>,
    products: &'a mut [Share<F>],
    mut make: impl FnMut(MatrixProduct<'a, F, 2>),
) {
    let mut rest = products;
    for group in groups {
        let out;
        (out, rest) = rest.split_at_mut(group.size.results() * group.count);
        group.products(triples, out).for_each(&mut make);
    }
}

impl ProductGroup {
    /// Elements that are opened: all matrices, then all vectors.
    fn opened(&self) -> usize {
        self.count * (self.size.entries() + self.size.factors())
    }

    /// Products of elements: entry and mask times value and MAC.
    fn work(&self) -> usize {
        4 * self.count * self.size.multiplications()
    }

    /// Opened differences of the matrices and of the vectors.
    fn differences<'a, F: Field>(&self, opening: &'a Opening<F>) -> (&'a [F], &'a [F]) {
        let opened = opening.opened(self.opened_at, self.opened());
        opened.split_at(self.count * self.size.entries())
    }

    /// Turns `b` into `b + f`.
    fn unmask<F: Field>(
        &self,
        vectors: &mut [Share<F>],
        opening: &Opening<F>,
        public: impl Fn(F) -> Share<F>,
    ) {
        let (_, fs) = self.differences(opening);
        for (b, &f) in vectors[self.vectors_at..].iter_mut().zip(fs) {
            *b = b.add(public(f));
        }
    }

    /// `E (b + f) + A f` is to be added to each of `out`, which is `A b`: for all vectors at once.
    fn products<'a, F: Field>(
        &self,
        triples: &Triples<'a, F>,
        out: &'a mut [Share<F>],
    ) -> impl Iterator<Item = MatrixProduct<'a, F, 2>> + use<'a, F> {
        let MatrixSize { rows, cols: columns, vectors } = self.size;
        let [rows, columns, vectors] = [rows, columns, vectors].map(|side| side as usize);
        let (es, fs) = self.differences(triples.opening);
        let a = &triples.matrices[self.matrices_at..][..es.len()];
        let unmasked = &triples.vectors[self.vectors_at..][..fs.len()];
        let of_each = a.chunks_exact(rows * columns).zip(es.chunks_exact(rows * columns));
        let len = columns * vectors;
        let factors = unmasked.chunks_exact(len).zip(fs.chunks_exact(len));
        let each = out.chunks_exact_mut(rows * vectors).zip(of_each.zip(factors));
        each.map(move |(out, ((a, e), (b, f)))| {
            let terms = [
                // Shares are two elements, and so is each row of their matrix.
                ProductTerm { matrix: Share::elements(a), vectors: f, width: 1, count: vectors },
                // Values and MACs are two vectors.
                ProductTerm { matrix: e, vectors: Share::elements(b), width: 2, count: vectors },
            ];
            MatrixProduct { out: Share::elements_mut(out), terms }
        })
    }
}

/// Has `run` finish groups with their products, parts of about one size on a thread each.
fn on_threads<F: Field>(
    (threads, together): (usize, usize),
    groups: &[ProductGroup],
    products: &mut [Share<F>],
    run: impl Fn(&[ProductGroup], &mut [Share<F>]) + Sync,
) {
    let part = groups.len().div_ceil(threads.max(1));
    if part < ENTRIES_PER_THREAD / together {
        return run(groups, products);
    }
    std::thread::scope(|scope| {
        let mut rest = products;
        for groups in groups.chunks(part) {
            let out;
            let len = groups.iter().map(|group| group.size.results() * group.count).sum();
            (out, rest) = rest.split_at_mut(len);
            let run = &run;
            if rest.is_empty() {
                run(groups, out);
            } else {
                scope.spawn(move || run(groups, out));
            }
        }
    });
}

/// `more` shares at the end, to be written.
pub(super) fn lengthen<F: Field>(shares: &mut ShareBuffer<F>, more: usize) -> &mut [Share<F>] {
    let at = shares.len();
    make_room(shares, more);
    shares.resize(at + more, Share::ZERO);
    &mut shares[at..]
}

#[cfg(test)]
mod tests {
    use phineus_channels::{MemoryChannel, Parties, memory_mesh};
    use phineus_correlated::authenticated::Dealer;
    use phineus_crypto::field::{F32, F61};
    use phineus_crypto::{Block, Prg};
    use phineus_ot::SessionId;

    use super::*;
    use crate::spdz::Opening;

    /// Rows, columns and vectors; so many products of each, in turn, that threads share them.
    const SIZES: [[u32; 3]; 5] = [[64, 32, 1], [2048, 1, 1], [700, 3, 1], [16, 8, 16], [3, 5, 2]];

    fn sizes() -> impl Iterator<Item = MatrixSize> {
        let all = SIZES.into_iter().cycle().take(TURNS * SIZES.len());
        all.map(|[rows, cols, vectors]| MatrixSize { rows, cols, vectors })
    }
    const TURNS: usize = 30;

    /// One party's shares of operands and products.
    fn products<F: Field>(
        mut parties: Parties<MemoryChannel>,
        (threads, cache_bytes): (usize, usize),
    ) -> Vec<Share<F>> {
        let me = parties.me();
        let mut dealer = Dealer::<F>::insecure(Block::from_bits(3), me, parties.count());
        let prg = Prg::from_seed(Block::from_bits(me as u128));
        let session = SessionId::new([8; 32]);
        let mut opening = Opening::new(me, parties.count(), dealer.delta(), &session, prg);
        let mut products = MatrixProductQueue::new(threads);
        products.set_cache(cache_bytes);
        let (mut all, mut places) = (Vec::new(), Vec::new());
        for size in sizes() {
            let mut operands = vec![Share::ZERO; size.entries() + size.factors()];
            let mut known = vec![F::ZERO; operands.len()];
            let known = (me == 0).then_some(&mut known[..]);
            dealer.masks(0, &mut operands, known).expect("the dealer does not fail");
            let (matrix, vector) = operands.split_at(size.entries());
            let delta = dealer.delta();
            let mut context =
                FlightContext { opening: &mut opening, correlated: &mut dealer, me, delta };
            let at = products.issue(&mut context, size, (matrix, vector));
            places.push(at.expect("the dealer does not fail"));
            all.extend_from_slice(&operands);
        }
        let delta = dealer.delta();
        let mut context =
            FlightContext { opening: &mut opening, correlated: &mut dealer, me, delta };
        products.flush(&mut context).expect("the dealer does not fail");
        context.opening.exchange(&mut parties).expect("all are honest");
        products.take(&context);
        places.into_iter().for_each(|at| all.extend_from_slice(&products.done()[at]));
        opening.check(&mut parties).expect("all are honest");
        all
    }

    fn are_right<F: Field>(threads: usize, cache_bytes: usize) {
        let handles = memory_mesh(2).into_iter().map(|parties| {
            std::thread::spawn(move || products::<F>(parties, (threads, cache_bytes)))
        });
        let handles: Vec<_> = handles.collect();
        let [a, b] = <[Vec<Share<F>>; 2]>::try_from(
            handles.into_iter().map(|handle| handle.join().expect("no panic")).collect::<Vec<_>>(),
        )
        .unwrap_or_else(|_| unreachable!("two parties"));
        let values: Vec<F> = a.iter().zip(&b).map(|(a, b)| a.add(*b).value).collect();
        let operands = sizes().map(|size| size.entries() + size.factors()).sum();
        let (mut operands, mut products) = values.split_at(operands);
        for size in sizes() {
            let (matrix, rest) = operands.split_at(size.entries());
            let (vectors, rest) = rest.split_at(size.factors());
            let (product, others) = products.split_at(size.results());
            let each = vectors.chunks_exact(size.cols as usize);
            for (vector, product) in each.zip(product.chunks_exact(size.rows as usize)) {
                let mut expected = vec![F::ZERO; product.len()];
                F::mat_vec_add(&mut expected, matrix, vector);
                assert!(*product == expected, "{size:?}, {threads} threads");
            }
            (operands, products) = (rest, others);
        }
    }

    #[test]
    fn batches_and_threads_change_no_product() {
        for (threads, cache_bytes) in [(1, 0), (2, CACHE_BYTES), (5, 4 * CACHE_BYTES)] {
            are_right::<F32>(threads, cache_bytes);
            are_right::<F61>(threads, cache_bytes);
        }
    }

    #[test]
    fn groups_follow_the_cache() {
        assert_eq!(together::<F61>(CACHE_BYTES), 2730);
        assert_eq!(together::<F61>(1 << 20), 10_922);
        assert_eq!(together::<F32>(CACHE_BYTES), 5461);
        assert_eq!([0, usize::MAX].map(together::<F61>), [TOGETHER.start, TOGETHER.end]);
    }
}
