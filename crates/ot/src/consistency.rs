//! The checks that make an extension secure against a malicious receiver.
//!
//! Source: Roy, "SoftSpokenOT" (ePrint 2022/192): Figure 14 (a tree whose builder lied about sums)
//! and Section 4 (a receiver that corrects its VOLEs to different choices: a random linear hash of
//! all columns must fit one hash of the choices). Per tile: the hash is POLYVAL, a polynomial of
//! at most 34 blocks at a random point, so a lie passes with probability 2^-122 at most, unless it
//! guesses bits of delta that it is about, which the functionality allows.
//! *Deviation*: the challenge is not drawn by the sender but is the hash of everything that the
//! receiver has sent (Fiat-Shamir), so that a receiver still only sends: the trees with their
//! proofs, which commit to all leaves and so to the columns, then the corrections. And it sends a
//! hash of its columns' hashes instead of these, because the sender can compute what they must be.
//!
//! Cost per tile of up to 4096 OTs: 128 OTs that mask the hash of the choices, and 48 bytes; per
//! tree 64 bytes. Invariants: constant time in delta; which check failed is not said.
//! Not protected: a receiver can try to guess bits of delta; each guess is caught half of the time.

use phineus_channels::Channel;
use phineus_crypto::{Block, Delta, Kernel, Polyval, Prg, SecretBit, declassify_choice};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};
use zerocopy::IntoBytes;
use zeroize::Zeroizing;

use super::SessionId;
use super::limits::BASE_OT_COUNT;
use crate::OtError;

pub(crate) const DIGEST_BYTES: usize = 32;
/// The hash of the choices and the digest of the columns' hashes.
pub(crate) const PROOF_BYTES: usize = size_of::<Block>() + DIGEST_BYTES;
/// Bytes that a leaf contributes to the check of its tree.
pub(crate) const OPENING_BYTES: usize = 32;

/// The hash of all trees and corrections so far: where the challenges come from. Without the trees
/// a receiver could try one after the other until a challenge for its corrections suits them.
pub(crate) struct Challenges([u8; DIGEST_BYTES]);

impl Challenges {
    pub(crate) fn new(session: &SessionId) -> Challenges {
        let hash = Sha256::new().chain_update(b"phineus extension check 1");
        Challenges(hash.chain_update(session.as_bytes()).finalize().into())
    }

    /// Takes in a message: that of a tree, its proof, the corrections of a tile.
    pub(crate) fn absorb(&mut self, message: &[u8]) {
        self.0 = Sha256::new().chain_update(self.0).chain_update(message).finalize().into();
    }

    /// The linear hash of the last tile.
    fn hash(&self) -> Polyval {
        let (point, _) = self.0.split_first_chunk::<16>().expect("a digest has 32 bytes");
        Polyval::new(Kernel::selected(), Block::from_bits(u128::from_le_bytes(*point)))
    }

    /// The digest of what the columns hash to.
    fn digest(&self, hashes: &[Block; BASE_OT_COUNT]) -> [u8; DIGEST_BYTES] {
        Sha256::new().chain_update(self.0).chain_update(hashes.as_bytes()).finalize().into()
    }
}

/// The hash of every column.
fn hash_columns(hash: &Polyval, columns: &[Block]) -> Zeroizing<[Block; BASE_OT_COUNT]> {
    let mut hashes = Zeroizing::new([Block::ZERO; BASE_OT_COUNT]);
    let row = columns.len() / BASE_OT_COUNT;
    for (hashed, column) in hashes.iter_mut().zip(columns.chunks_exact(row)) {
        *hashed = hash.hash(column.as_bytes(), Block::ZERO);
    }
    hashes
}

/// Proves that all VOLEs of the last tile are corrected to `choices`, whose last block is random.
pub(crate) fn prove_columns(
    channel: &mut impl Channel,
    challenges: &Challenges,
    choices: &[Block],
    columns: &[Block],
) -> Result<(), OtError> {
    let hash = challenges.hash();
    let digest = challenges.digest(&hash_columns(&hash, columns));
    channel.send(hash.hash(choices.as_bytes(), Block::ZERO).as_bytes())?;
    Ok(channel.send(&digest)?)
}

/// Checks it: every column is the receiver's, and the choices where delta has a bit.
pub(crate) fn check_columns(
    channel: &mut impl Channel,
    challenges: &Challenges,
    delta: &Delta,
    columns: &[Block],
) -> Result<(), OtError> {
    let mut choices = [Block::ZERO];
    let mut digest = [0; DIGEST_BYTES];
    channel.recv(choices.as_mut_bytes())?;
    channel.recv(&mut digest)?;
    let mut hashes = hash_columns(&challenges.hash(), columns);
    let delta = delta.block().to_bits();
    for (column, hash) in hashes.iter_mut().enumerate() {
        *hash ^= choices[0].and_bit(SecretBit::lowest((delta >> column) as u64));
    }
    require(challenges.digest(&hashes).ct_eq(&digest))
}

/// Replaces every leaf by a seed, and gives what else comes out of it for the check.
fn open_leaves(leaves: &mut [Block]) -> Zeroizing<Vec<[u8; OPENING_BYTES]>> {
    let mut openings = Zeroizing::new(vec![[0; OPENING_BYTES]; leaves.len()]);
    for (leaf, opening) in leaves.iter_mut().zip(openings.iter_mut()) {
        let mut prg = Prg::from_seed(*leaf);
        *leaf = prg.next_block();
        prg.fill_bytes(opening);
    }
    openings
}

fn add_opening(sum: &mut [u8; OPENING_BYTES], opening: &[u8; OPENING_BYTES]) {
    sum.iter_mut().zip(opening).for_each(|(sum, byte)| *sum ^= byte);
}

fn digest_of(openings: &[[u8; OPENING_BYTES]]) -> [u8; DIGEST_BYTES] {
    let hash = Sha256::new().chain_update(b"phineus tree check 1");
    hash.chain_update(openings.as_flattened()).finalize().into()
}

/// Proves that the tree with these leaves is the one that was sent; the leaves become seeds.
pub(crate) fn prove_tree(
    channel: &mut impl Channel,
    challenges: &mut Challenges,
    leaves: &mut [Block],
) -> Result<(), OtError> {
    let openings = open_leaves(leaves);
    let mut sum = [0; OPENING_BYTES];
    openings.iter().for_each(|opening| add_opening(&mut sum, opening));
    let digest = digest_of(&openings);
    challenges.absorb(&sum);
    challenges.absorb(&digest);
    channel.send(&sum)?;
    Ok(channel.send(&digest)?)
}

/// Checks it. `leaves` are numbered relative to `path`, as `pprf::evaluate` gives them; number 0
/// stays unknown.
pub(crate) fn check_tree(
    channel: &mut impl Channel,
    challenges: &mut Challenges,
    path: &[SecretBit],
    leaves: &mut [Block],
) -> Result<(), OtError> {
    let (mut sum, mut digest) = ([0; OPENING_BYTES], [0; DIGEST_BYTES]);
    channel.recv(&mut sum)?;
    channel.recv(&mut digest)?;
    challenges.absorb(&sum);
    challenges.absorb(&digest);
    let mut openings = open_leaves(leaves);
    leaves[0] = Block::ZERO;
    let (unknown, known) = openings.split_first_mut().expect("a tree has leaves");
    known.iter().for_each(|opening| add_opening(&mut sum, opening));
    *unknown = sum;
    // Back to the builder's numbers: leaf y is number y ^ path. Each bit of the path exchanges
    // the halves of all subtrees of its level, or does not, without a branch.
    for (level, &bit) in path.iter().enumerate() {
        let half = openings.len() >> (level + 1);
        let mask = bit.mask() as u8;
        for subtree in openings.chunks_exact_mut(2 * half) {
            let (left, right) = subtree.split_at_mut(half);
            let bytes = left.as_flattened_mut().iter_mut().zip(right.as_flattened_mut());
            for (left, right) in bytes {
                let difference = (*left ^ *right) & mask;
                *left ^= difference;
                *right ^= difference;
            }
        }
    }
    require(digest_of(&openings).ct_eq(&digest))
}

fn require(holds: Choice) -> Result<(), OtError> {
    if declassify_choice(holds, "whether the check of a peer holds: the run ends if not") {
        Ok(())
    } else {
        Err(OtError::Misbehaved { during: "OT extension" })
    }
}
