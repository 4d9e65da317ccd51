//! Many AES-128 key schedules at once, by words.
//!
//! Register `w[i]` holds word `i` of as many keys as it has dwords, so that one SubBytes serves
//! them all and the XORs of a step of the schedule (FIPS 197 section 5.2) need no shifts. The
//! round keys are a 4 x 4 transposition of the words, off the path from one round to the next.
//! [`xmm`], [`ymm`] and [`zmm`] offer the same names, for 4, 8 and 16 keys.

mod aes;
pub(crate) mod zmm;

/// Four key schedules on 128-bit registers.
pub(crate) mod xmm {
    super::aes::key_words!(xmm, "aes,ssse3,sse4.1");
}

/// Eight key schedules on 256-bit registers.
pub(crate) mod ymm {
    super::aes::key_words!(ymm, "vaes,avx2,aes");
}
