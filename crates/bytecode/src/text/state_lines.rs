//! Lines of a description about memories, regions, tables, permutations and registers.

use crate::description::Description;
use crate::instruction::ElementType;
use crate::state::{LookupTable, Memory, MemoryMethod, Permutation, PermutationKind, Region};
use crate::text::line::{LineCursor, LineError, Parsed};

/// The words that such lines begin with.
pub(super) const WORDS: [&str; 8] =
    ["memory", LINKED, "region", "table", PARTY_TABLE, SHARED_TABLE, "permutation", "registers"];

/// The word for a memory whose rows are linked.
const LINKED: &str = "linked_memory";

/// The word for a table that one party knows.
const PARTY_TABLE: &str = "party_table";

/// The word for a table whose rows are shared.
const SHARED_TABLE: &str = "shared_table";

/// The word for a memory that asks for no method.
const ANY_METHOD: &str = "any";

const KINDS: [(PermutationKind, &str); 6] = [
    (PermutationKind::Random, "random"),
    (PermutationKind::RandomWithOrigins, "random_with_origins"),
    (PermutationKind::RandomLocated, "random_located"),
    (PermutationKind::RandomPairs, "random_pairs"),
    (PermutationKind::Told, "told"),
    (PermutationKind::ToldLocated, "told_located"),
];

/// The lines of `description`.
pub(super) fn write(description: &Description, line: &mut impl FnMut(String)) {
    for Memory { name, columns, rows, method, is_linked } in &description.memories {
        let name = serde_json::to_string(name).expect("a string is JSON");
        let method = method.map_or(ANY_METHOD, MemoryMethod::name);
        let columns: Vec<String> = columns.iter().map(ElementType::to_string).collect();
        let word = if *is_linked { LINKED } else { "memory" };
        line(format!("{word} {name} {method} rows={rows} {}", columns.join(" ")));
    }
    for Region { element, rows } in &description.regions {
        line(format!("region {element} rows={rows}"));
    }
    for LookupTable { element, rows, known_to, is_shared } in &description.tables {
        line(match known_to {
            None if *is_shared => format!("{SHARED_TABLE} {element} rows={rows}"),
            None => format!("table {element} rows={rows}"),
            Some(party) => format!("{PARTY_TABLE} {element} rows={rows} party={party}"),
        });
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

/// Reads the number of a party.
fn party(line: &mut LineCursor) -> Parsed<u16> {
    let at = line.place();
    let what = "party is not below 65536".to_owned();
    u16::try_from(line.attribute("party")?).map_err(|_| LineError { at, what })
}

/// Reads a line that begins with `word`.
pub(super) fn read(word: &str, line: &mut LineCursor, into: &mut Description) -> Parsed<()> {
    let (at, word_of_line) = (line.place(), word);
    let narrow = |number: u64, name: &str| {
        let what = format!("{name} is not below 2^32");
        u32::try_from(number).map_err(|_| LineError { at, what })
    };
    match word {
        "memory" | LINKED => {
            let name = line.string("the name of the memory")?;
            let at = line.place();
            let word = line.word("the method of the memory")?;
            let method = match word {
                ANY_METHOD => None,
                name => Some(MemoryMethod::from_name(name).ok_or_else(|| {
                    let all = MemoryMethod::ALL.map(MemoryMethod::name).join(", ");
                    let reading = MemoryMethod::IN_TABLES.map(MemoryMethod::name).join(", ");
                    let linked = MemoryMethod::Linked.name();
                    let what =
                        format!("'{name}' is none of {ANY_METHOD}, {all}, {reading}, {linked}");
                    LineError { at, what }
                })?),
            };
            let rows = line.attribute("rows")?;
            let mut columns = Vec::new();
            while !line.is_empty() {
                columns.push(line.element()?);
            }
            let is_linked = word_of_line == LINKED;
            into.memories.push(Memory { name, columns, rows, method, is_linked });
        }
        "region" => {
            let element = line.element()?;
            let rows = line.attribute("rows")?;
            into.regions.push(Region { element, rows });
        }
        word @ ("table" | PARTY_TABLE | SHARED_TABLE) => {
            let element = line.element()?;
            let rows = line.attribute("rows")?;
            let known_to = match word == PARTY_TABLE {
                true => Some(party(line)?),
                false => None,
            };
            let is_shared = word == SHARED_TABLE;
            into.tables.push(LookupTable { element, rows, known_to, is_shared });
        }
        "permutation" => {
            let name = line.word("the kind of the permutation")?;
            let kind = KINDS.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind);
            let names = KINDS.map(|(_, name)| name).join(", ");
            let what = format!("'{name}' is none of {names}");
            let kind = kind.ok_or(LineError { at, what })?;
            let party = party(line)?;
            let items = narrow(line.attribute("items")?, "items")?;
            into.permutations.push(Permutation { party, items, kind });
        }
        _ => into.registers = narrow(line.number("how many registers there are")?, "registers")?,
    }
    Ok(())
}
