//! [`GateBatch`]: AND gates whose tables are being made, and this party's part of the tables.
//!
//! What the parties compute together for gate `g` and every party `j`, all sums being XORs over
//! the parties `i`, `H` being hashes of `i`'s keys (see `hash`) and `R_j` the offset of `j`:
//!
//! * `A_j = sum H_i(a_0) ^ H_i(a_1) ^ mask_b R_j`
//! * `B_j = sum H_i(b_0) ^ H_i(b_1) ^ mask_a R_j ^ a_{j,0}`
//! * `C_j = sum H_i(a_0) ^ H_i(b_0) ^ (mask_a mask_b ^ mask_w) R_j ^ w_{j,0}`
//!
//! With active keys `a`, `b` and public values `alpha`, `beta`, everybody then has
//! `sum (H_i(a) ^ H_i(b)) ^ alpha A_j ^ beta (B_j ^ a_j) ^ C_j = w_{j,0} ^ gamma R_j`,
//! where `gamma = (alpha ^ mask_a)(beta ^ mask_b) ^ mask_w`: both halves of half gates.
//!
//! A party has its own keys and its offset: all that it lacks of its own active key of a result is
//! `gamma`, the select bit of anybody else's. So it needs the tables of the others only.
//!
//! The shares of a bit times `R_j` are what correlated OTs with offset `R_j` give, the parties'
//! shares of the bit being the choices.

use phineus_crypto::{Block, CrHash, Delta, JointGates, Prg, SecretBit};
use zeroize::{Zeroize, Zeroizing};

use super::hash::tweaks;
use super::limits::{GATES_PER_CHUNK, ROWS, planes_kept};
use super::links::pack;
use super::rows::grow;
use super::tables::make_room;

type Bits = Zeroizing<Vec<u64>>;

/// AND gates in progress.
pub(super) struct GateBatch {
    pub(super) number: u64,
    pub(super) gates: usize,
    /// This party's zero-keys of operands and results, with its shares of the masks.
    pub(super) a: Zeroizing<Vec<Block>>,
    pub(super) b: Zeroizing<Vec<Block>>,
    pub(super) w: Zeroizing<Vec<Block>>,
    pub(super) mask_a: Bits,
    pub(super) mask_b: Bits,
    pub(super) mask_w: Bits,
    /// This party's share of `mask_a mask_b`, then of that and `mask_w`.
    pub(super) product: Bits,
    /// By peer, this party's pads as receiver of the OTs of bits.
    pub(super) pads: Vec<Bits>,
    /// By peer, corrections to and from it.
    pub(super) sent: Vec<Vec<u64>>,
    pub(super) received: Vec<Vec<u64>>,
    /// This party's shares of the masks of sums that the first party decodes, packed, each value
    /// from a byte on; at the first party then the masks.
    pub(super) decoding: Zeroizing<Vec<u8>>,
    /// Shares of the tables, then the tables: of each party three rows of a key for each gate; of
    /// two parties only the peer's.
    pub(super) rows: Vec<Block>,
    /// Of two parties, this party's shares of its own tables, of which it needs no more.
    pub(super) own: Vec<Block>,
    me: usize,
    parties: usize,
}

/// The bits of a batch that oblivious transfers take and give.
pub(super) struct OtBits<'a> {
    pub(super) mask_a: &'a [u64],
    pub(super) mask_b: &'a [u64],
    pub(super) product: &'a mut [u64],
    pub(super) pads: &'a mut [Bits],
    pub(super) sent: &'a mut [Vec<u64>],
}

impl GateBatch {
    /// An empty batch with space for `capacity` gates, of party `me` of so many.
    pub(super) fn new(capacity: usize, me: usize, parties: usize) -> GateBatch {
        let keys = || Zeroizing::new(vec![Block::ZERO; capacity]);
        let words = capacity.div_ceil(64);
        let bits = || Zeroizing::new(vec![0; words]);
        GateBatch {
            number: 0,
            gates: 0,
            a: keys(),
            b: keys(),
            w: keys(),
            mask_a: bits(),
            mask_b: bits(),
            mask_w: bits(),
            product: bits(),
            pads: (0..parties).map(|_| bits()).collect(),
            sent: vec![vec![0; words]; parties],
            received: vec![vec![0; words]; parties],
            decoding: Zeroizing::default(),
            rows: Vec::new(),
            own: Vec::new(),
            me,
            parties,
        }
    }

    /// Makes it batch `number`, without gates; draws the keys and masks of results.
    pub(super) fn reset(&mut self, number: u64, prg: &mut Prg) {
        (self.number, self.gates) = (number, 0);
        self.decoding.clear();
        // Those of the batch before went with its tables.
        grow(&mut self.w, self.a.len());
        prg.fill_blocks(&mut self.w);
    }

    pub(super) fn words(&self) -> usize {
        self.gates.div_ceil(64)
    }

    /// Appends as many gates as fit of those with these operands, and writes their results.
    pub(super) fn push(&mut self, a: &[Block], b: &[Block], products: &mut [Block]) -> usize {
        let count = a.len().min(self.a.len() - self.gates);
        let range = self.gates..self.gates + count;
        self.a[range.clone()].copy_from_slice(&a[..count]);
        self.b[range.clone()].copy_from_slice(&b[..count]);
        products[..count].copy_from_slice(&self.w[range]);
        self.gates += count;
        count
    }

    /// Appends shares of the masks of `wires`, which have been garbled.
    pub(super) fn decode(&mut self, wires: &[Block]) {
        let shares = wires.chunks(8).map(|wires| {
            let bits = wires.iter().enumerate();
            bits.fold(0, |byte, (k, wire)| byte | (wire.select_u64() as u8) << k)
        });
        make_room(&mut self.decoding, shares.len());
        self.decoding.extend(shares);
    }

    pub(super) fn is_full(&self) -> bool {
        self.gates == self.a.len()
    }

    /// Takes note of the masks and makes space for tables, of which nothing is there yet.
    pub(super) fn seal(&mut self) {
        let gates = self.gates;
        for (keys, mask) in
            [(&self.a, &mut self.mask_a), (&self.b, &mut self.mask_b), (&self.w, &mut self.mask_w)]
        {
            pack(&keys[..gates], mask);
        }
        let masks = self.mask_a.iter().zip(self.mask_b.iter());
        self.product.iter_mut().zip(masks).for_each(|(product, (a, b))| *product = a & b);
        self.rows.resize(gates * planes_kept(self.parties) * ROWS, Block::ZERO);
        self.own.resize(if self.parties == 2 { gates * ROWS } else { 0 }, Block::ZERO);
    }

    /// Row `row` of the tables of `party`, a block for each gate; with it all else.
    pub(super) fn row(&mut self, party: usize, row: usize) -> (&mut [Block], OtBits<'_>) {
        let (gates, words) = (self.gates, self.words());
        let (rows, first) = match self.parties {
            2 if party == self.me => (&mut self.own, 0),
            2 => (&mut self.rows, 0),
            _ => (&mut self.rows, party * ROWS),
        };
        let bits = OtBits {
            mask_a: &self.mask_a[..words],
            mask_b: &self.mask_b[..words],
            product: &mut self.product[..words],
            pads: &mut self.pads,
            sent: &mut self.sent,
        };
        (&mut rows[(first + row) * gates..][..gates], bits)
    }

    /// Adds to `product` what the corrections from `peer` make of the OTs with it.
    pub(super) fn correct(&mut self, peer: usize) {
        let words = self.gates.div_ceil(64);
        for k in 0..words {
            self.product[k] ^=
                self.pads[peer][k] ^ self.mask_b[k] & u64::from_le(self.received[peer][k]);
        }
    }

    /// Adds this party's hashes and keys.
    pub(super) fn garble(&mut self, offset: &Delta, hash: &CrHash) {
        let linear = JointGates::selected();
        let mut keys = Zeroizing::new([[Block::ZERO; GATES_PER_CHUNK]; 4]);
        for first in (0..self.gates).step_by(GATES_PER_CHUNK) {
            let gates = GATES_PER_CHUNK.min(self.gates - first);
            let [a, b] = [&self.a, &self.b].map(|keys| &keys[first..][..gates]);
            let [a0, a1, b0, b1] = keys.each_mut().map(|keys| &mut keys[..gates]);
            linear.both_keys(a, offset, [a0, a1]);
            linear.both_keys(b, offset, [b0, b1]);
            hash.permute(keys.as_flattened_mut());
            for party in 0..self.parties {
                let rows = match self.parties {
                    2 if party == self.me => &mut self.own[..],
                    2 => &mut self.rows[..],
                    _ => &mut self.rows[party * ROWS * self.gates..][..ROWS * self.gates],
                };
                let mut rows = rows.chunks_exact_mut(self.gates);
                let mut rows: [&mut [Block]; ROWS] = std::array::from_fn(|_| {
                    &mut rows.next().expect("a party has so many rows")[first..][..gates]
                });
                let keys = keys.each_ref().map(|keys| &keys[..gates]);
                hash.add_gates(tweaks(first, party), keys, rows.each_mut().map(|row| &mut **row));
                if party == self.me {
                    let [first_row, second_row, third_row] = rows;
                    linear.add_own([a, b], offset, [first_row, second_row]);
                    let own = third_row.iter_mut().zip(&self.w[first..]).enumerate();
                    for (gate, (block, &key)) in own {
                        let gate = first + gate;
                        let bit = SecretBit::of_packed(&self.product, gate);
                        *block ^= offset.block().and_bit(bit)
                            ^ key.with_select_bit(SecretBit::public(false));
                    }
                }
            }
        }
    }
}

impl Drop for GateBatch {
    fn drop(&mut self) {
        // Shares of the tables hold multiples of the offset.
        self.rows.zeroize();
        self.own.zeroize();
    }
}
