//! Shares of products: `tau` random vectors, each times one vector, of all parties together.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT", CCS 2016 (ePrint 2016/505), the protocol Pi_Triple,
//! step "Multiply". A product of sums is the sum of the products of summands. For each ordered
//! pair of parties the bits of the first one's factors are the choices of random OTs; the second
//! sends the difference of both messages plus its own factor, so that the messages that both then
//! have add up to the product.
//! The order is bit by bit: a tile of OTs is one bit of 4096 factors, so everything that is done
//! with it is a pass over vectors.
//!
//! Cost per factor and ordered pair, with a field of `k` bits: `k` OTs, and `k` elements from
//! their sender to their receiver.
//! Invariants: rows and tiles of one party are never ahead of its peer's by more than `limits` say.
//! Not protected: a peer may offer different factors for different bits, and see whether that is
//! found out: this gives it bits of the factors. The caller combines the products at random and
//! checks them.

use phineus_channels::{Channel, Parties};
use phineus_crypto::field::Field;
use phineus_crypto::{Block, Prg, SecretBit, transpose};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::coin::misbehaved;
use super::limits::{ROW_ELEMENTS, tiles_on_the_way, tiles_room};
use super::peer_state::{PeerState, link};
use crate::CorrelatedError;

const PLANE_WORDS: usize = ROW_ELEMENTS / 64;

/// Bits in the order of the OTs, and space for one tile.
pub(super) struct OtProducts<F: Field> {
    /// A plane of bits for each tile of OTs: bit by bit of one vector, vector by vector, piece by
    /// piece.
    planes: Zeroizing<Vec<u64>>,
    /// 128 rows of a piece.
    matrix: Zeroizing<Vec<u64>>,
    blocks: Zeroizing<Vec<Block>>,
    pairs: Zeroizing<Vec<[Block; 2]>>,
    pub(super) rows: [Zeroizing<Vec<F>>; 2],
    /// Minus the messages for choice 0 of all peers' OTs, of the tiles that are on the way.
    zeros: Zeroizing<Vec<F>>,
}

/// A tile of OTs: which elements, which vector, which bit, and where its choices are.
#[derive(Clone, Copy)]
struct ProductTile {
    plane: usize,
    first: usize,
    len: usize,
    vector: usize,
    bit: usize,
    /// Where its own messages lie among those that are on the way, and the peers' among theirs.
    pad: usize,
    zeros: usize,
}

/// The tiles of a batch, in order: the highest bit of a vector first ([`add_bit`]).
#[derive(Clone, Copy)]
struct TileIterator {
    count: usize,
    tau: usize,
    bits: usize,
    /// How many are chosen before the first is offered, and offered before the first is taken: as
    /// many, because a party takes in the order in which its peer sends.
    ahead: usize,
}

impl TileIterator {
    fn new<F: Field>(count: usize, tau: usize, ahead_bytes: usize) -> TileIterator {
        let elements = ROW_ELEMENTS.min(count).max(1);
        let ahead = (tiles_on_the_way::<F>(elements, ahead_bytes) - 1) / 2;
        TileIterator { count, tau, bits: F::BITS as usize, ahead }
    }

    fn len(self) -> usize {
        self.count.div_ceil(ROW_ELEMENTS) * self.tau * self.bits
    }

    fn get(self, index: usize) -> Option<ProductTile> {
        let first = index / (self.tau * self.bits) * ROW_ELEMENTS;
        let bit = self.bits - 1 - index % self.bits;
        let stride = ROW_ELEMENTS.min(self.count);
        (index < self.len()).then(|| ProductTile {
            plane: (index / self.bits * self.bits + bit) * PLANE_WORDS,
            first,
            len: ROW_ELEMENTS.min(self.count - first),
            vector: index / self.bits % self.tau,
            bit,
            pad: index % (2 * self.ahead + 1) * stride,
            zeros: index % (self.ahead + 1) * stride,
        })
    }
}

impl<F: Field> OtProducts<F> {
    /// With space for what channels take that are ahead by no more than that.
    pub(super) fn new(ahead_bytes: usize) -> OtProducts<F> {
        let row = || Zeroizing::new(vec![F::ZERO; ROW_ELEMENTS]);
        OtProducts {
            planes: Vec::new().into(),
            matrix: vec![0; 128 * PLANE_WORDS].into(),
            blocks: vec![Block::ZERO; ROW_ELEMENTS].into(),
            pairs: vec![[Block::ZERO; 2]; ROW_ELEMENTS].into(),
            rows: [row(), row()],
            zeros: vec![F::ZERO; tiles_room::<F>(ahead_bytes)].into(),
        }
    }

    /// Draws `tau` vectors of `b.len()` elements into `a`, one after the other, and makes this
    /// party's shares `c` of the sum of all parties' vectors times the sum of all parties' `b`.
    pub(super) fn multiply<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        links: &mut [Option<PeerState<F>>],
        prg: &mut Prg,
        [a, c]: [&mut [F]; 2],
        b: &[F],
    ) -> Result<(), CorrelatedError> {
        let tau = a.len() / b.len().max(1);
        assert!(a.len() == tau * b.len() && c.len() == a.len(), "whole vectors");
        let tiles = TileIterator::new::<F>(b.len(), tau, parties.ahead_bytes());
        self.draw(prg, tiles, a);
        c.fill(F::ZERO);
        for step in 0..tiles.len() + 2 * tiles.ahead {
            if let Some(tile) = tiles.get(step) {
                self.choose(parties, links, tile)?;
            }
            if let Some(tile) = step.checked_sub(tiles.ahead).and_then(|i| tiles.get(i)) {
                self.offer(parties, links, tile, b)?;
            }
            let taken = step.checked_sub(2 * tiles.ahead);
            if let Some(tile) = taken.and_then(|i| tiles.get(i)) {
                self.take(parties, links, tile, &mut c[tile.vector * b.len() + tile.first..])?;
            }
        }
        for (a, c) in a.chunks_exact(b.len()).zip(c.chunks_exact_mut(b.len())) {
            F::mul_add_assign(c, a, b);
        }
        Ok(())
    }

    /// Draws the bits of all vectors, and the vectors from them.
    fn draw(&mut self, prg: &mut Prg, tiles: TileIterator, a: &mut [F]) {
        let words = tiles.len() * PLANE_WORDS;
        if self.planes.len() < words {
            self.planes = vec![0; words].into();
        }
        prg.fill_bytes(self.planes[..words].as_mut_bytes());
        self.matrix.fill(0);
        for index in (0..tiles.len()).step_by(tiles.bits) {
            let tile = tiles.get(index).expect("the index is in range");
            let planes = &self.planes[index * PLANE_WORDS..][..tiles.bits * PLANE_WORDS];
            self.matrix[..planes.len()].copy_from_slice(planes);
            let blocks = &mut self.blocks[..tile.len.next_multiple_of(128)];
            transpose(self.matrix.as_bytes(), PLANE_WORDS * size_of::<u64>(), blocks);
            let a = &mut a[tile.vector * tiles.count + tile.first..][..tile.len];
            for (a, block) in a.iter_mut().zip(blocks) {
                *a = F::new(block.to_bits());
            }
        }
    }

    /// Chooses in the OTs of a tile, with all peers; only sends.
    fn choose<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        links: &mut [Option<PeerState<F>>],
        tile: ProductTile,
    ) -> Result<(), CorrelatedError> {
        let choices = &self.planes[tile.plane..][..tile.len.div_ceil(64)];
        for peer in parties.peers() {
            let link = link(links, peer);
            let blocks = &mut self.blocks[..tile.len];
            link.receiver.extend(parties.channel(peer), choices, blocks)?;
            for (pad, block) in link.pads[tile.pad..].iter_mut().zip(blocks) {
                *pad = F::new(block.to_bits());
            }
        }
        Ok(())
    }

    /// Sends the messages of a tile's OTs to all peers: they get shares of products with `b`.
    fn offer<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        links: &mut [Option<PeerState<F>>],
        tile: ProductTile,
        b: &[F],
    ) -> Result<(), CorrelatedError> {
        let offer = &mut self.rows[0][..tile.len];
        let zeros = &mut self.zeros[tile.zeros..][..tile.len];
        zeros.fill(F::ZERO);
        for peer in parties.peers() {
            let channel = parties.channel(peer);
            let pairs = &mut self.pairs[..tile.len];
            link(links, peer).sender.extend(channel, pairs)?;
            offer.copy_from_slice(&b[tile.first..][..tile.len]);
            for ((zero, offer), pair) in zeros.iter_mut().zip(offer.iter_mut()).zip(pairs) {
                let [first, second] = pair.map(|message| F::new(message.to_bits()));
                *zero = zero.sub(first);
                *offer = offer.add(first.sub(second));
            }
            channel.send(offer.as_bytes())?;
            channel.flush()?;
        }
        Ok(())
    }

    /// Takes the messages of all peers, and adds what the tile gives to the products `c`.
    fn take<C: Channel>(
        &mut self,
        parties: &mut Parties<C>,
        links: &mut [Option<PeerState<F>>],
        tile: ProductTile,
        c: &mut [F],
    ) -> Result<(), CorrelatedError> {
        let choices = &self.planes[tile.plane..][..tile.len.div_ceil(64)];
        let offer = &mut self.rows[0][..tile.len];
        let sum = &mut self.zeros[tile.zeros..][..tile.len];
        for peer in parties.peers() {
            let read = |bytes: &[u8]| F::read(bytes, offer);
            let read = parties.channel(peer).recv_with(tile.len * F::BYTES, read)?;
            read.map_err(|_| misbehaved())?;
            let pads = &link(links, peer).pads[tile.pad..];
            F::add_assign(sum, &pads[..tile.len]);
            let groups = sum.chunks_mut(64).zip(offer.chunks(64));
            for ((sum, offer), bits) in groups.zip(choices) {
                for (j, (sum, offer)) in sum.iter_mut().zip(offer).enumerate() {
                    *sum = sum.add(offer.and_bit(SecretBit::lowest(bits >> j)));
                }
            }
        }
        add_bit(&mut c[..tile.len], tile.bit, sum);
        Ok(())
    }
}

/// Adds 2^bit times `x`, which is added for every bit once, the highest one first: where products
/// are slow, it is the sum that is doubled.
pub(super) fn add_bit<F: Field>(sum: &mut [F], bit: usize, x: &[F]) {
    if F::IN_LANES {
        return F::scale_add(sum, F::new(1 << bit), x);
    }
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum = sum.add(*sum).add(*x);
    }
}
