//! Matrix triples: a random matrix times a few random vectors.
//!
//! Source: the steps of `triples` with the choices on the side of the vector: one OT for each bit
//! of an element of the vector, whose messages are stretched to a column of the matrix (OT of long
//! messages: Ishai, Kilian, Nissim, Petrank, CRYPTO 2003). Sacrificing matrix triples by a random
//! combination of rows: Chen, Kim, Razenshteyn, Rotaru, Song, Wagh, "Maliciously Secure Matrix
//! Multiplication with Applications to Private Deep Learning", ASIACRYPT 2020, do so with whole
//! matrices; here (*Deviation*) the matrix has one row `x` more: with coins `z`, `rho = z A - x` is
//! opened, and `z C - x b - rho b` must be zero, added up over a batch; only the sum of all `x b`
//! has been authenticated. If `C` is wrong by `e` and that sum by `e'`, which are fixed before the
//! coins, this is `z e - e'`: zero with probability 1/p. Of several vectors `b` of a matrix each
//! has a sum `x b` of its own, and the equations of all are added up with further coins, drawn when
//! `rho` is there: as if by the same `z` errors of two vectors took each other away.
//! The OTs' choices are what a cheating peer may learn bits of, so each element of the vector is a
//! random combination of `matrix_tau` elements. Only one combination is used here, the vector
//! itself: it is shared by all rows. Coefficients differ from column to column, so the leftover
//! hash lemma holds for any guess about all columns, up to a factor of the root of their number.
//!
//! Cost per matrix and ordered pair, with a field of `k` bits: `tau k` OTs for a column and vector,
//! each with a column of one row more as its message; `k` elements to authenticate each element of
//! the matrix with that row, of the vectors, and of the products.
//! Invariants, and what is not protected: as `triples`.

use phineus_channels::{Channel, Parties};
use phineus_crypto::field::Field;
use phineus_crypto::{Block, Prg, SecretBit};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::authenticate::AuthenticatedOwners;
use super::batch::{COLUMNS_MAX, refill};
use super::coin::{Coins, misbehaved};
use super::deviation::Deviation;
use super::generator::{BatchBuffers, Generator};
use super::limits::{column_piece, matrix_rows_max, matrix_tau, offer_bytes, offers_ahead};
use super::peer_state::{PeerState, link};
use super::products::add_bit;
use super::triples::COINS;
use crate::CorrelatedError;
use crate::authenticated::{MatrixSize, Share};

type Columns<F> = [Zeroizing<Vec<Share<F>>>; COLUMNS_MAX];

/// Where the parts of what is authenticated lie: a mask, all matrices column by column, their
/// further rows, the vectors, the products, for each vector a sum of products of further rows.
#[derive(Clone, Copy)]
struct VectorOffsets {
    rows: usize,
    cols: usize,
    vectors: usize,
    count: usize,
}

impl VectorOffsets {
    /// Columns of all matrices.
    fn columns(self) -> usize {
        self.cols * self.count
    }

    /// Elements of all vectors.
    fn factors(self) -> usize {
        self.columns() * self.vectors
    }

    /// The column, of all matrices, that an element of the vectors is for.
    fn column_of(self, factor: usize) -> usize {
        factor / self.cols / self.vectors * self.cols + factor % self.cols
    }

    fn matrix<T>(self, elements: &[T]) -> &[T] {
        &elements[1..][..self.rows * self.columns()]
    }

    fn further<T>(self, elements: &[T]) -> &[T] {
        &elements[1 + self.rows * self.columns()..][..self.columns()]
    }

    fn vector<T>(self, elements: &[T]) -> &[T] {
        &elements[1 + (self.rows + 1) * self.columns()..][..self.factors()]
    }

    fn product<T>(self, elements: &[T]) -> &[T] {
        let results = &elements[1 + (self.rows + 1) * self.columns() + self.factors()..];
        &results[..self.rows * self.vectors * self.count]
    }

    fn further_sums<T>(self, elements: &[T]) -> &[T] {
        &elements[self.len() - self.vectors..]
    }

    /// The vectors, the products, and the sums of products of further rows.
    fn results_mut<T>(self, elements: &mut [T]) -> (&mut [T], &mut [T], &mut [T]) {
        let results = &mut elements[1 + (self.rows + 1) * self.columns()..];
        let (vector, results) = results.split_at_mut(self.factors());
        let (product, sums) = results.split_at_mut(self.rows * self.vectors * self.count);
        (vector, product, sums)
    }

    fn len(self) -> usize {
        let results = (self.rows * self.count + 1) * self.vectors;
        1 + (self.rows + 1) * self.columns() + self.factors() + results
    }
}

/// The OTs of a piece of the elements of vectors: bit by bit, the highest one first, random element
/// by random element of each.
#[derive(Clone, Copy)]
struct Ots {
    first: usize,
    factors: usize,
    bits: usize,
    tau: usize,
}

impl Ots {
    fn len(self) -> usize {
        self.factors * self.tau * self.bits
    }

    /// Which random element of the piece, and which bit, an OT is for.
    fn place(self, ot: usize) -> (usize, usize) {
        (ot / self.bits, self.bits - 1 - ot % self.bits)
    }
}

impl<F: Field, C: Channel, D: Deviation> Generator<F, C, D> {
    /// Makes `count` matrix triples of a size.
    ///
    /// # Panics
    /// If they have more rows than a message takes, or none, or no columns.
    pub(super) fn matrices(
        &mut self,
        size: MatrixSize,
        count: usize,
        columns: &mut Columns<F>,
    ) -> Result<(), CorrelatedError> {
        let [rows, cols, vectors] = [size.rows, size.cols, size.vectors].map(|n| n as usize);
        assert!(
            (1..=matrix_rows_max::<F>()).contains(&rows) && cols >= 1 && vectors >= 1,
            "a matrix of bounded size"
        );
        let parts = VectorOffsets { rows, cols, vectors, count };
        let (parties, transcript) = (&mut self.parties, &mut self.transcript);
        let mut coins =
            Coins::commit(parties, transcript, &mut self.prg, COINS, &mut self.deviation)?;
        let inputs = &mut self.room.inputs;
        refill(inputs, parts.len());
        let random = 1 + (rows + 1) * parts.columns();
        F::fill_random(&mut self.prg, &mut inputs[..random]);
        self.multiply_columns(parts)?;
        let mut coin = coins.open(&mut self.parties, &mut self.transcript)?;
        self.combine_columns(parts, &mut coin);
        self.authenticate(AuthenticatedOwners::All)?;

        let mut coin = coins.open(&mut self.parties, &mut self.transcript)?;
        let mut z = vec![F::ZERO; rows * count];
        F::fill_random(&mut coin, &mut z);
        let BatchBuffers { inputs, sums, .. } = &mut self.room;
        further_minus(parts, &z, inputs, sums);
        self.open_checked(AuthenticatedOwners::All, &mut coin)?;
        let mut coin = coins.open(&mut self.parties, &mut self.transcript)?;
        let sigma = self.sacrifice_rows(parts, &z, &mut coin);
        self.add_up_to_zero(sigma)?;

        let BatchBuffers { inputs, macs, .. } = &self.room;
        let [a, b, c] = columns;
        write(a, parts.matrix(inputs), parts.matrix(macs));
        write(b, parts.vector(inputs), parts.vector(macs));
        write(c, parts.product(inputs), parts.product(macs));
        Ok(())
    }

    /// Multiplies every column with `tau` random elements for each vector: `raw[0]` are these,
    /// vector by vector, `raw[1]` the shares of the products, each of one row more.
    fn multiply_columns(&mut self, parts: VectorOffsets) -> Result<(), CorrelatedError> {
        let (tau, bits) = (matrix_tau::<F>(), F::BITS as usize);
        let [factors, products] = &mut self.room.raw;
        refill(factors, tau * parts.factors());
        refill(products, tau * parts.factors() * (parts.rows + 1));
        let piece = column_piece(self.parties.ahead_bytes());
        for first in (0..parts.factors()).step_by(piece) {
            let factors = piece.min(parts.factors() - first);
            self.multiply_piece(parts, Ots { first, factors, bits, tau })?;
        }
        Ok(())
    }

    fn multiply_piece(&mut self, parts: VectorOffsets, ots: Ots) -> Result<(), CorrelatedError> {
        let Generator { parties, links, prg, .. } = self;
        let BatchBuffers { raw: [factors, products], b: zeros, inputs, sums, macs, .. } =
            &mut self.room;
        let mut choices = Zeroizing::new(vec![0u64; ots.len().div_ceil(64)]);
        prg.fill_bytes(choices.as_mut_bytes());
        let column_len = parts.rows + 1;
        let raw = ots.first * ots.tau..(ots.first + ots.factors) * ots.tau;
        let factors = &mut factors[raw.clone()];
        let products = &mut products[raw.start * column_len..raw.end * column_len];
        draw_factors(ots, &choices, factors);
        let messages = exchange_messages(parties, links, ots, &choices)?;

        refill(zeros, products.len());
        refill(sums, column_len);
        let (allowed, bytes) = (parties.ahead_bytes(), column_len * F::BYTES);
        let group = (offer_bytes(allowed) / bytes).max(1);
        let ahead = offers_ahead(group * bytes, allowed);
        let groups = ots.len().div_ceil(group);
        let range = |index: usize| index * group..((index + 1) * group).min(ots.len());
        refill(macs, 2 * column_len);
        let (offer, pad) = macs.split_at_mut(column_len);
        for step in 0..groups + ahead {
            for ot in range(step.min(groups)) {
                let (place, bit) = ots.place(ot);
                sums.fill(F::ZERO);
                for (peer, messages) in parties.peers().zip(&messages) {
                    let [zero, one] = messages.both[ot];
                    let column = parts.column_of(ots.first + place / ots.tau);
                    extended(parts, inputs, column, offer);
                    F::fill_random(&mut Prg::from_seed(one), pad);
                    F::sub_assign(offer, pad);
                    F::fill_random(&mut Prg::from_seed(zero), pad);
                    F::add_assign(offer, pad);
                    F::add_assign(sums, pad);
                    parties.channel(peer).send(offer.as_bytes())?;
                }
                add_bit(&mut zeros[place * column_len..][..column_len], bit, sums);
            }
            parties.flush()?;
            let Some(taken) = step.checked_sub(ahead) else { continue };
            for ot in range(taken) {
                let (place, bit) = ots.place(ot);
                let chosen = SecretBit::of_packed(&choices, ot);
                sums.fill(F::ZERO);
                for (peer, messages) in parties.peers().zip(&messages) {
                    let channel = parties.channel(peer);
                    let read = channel.recv_with(column_len * F::BYTES, |b| F::read(b, offer))?;
                    read.map_err(|_| misbehaved())?;
                    F::fill_random(&mut Prg::from_seed(messages.chosen[ot]), pad);
                    F::add_assign(sums, pad);
                    for (sum, offer) in sums.iter_mut().zip(offer.iter()) {
                        *sum = sum.add(offer.and_bit(chosen));
                    }
                }
                add_bit(&mut products[place * column_len..][..column_len], bit, sums);
            }
        }
        F::sub_assign(products, zeros);
        let of_each = products.chunks_exact_mut(ots.tau * column_len);
        for (products, (k, factors)) in of_each.zip((ots.first..).zip(factors.chunks(ots.tau))) {
            extended(parts, inputs, parts.column_of(k), sums);
            for (product, &factor) in products.chunks_exact_mut(column_len).zip(factors) {
                F::scale_add(product, factor, sums);
            }
        }
        Ok(())
    }

    /// The vectors, their products and the sums of products of further rows, as inputs.
    fn combine_columns(&mut self, parts: VectorOffsets, coin: &mut Prg) {
        let (tau, column_len) = (matrix_tau::<F>(), parts.rows + 1);
        let BatchBuffers { raw: [factors, products], inputs, sums, coefficients, .. } =
            &mut self.room;
        refill(coefficients, factors.len());
        F::fill_random(coin, coefficients);
        let (vector, product, further_sums) = parts.results_mut(inputs);
        refill(sums, column_len);
        for (k, out) in product.chunks_exact_mut(parts.rows).enumerate() {
            sums.fill(F::ZERO);
            let entries = vector.iter_mut().enumerate().skip(k * parts.cols).take(parts.cols);
            for (index, entry) in entries {
                let raw = index * tau..(index + 1) * tau;
                *entry = F::dot(&coefficients[raw.clone()], &factors[raw.clone()]);
                for raw in raw {
                    let product = &products[raw * column_len..][..column_len];
                    F::scale_add(sums, coefficients[raw], product);
                }
            }
            let (further, rows) = sums.split_last().expect("one row more");
            out.copy_from_slice(rows);
            let sum = &mut further_sums[k % parts.vectors];
            *sum = sum.add(*further);
        }
    }

    /// This party's share of zero, if the openings and the equation of the batch are right.
    fn sacrifice_rows(&mut self, parts: VectorOffsets, z: &[F], coin: &mut Prg) -> F {
        let BatchBuffers { macs, sums, opened, coefficients, .. } = &mut self.room;
        further_minus(parts, z, macs, sums);
        refill(coefficients, parts.columns() + parts.vectors);
        F::fill_random(coin, coefficients);
        let (of_equations, of_openings) = coefficients.split_at(parts.vectors);
        let value = F::dot(of_openings, opened);
        let mut sigma = F::dot(of_openings, sums).sub(self.key.mul(value));
        for (sum, coefficient) in parts.further_sums(macs).iter().zip(of_equations) {
            sigma = sigma.sub(coefficient.mul(*sum));
        }
        let products = parts.product(macs).chunks_exact(parts.rows);
        let vectors = parts.vector(macs).chunks_exact(parts.cols);
        for (k, (product, vector)) in products.zip(vectors).enumerate() {
            let (item, of_vector) = (k / parts.vectors, of_equations[k % parts.vectors]);
            let z = &z[item * parts.rows..][..parts.rows];
            let opened = &opened[item * parts.cols..][..parts.cols];
            let equation = F::dot(z, product).sub(F::dot(opened, vector));
            sigma = sigma.add(of_vector.mul(equation));
        }
        sigma
    }
}

/// Messages of the OTs with one peer.
struct OtMessages {
    chosen: Zeroizing<Vec<Block>>,
    both: Zeroizing<Vec<[Block; 2]>>,
}

/// Makes the OTs of a piece with all peers, in both directions.
fn exchange_messages<F: Field, C: Channel>(
    parties: &mut Parties<C>,
    links: &mut [Option<PeerState<F>>],
    ots: Ots,
    choices: &[u64],
) -> Result<Vec<OtMessages>, CorrelatedError> {
    let mut messages = Vec::with_capacity(links.len());
    for peer in parties.peers() {
        let chosen = Zeroizing::new(vec![Block::ZERO; ots.len()]);
        let both = Zeroizing::new(vec![[Block::ZERO; 2]; ots.len()]);
        let mut made = OtMessages { chosen, both };
        link(links, peer).receiver.extend(parties.channel(peer), choices, &mut made.chosen)?;
        messages.push(made);
    }
    for (peer, made) in parties.peers().zip(&mut messages) {
        link(links, peer).sender.extend(parties.channel(peer), &mut made.both)?;
    }
    Ok(messages)
}

/// A column with its further row.
fn extended<F: Field>(parts: VectorOffsets, inputs: &[F], column: usize, out: &mut [F]) {
    let (further, rows) = out.split_last_mut().expect("one row more");
    rows.copy_from_slice(&parts.matrix(inputs)[column * parts.rows..][..parts.rows]);
    *further = parts.further(inputs)[column];
}

/// The elements whose bits are the choices.
fn draw_factors<F: Field>(ots: Ots, choices: &[u64], factors: &mut [F]) {
    for (i, factor) in factors.iter_mut().enumerate() {
        let bits = i * ots.bits..(i + 1) * ots.bits;
        let word = bits
            .fold(0, |word: u128, ot| word << 1 | u128::from(choices[ot / 64] >> (ot % 64) & 1));
        *factor = F::new(word);
    }
}

/// `rho = z A - x`, column by column, of values or of MACs.
fn further_minus<F: Field>(parts: VectorOffsets, z: &[F], elements: &[F], rho: &mut Vec<F>) {
    refill(rho, parts.columns());
    let columns = parts.matrix(elements).chunks_exact(parts.rows).enumerate();
    for (rho, (column, elements)) in rho.iter_mut().zip(columns) {
        let z = &z[column / parts.cols * parts.rows..][..parts.rows];
        *rho = F::dot(z, elements);
    }
    F::sub_assign(rho, parts.further(elements));
}

fn write<F: Field>(column: &mut [Share<F>], values: &[F], macs: &[F]) {
    for (share, (&value, &mac)) in column.iter_mut().zip(values.iter().zip(macs)) {
        *share = Share { value, mac };
    }
}
