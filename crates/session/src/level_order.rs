//! [`LevelOrder`]: whether networks such as sorts are traced level by level.
//!
//! Depth first, a network's working set fits any memory, and a level of it is spread over the whole program.
//! Level by level, the instructions of a level stand together and share rounds, and each level goes through all
//! rows. So it is for parties that are far from each other and compute in rounds, where all rows fit into memory.

use phineus_bytecode::{Description, InputPort, Shape, Sharing};
use phineus_plan::Assignment;

use crate::protocol::{Protocol, Representation};

/// Part of the least memory limit that the rows of all inputs may take, beside what is computed from them.
const LIMIT_PARTS: u64 = 4;

/// The sharings that values may have under a protocol.
fn sharings(protocol: Protocol) -> &'static [Sharing] {
    match protocol.representation() {
        Representation::Sharings(Assignment::Uniform(Sharing::Boolean)) => &[Sharing::Boolean],
        Representation::Sharings(Assignment::Arithmetic | Assignment::ArithmeticProducts) => {
            &[Sharing::Boolean, Sharing::Arithmetic]
        }
        Representation::Sharings(
            Assignment::Uniform(_) | Assignment::Stated(_) | Assignment::GarbledBesideRows,
        )
        | Representation::AsWritten
        | Representation::GarbledBesideRows
        | Representation::Field(_) => &Sharing::ALL,
    }
}

/// The protocols and the memory limit of a run, the same at all parties.
#[derive(Clone, Debug)]
pub struct LevelOrder {
    protocols: Vec<Protocol>,
    least_limit_bytes: u64,
}

impl LevelOrder {
    /// For a run under one of these protocols; nothing if the parties are near, or never wait in rounds.
    pub fn of(protocols: &[Protocol], is_far: bool, least_limit_bytes: u64) -> Option<LevelOrder> {
        let protocols = protocols.iter().copied().filter(|protocol| protocol.has_rounds());
        let protocols: Vec<Protocol> = protocols.collect();
        (is_far && !protocols.is_empty()).then_some(LevelOrder { protocols, least_limit_bytes })
    }

    /// Whether the rows of a program with these inputs fit into memory while so many parties compute on them.
    pub fn fits(&self, description: &Description, computing: usize) -> bool {
        let bytes_of = |protocol: &Protocol| -> u64 {
            let layout = protocol.layout_of(description, computing);
            // A row of eight lanes, so that packed rows count in whole bytes.
            let bytes_of_eight = |width: u16| {
                let units = |&sharing| layout.units(Shape { width, lanes: 8, sharing });
                let most = sharings(*protocol).iter().map(units).max().unwrap_or(0);
                u64::from(most) * u64::from(layout.unit_bytes)
            };
            let port = |port: &InputPort| {
                let widths = port.columns.iter().map(|column| column.element.width());
                port.rows.div_ceil(8).saturating_mul(widths.map(bytes_of_eight).sum())
            };
            description.inputs.iter().map(port).fold(0, u64::saturating_add)
        };
        let most = self.protocols.iter().map(bytes_of).max().unwrap_or(0);
        most <= self.least_limit_bytes / LIMIT_PARTS
    }
}
