//! [`ReadPorts`]: which operand is read by which port. A bank has two copies, and a copy one read in a cycle.

use crate::parameters::{Parameters, READS};
use crate::word::{AND_PORTS, Address, PORT_COPY};

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
    /// Ports whose labels are operands of the unit that they belong to.
    pub(crate) operands: [bool; READS],
    /// Ports of the AND whose labels are terms of XOR unit Z.
    pub(crate) terms: [bool; AND_PORTS],
}

/// What [`ReadPorts::restore`] takes back.
pub(crate) type Snapshot = ([u64; 2], [Option<Address>; READS], [bool; READS], [bool; AND_PORTS]);

impl ReadPorts {
    pub(crate) fn new(parameters: Parameters) -> ReadPorts {
        ReadPorts {
            used: [0; 2],
            rows: vec![[0; 2]; 1 << parameters.bank_bits],
            reads: [None; READS],
            operands: [false; READS],
            terms: [false; AND_PORTS],
        }
    }

    /// Begins another cycle.
    pub(crate) fn clear(&mut self) {
        self.used = [0; 2];
        self.reads = [None; READS];
        self.operands = [false; READS];
        self.terms = [false; AND_PORTS];
    }

    /// What [`ReadPorts::restore`] takes back.
    pub(crate) fn snapshot(&self) -> Snapshot {
        (self.used, self.reads, self.operands, self.terms)
    }

    /// Takes assignments back. Rows of banks that are not used mean nothing.
    pub(crate) fn restore(&mut self, before: Snapshot) {
        (self.used, self.reads, self.operands, self.terms) = before;
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
            self.operands[port] = true;
            if self.assign(rest) {
                return true;
            }
            self.reads[port] = None;
            self.operands[port] = false;
            if !was_used {
                self.used[copy] &= !(1 << bank);
            }
        }
        false
    }

    /// Gives each term of XOR unit Z a port of the AND, which may read it already; returns whether all have one. The
    /// operands of the AND must have their ports. If not, the ports must be restored.
    pub(crate) fn assign_terms(&mut self, terms: impl Iterator<Item = Address>) -> bool {
        for address in terms {
            let is_free = |port: &usize| !self.terms[*port];
            let reads = |port: &usize| self.reads[*port] == Some(address);
            let shared = (0..AND_PORTS).filter(is_free).find(reads);
            let Some(port) = shared.or_else(|| self.free_port(address)) else { return false };
            self.reads[port] = Some(address);
            self.terms[port] = true;
        }
        true
    }

    /// A port of the AND that reads nothing and can read `address`, whose bank it takes.
    fn free_port(&mut self, address: Address) -> Option<usize> {
        let bank = usize::from(address.bank);
        let can_read = |port: &usize| {
            let copy = PORT_COPY[*port];
            let was_used = self.used[copy] >> bank & 1 == 1;
            self.reads[*port].is_none() && (!was_used || self.rows[bank][copy] == address.row)
        };
        let port = (0..AND_PORTS).find(can_read)?;
        self.used[PORT_COPY[port]] |= 1 << bank;
        self.rows[bank][PORT_COPY[port]] = address.row;
        Some(port)
    }
}
