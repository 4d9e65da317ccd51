//! [`NetlistDriver`]: runs a planned program and records its gates.

use phineus_bytecode::{Description, Instruction, Lane};
use phineus_engine::{Driver, bits};
use phineus_plan::Scratch;

use crate::OverlayError;
use crate::gates::RecordedGates;
use crate::netlist::{Netlist, NetlistBuilder, NetlistWire};

/// A driver that records every AND and XOR in the order in which a garbler meets them.
pub struct NetlistDriver {
    builder: NetlistBuilder,
    scratch: Vec<NetlistWire>,
}

impl NetlistDriver {
    /// A driver for the program that `description` describes.
    ///
    /// # Errors
    /// [`OverlayError::Unsupported`] if not all of the program is a circuit of AND and XOR.
    pub fn new(description: &Description) -> Result<NetlistDriver, OverlayError> {
        NetlistDriver::with(NetlistBuilder::new(), description)
    }

    /// As [`NetlistDriver::new`]; the gates go into a scratch file.
    ///
    /// # Errors
    /// As [`NetlistDriver::new`].
    pub fn in_scratch(
        description: &Description,
        scratch: &Scratch,
    ) -> Result<NetlistDriver, OverlayError> {
        NetlistDriver::with(NetlistBuilder::in_scratch(scratch), description)
    }

    fn with(
        builder: NetlistBuilder,
        description: &Description,
    ) -> Result<NetlistDriver, OverlayError> {
        let unsupported = [
            ("memories at secret indices", !description.memories.is_empty()),
            ("permutations of a party", !description.permutations.is_empty()),
            ("look-up tables", !description.tables.is_empty()),
        ];
        match unsupported.iter().find(|(_, is_there)| *is_there) {
            Some((what, _)) => Err(OverlayError::Unsupported { what: (*what).to_owned() }),
            None => Ok(NetlistDriver { builder, scratch: Vec::new() }),
        }
    }

    /// Lets the netlist have at most so many nodes.
    pub fn with_nodes_max(self, nodes_max: usize) -> NetlistDriver {
        NetlistDriver { builder: self.builder.with_nodes_max(nodes_max), ..self }
    }

    /// ANDs and outputs so far.
    pub fn counts(&self) -> (u64, usize) {
        self.builder.counts()
    }

    /// The netlist of the program that was run.
    ///
    /// # Errors
    /// [`OverlayError::TooManyGates`] if it is too large.
    pub fn into_netlist(self) -> Result<Netlist, OverlayError> {
        self.builder.finish()
    }

    /// The gates of the program that was run, if they went into a scratch file.
    ///
    /// # Errors
    /// As [`NetlistDriver::into_netlist`], or if the file could not be written.
    pub fn into_gates(self) -> Result<RecordedGates, OverlayError> {
        self.builder.finish_gates()
    }
}

fn unsupported(instruction: &Instruction) -> OverlayError {
    OverlayError::Unsupported { what: format!("the operation {}", instruction.op.info().name) }
}

impl Driver for NetlistDriver {
    type Wire = NetlistWire;
    type Error = OverlayError;

    fn input(&mut self, _: &Instruction, wires: &mut [NetlistWire]) -> Result<(), OverlayError> {
        self.builder.inputs(wires);
        Ok(())
    }

    fn output(&mut self, _: &Instruction, wires: &[NetlistWire]) -> Result<(), OverlayError> {
        self.builder.outputs(wires);
        Ok(())
    }

    fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [NetlistWire]],
        operands: &[&[NetlistWire]],
    ) -> Result<(), OverlayError> {
        if instruction.op.is_of_table() {
            return Err(unsupported(instruction));
        }
        let scratch_wires = bits::scratch_wires(instruction);
        if self.scratch.len() < scratch_wires {
            self.scratch.resize(scratch_wires, NetlistWire::default());
        }
        bits::execute(&mut self.builder, instruction, results, operands, &mut self.scratch);
        self.builder.check()
    }

    fn reveal(
        &mut self,
        instruction: &Instruction,
        _: &[NetlistWire],
    ) -> Result<Lane, OverlayError> {
        Err(unsupported(instruction))
    }

    fn permute(
        &mut self,
        instruction: &Instruction,
        _: &mut [&mut [NetlistWire]],
        _: &[&[NetlistWire]],
    ) -> Result<(), OverlayError> {
        Err(unsupported(instruction))
    }

    fn opened(&self, _: u32) -> Result<Lane, OverlayError> {
        Err(OverlayError::Unsupported { what: "opened values".to_owned() })
    }

    fn finish(&mut self) -> Result<(), OverlayError> {
        Ok(())
    }
}
