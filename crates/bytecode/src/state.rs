//! Declarations of what programs keep besides values: memories, regions, tables, and permutations of one party.

use serde::{Deserialize, Serialize};

use crate::description::{Description, read_element, read_elements, write_element, write_elements};
use crate::instruction::{ElementType, Instruction};
use crate::limits::{
    MEMORIES_MAX, MEMORY_BITS_MAX, MEMORY_COLUMNS_MAX, PERMUTATION_ITEMS_MAX, REGION_BITS_MAX,
    REGION_ROWS_MAX, REGISTERS_MAX, SHARED_ROWS_MAX, TABLE_BITS_MAX, TABLE_ROW_BITS_MAX,
    TABLE_ROWS_MAX, TABLES_MAX,
};
use crate::ops::Op;

/// An array of rows, all 0 at the beginning, that lies outside the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// The type of a row.
    #[serde(serialize_with = "write_element", deserialize_with = "read_element")]
    pub element: ElementType,
    /// How many there are.
    pub rows: u64,
}

/// Rows of some columns that are read and changed at secret indices, all 0 at the beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Its name, for the user.
    pub name: String,
    /// The type of a cell, by column.
    #[serde(serialize_with = "write_elements", deserialize_with = "read_elements")]
    pub columns: Vec<ElementType>,
    /// How many rows there are.
    pub rows: u64,
    /// The method that the program asks for; otherwise the one of the least cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<MemoryMethod>,
    /// Whether rows are found by links, each row once at most, and are never changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_linked: bool,
}

impl Memory {
    /// Bits of a row.
    pub fn row_bits(&self) -> u64 {
        self.columns.iter().map(|column| u64::from(column.width())).sum()
    }

    /// The type of a link to a row: wide enough for all rows.
    pub fn link(&self) -> ElementType {
        let bits = self.rows.max(2).next_power_of_two().trailing_zeros();
        ElementType::unsigned(bits as u16)
    }
}

/// Rows that all parties know, or one of them, looked up at secret indices; all 0 at the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LookupTable {
    /// The type of a row.
    #[serde(serialize_with = "write_element", deserialize_with = "read_element")]
    pub element: ElementType,
    /// How many there are.
    pub rows: u64,
    /// The party that alone knows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_to: Option<u16>,
    /// Whether nobody knows them, and they may change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
}

impl LookupTable {
    /// Bits of an index.
    pub fn index_bits(&self) -> u16 {
        self.rows.max(2).next_power_of_two().trailing_zeros() as u16
    }
}

/// How a memory finds the row at a secret index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryMethod {
    /// Each access touches all rows.
    Scan,
    /// Square-Root ORAM: rows lie in a secret order, and an access opens a place that was not touched before.
    SquareRoot,
    /// As `SquareRoot`, but one party finds the place in a table of its own.
    SquareRootTable,
    /// Circuit ORAM: rows lie on paths to random leaves of a tree, and an access opens the leaf of its row.
    Circuit,
    /// By a garbled table: one party encrypts all rows, which it knows, and the other decrypts one.
    GarbledTable,
    /// By distributed point functions: two parties add up all rows, of which their shares of bits select one.
    Dpf,
    /// Of linked rows: they lie in a secret order, and a link is the place of a row.
    Linked,
}

impl MemoryMethod {
    /// All methods for any rows at any index.
    pub const ALL: [MemoryMethod; 4] = [
        MemoryMethod::Scan,
        MemoryMethod::SquareRoot,
        MemoryMethod::SquareRootTable,
        MemoryMethod::Circuit,
    ];

    /// Methods for some rows at any index: those that one party knows and nobody changes, and those of two parties.
    pub const IN_TABLES: [MemoryMethod; 2] = [MemoryMethod::GarbledTable, MemoryMethod::Dpf];

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            MemoryMethod::Scan => "scan",
            MemoryMethod::SquareRoot => "square-root",
            MemoryMethod::SquareRootTable => "square-root-table",
            MemoryMethod::Circuit => "circuit",
            MemoryMethod::GarbledTable => "garbled-table",
            MemoryMethod::Dpf => "dpf",
            MemoryMethod::Linked => "linked",
        }
    }

    /// The method of this name.
    pub fn from_name(name: &str) -> Option<MemoryMethod> {
        let reading = MemoryMethod::IN_TABLES.into_iter().chain([MemoryMethod::Linked]);
        let all = MemoryMethod::ALL.into_iter().chain(reading);
        all.into_iter().find(|method| method.name() == name)
    }
}

/// A permutation that one party knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permutation {
    /// Who knows it.
    pub party: u16,
    /// How many items it moves.
    pub items: u32,
    /// Where it comes from.
    pub kind: PermutationKind,
}

/// Where a permutation comes from, and what its party brings of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermutationKind {
    /// It is drawn at random; its party brings switches.
    Random,
    /// It is drawn at random; its party brings switches, and where each row comes from.
    RandomWithOrigins,
    /// It is drawn at random; its party brings switches, and rows are located under it.
    RandomLocated,
    /// Each pair of neighbours is exchanged at random or not, so that all its switches are independent and uniform.
    RandomPairs,
    /// Its party is told where each row goes; the party brings switches.
    Told,
    /// Its party is told where each row goes, and rows are located in what it was told.
    ToldLocated,
}

impl PermutationKind {
    /// Returns whether its party is told it.
    pub fn is_told(self) -> bool {
        match self {
            PermutationKind::Told | PermutationKind::ToldLocated => true,
            PermutationKind::Random
            | PermutationKind::RandomWithOrigins
            | PermutationKind::RandomLocated
            | PermutationKind::RandomPairs => false,
        }
    }

    /// Returns whether its party brings switches.
    pub fn has_switches(self) -> bool {
        match self {
            PermutationKind::Random
            | PermutationKind::RandomWithOrigins
            | PermutationKind::RandomLocated
            | PermutationKind::RandomPairs
            | PermutationKind::Told => true,
            PermutationKind::ToldLocated => false,
        }
    }

    /// Returns whether rows are located by it.
    pub fn is_located(self) -> bool {
        match self {
            PermutationKind::RandomLocated | PermutationKind::ToldLocated => true,
            PermutationKind::Random
            | PermutationKind::RandomWithOrigins
            | PermutationKind::RandomPairs
            | PermutationKind::Told => false,
        }
    }
}

impl Permutation {
    /// Switches of its network: one for each pair, or those of a Waksman network of `n` items. That has `n - 2^i` for
    /// each `2^i < n`, which is the number of items without the `2^i` sub-networks that they are divided into.
    pub fn switches(&self) -> u64 {
        if self.kind == PermutationKind::RandomPairs {
            return u64::from(self.items / 2);
        }
        let size = u64::from(self.items).next_power_of_two();
        (u64::from(size.trailing_zeros()) * u64::from(self.items) + 1).saturating_sub(size)
    }

    /// Bits of the number of an item.
    pub fn item_bits(&self) -> u16 {
        self.items.next_power_of_two().trailing_zeros().max(1) as u16
    }
}

/// Faults in the tables of a description.
fn table_faults(description: &Description) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, table) in description.tables.iter().enumerate() {
        let (element, rows) = (table.element, table.rows);
        let parties = description.parties.len();
        if table.known_to.is_some_and(|party| usize::from(party) >= parties) {
            faults.push(format!("table {index} is known to a party of which there are {parties}"));
        }
        let is_valid = (1..=TABLE_ROW_BITS_MAX).contains(&element.width());
        let most = if table.is_shared { SHARED_ROWS_MAX } else { TABLE_ROWS_MAX };
        if !is_valid || !(1..=most).contains(&rows) {
            faults.push(format!(
                "table {index} has {rows} rows of {element}; it has 1 to {most} of at most \
                 {TABLE_ROW_BITS_MAX} bits"
            ));
        }
        if table.is_shared && table.known_to.is_some() {
            faults.push(format!("table {index} is shared, and known to one party"));
        }
    }
    let bits = |table: &LookupTable| u128::from(table.element.width()) * u128::from(table.rows);
    if description.tables.iter().map(bits).sum::<u128>() > TABLE_BITS_MAX {
        faults.push("all tables together have more than 2^36 bits".to_owned());
    }
    if description.tables.len() > TABLES_MAX {
        faults.push(format!("a program has at most {TABLES_MAX} tables"));
    }
    faults
}

/// The first row of the group of `lanes` rows whose number is in a register, in its lowest `bits` bits, or in all of them
/// if `bits` is 0.
pub fn row_of_group(register: u64, bits: u64, lanes: u32) -> u64 {
    let mask = match bits {
        1..64 => (1 << bits) - 1,
        _ => u64::MAX,
    };
    (register & mask).saturating_mul(lanes.into())
}

/// Faults in memories, regions, permutations and registers of a description.
pub(crate) fn faults(description: &Description) -> Vec<String> {
    let mut faults = Vec::new();
    for (index, region) in description.regions.iter().enumerate() {
        let shape = Instruction::new(Op::RegionLoad, region.element, 1).shape();
        if !shape.is_valid() || region.rows == 0 || region.rows > REGION_ROWS_MAX {
            faults.push(format!(
                "region {index} has {} rows of {shape}; it has 1 to {REGION_ROWS_MAX}",
                region.rows
            ));
        }
    }
    let bits = |region: &Region| u128::from(region.element.width()) * u128::from(region.rows);
    if description.regions.iter().map(bits).sum::<u128>() > REGION_BITS_MAX {
        faults.push("all regions together have more than 2^44 bits".to_owned());
    }
    faults.extend(table_faults(description));
    for (index, memory) in description.memories.iter().enumerate() {
        let is_valid = |&element: &ElementType| {
            Instruction::new(Op::MemoryCell, element, 1).shape().is_valid()
        };
        let rows = memory.rows;
        let columns = memory.columns.len();
        if columns == 0 || columns > MEMORY_COLUMNS_MAX || !memory.columns.iter().all(is_valid) {
            faults.push(format!(
                "memory {index} has {columns} columns, or one that is no value; it has 1 to \
                 {MEMORY_COLUMNS_MAX}"
            ));
        }
        if rows == 0 {
            faults.push(format!("memory {index} has no rows"));
        }
        if memory.method == Some(MemoryMethod::Linked) && !memory.is_linked {
            faults.push(format!("memory {index} has no links"));
        }
    }
    let bits = |memory: &Memory| u128::from(memory.row_bits()) * u128::from(memory.rows);
    if description.memories.iter().map(bits).sum::<u128>() > MEMORY_BITS_MAX {
        faults.push("all memories together have more than 2^32 bits".to_owned());
    }
    if description.memories.len() > MEMORIES_MAX {
        faults.push(format!("a program has at most {MEMORIES_MAX} memories"));
    }
    for (index, permutation) in description.permutations.iter().enumerate() {
        let items = permutation.items;
        if items == 0 || items > PERMUTATION_ITEMS_MAX {
            faults.push(format!(
                "permutation {index} moves {items} items, not 1 to {PERMUTATION_ITEMS_MAX}"
            ));
        }
        if permutation.kind == PermutationKind::RandomPairs && !items.is_multiple_of(2) {
            faults.push(format!("permutation {index} exchanges pairs, and {items} is odd"));
        }
        if usize::from(permutation.party) >= description.parties.len() {
            faults.push(format!("permutation {index} is of no party"));
        }
    }
    if description.registers > REGISTERS_MAX {
        faults.push(format!("a program has at most {REGISTERS_MAX} registers"));
    }
    faults
}
