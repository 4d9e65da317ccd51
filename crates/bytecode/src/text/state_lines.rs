//! Lines of a description about regions, permutations and registers.

use crate::description::Description;
use crate::state::{Permutation, PermutationKind, Region};
use crate::text::line::{LineCursor, LineError, Parsed};

/// The words that such lines begin with.
pub(super) const WORDS: [&str; 3] = ["region", "permutation", "registers"];

const KINDS: [(PermutationKind, &str); 3] = [
    (PermutationKind::Random, "random"),
    (PermutationKind::RandomLocated, "random_located"),
    (PermutationKind::Told, "told"),
];

/// The lines of `description`.
pub(super) fn write(description: &Description, line: &mut impl FnMut(String)) {
    for Region { element, rows } in &description.regions {
        line(format!("region {element} rows={rows}"));
    }
    for Permutation { party, items, kind } in &description.permutations {
        let named = KINDS.iter().find(|(known, _)| known == kind);
        let name = named.expect("every kind has a name").1;
        line(format!("permutation {name} party={party} items={items}"));
    }
    if description.registers > 0 {
        line(format!("registers {}", description.registers));
    }
}

/// Reads a line that begins with `word`.
pub(super) fn read(word: &str, line: &mut LineCursor, into: &mut Description) -> Parsed<()> {
    let at = line.place();
    let narrow = |number: u64, name: &str| {
        let what = format!("{name} is not below 2^32");
        u32::try_from(number).map_err(|_| LineError { at, what })
    };
    match word {
        "region" => {
            let element = line.element()?;
            let rows = line.attribute("rows")?;
            into.regions.push(Region { element, rows });
        }
        "permutation" => {
            let name = line.word("the kind of the permutation")?;
            let kind = KINDS.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind);
            let what = format!("'{name}' is none of random, random_located and told");
            let kind = kind.ok_or(LineError { at, what })?;
            let party = line.attribute("party")?;
            let what = "party is not below 65536".to_owned();
            let party = u16::try_from(party).map_err(|_| LineError { at, what })?;
            let items = narrow(line.attribute("items")?, "items")?;
            into.permutations.push(Permutation { party, items, kind });
        }
        _ => into.registers = narrow(line.number("how many registers there are")?, "registers")?,
    }
    Ok(())
}
