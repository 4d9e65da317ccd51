//! The operations, programs and planned programs of Phineus: one table, two forms, one verifier.

pub mod binary;
mod costs;
pub mod description;
mod error;
pub mod flow;
pub mod instruction;
mod interaction;
pub mod layout;
pub mod limits;
pub mod meaning;
pub mod ops;
pub mod random;
mod settings;
mod shared;
mod steps;
pub mod table;
pub mod text;
pub mod varint;
pub mod verify;

pub use binary::{Blocks, Hash, Kind, ProgramReader, ProgramWriter, Written};
pub use costs::{BlockCosts, CostModel};
pub use description::{
    Column, Description, Encoding, InputPort, OutputPort, PlanDescription, PortOrder, RowOrder,
    RowsOf, Slot,
};
pub use error::Error;
pub use flow::{BlockEnd, Flow, Next, Openings, RegisterOp, Step};
pub use instruction::{ElementType, Instruction, Phase, Shape, Sharing};
pub use interaction::{Interaction, RoundModel};
pub use layout::{Domain, Layout, ValueSize};
pub use meaning::{Lane, Lanes, mask_of};
pub use ops::{OPS, Op, OpInfo, Role};
pub use settings::{Setting, Settings};
pub use shared::Shared;
pub use steps::{STEP_DIGIT_BITS, StepDigit, step_digit};
pub use table::Table;
pub use text::{parse_text, write_text};
pub use verify::{Violation, verify, verify_blocks, verify_without_ports};
