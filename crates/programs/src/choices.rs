//! Parameters that several programs have: a sharing, a choice, a width.

use phineus_bytecode::{MemoryMethod, Sharing};
use phineus_frontend::{Arguments, Parameter, ProgramError};

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

/// The parameter of programs that use a memory at secret indices.
pub fn memory_parameter() -> Parameter {
    Parameter::new(
        "memory",
        AUTO,
        "how rows at secret indices are found: auto (the cheapest), scan (all rows each time), square-root \
         or square-root-table (Square-Root ORAM; the latter under garbled), garbled-table (rows of the first \
         party or constants, under garbled), dpf (point functions, between two parties on shares), circuit \
         (Circuit ORAM)",
    )
}

/// The method of the least cost.
const AUTO: &str = "auto";

/// The method that parameter `memory` says; nothing if it is to be chosen by cost.
pub fn memory_method(arguments: &Arguments) -> Result<Option<MemoryMethod>, ProgramError> {
    let methods = MemoryMethod::ALL.into_iter().chain(MemoryMethod::IN_TABLES);
    let names: Vec<&str> = std::iter::once(AUTO).chain(methods.map(MemoryMethod::name)).collect();
    Ok(MemoryMethod::from_name(choice(arguments, "memory", &names)?))
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
