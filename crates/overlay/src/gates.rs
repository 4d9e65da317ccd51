//! [`RecordedGates`]: a netlist in a scratch file, and the pass that finds how often each wire is used.
//!
//! A recorded gate takes 12 bytes. The pass goes from the last gate to the first and writes 16 bytes for each gate that is
//! of use: XORs and inputs that nobody uses are left out. Wires get *slots* in it. Two wires that are of use at the same time
//! have different slots, so the passes after it have tables as long as the most wires that live at once.
//!
//! Cost: 4 bytes of memory for 128 nodes (32 MiB for 2^30), and about 20 bytes for each wire that lives.

use phineus_plan::Scratch;

use crate::OverlayError;
use crate::memory::Place;
use crate::netlist::{Literal, Netlist, Node};
use crate::node_table::{ABSENT, NodeTable};
use crate::records::{Backwards, FinishedRecords, RecordFile};

/// Kinds of a recorded gate, in the low two bits of its first number.
pub(crate) const INPUT: u32 = 0;
pub(crate) const XOR: u32 = 1;
pub(crate) const AND: u32 = 2;
pub(crate) const OUTPUT: u32 = 3;

/// Numbers of a recorded gate: kind, and two operands; of an input its number, of an output operand and number.
const RECORDED: usize = 3;

/// Numbers of a gate whose uses are known.
pub(crate) const KNOWN: usize = 4;

/// Uses of a wire are not counted beyond this.
const USES_MAX: u32 = 1 << 20;

/// Gates that are being recorded.
pub(crate) struct GateFile {
    records: RecordFile,
}

impl GateFile {
    pub(crate) fn new(scratch: &Scratch) -> GateFile {
        GateFile { records: RecordFile::new(scratch) }
    }

    /// Adds a node; an input has the number `input`.
    #[inline]
    pub(crate) fn node(&mut self, node: Node, input: u32) -> Result<(), OverlayError> {
        let record = match node {
            Node::Zero => return Ok(()),
            Node::Input => [INPUT, input, 0],
            Node::Xor(a, b) => [XOR, a.bits(), b.bits()],
            Node::And(a, b) => [AND, a.bits(), b.bits()],
        };
        self.records.push(record)
    }

    pub(crate) fn output(&mut self, literal: Literal, number: u32) -> Result<(), OverlayError> {
        self.records.push([OUTPUT, literal.bits(), number])
    }

    pub(crate) fn finish(
        self,
        node_count: usize,
        (and_count, input_count): (u64, u32),
    ) -> Result<RecordedGates, OverlayError> {
        Ok(RecordedGates { records: self.records.finish()?, node_count, and_count, input_count })
    }
}

/// The gates of a program in a scratch file.
pub struct RecordedGates {
    records: FinishedRecords,
    node_count: usize,
    /// AND gates.
    pub and_count: u64,
    /// Input wires.
    pub input_count: u32,
}

impl RecordedGates {
    /// The gates of a netlist that is in memory.
    ///
    /// # Errors
    /// [`OverlayError::Scratch`] if they cannot be written.
    pub fn of(netlist: &Netlist, scratch: &Scratch) -> Result<RecordedGates, OverlayError> {
        let mut file = GateFile::new(scratch);
        let mut outputs = (0_u32..).zip(netlist.outputs.iter().zip(&netlist.output_places));
        let mut next = outputs.next();
        let mut input = 0;
        for number in 0..=netlist.nodes.len() {
            while let Some((output, (&literal, _))) =
                next.filter(|(_, (_, place))| **place as usize <= number)
            {
                file.output(literal, output)?;
                next = outputs.next();
            }
            if let Some(&node) = netlist.nodes.get(number) {
                file.node(node, input)?;
                input += u32::from(node == Node::Input);
            }
        }
        file.finish(netlist.nodes.len(), (netlist.and_count, netlist.inputs.len() as u32))
    }

    /// Nodes, the constant included.
    pub fn node_count(&self) -> u64 {
        self.node_count as u64
    }

    /// The gates from the first to the last, with their uses.
    pub(crate) fn known(self, place: Place<'_>) -> Result<KnownGates, OverlayError> {
        let mut pass = UsePass {
            table: NodeTable::new(self.node_count),
            slots: vec![Slot::default()],
            free: Vec::new(),
            known: RecordFile::new(place.scratch),
        };
        let mut node = self.node_count as u32;
        let (mut reader, mut block) = (self.records.into_backwards(), Vec::new());
        while reader.next_block(&mut block)? {
            for record in block.rchunks_exact(RECORDED) {
                let &[kind, a, b] = record else { unreachable!("records have {RECORDED} numbers") };
                node -= u32::from(kind != OUTPUT);
                pass.step((kind, node), [a, b])?;
            }
            let slots_bytes = pass.slots.capacity() * size_of::<Slot>();
            place.check(pass.table.bytes() + slots_bytes as u64)?;
        }
        let UsePass { slots, known, .. } = pass;
        Ok(KnownGates { reader: known.finish()?.into_backwards(), slot_count: slots.len() })
    }
}

/// Gates in the order of the program, whose uses are known.
///
/// The four numbers of a gate: kind (2 bits), whether it is an operand of an AND, and its uses; first operand; second
/// operand; slot. An operand is a slot, whether this is its last use, and whether it is complemented. Slot 0 is the
/// constant 0. Of an input the second is its number, of an output the third.
pub(crate) struct KnownGates {
    pub(crate) reader: Backwards,
    /// Slots, that of the constant included.
    pub(crate) slot_count: usize,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    uses: u32,
    is_operand: bool,
}

/// The pass from the last gate to the first.
struct UsePass {
    /// The slot of each node that is of use.
    table: NodeTable,
    slots: Vec<Slot>,
    free: Vec<u32>,
    known: RecordFile,
}

impl UsePass {
    #[inline]
    fn step(&mut self, (kind, node): (u32, u32), [a, b]: [u32; 2]) -> Result<(), OverlayError> {
        if kind == OUTPUT {
            let a = self.operand(a, false);
            return self.known.push([OUTPUT, a, b, 0]);
        }
        let slot = match self.table.take(node) {
            ABSENT if kind == AND => self.slot(),
            ABSENT => return Ok(()),
            slot => slot,
        };
        let (a, b) = match kind {
            INPUT => (a, b),
            XOR => (self.operand(a, false), self.operand(b, false)),
            _ => (self.operand(a, true), self.operand(b, true)),
        };
        let Slot { uses, is_operand } = self.slots[slot as usize];
        self.known.push([kind | u32::from(is_operand) << 2 | uses << 3, a, b, slot])?;
        // Not earlier: its operands have other slots.
        self.free.push(slot);
        Ok(())
    }

    fn slot(&mut self) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Slot::default();
                slot
            }
            None => {
                self.slots.push(Slot::default());
                self.slots.len() as u32 - 1
            }
        }
    }

    /// Counts a use of a literal; returns the operand.
    #[inline]
    fn operand(&mut self, literal: u32, is_of_and: bool) -> u32 {
        let (node, is_not) = (literal >> 1, literal & 1);
        if node == 0 {
            return is_not;
        }
        let found = self.table.get(node);
        let is_last = found == ABSENT;
        let slot = if is_last { self.slot() } else { found };
        if is_last {
            self.table.put(node, slot);
        }
        let own = &mut self.slots[slot as usize];
        own.uses = (own.uses + 1).min(USES_MAX);
        own.is_operand |= is_of_and;
        slot << 2 | u32::from(is_last) << 1 | is_not
    }
}
