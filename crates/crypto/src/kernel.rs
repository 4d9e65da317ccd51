//! [`Kernel`]: instruction set of the inner loops, chosen once at run time.
//!
//! Every operation of this crate exists in a portable form (the `aes` crate and plain Rust) and in
//! up to three forms for x86-64; all give the same bytes. A [`Kernel`] can only be had for a
//! variant that this CPU supports, which is what makes the calls into those forms sound.

use std::sync::OnceLock;

/// The instruction sets that a [`Kernel`] can stand for, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InstructionSet {
    /// Plain Rust and the `aes` crate; runs everywhere.
    Portable,
    /// AES-NI on 128-bit registers (with PCLMULQDQ, SSSE3 and SSE4.1).
    AesNi,
    /// VAES on 256-bit registers (with VPCLMULQDQ and AVX2).
    Vaes256,
    /// VAES on 512-bit registers (with AVX-512 F, BW, VL, VBMI and GFNI).
    Vaes512,
}

impl InstructionSet {
    /// All variants, weakest first.
    pub const ALL: [InstructionSet; 4] = [
        InstructionSet::Portable,
        InstructionSet::AesNi,
        InstructionSet::Vaes256,
        InstructionSet::Vaes512,
    ];

    /// The name that `PHINEUS_KERNEL` and the measurements use.
    pub const fn name(self) -> &'static str {
        match self {
            InstructionSet::Portable => "portable",
            InstructionSet::AesNi => "aesni",
            InstructionSet::Vaes256 => "vaes256",
            InstructionSet::Vaes512 => "vaes512",
        }
    }

    fn from_name(name: &str) -> Option<InstructionSet> {
        InstructionSet::ALL.into_iter().find(|variant| variant.name() == name)
    }

    /// Variant that the environment variable `PHINEUS_KERNEL` names, if any.
    pub(crate) fn cap() -> Option<InstructionSet> {
        std::env::var("PHINEUS_KERNEL").ok().as_deref().and_then(InstructionSet::from_name)
    }

    #[cfg(target_arch = "x86_64")]
    fn is_supported(self) -> bool {
        use std::arch::is_x86_feature_detected as has;
        let aesni = || has!("aes") && has!("pclmulqdq") && has!("ssse3") && has!("sse4.1");
        let vaes = || aesni() && has!("vaes") && has!("vpclmulqdq") && has!("avx2");
        let avx512 = || {
            has!("avx512f")
                && has!("avx512bw")
                && has!("avx512vl")
                && has!("avx512vbmi")
                && has!("gfni")
        };
        match self {
            InstructionSet::Portable => true,
            InstructionSet::AesNi => aesni(),
            InstructionSet::Vaes256 => vaes(),
            InstructionSet::Vaes512 => vaes() && avx512(),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_supported(self) -> bool {
        self == InstructionSet::Portable
    }
}

/// An [`InstructionSet`] that this CPU is known to support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(InstructionSet);

impl Kernel {
    /// The portable kernel, which every machine has.
    pub const PORTABLE: Kernel = Kernel(InstructionSet::Portable);

    /// The kernel for `variant`, if this CPU has what it needs.
    pub fn of(variant: InstructionSet) -> Option<Kernel> {
        variant.is_supported().then_some(Kernel(variant))
    }

    /// Every kernel that this CPU supports, weakest first; what tests and benches go through.
    pub fn supported() -> impl Iterator<Item = Kernel> {
        InstructionSet::ALL.into_iter().filter_map(Kernel::of)
    }

    /// The kernel of this process: the best supported one, chosen at the first call.
    ///
    /// The environment variable `PHINEUS_KERNEL` (`portable`, `aesni`, `vaes256`, `vaes512`) caps
    /// the choice: a variant that this CPU lacks falls to the best supported one below it, and an
    /// unknown name changes nothing.
    pub fn selected() -> Kernel {
        static SELECTED: OnceLock<Kernel> = OnceLock::new();
        *SELECTED.get_or_init(|| Kernel::best_within(InstructionSet::cap()))
    }

    fn best_within(cap: Option<InstructionSet>) -> Kernel {
        let cap = cap.unwrap_or(InstructionSet::Vaes512);
        Kernel::supported().filter(|kernel| kernel.0 <= cap).last().unwrap_or(Kernel::PORTABLE)
    }

    /// Variant of this kernel.
    #[inline]
    pub const fn variant(self) -> InstructionSet {
        self.0
    }

    /// The name of its variant.
    pub const fn name(self) -> &'static str {
        self.0.name()
    }
}

/// The name of the kernel that this process uses, for `doctor` and `run.json`.
pub fn kernel_name() -> &'static str {
    Kernel::selected().name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_are_ordered() {
        for variant in InstructionSet::ALL {
            assert_eq!(InstructionSet::from_name(variant.name()), Some(variant));
        }
        assert_eq!(InstructionSet::from_name("avx10"), None);
        assert!(InstructionSet::ALL.is_sorted());
    }

    #[test]
    fn a_cap_never_selects_above_itself() {
        for cap in InstructionSet::ALL {
            let kernel = Kernel::best_within(Some(cap));
            assert!(kernel.variant() <= cap);
            assert!(Kernel::supported().any(|supported| supported == kernel));
        }
        let best = Kernel::supported().last().expect("portable is always supported");
        assert_eq!(Kernel::best_within(None), best);
        assert_eq!(Kernel::best_within(Some(InstructionSet::Portable)), Kernel::PORTABLE);
    }
}
