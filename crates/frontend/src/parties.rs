//! Programs among any number of parties: computing parties and receivers of results.

use crate::arguments::{Arguments, Parameter};
use crate::error::ProgramError;

/// The most parties of a program whose number of parties is a parameter.
const PARTIES_MAX: u8 = 16;

/// Parameter `parties`, for [`party_names`].
pub fn parties_parameter(default: &str) -> Parameter {
    Parameter::new("parties", default, "how many parties there are, 2 to 16")
}

/// Parameter `to`, for [`receivers`].
pub fn to_parameter(default: &str) -> Parameter {
    Parameter::new("to", default, "who learns the result: a party's name, or all")
}

/// The names of as many parties as parameter `parties` says: `site_a`, `site_b`, ...
///
/// # Errors
/// If it says no number, or one that cannot be.
pub fn party_names(arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
    let expected = "2 to 16";
    let count: u8 = arguments.parsed("parties", expected)?;
    match count {
        2..=PARTIES_MAX => Ok(first_names(count)),
        _ => Err(arguments.bad("parties", expected)),
    }
}

/// The names of the first `count` parties.
pub(crate) fn first_names(count: u8) -> Vec<String> {
    (b'a'..).take(count.into()).map(|letter| format!("site_{}", char::from(letter))).collect()
}

/// The parties that parameter `to` names.
///
/// # Errors
/// If there is no such party.
pub fn receivers<'a>(
    arguments: &Arguments,
    names: &'a [String],
) -> Result<Vec<&'a str>, ProgramError> {
    let to: String = arguments.parsed("to", "a party's name, or all")?;
    match names.iter().find(|name| **name == to) {
        Some(name) => Ok(vec![name]),
        None if to == "all" || (to == "both" && names.len() == 2) => {
            Ok(names.iter().map(String::as_str).collect())
        }
        None => Err(arguments.bad("to", &format!("{} or all", names.join(", ")))),
    }
}
