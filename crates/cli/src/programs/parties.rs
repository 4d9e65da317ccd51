//! Programs among any number of parties: who takes part, who learns the result, which sharing.

use phineus_bytecode::Sharing;
use phineus_frontend::{Arguments, Parameter, ProgramError};

/// The most parties of a program whose number of parties is a parameter.
const PARTIES_MAX: u8 = 16;

/// Parameter `parties`.
pub(super) fn parties_parameter(default: &str) -> Parameter {
    Parameter::new("parties", default, "how many parties there are, 2 to 16")
}

/// Parameter `to`, for [`receivers`].
pub(super) fn to_parameter(default: &str) -> Parameter {
    Parameter::new("to", default, "who learns the result: a party's name, or all")
}

/// The names of as many parties as the parameter says: `site_a`, `site_b`, ...
pub(super) fn party_names(arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
    let expected = "2 to 16";
    let count: u8 = arguments.parsed("parties", expected)?;
    if !(2..=PARTIES_MAX).contains(&count) {
        return Err(bad("parties", arguments, expected));
    }
    Ok((b'a'..).take(count.into()).map(|letter| format!("site_{}", char::from(letter))).collect())
}

/// The parties that parameter `to` names.
pub(super) fn receivers<'a>(
    arguments: &Arguments,
    names: &'a [String],
) -> Result<Vec<&'a str>, ProgramError> {
    let to: String = arguments.parsed("to", "a party's name, or all")?;
    match names.iter().find(|name| **name == to) {
        Some(name) => Ok(vec![name]),
        None if to == "all" || (to == "both" && names.len() == 2) => {
            Ok(names.iter().map(String::as_str).collect())
        }
        None => Err(bad("to", arguments, &format!("{} or all", names.join(", ")))),
    }
}

const SHARINGS: [(&str, Sharing); 4] = [
    ("any", Sharing::Any),
    ("arith", Sharing::Arithmetic),
    ("gmw", Sharing::Boolean),
    ("bmr", Sharing::Garbled),
];

/// The sharing that parameter `name` says, one of `allowed`.
pub(super) fn sharing(
    arguments: &Arguments,
    name: &str,
    allowed: &[Sharing],
) -> Result<Sharing, ProgramError> {
    let known = SHARINGS.iter().filter(|(_, sharing)| allowed.contains(sharing));
    let names: Vec<&str> = known.clone().map(|(name, _)| *name).collect();
    let expected = names.join(", ");
    let text: String = arguments.parsed(name, &expected)?;
    let found = known.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, sharing)| *sharing).ok_or_else(|| bad(name, arguments, &expected))
}

/// The choice among `names` that parameter `name` says.
pub(super) fn choice<'a>(
    arguments: &Arguments,
    name: &str,
    names: &[&'a str],
) -> Result<&'a str, ProgramError> {
    let expected = names.join(", ");
    let text: String = arguments.parsed(name, &expected)?;
    let found = names.iter().find(|name| **name == text);
    found.copied().ok_or_else(|| bad(name, arguments, &expected))
}

/// A width in bits between `least` and `most` that parameter `width` says.
pub(super) fn width(arguments: &Arguments, least: u16, most: u16) -> Result<u16, ProgramError> {
    let expected = format!("{least} to {most}");
    let width: u16 = arguments.parsed("width", &expected)?;
    if !(least..=most).contains(&width) {
        return Err(bad("width", arguments, &expected));
    }
    Ok(width)
}

/// The error of a parameter that does not fit.
pub(super) fn bad(name: &str, arguments: &Arguments, expected: &str) -> ProgramError {
    ProgramError::BadParameter {
        name: name.to_owned(),
        value: arguments.text(name).unwrap_or_default().to_owned(),
        expected: expected.to_owned(),
    }
}
