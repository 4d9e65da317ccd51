//! [`Cipher`]: AES-128 under one key, used many times: the generator, the page cipher and the
//! fixed-key hash stand on it. (The re-keyed hash of half gates has its own kernels.)
//!
//! Source: FIPS 197 (AES), NIST SP 800-38A section 6.5 (counter mode).
//! Cost: one AES call per 16 bytes; creating a `Cipher` costs one key schedule.

mod portable;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::{Block, Kernel};
#[cfg(target_arch = "x86_64")]
use crate::{InstructionSet, x86::ROUND_KEYS};

/// AES-128 with an expanded key, wiped on drop.
pub(crate) struct Cipher(KeyForm);

/// The expanded key in the form that its kernel wants.
enum KeyForm {
    /// For the `aes` crate, which wipes it.
    Portable(portable::ExpandedKey),
    /// For the kernels of x86-64, of which `Kernel` says which.
    #[cfg(target_arch = "x86_64")]
    Rounds(Kernel, zeroize::Zeroizing<[Block; ROUND_KEYS]>),
}

/// Calls the x86-64 kernel `$function` of the variant of `$kernel`.
#[cfg(target_arch = "x86_64")]
macro_rules! on_x86 {
    ($kernel:expr, $function:ident($($argument:expr),*)) => {
        match $kernel.variant() {
            // SAFETY: a `Kernel` exists only for a variant whose features this CPU has.
            InstructionSet::Vaes512 => unsafe { x86::vaes512::$function($($argument),*) },
            // SAFETY: as above.
            InstructionSet::Vaes256 => unsafe { x86::vaes256::$function($($argument),*) },
            // SAFETY: as above; `Cipher::new` makes this form only for these three variants.
            _ => unsafe { x86::aesni::$function($($argument),*) },
        }
    };
}

impl Cipher {
    pub(crate) fn new(kernel: Kernel, key: Block) -> Cipher {
        #[cfg(target_arch = "x86_64")]
        if kernel.variant() >= InstructionSet::AesNi {
            // SAFETY: this kernel's variant has AES-NI, as have those above it.
            let rounds = unsafe { x86::expand_key(key) };
            return Cipher(KeyForm::Rounds(kernel, rounds.into()));
        }
        let _ = kernel;
        Cipher(KeyForm::Portable(portable::ExpandedKey::new(key)))
    }

    /// Sets `bytes` to the key stream that starts at block `counter`, whose low half must not
    /// wrap.
    pub(crate) fn fill_keystream(&self, counter: u128, bytes: &mut [u8]) {
        check_counter(counter, bytes);
        match &self.0 {
            KeyForm::Portable(key) => {
                bytes.fill(0);
                key.xor_keystream(counter, bytes);
            }
            #[cfg(target_arch = "x86_64")]
            KeyForm::Rounds(kernel, rounds) => {
                on_x86!(kernel, fill_keystream(rounds, counter, bytes));
            }
        }
    }

    /// XORs the key stream that starts at block `counter` into `bytes`, with the same limit.
    pub(crate) fn xor_keystream(&self, counter: u128, bytes: &mut [u8]) {
        check_counter(counter, bytes);
        match &self.0 {
            KeyForm::Portable(key) => key.xor_keystream(counter, bytes),
            #[cfg(target_arch = "x86_64")]
            KeyForm::Rounds(kernel, rounds) => {
                on_x86!(kernel, xor_keystream(rounds, counter, bytes));
            }
        }
    }

    /// Replaces every block `x` by `P(P(x) ^ tweak) ^ P(x)`, `P` being this cipher, with tweaks
    /// that count up from `first_tweak` and do not wrap.
    pub(crate) fn hash_tweaked(&self, first_tweak: u64, blocks: &mut [Block]) {
        let end = first_tweak.checked_add(blocks.len() as u64);
        assert!(end.is_some(), "the tweaks of a session are exhausted");
        match &self.0 {
            KeyForm::Portable(key) => key.hash_tweaked(first_tweak, blocks),
            #[cfg(target_arch = "x86_64")]
            KeyForm::Rounds(kernel, rounds) => {
                on_x86!(kernel, hash_tweaked(rounds, first_tweak, blocks));
            }
        }
    }
}

impl Cipher {
    /// Replaces every block by its image.
    pub(crate) fn permute(&self, blocks: &mut [Block]) {
        match &self.0 {
            KeyForm::Portable(key) => key.permute(blocks),
            #[cfg(target_arch = "x86_64")]
            KeyForm::Rounds(kernel, rounds) => on_x86!(kernel, permute(rounds, blocks)),
        }
    }

    /// Adds to every block of `sums` the hashes, under two tweaks that count up, of the two blocks
    /// whose images stand in its place in `permuted`.
    pub(crate) fn add_pairs(
        &self,
        first_tweaks: [u64; 2],
        permuted: [&[Block]; 2],
        sums: &mut [Block],
    ) {
        assert!(permuted.iter().all(|blocks| blocks.len() == sums.len()), "a pair for each sum");
        check_tweaks(first_tweaks, sums.len());
        match &self.0 {
            KeyForm::Portable(key) => key.add_pairs(first_tweaks, permuted, sums),
            #[cfg(target_arch = "x86_64")]
            KeyForm::Rounds(kernel, rounds) => {
                on_x86!(kernel, add_pairs(rounds, first_tweaks, permuted, sums));
            }
        }
    }

    /// With the hashes of four blocks, the first two under one tweak and the others under another:
    /// adds to the three rows that of the first two, of the last two, and of the first and third.
    pub(crate) fn add_gates(
        &self,
        first_tweaks: [u64; 2],
        permuted: [&[Block]; 4],
        rows: [&mut [Block]; 3],
    ) {
        let gates = rows[0].len();
        let is_even = permuted.iter().all(|blocks| blocks.len() == gates)
            && rows.iter().all(|row| row.len() == gates);
        assert!(is_even, "as many of everything as gates");
        check_tweaks(first_tweaks, gates);
        match &self.0 {
            KeyForm::Portable(key) => key.add_gates(first_tweaks, permuted, rows),
            #[cfg(target_arch = "x86_64")]
            KeyForm::Rounds(kernel, rounds) => {
                on_x86!(kernel, add_gates(rounds, first_tweaks, permuted, rows));
            }
        }
    }
}

fn check_tweaks(first_tweaks: [u64; 2], count: usize) {
    let is_below = |tweak: u64| tweak.checked_add(count as u64).is_some();
    assert!(first_tweaks.into_iter().all(is_below), "the tweaks of a session are exhausted");
}

/// The low half of a counter that wraps would use a key-stream block twice.
fn check_counter(counter: u128, bytes: &[u8]) {
    let blocks = bytes.len().div_ceil(size_of::<Block>()) as u64;
    assert!((counter as u64).checked_add(blocks).is_some(), "a key-stream counter is exhausted");
}
