//! [`Description`]: everything in a program file besides its instructions.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cow_list::CowList;
use crate::instruction::{ElementType, Instruction, Shape};
use crate::layout::Layout;
use crate::limits::{
    FIXED_WIDTH_MAX, FRACTION_BITS_MAX, LARGE_VALUE_WIRES_MAX, PARTIES_MAX, REGISTER_BITS,
    SLOTS_MAX, VALUE_WIRES_MAX,
};
use crate::ops::Op;
use crate::rows_of::RowsOf;
use crate::settings::Settings;
use crate::state::{self, LookupTable, Memory, Permutation, Region};

/// Names, parties, ports and parameters of a program; after planning also the plan's figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The program's name.
    pub name: String,
    /// The parties' names; a party's index in this list identifies it everywhere else.
    pub parties: Vec<String>,
    /// The parameters it was made with.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The most wires of a value, if that is more than [`VALUE_WIRES_MAX`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_wires_max: Option<u32>,
    /// Where values come in.
    #[serde(default)]
    pub inputs: CowList<InputPort>,
    /// Where values go out.
    #[serde(default)]
    pub outputs: CowList<OutputPort>,
    /// Outputs that are opened while the program runs, and decide what runs next: by index,
    /// ascending.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub opened: CowList<u32>,
    /// Values carried from one block to others.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub slots: CowList<CarriedSlot>,
    /// Arrays of rows that a public register selects from.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub regions: CowList<Region>,
    /// Rows that all parties know, looked up at secret indices.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub tables: CowList<LookupTable>,
    /// Permutations that one party draws or computes, and nobody else knows.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub permutations: CowList<Permutation>,
    /// Public registers that are set and used inside the block.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub registers: u32,
    /// Memories that are accessed at secret indices; none in a planned program.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub memories: CowList<Memory>,
    /// Figures of the plan; set by the planner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanDescription>,
    /// Set for one of several blocks. The file of such a block has only the plan:
    /// the rest is stored once, in the directory of all blocks.
    #[serde(skip)]
    pub is_block: bool,
}

fn is_empty<T: Clone>(list: &CowList<T>) -> bool {
    list.is_empty()
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// The part of a description that the file of a block has.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockDescription {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan: Option<PlanDescription>,
}

/// A table that one party brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputPort {
    /// Its name.
    pub name: String,
    /// Who brings it.
    pub party: u16,
    /// How many rows.
    pub rows: u64,
    /// Columns of a row.
    pub columns: Vec<Column>,
    /// How the owner arranges the rows before they come in.
    #[serde(default)]
    pub order: RowOrder,
}

/// A table that some parties learn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputPort {
    /// Its name.
    pub name: String,
    /// Who learns it, by index, ascending.
    pub parties: Vec<u16>,
    /// How many rows.
    pub rows: u64,
    /// Columns of a row.
    pub columns: Vec<Column>,
    /// The input whose rows these are about, if they are about rows of an input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_of: Option<RowsOf>,
}

/// A value that is carried from one block to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CarriedSlot {
    /// Its type.
    #[serde(serialize_with = "write_element", deserialize_with = "read_element")]
    pub element: ElementType,
    /// How many lanes it has.
    pub lanes: u32,
}

impl CarriedSlot {
    /// The shape of the value.
    pub fn shape(&self) -> Shape {
        Instruction::new(Op::Load, self.element, self.lanes).shape()
    }
}

/// A typed column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its name: the header of a CSV column.
    pub name: String,
    /// Its type in the computation.
    #[serde(serialize_with = "write_element", deserialize_with = "read_element")]
    pub element: ElementType,
    /// How a field of text becomes bits and back.
    pub encoding: Encoding,
}

/// How a field of text becomes bits and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    /// A decimal integer within the type's range.
    #[default]
    Number,
    /// Hexadecimal digits, most significant first.
    Hex,
    /// Any text, hashed to the type's width with SHA-256.
    Text,
    /// A decimal number such as `-1.25`: an integer with so many bits behind the point.
    Fixed(u8),
    /// A binary floating-point number of IEEE 754, of 16, 32 or 64 bits, written as a decimal: `-1.25`, `1e-3`, `inf`.
    Float,
}

/// How the owner of an input table arranges its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowOrder {
    /// As they come.
    #[default]
    Given,
    /// Sorted by the unsigned value of the first `columns`, equal keys in the given order.
    Sorted {
        /// How many leading columns are the key, the first the most significant.
        columns: u16,
        /// Largest first.
        descending: bool,
        /// Returns whether two rows with the same key are an error.
        unique: bool,
        /// The most rows that may have the same key; more are an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeats_max: Option<u32>,
    },
}

impl RowOrder {
    /// Returns whether two rows with the same key are an error.
    pub fn is_unique(&self) -> bool {
        matches!(self, RowOrder::Sorted { unique: true, .. })
    }
}

/// Where a plan has what comes in and goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PortOrder {
    /// Where the program has it.
    #[default]
    Given,
    /// Inputs before their first uses, outputs behind the definitions of their values.
    Near,
}

impl PortOrder {
    /// Its name in descriptions.
    pub fn name(self) -> &'static str {
        match self {
            PortOrder::Given => "given",
            PortOrder::Near => "near",
        }
    }

    fn is_given(&self) -> bool {
        *self == PortOrder::Given
    }
}

/// Whether a program was optimised before it was planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimisation {
    /// As far as the planner does that for the protocol.
    #[default]
    On,
    /// It was planned as it is.
    Off,
}

impl Optimisation {
    /// Its name in descriptions.
    pub fn name(self) -> &'static str {
        match self {
            Optimisation::On => "on",
            Optimisation::Off => "off",
        }
    }

    fn is_on(&self) -> bool {
        *self == Optimisation::On
    }
}

/// Figures and settings of a planned program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanDescription {
    /// The hash of the program that was planned.
    pub program_hash: String,
    /// The protocol that it was planned for.
    pub protocol: String,
    /// Off where `program_hash` is that of a program in the widths of its front end.
    #[serde(default, skip_serializing_if = "Optimisation::is_on")]
    pub optimisation: Optimisation,
    /// Where it has inputs and outputs.
    #[serde(default, skip_serializing_if = "PortOrder::is_given")]
    pub port_order: PortOrder,
    /// The memory limit that it was planned for, in bytes.
    pub memory_limit_bytes: u64,
    /// Pages of regions that a run holds in memory; 0 if it holds all of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub region_frames: u64,
    /// How many of the program's parties compute, the first ones; all if it is not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computing: Option<u16>,
    /// How values lie in memory.
    pub layout: Layout,
    /// Units of the layout in a page.
    pub page_wires: u64,
    /// Frames that the run uses.
    pub frame_count: u64,
    /// Pages that the swap file must hold.
    pub spill_slot_count: u64,
    /// Pages read from storage.
    pub swap_in_count: u64,
    /// Pages written to storage.
    pub swap_out_count: u64,
    /// Pages that would be needed to swap nothing.
    pub unbounded_page_count: u64,
    /// The most wires of living values at any time.
    pub peak_wire_count: u64,
    /// Instructions, directives not counted.
    pub instruction_count: u64,
    /// The most that tables of the planner took while this was planned.
    #[serde(default)]
    pub planner_bytes: u64,
    /// Settings that a run must follow, as the protocol defines them.
    #[serde(default, skip_serializing_if = "Settings::is_empty")]
    pub settings: Settings,
    /// Exact amounts that the protocol states, by name.
    pub costs: BTreeMap<String, u64>,
}

impl PlanDescription {
    /// Bytes of a page.
    pub fn page_bytes(&self) -> u64 {
        self.page_wires.saturating_mul(self.layout.unit_bytes.into())
    }
}

impl Description {
    /// The parties that compute, the first ones of the program; the others are clients.
    pub fn computing(&self) -> usize {
        let stated = self.plan.as_ref().and_then(|plan| plan.computing);
        stated.map_or(self.parties.len(), usize::from)
    }

    /// The most wires that a value may have.
    pub fn value_wires_max(&self) -> u32 {
        self.value_wires_max.unwrap_or(VALUE_WIRES_MAX)
    }

    /// The description of an unplanned block of the program that `self` describes.
    pub fn of_block(&self) -> Description {
        Description { plan: None, is_block: true, ..self.clone() }
    }

    /// The JSON that a program file stores.
    pub(crate) fn to_file(&self) -> serde_json::Result<Vec<u8>> {
        match self.is_block {
            true => serde_json::to_vec(&BlockDescription { plan: self.plan.clone() }),
            false => serde_json::to_vec(self),
        }
    }

    /// Reads the description of a block of the program that `self` describes from the block's file.
    pub(crate) fn block_from_file(&self, text: &[u8]) -> serde_json::Result<Description> {
        let BlockDescription { plan } = serde_json::from_slice(text)?;
        Ok(Description { plan, ..self.of_block() })
    }

    /// Returns whether `text` is what the file of a block stores.
    pub(crate) fn is_text_of_block(text: &[u8]) -> bool {
        serde_json::from_slice::<BlockDescription>(text).is_ok()
    }

    /// All that is wrong with it, one sentence each.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let parties = self.parties.len();
        if parties == 0 || parties > PARTIES_MAX {
            faults
                .push(format!("a program has 1 to {PARTIES_MAX} parties, this one has {parties}"));
        }
        if let Some(wires) = self.value_wires_max
            && !(VALUE_WIRES_MAX + 1..=LARGE_VALUE_WIRES_MAX).contains(&wires)
        {
            faults.push(format!(
                "value_wires_max is more than {VALUE_WIRES_MAX} and at most \
                 {LARGE_VALUE_WIRES_MAX}, not {wires}"
            ));
        }
        let mut table = |kind: &str, name: &str, columns: &[Column]| {
            if columns.is_empty() {
                faults.push(format!("{kind} '{name}' has no columns"));
            }
            for column in columns {
                let width = column.element.width();
                if width == 0 || width > crate::limits::WIDTH_MAX {
                    faults.push(format!(
                        "{kind} '{name}': column '{}' has width {width}",
                        column.name
                    ));
                }
                if column.encoding == Encoding::Float && !matches!(width, 16 | 32 | 64) {
                    let column = &column.name;
                    faults.push(format!(
                        "{kind} '{name}': column '{column}' has {width} bits, and floating-point \
                         numbers have 16, 32 or 64"
                    ));
                }
                if let Encoding::Fixed(fraction) = column.encoding
                    && (fraction > FRACTION_BITS_MAX || width > FIXED_WIDTH_MAX)
                {
                    let column = &column.name;
                    faults.push(format!(
                        "{kind} '{name}': column '{column}' has {width} bits, {fraction} of them \
                         behind the point; the most is {FIXED_WIDTH_MAX} and {FRACTION_BITS_MAX}"
                    ));
                }
            }
        };
        for port in &self.inputs {
            table("input", &port.name, &port.columns);
        }
        for port in &self.outputs {
            table("output", &port.name, &port.columns);
        }
        for port in &self.inputs {
            if usize::from(port.party) >= parties {
                faults.push(format!(
                    "input '{}' belongs to party {}, of {parties}",
                    port.name, port.party
                ));
            }
            if let RowOrder::Sorted { columns, .. } = port.order
                && (columns == 0 || usize::from(columns) > port.columns.len())
            {
                faults.push(format!("input '{}' is sorted by {columns} columns", port.name));
            }
        }
        for port in &self.outputs {
            let ascending = port.parties.windows(2).all(|pair| pair[0] < pair[1]);
            let known = port.parties.iter().all(|&party| usize::from(party) < parties);
            if port.parties.is_empty() || !ascending || !known {
                faults.push(format!(
                    "output '{}' names the parties {:?}, of {parties}",
                    port.name, port.parties
                ));
            }
        }
        if let Some(computing) = self.plan.as_ref().and_then(|plan| plan.computing)
            && !self.is_block
            && !(1..=parties).contains(&usize::from(computing))
        {
            faults.push(format!("the plan states {computing} computing parties, of {parties}"));
        }
        faults.extend(self.outputs.iter().flat_map(|port| {
            port.rows_of.map_or(Vec::new(), |rows_of| rows_of.faults(port, &self.inputs))
        }));
        faults.extend(self.carrying_faults());
        faults.extend(state::faults(self));
        faults
    }

    /// Whether an output port is opened while the program runs.
    pub fn is_opened(&self, port: usize) -> bool {
        u32::try_from(port).is_ok_and(|port| self.opened.binary_search(&port).is_ok())
    }

    /// Faults in the opened ports and carried slots.
    fn carrying_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let fits = |port: &OutputPort| {
            (port.rows, port.columns.len(), port.parties.len()) == (1, 1, self.parties.len())
                && port.columns[0].element.width() <= REGISTER_BITS
        };
        for &index in &self.opened {
            match self.outputs.get(index as usize) {
                None => faults.push(format!("there is no output {index} that could be opened")),
                Some(port) if !fits(port) => faults.push(format!(
                    "'{}' is opened while the program runs: that is one value of at most \
                     {REGISTER_BITS} bits for all parties",
                    port.name
                )),
                Some(_) => {}
            }
        }
        if !self.opened.windows(2).all(|pair| pair[0] < pair[1]) {
            faults.push("opened outputs stand in ascending order".to_owned());
        }
        let (slots, wires_max) = (self.slots.iter().enumerate(), self.value_wires_max());
        for (index, slot) in slots.filter(|(_, slot)| !slot.shape().is_valid_within(wires_max)) {
            faults.push(format!("carried value {index} has {}", slot.shape()));
        }
        if self.slots.len() > SLOTS_MAX {
            faults.push(format!("blocks carry at most {SLOTS_MAX} values"));
        }
        faults
    }
}

pub(crate) fn write_element<S: Serializer>(
    element: &ElementType,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(element)
}

pub(crate) fn write_elements<S: Serializer>(
    elements: &[ElementType],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(elements.iter().map(ElementType::to_string))
}

pub(crate) fn read_elements<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ElementType>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom)).collect()
}

pub(crate) fn read_element<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<ElementType, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}
