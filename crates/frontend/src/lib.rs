//! The Rust language for secure programs, and Bristol circuits.

mod arguments;
pub mod bristol;
mod element;
mod error;
mod fixed;
mod fold;
mod integer;
mod lanes;
mod operations;
mod operators;
mod order;
mod port;
mod program;
mod records;
pub mod reference;
mod tracer;
mod value;
mod vector;

pub use arguments::{Arguments, Parameter};
pub use element::{Element, Operand};
pub use error::{FAULTS_MAX, Fault, Faults, ProgramError};
pub use fixed::Fixed;
pub use integer::{Bit, I8, I16, I32, I64, I128, Int, U8, U16, U32, U64, U128, U256, UInt, select};
pub use order::arranged;
pub use port::{InputBuilder, OutputBuilder, column};
pub use program::{
    ClosureProgram, Program, ProgramBuilder, Traced, program, same_rows, trace_into, trace_to_file,
};
pub use records::Records;
pub use tracer::Tracer;
pub use value::Value;
pub use vector::{Vector, lanes_for};
