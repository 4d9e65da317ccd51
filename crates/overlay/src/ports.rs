//! [`ReadPorts`]: which operand is read by which port. A bank has two copies, and a copy one read in a cycle.

use crate::operations::NONE;
use crate::parameters::{Parameters, READS};
use crate::word::{AND_PORTS, PORT_COPY};

/// Operands that any of several ports may read.
#[derive(Clone, Copy)]
pub(crate) struct Group {
    /// First port of the group.
    pub(crate) first: usize,
    /// Ports in the group.
    pub(crate) ports: usize,
}

/// The row that each port reads in a cycle.
#[derive(Clone, Copy)]
pub(crate) struct Reads {
    /// Banks in use, of each copy.
    used: [u64; 2],
    /// Address of the label, or [`NONE`].
    pub(crate) addresses: [u32; READS],
    /// Ports whose labels are operands of the unit that they belong to, from the lowest bit.
    pub(crate) operands: u32,
    /// Ports of the AND whose labels are terms of XOR unit Z, from the lowest bit.
    pub(crate) terms: u32,
}

/// The reads of one cycle.
pub(crate) struct ReadPorts {
    pub(crate) reads: Reads,
    /// The address that a copy of a bank reads.
    bank_reads: Vec<[u32; 2]>,
    bank_mask: u32,
}

/// No reads.
const IDLE: Reads = Reads { used: [0; 2], addresses: [NONE; READS], operands: 0, terms: 0 };

impl ReadPorts {
    pub(crate) fn new(parameters: Parameters) -> ReadPorts {
        let banks = 1 << parameters.bank_bits;
        ReadPorts { reads: IDLE, bank_reads: vec![[0; 2]; banks], bank_mask: banks as u32 - 1 }
    }

    /// Begins another cycle.
    pub(crate) fn clear(&mut self) {
        self.reads = IDLE;
    }

    /// Whether a copy of a bank can read an address, and whether it reads already.
    #[inline]
    fn can_read(&self, copy: usize, address: u32) -> (bool, bool) {
        let bank = address & self.bank_mask;
        let is_used = self.reads.used[copy] >> bank & 1 == 1;
        (!is_used || self.bank_reads[bank as usize][copy] == address, is_used)
    }

    #[inline]
    fn read(&mut self, port: usize, address: u32) {
        let (bank, copy) = (address & self.bank_mask, PORT_COPY[port]);
        self.reads.used[copy] |= 1 << bank;
        self.bank_reads[bank as usize][copy] = address;
        self.reads.addresses[port] = address;
    }

    /// Whether no two of the addresses are in the same bank.
    #[inline]
    pub(crate) fn are_apart(&self, addresses: impl Iterator<Item = u32>) -> bool {
        let mut banks = 0_u64;
        for address in addresses {
            let bank = 1 << (address & self.bank_mask);
            if banks & bank != 0 {
                return false;
            }
            banks |= bank;
        }
        true
    }

    /// Gives the operands of an AND, which are in different banks, the first ports of their groups. Nothing else reads.
    #[inline]
    pub(crate) fn assign_apart(&mut self, operands: &[(Group, u32)]) {
        let (mut port, mut first) = (0, usize::MAX);
        for &(group, address) in operands {
            port = if group.first == first { port + 1 } else { group.first };
            first = group.first;
            self.read(port, address);
            self.reads.operands |= 1 << port;
        }
    }

    /// Gives each operand a port of its group; returns whether all have one. If not, nothing changes.
    pub(crate) fn assign(&mut self, operands: &[(Group, u32)]) -> bool {
        let Some((&(group, address), rest)) = operands.split_first() else { return true };
        let copies = PORT_COPY.iter().enumerate().skip(group.first).take(group.ports);
        for (port, &copy) in copies {
            if self.reads.addresses[port] != NONE {
                continue;
            }
            let (can_read, was_used) = self.can_read(copy, address);
            if !can_read {
                continue;
            }
            self.read(port, address);
            self.reads.operands |= 1 << port;
            if self.assign(rest) {
                return true;
            }
            self.reads.addresses[port] = NONE;
            self.reads.operands &= !(1 << port);
            if !was_used {
                self.reads.used[copy] &= !(1 << (address & self.bank_mask));
            }
        }
        false
    }

    /// Gives each of at most three terms one of the three ports from `first` on, which read nothing; returns whether all
    /// have one. If not, nothing changes.
    #[inline]
    pub(crate) fn assign_sum(&mut self, first: usize, terms: &[u32]) -> bool {
        let (mut used, mut ports) = (self.reads.used, 0_u32);
        let mut chosen = [0; 3];
        for (place, &address) in terms.iter().enumerate() {
            let bank = address & self.bank_mask;
            let is_open = |port: &usize| {
                let copy = PORT_COPY[*port];
                let is_taken = used[copy] >> bank & 1 == 1;
                ports >> port & 1 == 0
                    && (!is_taken || self.can_read(copy, address) == (true, true))
            };
            let Some(port) = (first..first + 3).find(is_open) else {
                // Others may yet take other ports, unless the first one has none.
                return place > 0 && self.assign_any(first, terms);
            };
            chosen[place] = port;
            ports |= 1 << port;
            used[PORT_COPY[port]] |= 1 << bank;
        }
        for (&address, &port) in terms.iter().zip(&chosen) {
            self.read(port, address);
        }
        self.reads.operands |= ports;
        true
    }

    /// As [`ReadPorts::assign_sum`], by trying everything.
    fn assign_any(&mut self, first: usize, terms: &[u32]) -> bool {
        let mut operands = [(Group { first, ports: 3 }, 0); 3];
        for (operand, &address) in operands.iter_mut().zip(terms) {
            // Both copies of its bank read others: the usual reason.
            if !self.can_read(0, address).0 && !self.can_read(1, address).0 {
                return false;
            }
            operand.1 = address;
        }
        self.assign(&operands[..terms.len()])
    }

    /// Gives each term of XOR unit Z a port of the AND, which may read it already; returns whether all have one. The
    /// operands of the AND must have their ports. If not, nothing changes.
    #[inline]
    pub(crate) fn assign_terms(&mut self, terms: &[u32]) -> bool {
        let (mut used, mut ports) = (self.reads.used, self.reads.terms);
        let mut chosen = [0; 3];
        for (&address, chosen) in terms.iter().zip(&mut chosen) {
            let bank = address & self.bank_mask;
            let is_free = |port: &usize| ports >> port & 1 == 0;
            let reads = |port: &usize| self.reads.addresses[*port] == address;
            let shared = (0..AND_PORTS).filter(is_free).find(reads);
            let is_open = |port: &usize| {
                let copy = PORT_COPY[*port];
                let is_taken = used[copy] >> bank & 1 == 1;
                self.reads.addresses[*port] == NONE
                    && (!is_taken || self.can_read(copy, address) == (true, true))
            };
            let open = || (0..AND_PORTS).filter(is_free).find(is_open);
            let Some(port) = shared.or_else(open) else { return false };
            *chosen = port;
            ports |= 1 << port;
            used[PORT_COPY[port]] |= 1 << bank;
        }
        for (&address, &port) in terms.iter().zip(&chosen) {
            self.read(port, address);
            self.reads.terms |= 1 << port;
        }
        true
    }
}
