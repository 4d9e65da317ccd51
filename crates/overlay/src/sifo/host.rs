//! [`HostProgram`]: what the host writes to the device, generated from layers and addresses.
//!
//! Source: sections 3.3.2 to 3.4.1. A layer is split into batches of gates of one kind, at most one for each cell. Cell
//! `n` garbles gate `n` of a batch. The host writes a command, then the registers of each cell, and polls the device
//! until the batch is done. Without the check of XORs, each XOR is a batch of its own, and the host polls only after the
//! last XOR of a layer without ANDs (Table 6). It cannot write to the device before a batch is done in any case.

use std::fmt;
use std::ops::Range;

use super::allocation::{ADDRESS_BITS, Address, Allocation};
use super::layers::Layers;
use super::netlist::{Gate, GateKind};

/// How the three addresses of a gate are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registers {
    /// Three registers, one address each.
    OnePerAddress,
    /// Two registers, 21 bits an address (Figure 9).
    Packed,
}

impl Registers {
    /// Registers of one cell.
    pub fn count(self) -> usize {
        match self {
            Registers::OnePerAddress => 3,
            Registers::Packed => 2,
        }
    }

    /// The values of the registers of a cell, of which the first [`Registers::count`] are written.
    pub fn values(self, [a, b, out]: [Address; 3]) -> [u32; 3] {
        match self {
            Registers::OnePerAddress => [a, b, out].map(Address::bits),
            Registers::Packed => {
                let all = u64::from(a.bits())
                    | u64::from(b.bits()) << ADDRESS_BITS
                    | u64::from(out.bits()) << (2 * ADDRESS_BITS);
                [all as u32, (all >> 32) as u32, 0]
            }
        }
    }
}

/// How layers are split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// AND cells (gAND).
    pub ands: usize,
    /// XOR cells (gXOR).
    pub xors: usize,
    /// Whether the host polls after each batch of XORs. If not, only one XOR cell is used.
    pub xor_check: bool,
}

/// Gates that one command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Kind of all gates.
    pub kind: GateKind,
    /// Gates, as positions in [`Layers::gates`].
    pub gates: Range<usize>,
    /// The host polls until the batch is done.
    pub is_polled: bool,
}

/// Everything that the host writes.
pub struct HostProgram<'a> {
    layers: &'a Layers,
    allocation: &'a Allocation,
    registers: Registers,
    /// Batches in order.
    pub batches: Vec<Batch>,
}

impl<'a> HostProgram<'a> {
    /// Generates the writes.
    ///
    /// # Panics
    /// If addresses do not fit into packed registers, or a kind of gates has no cell.
    pub fn new(
        layers: &'a Layers,
        allocation: &'a Allocation,
        cells: Cells,
        registers: Registers,
    ) -> HostProgram<'a> {
        let is_packed = registers == Registers::Packed;
        assert!(!is_packed || allocation.fits_packed_registers(), "addresses have 21 bits");
        let xor_check = cells.xor_check;
        let mut batches = Vec::new();
        let mut start = 0;
        for (xors, ands) in layers.iter() {
            let mut push = |kind, count: usize, cells: usize| {
                let end = start + count;
                for gates in (start..end).step_by(cells).map(|first| first..end.min(first + cells))
                {
                    let is_last = gates.end == end && ands.is_empty();
                    let is_polled = kind == GateKind::And || xor_check || is_last;
                    batches.push(Batch { kind, gates, is_polled });
                }
                start = end;
            };
            push(GateKind::Xor, xors.len(), if xor_check { cells.xors } else { 1 });
            push(GateKind::And, ands.len(), cells.ands);
        }
        HostProgram { layers, allocation, registers, batches }
    }

    /// The gates of a batch.
    pub fn gates(&self, batch: &Batch) -> &'a [Gate] {
        &self.layers.gates[batch.gates.clone()]
    }

    /// How many registers a gate takes.
    pub fn registers(&self) -> Registers {
        self.registers
    }

    /// Addresses of a gate: operands and result.
    pub fn addresses(&self, gate: &Gate) -> [Address; 3] {
        [gate.a, gate.b, gate.out].map(|wire| self.allocation.address(wire))
    }
}

/// The host code: one line for each write or poll. Values are hexadecimal.
impl fmt::Display for HostProgram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for batch in &self.batches {
            writeln!(f, "command {:?} {}", batch.kind, batch.gates.len())?;
            for (cell, gate) in self.gates(batch).iter().enumerate() {
                let values = self.registers.values(self.addresses(gate));
                for (register, value) in values[..self.registers.count()].iter().enumerate() {
                    writeln!(f, "write cell {cell} register {register} {value:08x}")?;
                }
            }
            if batch.is_polled {
                writeln!(f, "poll")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::allocation::MemoryPolicy;
    use super::super::netlist::Netlist;
    use super::*;

    #[test]
    fn host_code_is_generated() {
        let text = "8 XOR 9 = 3\n8 XOR 10 = 5\n3 AND 5 = 6\n6 AND 8 = 7\n";
        let netlist = Netlist::from_text(text).expect("it is well-formed");
        let layers = Layers::new(&netlist);
        let allocation = Allocation::new(&netlist, &layers, MemoryPolicy::DirectlyUsed);
        let code = |xor_check, registers| {
            let cells = Cells { ands: 2, xors: 1, xor_check };
            HostProgram::new(&layers, &allocation, cells, registers).to_string()
        };
        // Inputs are at 0, 2 and 4 in DDR; 3 and 5 are in half 1 of the block RAM, 6 in half 0, and 7 in DDR.
        let expected = "command Xor 1\n\
            write cell 0 register 0 00000000\n\
            write cell 0 register 1 00000002\n\
            write cell 0 register 2 00020005\n\
            command Xor 1\n\
            write cell 0 register 0 00000000\n\
            write cell 0 register 1 00000004\n\
            write cell 0 register 2 00020007\n\
            poll\n\
            command And 1\n\
            write cell 0 register 0 00020005\n\
            write cell 0 register 1 00020007\n\
            write cell 0 register 2 00000005\n\
            poll\n\
            command And 1\n\
            write cell 0 register 0 00000005\n\
            write cell 0 register 1 00000000\n\
            write cell 0 register 2 00000006\n\
            poll\n";
        assert_eq!(code(false, Registers::OnePerAddress), expected);
        let packed = code(true, Registers::Packed);
        assert_eq!(packed.matches("poll").count(), 4);
        assert_eq!(packed.matches("register 1").count(), 4);
        assert!(packed.starts_with(
            "command Xor 1\nwrite cell 0 register 0 00400000\nwrite cell 0 register 1 08001400\n"
        ));
    }
}
