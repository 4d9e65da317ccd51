//! Parameters that several programs have: a sharing, a choice, a width.

use phineus_bytecode::Sharing;
use phineus_frontend::{Arguments, Parameter, ProgramError};
use phineus_oblivious::MemoryMethod;

const SHARINGS: [(&str, Sharing); 4] = [
    ("any", Sharing::Any),
    ("arith", Sharing::Arithmetic),
    ("gmw", Sharing::Boolean),
    ("bmr", Sharing::Garbled),
];

/// The sharing that parameter `name` says, one of `allowed`.
pub fn sharing(
    arguments: &Arguments,
    name: &str,
    allowed: &[Sharing],
) -> Result<Sharing, ProgramError> {
    let known = SHARINGS.iter().filter(|(_, sharing)| allowed.contains(sharing));
    let names: Vec<&str> = known.clone().map(|(name, _)| *name).collect();
    let expected = names.join(", ");
    let text: String = arguments.parsed(name, &expected)?;
    let found = known.into_iter().find(|(name, _)| *name == text);
    found.map(|(_, sharing)| *sharing).ok_or_else(|| arguments.bad(name, &expected))
}

/// The choice among `names` that parameter `name` says.
pub fn choice<'a>(
    arguments: &Arguments,
    name: &str,
    names: &[&'a str],
) -> Result<&'a str, ProgramError> {
    let expected = names.join(", ");
    let text: String = arguments.parsed(name, &expected)?;
    let found = names.iter().find(|name| **name == text);
    found.copied().ok_or_else(|| arguments.bad(name, &expected))
}

/// A width in bits between `least` and `most` that parameter `width` says.
pub fn width(arguments: &Arguments, least: u16, most: u16) -> Result<u16, ProgramError> {
    let expected = format!("{least} to {most}");
    let width: u16 = arguments.parsed("width", &expected)?;
    if !(least..=most).contains(&width) {
        return Err(arguments.bad("width", &expected));
    }
    Ok(width)
}

/// Parameter `memory`.
pub fn memory_parameter() -> Parameter {
    Parameter::new(
        "memory",
        "scan",
        "how rows are found: scan (all rows each time) or square-root (Square-Root ORAM, garbled \
         only)",
    )
}

/// How parameter `memory` says that rows are found.
pub fn memory_method(arguments: &Arguments) -> Result<MemoryMethod, ProgramError> {
    let method = choice(arguments, "memory", &["scan", "square-root"])?;
    Ok(if method == "scan" { MemoryMethod::Scan } else { MemoryMethod::SquareRoot })
}
