//! The operations, programs and planned programs of Phineus: one table, two forms, one verifier.

pub mod binary;
mod costs;
mod cow_list;
pub mod description;
mod error;
pub mod float;
pub mod flow;
pub mod instruction;
mod interaction;
pub mod layout;
pub mod limits;
pub mod meaning;
pub mod ops;
pub mod random;
mod rows_of;
mod settings;
mod sharing_costs;
mod sharing_rule;
mod state;
mod steps;
pub mod table;
pub mod text;
pub mod varint;
pub mod verify;

pub use binary::{BlockDirectory, FileKind, FileSummary, Hash, ProgramReader, ProgramWriter};
pub use costs::{BlockCosts, CostModel};
pub use cow_list::CowList;
pub use description::{
    CarriedSlot, Column, Description, Encoding, InputPort, Optimisation, OutputPort,
    PlanDescription, PortOrder, RowOrder,
};
pub use error::Error;
pub use flow::{BlockEnd, BlockValues, Flow, FlowState, RegisterOp, RegisterStep, Successor};
pub use instruction::{ElementType, Instruction, Phase, Shape, Sharing};
pub use interaction::{Interaction, RoundModel};
pub use layout::{Domain, Layout, ValueSize};
pub use meaning::{Lane, Lanes, mask_of};
pub use ops::{OPS, Op, OpInfo, Role};
pub use rows_of::RowsOf;
pub use settings::{SettingValue, Settings};
pub use sharing_costs::{SharingCosts, StepCost};
pub use sharing_rule::{SharingRule, SharingSetting, Sharings, Weights};
pub use state::{
    LookupTable, Memory, MemoryMethod, Permutation, PermutationKind, Region, row_of_group,
};
pub use steps::{STEP_DIGIT_BITS, StepDigit, step_digit};
pub use table::Table;
pub use text::{parse_text, write_text};
pub use verify::{Violation, verify, verify_blocks, verify_without_ports};
