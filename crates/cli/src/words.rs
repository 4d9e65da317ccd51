//! Failures in the words of the command line: remedies name its options.

use phineus_session::failure::{Failure, Remedy, RemedyPart, RunField};

/// `failure` with options of the command line in its remedy.
pub(crate) fn worded(failure: &Failure) -> Failure {
    let remedy = failure.remedy.as_ref().map(|remedy| Remedy::new(text(remedy)));
    Failure { remedy, ..failure.clone() }
}

fn text(remedy: &Remedy) -> String {
    let word = |part: &RemedyPart| match part {
        RemedyPart::Text(text) | RemedyPart::AtCommandLine(text) => text.clone(),
        RemedyPart::Field(field) => option(*field).to_owned(),
    };
    remedy.parts().iter().map(word).collect()
}

/// The option that states a setting.
fn option(field: RunField) -> &'static str {
    match field {
        RunField::AsParty => "--as",
        RunField::Broadcast => "--broadcast",
        RunField::Columns => "--column",
        RunField::Computing => "--computing",
        RunField::FakePreprocessing => "--fake-preprocessing",
        RunField::Garbler => "--garbler",
        RunField::Inputs => "--in",
        RunField::InputsFrom => "--inputs-from",
        RunField::MaxIterations => "--max-iterations",
        RunField::Memory => "--memory",
        RunField::NarrowMasks => "--narrow-masks",
        RunField::Optimisation => "--no-optimise",
        RunField::Ot => "--ot",
        RunField::Parameters => "--param",
        RunField::Preprocessing => "--preprocessing",
        RunField::Protocol => "--protocol",
        RunField::Slice => "--slice",
        RunField::Storage => "--storage",
        RunField::SwapDir => "--swap-dir",
        RunField::Verify => "--verify",
        RunField::YaoToArithmetic => "--y2a",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedies_name_options() {
        let remedy = Remedy::new("give ").field(RunField::Memory).and(" 48MiB");
        let failure = Failure::usage("too little").remedy(remedy.at_command_line("; see `help`"));
        let shown = worded(&failure).to_string();
        assert_eq!(shown, "error E2100: too little\n  next: give --memory 48MiB; see `help`");
        let again = Failure::from_json(&worded(&failure).to_json()).expect("it is one");
        assert_eq!(worded(&again).to_string(), shown, "as a child process reports it");
    }
}
