//! What options choose between.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use phineus_bytecode::{PlanDescription, Sharing};
use phineus_crypto::field::FieldName;
use phineus_engine::StorageBackend;
use phineus_plan::Assignment;
use phineus_protocols::mixed::{self, Broadcast, YaoToArithmetic};
use phineus_protocols::spdz::Masks;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// io_uring where the kernel allows it, else threads
    Auto,
    /// io_uring or an error
    Uring,
    /// A few threads
    Threads,
}

impl Backend {
    pub(crate) fn storage(self) -> StorageBackend {
        match self {
            Backend::Auto => StorageBackend::Auto,
            Backend::Uring => StorageBackend::IoUring,
            Backend::Threads => StorageBackend::Threads,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Uring => "uring",
            Backend::Threads => "threads",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GpuChoice {
    /// Where it was measured to pay
    Auto,
    /// The processor computes everything
    Off,
    /// Everything that it can: for tests
    #[value(hide = true)]
    Always,
}

impl GpuChoice {
    pub(crate) fn name(self) -> &'static str {
        match self {
            GpuChoice::Auto => "auto",
            GpuChoice::Off => "off",
            GpuChoice::Always => "always",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// Two-party garbled circuits, semi-honest
    Garbled,
    /// XOR shares and GMW, two parties or more, semi-honest: few bytes, rounds by depth
    Gmw,
    /// Garbled circuits of two parties or more (BMR), semi-honest: few rounds, more bytes
    Bmr,
    /// Additive shares for sums and products, XOR shares for all else
    Arith,
    /// As the program says; XOR shares where it says nothing
    Mixed,
    /// Authenticated shares modulo 2^61-1 (SPDZ with MASCOT): all other parties may cheat
    Spdz,
    /// The same modulo 2^128-159: for larger integers
    #[value(name = "spdz-128")]
    Spdz128,
    /// The same modulo 2^32-5: too weak for use, to compare with the literature
    #[value(name = "spdz-32")]
    Spdz32,
    /// No protection at all: the reference
    Clear,
}

impl Protocol {
    /// Those that `auto` chooses from; of several that take the same time, the first.
    pub(crate) const AUTOMATIC: [Protocol; 5] =
        [Protocol::Garbled, Protocol::Gmw, Protocol::Bmr, Protocol::Arith, Protocol::Mixed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Protocol::Garbled => "garbled",
            Protocol::Gmw => "gmw",
            Protocol::Bmr => "bmr",
            Protocol::Arith => "arith",
            Protocol::Mixed => "mixed",
            Protocol::Spdz => "spdz",
            Protocol::Spdz128 => "spdz-128",
            Protocol::Spdz32 => "spdz-32",
            Protocol::Clear => "clear",
        }
    }

    /// The protocol with this name.
    pub(crate) fn from_name(name: &str) -> Option<Protocol> {
        Protocol::value_variants().iter().copied().find(|protocol| protocol.name() == name)
    }

    /// How values get their sharings, if parties compute on shares.
    pub(crate) fn assignment(self) -> Option<Assignment> {
        match self {
            Protocol::Garbled | Protocol::Clear => None,
            Protocol::Spdz | Protocol::Spdz128 | Protocol::Spdz32 => None,
            Protocol::Gmw => Some(Assignment::Uniform(Sharing::Boolean)),
            Protocol::Bmr => Some(Assignment::Uniform(Sharing::Garbled)),
            Protocol::Arith => Some(Assignment::Arithmetic),
            Protocol::Mixed => Some(Assignment::Stated(Sharing::Boolean)),
        }
    }

    /// Whether parties compute on shares, in rounds.
    pub(crate) fn is_shared(self) -> bool {
        self.assignment().is_some() || self.field().is_some()
    }

    /// The field that values are shared in, if they are authenticated.
    pub(crate) fn field(self) -> Option<FieldName> {
        match self {
            Protocol::Spdz => Some(FieldName::F61),
            Protocol::Spdz128 => Some(FieldName::F128),
            Protocol::Spdz32 => Some(FieldName::F32),
            _ => None,
        }
    }
}

/// `--protocol` of commands that can choose one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtocolChoice {
    /// The one with the least predicted time.
    Auto,
    This(Protocol),
}

impl ProtocolChoice {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ProtocolChoice::Auto => "auto",
            ProtocolChoice::This(protocol) => protocol.name(),
        }
    }
}

impl ValueEnum for ProtocolChoice {
    fn value_variants<'a>() -> &'a [ProtocolChoice] {
        use ProtocolChoice::{Auto, This};
        const ALL: [ProtocolChoice; 10] = [
            This(Protocol::Garbled),
            This(Protocol::Gmw),
            This(Protocol::Bmr),
            This(Protocol::Arith),
            This(Protocol::Mixed),
            This(Protocol::Spdz),
            This(Protocol::Spdz128),
            This(Protocol::Spdz32),
            This(Protocol::Clear),
            Auto,
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            ProtocolChoice::Auto => Some(
                PossibleValue::new("auto")
                    .help("The one that is predicted to be the fastest on the network of --net"),
            ),
            ProtocolChoice::This(protocol) => protocol.to_possible_value(),
        }
    }
}

/// The name of preprocessing that gives no security, as all parties have to agree on it.
const FAKE: &str = "fake";

/// The OT extension that triples are made with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OtExtension {
    /// SoftSpoken: 32 bits for each OT, from AES alone
    #[default]
    Softspoken,
    /// Silent OT (Ferret): 1.4 bits or fewer for each OT, from learning parity with noise
    Silent,
}

impl OtExtension {
    pub(crate) fn name(self) -> &'static str {
        match self {
            OtExtension::Softspoken => "softspoken",
            OtExtension::Silent => "silent",
        }
    }

    pub(crate) fn is_silent(self) -> bool {
        self == OtExtension::Silent
    }
}

/// `--ot` of commands that can choose one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OtChoice {
    /// SoftSpoken: 32 bits for each OT, from AES alone
    Softspoken,
    /// Silent OT (Ferret): 1.4 bits or fewer for each OT, from learning parity with noise
    Silent,
    /// The one that is predicted to be faster on the network of --net
    Auto,
}

impl OtChoice {
    /// Those that are possible; of two that take the same time, the first.
    pub(crate) fn extensions(self) -> &'static [OtExtension] {
        match self {
            OtChoice::Softspoken => &[OtExtension::Softspoken],
            OtChoice::Silent => &[OtExtension::Silent],
            OtChoice::Auto => &[OtExtension::Softspoken, OtExtension::Silent],
        }
    }
}

/// `--y2a`: how garbled values become additive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Y2aChoice {
    /// With a shared bit for each bit, in one round
    #[default]
    Bits,
    /// By masks that are garbled with the value, without a round: more bytes before
    Masks,
    /// The one that is predicted to be faster on the network of --net
    Auto,
}

impl Y2aChoice {
    fn ways(self) -> &'static [YaoToArithmetic] {
        match self {
            Y2aChoice::Bits => &[YaoToArithmetic::SharedBits],
            Y2aChoice::Masks => &[YaoToArithmetic::Masks],
            Y2aChoice::Auto => &[YaoToArithmetic::SharedBits, YaoToArithmetic::Masks],
        }
    }
}

/// `--broadcast`: how what is opened goes to all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum BroadcastChoice {
    /// From all to all, in one round
    #[default]
    Direct,
    /// To one party and from there to all: two rounds, and of three parties or more fewer bytes
    Star,
    /// The one that is predicted to be faster on the network of --net
    Auto,
}

impl BroadcastChoice {
    fn ways(self) -> &'static [Broadcast] {
        match self {
            BroadcastChoice::Direct => &[Broadcast::Direct],
            BroadcastChoice::Star => &[Broadcast::Star],
            BroadcastChoice::Auto => &[Broadcast::Direct, Broadcast::Star],
        }
    }
}

/// `--narrow-masks`: what hides the operands of comparisons and right shifts of few bits where they are
/// opened, on authenticated shares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum NarrowMasks {
    /// Narrow masks, unless the distance from an ideal run would pass 2^-30 in all
    #[default]
    Auto,
    /// Narrow masks wherever the field has room: each opening adds 2^-40
    Always,
    /// Masks over the whole field: about four times the material
    Never,
}

impl NarrowMasks {
    /// The choice that always gives these masks.
    pub(crate) fn fixed(masks: Masks) -> NarrowMasks {
        match masks {
            Masks::Narrow => NarrowMasks::Always,
            Masks::Whole => NarrowMasks::Never,
        }
    }

    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            NarrowMasks::Auto => "auto",
            NarrowMasks::Always => "always",
            NarrowMasks::Never => "never",
        }
    }
}

/// What protocols on shares can do in more than one way; all parties say the same.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WayChoices {
    /// How garbled values become additive
    #[arg(long, value_enum, default_value_t, env = "PHINEUS_Y2A")]
    pub(crate) y2a: Y2aChoice,
    /// How what is opened goes to all
    #[arg(long, value_enum, default_value_t, env = "PHINEUS_BROADCAST")]
    pub(crate) broadcast: BroadcastChoice,
    /// For spdz and spdz-128: open operands of comparisons and right shifts of few bits under
    /// masks that are only 2^40 times as large. Each such opening adds 2^-40 to the distance from an
    /// ideal run, whose total `explain` and run.json state
    #[arg(long, value_enum, default_value_t, env = "PHINEUS_NARROW_MASKS")]
    pub(crate) narrow_masks: NarrowMasks,
}

impl WayChoices {
    /// All that is possible with these extensions.
    pub(crate) fn ways(self, extensions: &[OtExtension]) -> Vec<Ways> {
        let (mut ways, masks) = (Vec::new(), self.narrow_masks);
        for &ot in extensions {
            for &broadcast in self.broadcast.ways() {
                let way = |&y2a| Ways { ot, y2a, broadcast, masks };
                ways.extend(self.y2a.ways().iter().map(way));
            }
        }
        ways
    }

    /// As they are typed, where they are not the default: name and value.
    pub(crate) fn typed(self) -> Vec<(&'static str, String)> {
        fn typed<T: ValueEnum + Default + PartialEq>(value: T) -> Option<String> {
            let name = value.to_possible_value().expect("no value is hidden");
            (value != T::default()).then(|| name.get_name().to_owned())
        }
        let all = [
            ("--y2a", typed(self.y2a)),
            ("--broadcast", typed(self.broadcast)),
            (NARROW_MASKS, typed(self.narrow_masks)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// The option of protocols on authenticated shares alone.
pub(crate) const NARROW_MASKS: &str = "--narrow-masks";

/// How protocols on shares do what they can do in more than one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) ot: OtExtension,
    pub(crate) y2a: YaoToArithmetic,
    pub(crate) broadcast: Broadcast,
    pub(crate) masks: NarrowMasks,
}

impl Ways {
    /// Those of a plan that was made before.
    pub(crate) fn stated(plan: &PlanDescription) -> Ways {
        let ot = if mixed::is_silent(plan) { OtExtension::Silent } else { OtExtension::Softspoken };
        let masks = NarrowMasks::fixed(Masks::stated(&plan.costs));
        Ways { ot, y2a: mixed::y2a(plan), broadcast: mixed::broadcast(plan), masks }
    }

    /// What is not as usual, for the user.
    pub(crate) fn words(self) -> Vec<&'static str> {
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

/// When triples and other material that depends on no input is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Preprocessed {
    /// In the background, just ahead of its use.
    #[default]
    Interleaved,
    /// All of it before anything else.
    Sequential,
    /// Earlier, by `preprocess`, into this file (with --local: this directory).
    Stored(PathBuf),
    /// By a dealer whom all parties would have to trust: no security.
    Fake,
}

impl Preprocessed {
    /// Reads what is typed after `--preprocessing`.
    pub(super) fn parse(text: &str) -> Result<Preprocessed, String> {
        match (text, text.strip_prefix("stored=")) {
            ("interleaved", _) => Ok(Preprocessed::Interleaved),
            ("sequential", _) => Ok(Preprocessed::Sequential),
            (FAKE, _) => Ok(Preprocessed::Fake),
            (_, Some(file)) if !file.is_empty() => Ok(Preprocessed::Stored(file.into())),
            _ => Err("write `interleaved`, `sequential` or `stored=FILE`".to_owned()),
        }
    }

    /// What all parties must agree on: not where a file is.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Preprocessed::Interleaved => "interleaved",
            Preprocessed::Sequential => "sequential",
            Preprocessed::Stored(_) => "stored",
            Preprocessed::Fake => FAKE,
        }
    }
}
