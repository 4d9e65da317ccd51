//! Writing secure programs in Rust, and reading Bristol circuits and hybrid circuits of HyCC.
//!
//! A value may say how the parties hold it: `.to_arith()`, `.to_gmw()`, `.to_bmr()`. Operators take
//! operands of one sharing; a public operand fits each, and one that says nothing follows the
//! others. What comes straight from an input is brought in in that sharing, without a conversion.
//! ```
//! use phineus_frontend::{U32, Vector, program};
//!
//! let program = program("least_square").party("a").trace(|t, _| {
//!     let x = t.input("a", 100).number::<U32>("x").vector::<U32>().to_arith();
//!     // A product of a value with itself is a square, which costs half a product.
//!     let squares: Vector<U32> = &x * &x;
//!     let least = squares.to_gmw().reduce(|a, b| a.min(b)).expect("there are some");
//!     t.output("least", &["a"]).number("square", &least).write();
//!     Ok(())
//! });
//! ```

mod arguments;
mod blocks;
pub mod bristol;
mod constant_table;
mod delayed;
mod element;
mod error;
mod fixed;
mod float;
mod fold;
pub mod hycc;
mod integer;
mod lanes;
mod memories;
mod operations;
mod operators;
mod order;
mod parties;
mod port;
mod program;
mod records;
pub mod reference;
mod regions;
mod sharing;
mod sources;
mod tables;
mod tracer;
mod value;
mod vector;

/// Values whose types are known only when a program is traced: for front ends of other languages.
pub mod untyped {
    pub use crate::value::Value;
}

pub use arguments::{Arguments, Parameter};
pub use blocks::{BlockId, BlockVariable, LoopState, Register};
pub use constant_table::ConstantTable;
pub use element::{Element, Operand};
pub use error::{FAULTS_MAX, ProgramError, ProgramFault, ProgramFaults};
pub use fixed::Fixed;
pub use float::{F16, F32, F64, Float, Rounding};
pub use integer::{Bit, I8, I16, I32, I64, I128, Int, U8, U16, U32, U64, U128, U256, UInt, select};
pub use memories::SecretMemory;
pub use order::arranged;
pub use parties::{parties_parameter, party_names, receivers, to_parameter};
pub use phineus_bytecode::{RegisterOp, Sharing};
pub use port::{InputBuilder, OutputBuilder, OutputRows, column};
pub use program::{
    ClosureProgram, ColumnRange, Program, ProgramBuilder, Traced, program, same_rows, trace_into,
    trace_to_file,
};
pub use records::Records;
pub use regions::{OpenedIndex, PartyPermutation, Region};
pub use sources::{LineRun, SourceLine, SourceMap};
pub use tables::{LookupTable, PartyKey, SharedTable};
pub use tracer::Tracer;
pub use value::Value;
pub use vector::{Vector, lanes_for, rechunk};
