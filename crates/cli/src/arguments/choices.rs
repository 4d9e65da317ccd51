//! Options that choose between named alternatives.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use phineus_session::choices::{
    BroadcastChoice, Choice, NarrowMasks, Optimisation, OtExtension, VariantChoices, Y2aChoice,
};

/// Reads the name of an alternative; help pages list the names with their meanings.
pub(crate) fn choice<T: Choice + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let values = T::ALL.iter().map(|choice| {
        PossibleValue::new(choice.name()).help(choice.meaning()).hide(choice.is_hidden())
    });
    PossibleValuesParser::new(values)
        .map(|name| T::from_name(&name).expect("only names of alternatives are accepted"))
}

/// `--ot` of commands that can choose one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtChoice {
    This(OtExtension),
    Auto,
}

impl Choice for OtChoice {
    const ALL: &'static [OtChoice] = &[
        OtChoice::This(OtExtension::Softspoken),
        OtChoice::This(OtExtension::Silent),
        OtChoice::Auto,
    ];

    fn name(self) -> &'static str {
        match self {
            OtChoice::This(extension) => extension.name(),
            OtChoice::Auto => "auto",
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            OtChoice::This(extension) => extension.meaning(),
            OtChoice::Auto => "The one with the least predicted time on the network of --net",
        }
    }
}

impl OtChoice {
    /// The extensions to compare; if two take the same time, the first is taken.
    pub(crate) fn extensions(self) -> &'static [OtExtension] {
        match self {
            OtChoice::This(OtExtension::Softspoken) => &[OtExtension::Softspoken],
            OtChoice::This(OtExtension::Silent) => &[OtExtension::Silent],
            OtChoice::Auto => &[OtExtension::Softspoken, OtExtension::Silent],
        }
    }
}

/// Variants of protocols on shares; all parties state the same.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct VariantArguments {
    /// How garbled values are converted to additive shares
    #[arg(long, value_name = "HOW", default_value = "chosen", env = "PHINEUS_Y2A")]
    #[arg(value_parser = choice::<Y2aChoice>())]
    y2a: Y2aChoice,
    /// How openings are sent
    #[arg(long, value_name = "HOW", default_value = "direct", env = "PHINEUS_BROADCAST")]
    #[arg(value_parser = choice::<BroadcastChoice>())]
    broadcast: BroadcastChoice,
    /// When comparisons and right shifts of few bits open their operands under narrow masks, which are
    /// 40 bits longer than the operand (spdz and spdz-128). Each such opening adds 2^-40 to the
    /// statistical distance from an ideal run; `explain` and run.json state the total
    #[arg(long, value_name = "WHEN", default_value = "auto", env = "PHINEUS_NARROW_MASKS")]
    #[arg(value_parser = choice::<NarrowMasks>())]
    narrow_masks: NarrowMasks,
    /// Plan the program as it is. Otherwise clear, garbled, gmw, bmr and mixed compute each operation
    /// in as few bits as its values need. All parties state the same
    #[arg(long)]
    no_optimise: bool,
}

impl VariantArguments {
    pub(crate) fn choices(self) -> VariantChoices {
        let VariantArguments { y2a, broadcast, narrow_masks, no_optimise } = self;
        let optimisation = if no_optimise { Optimisation::Off } else { Optimisation::On };
        VariantChoices { y2a, broadcast, narrow_masks, optimisation }
    }
}
