//! [`Polyval`]: the polynomial hash of the page cipher, over GF(2^128).
//!
//! Source: RFC 8452 section 3. With `S_0 = 0` and `S_i = (S_{i-1} + X_i) * H * x^-128`, POLYVAL is
//! the last `S_i`; so it is the sum of `X_i * H^(n+1-i)`, powers by that product, in any grouping.
//! On x86-64, [`STEP_BLOCKS`] products are added up unreduced and reduced once (Gueron, Kounavis,
//! "Intel Carry-Less Multiplication Instruction and its Usage for Computing the GCM Mode", 2010).
//!
//! Cost: 3 carry-less multiplications (Karatsuba) per 16 bytes; one instruction does 1, 2 or 4.
//! Invariant: the powers of the key are wiped on drop, sums that were in memory when used.
//! Not protected: a hash value shown without a mask gives the key away.

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
use crate::InstructionSet;
use crate::{Block, Kernel};
use ::polyval::universal_hash::UniversalHash;
use zerocopy::IntoBytes;
#[cfg(target_arch = "x86_64")]
use zeroize::{Zeroize, Zeroizing};

/// Blocks between two reductions: a reduction is some 40 cycles in a row, which 64 blocks' 48 to
/// 192 multiplications cover; and a page of 4096 bytes holds whole steps.
#[cfg(target_arch = "x86_64")]
const STEP_BLOCKS: usize = 64;

/// The hash under one key.
pub struct Polyval(PowersForm);

enum PowersForm {
    /// The `polyval` crate, which wipes its key.
    Portable(::polyval::Polyval),
    /// For the kernels of x86-64: `H^STEP_BLOCKS` first, `H` last.
    #[cfg(target_arch = "x86_64")]
    Powers(Kernel, Box<Zeroizing<[Block; STEP_BLOCKS]>>),
}

impl Polyval {
    /// The hash under `key`, on a given kernel.
    pub fn new(kernel: Kernel, key: Block) -> Polyval {
        #[cfg(target_arch = "x86_64")]
        if kernel.variant() >= InstructionSet::AesNi {
            // SAFETY: this kernel's variant has PCLMULQDQ, as have those above it.
            let powers = unsafe { x86::powers(key) };
            return Polyval(PowersForm::Powers(kernel, Box::new(powers.into())));
        }
        let _ = kernel;
        let mut bytes = zeroize::Zeroizing::new([0; 16]);
        bytes.copy_from_slice(key.as_bytes());
        Polyval(PowersForm::Portable(::polyval::Polyval::new(&(*bytes).into())))
    }

    /// POLYVAL of `bytes`, with zeros up to a whole block, and then of the block `last`.
    pub fn hash(&self, bytes: &[u8], last: Block) -> Block {
        match &self.0 {
            PowersForm::Portable(keyed) => {
                let mut hash = keyed.clone();
                hash.update_padded(bytes);
                hash.update(&[last.to_bits().to_le_bytes().into()]);
                Block::from_bits(u128::from_le_bytes(hash.finalize().into()))
            }
            #[cfg(target_arch = "x86_64")]
            PowersForm::Powers(kernel, powers) => hash_in_steps(*kernel, powers, bytes, last),
        }
    }
}

/// Whole steps where they lie, the rest behind zeros: a zero block before the first block of a sum
/// that is zero changes nothing.
#[cfg(target_arch = "x86_64")]
fn hash_in_steps(
    kernel: Kernel,
    powers: &[Block; STEP_BLOCKS],
    bytes: &[u8],
    last: Block,
) -> Block {
    const BLOCK_BYTES: usize = size_of::<Block>();
    const STEP_BYTES: usize = STEP_BLOCKS * BLOCK_BYTES;
    let (steps, rest) = bytes.split_at(bytes.len() / STEP_BYTES * STEP_BYTES);
    let sum = absorb(kernel, powers, Block::ZERO, steps);

    // The rest and `last` are one block to one more than a step.
    let mut tail = [Block::ZERO; 2 * STEP_BLOCKS];
    let first = tail.len() - 1 - rest.len().div_ceil(BLOCK_BYTES);
    tail[first..].as_mut_bytes()[..rest.len()].copy_from_slice(rest);
    tail[2 * STEP_BLOCKS - 1] = last;
    tail[first] ^= sum;
    let used = first / STEP_BLOCKS * STEP_BLOCKS;
    let hash = absorb(kernel, powers, Block::ZERO, tail[used..].as_bytes());
    tail[first].zeroize();
    hash
}

/// The sum after whole steps of blocks.
#[cfg(target_arch = "x86_64")]
fn absorb(kernel: Kernel, powers: &[Block; STEP_BLOCKS], sum: Block, steps: &[u8]) -> Block {
    match kernel.variant() {
        // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
        InstructionSet::Vaes512 => unsafe { x86::vaes512::absorb(powers, sum, steps) },
        // SAFETY: as above.
        InstructionSet::Vaes256 => unsafe { x86::vaes256::absorb(powers, sum, steps) },
        // SAFETY: as above; `Polyval::new` makes powers only for these three variants.
        _ => unsafe { x86::aesni::absorb(powers, sum, steps) },
    }
}
