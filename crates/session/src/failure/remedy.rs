//! [`Remedy`]: what to do after a failure. The settings that it names are typed, as a program and a
//! command line have different names for them.

use std::fmt;

/// A setting that a remedy names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunField {
    AsParty,
    Broadcast,
    Columns,
    Computing,
    FakePreprocessing,
    Garbler,
    Inputs,
    InputsFrom,
    MaxIterations,
    Memory,
    NarrowMasks,
    Optimisation,
    Ot,
    Parameters,
    Preprocessing,
    Protocol,
    Slice,
    Storage,
    SwapDir,
    Verify,
    YaoToArithmetic,
}

impl RunField {
    /// The field of [`crate::settings::Run`], or what a program calls instead.
    pub fn name(self) -> &'static str {
        match self {
            RunField::AsParty => "together.as_party",
            RunField::Broadcast => "together.variants.broadcast",
            RunField::Columns => "reading.columns",
            RunField::Computing => "outsourcing.computing",
            RunField::FakePreprocessing => "Preprocessed::Fake",
            RunField::Garbler => "garbler",
            RunField::Inputs => "inputs",
            RunField::InputsFrom => "outsourcing.inputs_from",
            RunField::MaxIterations => "max_iterations",
            RunField::Memory => "resources.memory",
            RunField::NarrowMasks => "together.variants.narrow_masks",
            RunField::Optimisation => "together.variants.optimisation",
            RunField::Ot => "together.ot",
            RunField::Parameters => "choice.parameters",
            RunField::Preprocessing => "preprocessing",
            RunField::Protocol => "together.protocol",
            RunField::Slice => "slice_bytes",
            RunField::Storage => "resources.storage",
            RunField::SwapDir => "resources.swap_dir",
            RunField::Verify => "AllResults::verify",
            RunField::YaoToArithmetic => "together.variants.y2a",
        }
    }
}

/// A part of a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemedyPart {
    Text(String),
    Field(RunField),
    /// Text that is of use at a command line only.
    AtCommandLine(String),
}

/// A sentence on what to do next, in parts. `Display` writes settings as a program names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remedy(Vec<RemedyPart>);

impl Remedy {
    /// A sentence that begins so.
    pub fn new(text: impl Into<String>) -> Remedy {
        Remedy::default().and(text)
    }

    /// Goes on with a text.
    #[must_use]
    pub fn and(self, text: impl Into<String>) -> Remedy {
        self.with(RemedyPart::Text(text.into()))
    }

    /// Goes on with the name of a setting.
    #[must_use]
    pub fn field(self, field: RunField) -> Remedy {
        self.with(RemedyPart::Field(field))
    }

    /// Goes on with a text that is of use at a command line only.
    #[must_use]
    pub fn at_command_line(self, text: impl Into<String>) -> Remedy {
        self.with(RemedyPart::AtCommandLine(text.into()))
    }

    fn with(mut self, part: RemedyPart) -> Remedy {
        self.0.push(part);
        self
    }

    /// With `change` made to each text.
    pub(crate) fn map_text(self, change: impl Fn(String) -> String) -> Remedy {
        let changed = |part| match part {
            RemedyPart::Text(text) => RemedyPart::Text(change(text)),
            RemedyPart::AtCommandLine(text) => RemedyPart::AtCommandLine(change(text)),
            RemedyPart::Field(field) => RemedyPart::Field(field),
        };
        Remedy(self.0.into_iter().map(changed).collect())
    }

    /// The parts, in order.
    pub fn parts(&self) -> &[RemedyPart] {
        &self.0
    }

    /// The settings that it names.
    pub fn fields(&self) -> impl Iterator<Item = RunField> {
        self.0.iter().filter_map(|part| match part {
            RemedyPart::Field(field) => Some(*field),
            RemedyPart::Text(_) | RemedyPart::AtCommandLine(_) => None,
        })
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            RemedyPart::Text(text) => f.write_str(text),
            RemedyPart::Field(field) => f.write_str(field.name()),
            RemedyPart::AtCommandLine(_) => Ok(()),
        })
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Remedy {
        Remedy::new(text)
    }
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Remedy {
        Remedy::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reads_the_names_of_fields() {
        let remedy = Remedy::new("give ")
            .field(RunField::Memory)
            .and(" 48MiB or more")
            .at_command_line(", as `phineus explain` says");
        assert_eq!(remedy.to_string(), "give resources.memory 48MiB or more");
        assert!(remedy.fields().eq([RunField::Memory]));
    }
}
