//! [`ReadPorts`]: which operand is read by which port. A bank has two copies, and a copy one read in a cycle.

use crate::parameters::{Parameters, READS};
use crate::word::Address;

/// Operands that any of several ports may read.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    /// First port of the group.
    pub(crate) first: usize,
    /// Ports in the group.
    pub(crate) ports: usize,
}

/// The reads of one cycle.
pub(crate) struct ReadPorts {
    /// Banks in use, of each copy.
    used: [u64; 2],
    /// The row that a copy of a bank reads.
    rows: Vec<[u32; 2]>,
    /// The reads by port.
    pub(crate) reads: [Option<Address>; READS],
}

impl ReadPorts {
    pub(crate) fn new(parameters: Parameters) -> ReadPorts {
        ReadPorts {
            used: [0; 2],
            rows: vec![[0; 2]; 1 << parameters.bank_bits],
            reads: [None; READS],
        }
    }

    /// Begins another cycle.
    pub(crate) fn clear(&mut self) {
        self.used = [0; 2];
        self.reads = [None; READS];
    }

    /// What [`ReadPorts::restore`] takes back.
    pub(crate) fn snapshot(&self) -> ([u64; 2], [Option<Address>; READS]) {
        (self.used, self.reads)
    }

    /// Takes assignments back. Rows of banks that are not used mean nothing.
    pub(crate) fn restore(&mut self, (used, reads): ([u64; 2], [Option<Address>; READS])) {
        (self.used, self.reads) = (used, reads);
    }

    /// Gives each operand a port of its group; returns whether all have one. If not, nothing changes.
    pub(crate) fn assign(&mut self, operands: &[(Group, Address)]) -> bool {
        let Some((&(group, address), rest)) = operands.split_first() else { return true };
        let bank = usize::from(address.bank);
        for port in group.first..group.first + group.ports {
            if self.reads[port].is_some() {
                continue;
            }
            let copy = crate::word::PORT_COPY[port];
            let was_used = self.used[copy] >> bank & 1 == 1;
            if was_used && self.rows[bank][copy] != address.row {
                continue;
            }
            self.used[copy] |= 1 << bank;
            self.rows[bank][copy] = address.row;
            self.reads[port] = Some(address);
            if self.assign(rest) {
                return true;
            }
            self.reads[port] = None;
            if !was_used {
                self.used[copy] &= !(1 << bank);
            }
        }
        false
    }
}
