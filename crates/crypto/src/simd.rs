//! [`Simd`]: width of the vectors in loops that need no AES, chosen once at run time.
//!
//! Apart from [`Kernel`](crate::Kernel) because machines with AVX2 and without VAES are many.

use std::sync::OnceLock;

use crate::InstructionSet;

/// A loop that [`Simd::run`] runs as it is compiled for wider vectors.
pub trait Vectorized {
    /// Runs the loop.
    ///
    /// An implementation must be `#[inline(always)]`, and so must all functions that it calls.
    fn run(self);
}

/// The widths that a [`Simd`] can stand for, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// Instructions of the compiler's target only.
    Portable,
    /// AVX2 (with BMI2).
    Avx2,
    /// AVX-512 F, BW, DQ and VL (with BMI2).
    Avx512,
}

/// A [`Width`] that this CPU is known to support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simd(Width);

impl Simd {
    /// The width that every machine has.
    pub const PORTABLE: Simd = Simd(Width::Portable);

    const ALL: [Width; 3] = [Width::Portable, Width::Avx2, Width::Avx512];

    /// Every width that this CPU supports, narrowest first; what tests and benches go through.
    pub fn supported() -> impl Iterator<Item = Simd> {
        Simd::ALL.into_iter().filter(|width| width.is_supported()).map(Simd)
    }

    /// The width of this process: the widest supported one, chosen at the first call.
    ///
    /// `PHINEUS_KERNEL` caps it as it caps [`Kernel::selected`](crate::Kernel::selected):
    /// `portable` and `aesni` at no vectors of AVX, `vaes256` at AVX2.
    pub fn selected() -> Simd {
        static SELECTED: OnceLock<Simd> = OnceLock::new();
        *SELECTED.get_or_init(|| Simd::best_within(InstructionSet::cap()))
    }

    fn best_within(cap: Option<InstructionSet>) -> Simd {
        let cap = match cap {
            Some(InstructionSet::Portable | InstructionSet::AesNi) => Width::Portable,
            Some(InstructionSet::Vaes256) => Width::Avx2,
            Some(InstructionSet::Vaes512) | None => Width::Avx512,
        };
        Simd::supported().filter(|simd| simd.0 <= cap).last().unwrap_or(Simd::PORTABLE)
    }

    /// Runs a loop as it is compiled for AVX2, where this width has it.
    ///
    /// Not for AVX-512: valgrind runs AVX2, so that `scripts/constant-time` measures what such a loop does
    /// with secrets, in the same code as all others run.
    #[inline]
    pub fn run<V: Vectorized>(self, vectorized: V) {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi2")]
        fn avx2<V: Vectorized>(vectorized: V) {
            vectorized.run();
        }
        match self.0 {
            // SAFETY: a `Simd` exists only for a width whose features this CPU has; AVX-512 has AVX2.
            #[cfg(target_arch = "x86_64")]
            Width::Avx2 | Width::Avx512 => unsafe { avx2(vectorized) },
            _ => vectorized.run(),
        }
    }

    /// Width of the vectors.
    #[inline]
    pub const fn width(self) -> Width {
        self.0
    }

    /// The name in measurements.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Width::Portable => "portable",
            Width::Avx2 => "avx2",
            Width::Avx512 => "avx512",
        }
    }
}

impl Width {
    #[cfg(target_arch = "x86_64")]
    fn is_supported(self) -> bool {
        use std::arch::is_x86_feature_detected as has;
        match self {
            Width::Portable => true,
            Width::Avx2 => has!("avx2") && has!("bmi2"),
            Width::Avx512 => {
                has!("bmi2")
                    && has!("avx2")
                    && has!("avx512f")
                    && has!("avx512bw")
                    && has!("avx512dq")
                    && has!("avx512vl")
            }
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_supported(self) -> bool {
        self == Width::Portable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_never_selects_above_itself() {
        let widest = Simd::supported().last().expect("portable is always supported");
        assert_eq!(Simd::best_within(None), widest);
        assert_eq!(Simd::best_within(Some(InstructionSet::Portable)), Simd::PORTABLE);
        assert_eq!(Simd::best_within(Some(InstructionSet::AesNi)), Simd::PORTABLE);
        assert!(Simd::best_within(Some(InstructionSet::Vaes256)).width() <= Width::Avx2);
        assert!(Simd::ALL.is_sorted());
    }
}
