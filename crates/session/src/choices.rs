//! Named alternatives: OT extensions, storage backends, and the like.
//!
//! A command line, a configuration file and the messages of the parties all use the names of
//! [`Choice::name`]; [`Choice::meaning`] is the text of a help page.

use std::path::PathBuf;

pub use phineus_bytecode::Optimisation;
use phineus_bytecode::{PlanDescription, SharingSetting};
use phineus_engine::StorageBackend;
pub use phineus_protocols::mixed::OtExtension;
use phineus_protocols::mixed::{Broadcast, MixedSettings, YaoToArithmetic};
use phineus_protocols::spdz::{Masks, SpdzSettings};

/// One of several named alternatives.
pub trait Choice: Copy + PartialEq + 'static {
    /// All alternatives, in the order of the help text.
    const ALL: &'static [Self];

    /// The name that users type and parties send.
    fn name(self) -> &'static str;

    /// One line for a help page.
    fn meaning(self) -> &'static str;

    /// Returns whether help pages leave it out.
    fn is_hidden(self) -> bool {
        false
    }

    /// The alternative with this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.name() == name)
    }
}

/// Whether a CUDA device multiplies matrices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GpuChoice {
    /// Where a measurement of this machine shows that it is faster.
    #[default]
    Auto,
    /// The processor computes everything.
    Off,
    /// Everything that it can compute: for tests.
    Always,
}

impl Choice for GpuChoice {
    const ALL: &'static [GpuChoice] = &[GpuChoice::Auto, GpuChoice::Off, GpuChoice::Always];

    fn name(self) -> &'static str {
        match self {
            GpuChoice::Auto => "auto",
            GpuChoice::Off => "off",
            GpuChoice::Always => "always",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            GpuChoice::Auto => "If a measurement shows that it is faster, copies included",
            GpuChoice::Off => "Never: the processor computes everything",
            GpuChoice::Always => "Always, if the device can compute it (for tests)",
        }
    }

    fn is_hidden(self) -> bool {
        self == GpuChoice::Always
    }
}

/// Who garbles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GarblerChoice {
    /// The processor.
    #[default]
    Software,
    /// The RTL of the overlay, simulated in this process.
    SimulatedOverlay,
}

impl Choice for GarblerChoice {
    const ALL: &'static [GarblerChoice] =
        &[GarblerChoice::Software, GarblerChoice::SimulatedOverlay];

    fn name(self) -> &'static str {
        match self {
            GarblerChoice::Software => "software",
            GarblerChoice::SimulatedOverlay => "hw-sim",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            GarblerChoice::Software => "The processor",
            GarblerChoice::SimulatedOverlay => {
                "The overlay of hw/, simulated by Verilator: for tests, not for secrets"
            }
        }
    }
}

/// How pages move to and from storage.
impl Choice for StorageBackend {
    const ALL: &'static [StorageBackend] =
        &[StorageBackend::Auto, StorageBackend::IoUring, StorageBackend::Threads];

    fn name(self) -> &'static str {
        match self {
            StorageBackend::Auto => "auto",
            StorageBackend::IoUring => "uring",
            StorageBackend::Threads => "threads",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            StorageBackend::Auto => "io_uring if the kernel allows it, otherwise threads",
            StorageBackend::IoUring => "io_uring; an error if the kernel does not allow it",
            StorageBackend::Threads => "Threads that read and write",
        }
    }
}

impl Choice for OtExtension {
    const ALL: &'static [OtExtension] = &[OtExtension::Softspoken, OtExtension::Silent];

    fn name(self) -> &'static str {
        match self {
            OtExtension::Softspoken => "softspoken",
            OtExtension::Silent => "silent",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            OtExtension::Softspoken => "SoftSpoken: 32 bits for each OT, assumes only AES",
            OtExtension::Silent => {
                "Silent OT (Ferret): 0.8 to 2.6 bits for each OT, assumes learning parity with noise"
            }
        }
    }
}

/// Masks that hide the operands of comparisons and right shifts of few bits where they are opened,
/// on authenticated shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NarrowMasks {
    /// Narrow masks, unless the distance from an ideal run would pass 2^-30 in all.
    #[default]
    Auto,
    /// Narrow masks wherever the field is large enough.
    Always,
    /// Masks over the whole field.
    Never,
}

impl Choice for NarrowMasks {
    const ALL: &'static [NarrowMasks] =
        &[NarrowMasks::Auto, NarrowMasks::Always, NarrowMasks::Never];

    fn name(self) -> &'static str {
        match self {
            NarrowMasks::Auto => "auto",
            NarrowMasks::Always => "always",
            NarrowMasks::Never => "never",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            NarrowMasks::Auto => {
                "Narrow masks, unless the total distance from an ideal run would exceed 2^-30"
            }
            NarrowMasks::Always => {
                "Narrow masks wherever the field is large enough: each opening adds 2^-40"
            }
            NarrowMasks::Never => "Masks over the whole field: about four times the random bits",
        }
    }
}

impl NarrowMasks {
    /// The choice that always gives these masks.
    pub fn fixed(masks: Masks) -> NarrowMasks {
        match masks {
            Masks::Narrow => NarrowMasks::Always,
            Masks::Whole => NarrowMasks::Never,
        }
    }
}

/// Treatment of rows that repeat a key which must be unique.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatKeys {
    /// They are an error.
    #[default]
    Refuse,
    /// Equal rows count once; rows with the same key and other values are an error.
    CountOnce,
}

impl Choice for RepeatKeys {
    const ALL: &'static [RepeatKeys] = &[RepeatKeys::Refuse, RepeatKeys::CountOnce];

    fn name(self) -> &'static str {
        match self {
            RepeatKeys::Refuse => "refuse",
            RepeatKeys::CountOnce => "count-once",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            RepeatKeys::Refuse => "Refuse the run",
            RepeatKeys::CountOnce => {
                "Count equal rows once; refuse rows with the same key and different values"
            }
        }
    }
}

/// How garbled values become additive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Y2aChoice {
    /// By masks where sharings are chosen and masks are predicted to be faster, else with shared bits.
    #[default]
    Chosen,
    /// With a shared bit for each bit, in one round.
    Bits,
    /// By masks that are garbled with the value.
    Masks,
    /// The one that is predicted to be faster.
    Auto,
}

impl Choice for Y2aChoice {
    const ALL: &'static [Y2aChoice] =
        &[Y2aChoice::Chosen, Y2aChoice::Bits, Y2aChoice::Masks, Y2aChoice::Auto];

    fn name(self) -> &'static str {
        match self {
            Y2aChoice::Chosen => "chosen",
            Y2aChoice::Bits => "bits",
            Y2aChoice::Masks => "masks",
            Y2aChoice::Auto => "auto",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Y2aChoice::Chosen => {
                "With masks where sharings are chosen and masks are predicted to be faster, else with bits"
            }
            Y2aChoice::Bits => "With one shared bit for each bit, in one round",
            Y2aChoice::Masks => {
                "With masks that are garbled with the value: no round online, more bytes before"
            }
            Y2aChoice::Auto => {
                "The one with the least predicted time on the stated or measured network"
            }
        }
    }
}

impl Y2aChoice {
    fn possible(self) -> &'static [YaoToArithmetic] {
        match self {
            Y2aChoice::Chosen | Y2aChoice::Bits => &[YaoToArithmetic::SharedBits],
            Y2aChoice::Masks => &[YaoToArithmetic::Masks],
            Y2aChoice::Auto => &[YaoToArithmetic::SharedBits, YaoToArithmetic::Masks],
        }
    }
}

/// How opened values go to all parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BroadcastChoice {
    /// From all to all, in one round.
    #[default]
    Direct,
    /// To one party and from there to all.
    Star,
    /// The one that is predicted to be faster.
    Auto,
}

impl Choice for BroadcastChoice {
    const ALL: &'static [BroadcastChoice] =
        &[BroadcastChoice::Direct, BroadcastChoice::Star, BroadcastChoice::Auto];

    fn name(self) -> &'static str {
        match self {
            BroadcastChoice::Direct => "direct",
            BroadcastChoice::Star => "star",
            BroadcastChoice::Auto => "auto",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            BroadcastChoice::Direct => "From each party to all others, in one round",
            BroadcastChoice::Star => {
                "To one party for each part, which sends the sum to all: two rounds, fewer bytes from three parties on"
            }
            BroadcastChoice::Auto => {
                "The one with the least predicted time on the stated or measured network"
            }
        }
    }
}

impl BroadcastChoice {
    fn possible(self) -> &'static [Broadcast] {
        match self {
            BroadcastChoice::Direct => &[Broadcast::Direct],
            BroadcastChoice::Star => &[Broadcast::Star],
            BroadcastChoice::Auto => &[Broadcast::Direct, Broadcast::Star],
        }
    }
}

/// The name of the option that [`VariantChoices::narrow_masks`] is typed with: it is for
/// authenticated shares only.
pub const NARROW_MASKS: &str = "--narrow-masks";

/// The option that leaves programs as they are; see [`VariantChoices::optimisation`].
pub const NO_OPTIMISE: &str = "--no-optimise";

/// Variants of protocols on shares that the parties may choose between; all choose the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VariantChoices {
    /// How garbled values become additive.
    pub y2a: Y2aChoice,
    /// How opened values go to all parties.
    pub broadcast: BroadcastChoice,
    /// Masks of narrow comparisons, for spdz and spdz-128.
    pub narrow_masks: NarrowMasks,
    /// Whether programs are optimised before they are planned, under any protocol.
    pub optimisation: Optimisation,
}

impl VariantChoices {
    /// All variants that are possible with these extensions.
    pub fn variants(self, extensions: &[OtExtension]) -> Vec<ProtocolVariant> {
        let (mut variants, masks) = (Vec::new(), self.narrow_masks);
        let optimisation = self.optimisation;
        let compares_masks = self.y2a == Y2aChoice::Chosen;
        for &ot in extensions {
            for &broadcast in self.broadcast.possible() {
                let variant = |&y2a| ProtocolVariant {
                    ot,
                    y2a,
                    compares_masks,
                    broadcast,
                    masks,
                    optimisation,
                    sharings: None,
                };
                variants.extend(self.y2a.possible().iter().map(variant));
            }
        }
        variants
    }

    /// The choices of variants that are not the default: name of the option and value.
    pub fn typed(self) -> Vec<(&'static str, String)> {
        fn typed<T: Choice + Default>(value: T) -> Option<String> {
            (value != T::default()).then(|| value.name().to_owned())
        }
        let all = [
            ("--y2a", typed(self.y2a)),
            ("--broadcast", typed(self.broadcast)),
            (NARROW_MASKS, typed(self.narrow_masks)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// One variant of a protocol on shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProtocolVariant {
    /// The OT extension that triples are made with.
    pub ot: OtExtension,
    /// How garbled values become additive.
    pub y2a: YaoToArithmetic,
    /// Whether the choice of sharings may change that.
    pub compares_masks: bool,
    /// How opened values go to all parties.
    pub broadcast: Broadcast,
    /// Masks of narrow comparisons.
    pub masks: NarrowMasks,
    /// Whether the program is optimised before it is planned.
    pub optimisation: Optimisation,
    /// How the sharings were chosen that the program leaves open, if they were.
    pub sharings: Option<SharingSetting>,
}

impl ProtocolVariant {
    /// The variant that a plan was made for.
    pub fn stated(plan: &PlanDescription) -> ProtocolVariant {
        let MixedSettings { ot, y2a, broadcast, sharings, .. } = MixedSettings::stated(plan);
        let masks = NarrowMasks::fixed(SpdzSettings::stated(plan).masks);
        ProtocolVariant {
            ot,
            y2a,
            compares_masks: false,
            broadcast,
            masks,
            optimisation: plan.optimisation,
            sharings,
        }
    }

    /// The parts that are not the default, for the user.
    pub fn words(self) -> Vec<&'static str> {
        let star = self.broadcast == Broadcast::Star;
        let masks = self.y2a == YaoToArithmetic::Masks;
        let words = [
            self.ot.is_silent().then_some("with silent OT"),
            masks.then_some("with Y2A by masks"),
            star.then_some("with star broadcast"),
        ];
        words.into_iter().flatten().collect()
    }
}

/// The name of preprocessing that gives no security, as all parties have to agree on it.
const FAKE: &str = "fake";

/// When correlated randomness is made: what depends on no input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PreprocessingMode {
    /// In the background, just ahead of its use.
    #[default]
    Interleaved,
    /// All of it before anything else.
    Sequential,
    /// Earlier, by [`crate::party::preprocess`], into this file (with `--local`: this directory).
    Stored(PathBuf),
    /// By a dealer whom all parties would have to trust: no security.
    Fake,
}

impl PreprocessingMode {
    /// Reads the value of `--preprocessing`.
    ///
    /// # Errors
    /// A sentence with the possible values.
    pub fn parse(text: &str) -> Result<PreprocessingMode, String> {
        match (text, text.strip_prefix("stored=")) {
            ("interleaved", _) => Ok(PreprocessingMode::Interleaved),
            ("sequential", _) => Ok(PreprocessingMode::Sequential),
            (FAKE, _) => Ok(PreprocessingMode::Fake),
            (_, Some(file)) if !file.is_empty() => Ok(PreprocessingMode::Stored(file.into())),
            _ => Err("write `interleaved`, `sequential` or `stored=FILE`".to_owned()),
        }
    }

    /// The name that all parties must agree on: without the place of a file.
    pub fn name(&self) -> &'static str {
        match self {
            PreprocessingMode::Interleaved => "interleaved",
            PreprocessingMode::Sequential => "sequential",
            PreprocessingMode::Stored(_) => "stored",
            PreprocessingMode::Fake => FAKE,
        }
    }
}
