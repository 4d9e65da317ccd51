//! What issues in one cycle.
//!
//! The AND of a cell chooses its ports first. A XOR goes to whichever of Y, X and Z finds ports; Z finds them if the AND
//! reads the same labels or leaves ports free. Unit X also gives labels to the host and to other cells.
//!
//! All cells together take one label of the host in a cycle and give it one. A label that several cells load goes to all
//! of them that are ready for it.

use super::ready::TERMS_MAX;
use super::window::{Entry, Stage};
use super::{Cell, Port, Queue, Scheduler, WHEEL};
use crate::operations::{Kind, NONE, OPERANDS_MAX};
use crate::ports::Group;
use crate::schedule::STORED;
use crate::word::{
    PORT_A, PORT_B, PORT_POST, PORT_X, PORT_Y, WRITE_AND, WRITE_LOAD, WRITE_X, WRITE_Y, WRITE_Z,
};

impl Scheduler<'_> {
    /// Gives the operands of an operation ports of the unit that is to do it. If they find none, nothing changes.
    pub(super) fn assign(&mut self, number: u32, (cell, port): (usize, Port)) -> bool {
        let entry = &self.window.entries[number as usize];
        let ports = &mut self.cells[cell].ports;
        let places = &self.window.places;
        let place = |value: u32| places[value as usize];
        let groups: [Group; 3] = match entry.kind {
            Kind::Load | Kind::Fill | Kind::Leave => return true,
            Kind::Xor if port == Port::Z => {
                let terms: [u32; TERMS_MAX] = std::array::from_fn(|term| {
                    places.get(entry.operands[term] as usize).map_or(0, |&place| place)
                });
                return ports.assign_terms(&terms[..entry.count()]);
            }
            Kind::And => AND_GROUPS,
            Kind::Xor | Kind::Output | Kind::Spill | Kind::Move => {
                let first = if port == Port::Y { PORT_Y } else { PORT_X };
                [Group { first, ports: 3 }; 3]
            }
        };
        let mut operands = [(groups[0], 0); OPERANDS_MAX];
        let mut count = 0;
        for (group, &length) in groups.iter().zip(&entry.lengths) {
            for _ in 0..length {
                operands[count] = (*group, place(entry.operands[count]));
                count += 1;
            }
        }
        let operands = &operands[..count];
        let is_first = entry.kind == Kind::And;
        if is_first && ports.are_apart(operands.iter().map(|&(_, address)| address)) {
            ports.assign_apart(operands);
            return true;
        }
        ports.assign(operands)
    }

    /// Issues what can issue in this cycle; returns whether anything did.
    pub(super) fn issue(&mut self) -> bool {
        self.has_output = false;
        let count = self.cells.len();
        let mut has_any = false;
        for step in 0..count {
            // Another cell is the first to give a label to the host.
            has_any |= self.issue_in((self.cycle as usize + step) % count);
        }
        has_any |= self.issue_loads();
        for cell in &mut self.cells {
            cell.lane.set_reads(&cell.ports.reads);
        }
        has_any
    }

    /// Issues operations of all units of a cell but loads.
    fn issue_in(&mut self, cell: usize) -> bool {
        self.cells[cell].ports.clear();
        let and = self.issue_on(Queue::And, (cell, Port::And));
        // Outputs and moves need unit X, so XORs take unit Y first.
        let mut is_x_free = true;
        if !self.has_output {
            is_x_free = self.issue_on(Queue::Output, (cell, Port::X)).is_none();
            self.has_output = !is_x_free;
        }
        if is_x_free {
            is_x_free = self.issue_on(Queue::Move, (cell, Port::X)).is_none();
        }
        let mut has_any = and.is_some() || !is_x_free;
        let free = [(Port::Y, true), (Port::X, is_x_free), (Port::Z, true)];
        for (port, _) in free.into_iter().filter(|&(_, is_free)| is_free) {
            has_any |= self.issue_sum((cell, port));
        }
        has_any
    }

    /// Loads the label that is most urgent in any cell, into all cells that are ready for it.
    fn issue_loads(&mut self) -> bool {
        let mut tried = 0_u32;
        loop {
            let untried = (0..self.cells.len()).filter(|cell| tried >> cell & 1 == 0);
            let mut urgent = None;
            for cell in untried {
                let first = self.cells[cell].ready[Queue::Load as usize].front().first();
                urgent = urgent.max(first.map(|&candidate| (candidate, cell)));
            }
            let Some((_, cell)) = urgent else { return false };
            tried |= 1 << cell;
            if let Some(operation) = self.issue_on(Queue::Load, (cell, Port::Load)) {
                self.issue_same_input(operation);
                return true;
            }
        }
    }

    /// Loads the same label into other cells.
    fn issue_same_input(&mut self, load: u32) {
        let Entry { kind, number: input, .. } = self.window.entries[load as usize];
        if kind != Kind::Load {
            return;
        }
        let Some(mut loads) = self.loads.remove(&input) else { return };
        loads.retain(|&other| {
            let (cell, stage) =
                (self.window.entries[other as usize].cell, self.window.stage(other));
            let cell = usize::from(cell);
            let is_free = self.cells[cell].lane.writes[WRITE_LOAD] == NONE;
            let is_done =
                stage != Stage::Waiting || is_free && self.try_issue(other, (cell, Port::Shared));
            !is_done
        });
        if !loads.is_empty() {
            self.loads.insert(input, loads);
        }
    }

    /// Issues the first operation of a queue that finds ports and a place, and returns it.
    #[inline]
    fn issue_on(&mut self, queue: Queue, (cell, port): (usize, Port)) -> Option<u32> {
        let mut tried = 0;
        loop {
            let ready = &mut self.cells[cell].ready[queue as usize];
            let candidate = *ready.front().get(tried)?;
            let number = candidate.entry;
            if !self.window.is_waiting(number, candidate.age()) {
                self.cells[cell].ready[queue as usize].remove(tried);
            } else if self.try_issue(number, (cell, port)) {
                self.cells[cell].ready[queue as usize].remove(tried);
                return Some(number);
            } else {
                tried += 1;
            }
        }
    }

    /// As [`Scheduler::issue_on`], of XORs; returns whether one issued.
    #[inline]
    fn issue_sum(&mut self, (cell, port): (usize, Port)) -> bool {
        let Cell { ready, ports, memory, .. } = &mut self.cells[cell];
        let latency = u64::from(Kind::Xor.latency());
        if !memory.can_allocate(self.cycle + latency - 1) {
            return false;
        }
        let first = if port == Port::Y { PORT_Y } else { PORT_X };
        let queue = &mut ready[Queue::Xor as usize];
        let mut tried = 0;
        while let Some(candidate) = queue.front().get(tried) {
            let number = candidate.entry;
            let has_ports = match port {
                Port::Z => ports.assign_terms(candidate.terms()),
                Port::And | Port::X | Port::Y | Port::Load | Port::Shared => {
                    ports.assign_sum(first, candidate.terms())
                }
            };
            if has_ports {
                queue.remove(tried);
                self.complete(number, (cell, port), latency);
                return true;
            }
            tried += 1;
        }
        false
    }

    /// Issues an operation on a unit of a cell, if its operands find ports and its result a place.
    fn try_issue(&mut self, number: u32, (cell, port): (usize, Port)) -> bool {
        let Entry { kind, cell: target, .. } = self.window.entries[number as usize];
        let latency = u64::from(kind.latency());
        let write_cycle = self.cycle + latency - 1;
        let target = usize::from(target);
        let memory = &self.cells[target].memory;
        if takes_load_port(kind) && !memory.can_load(write_cycle)
            || kind.has_result() && !memory.can_allocate(write_cycle)
        {
            return false;
        }
        if !self.assign(number, (cell, port)) {
            return false;
        }
        self.complete(number, (cell, port), latency);
        true
    }

    /// Issues an operation whose operands have ports, and for whose result there is a place.
    #[inline]
    fn complete(&mut self, number: u32, (cell, port): (usize, Port), latency: u64) {
        let Entry { kind, cell: target, .. } = self.window.entries[number as usize];
        let target = usize::from(target);
        let write_cycle = self.cycle + latency - 1;
        let mut place = NONE;
        if kind.has_result() {
            let bank_mask = (1 << self.parameters.bank_bits) - 1;
            let penalties = self.window.penalties(number, bank_mask);
            let memory = &mut self.cells[target].memory;
            place = memory.allocate(write_cycle, &penalties).expect("a bank was free");
            if takes_load_port(kind) {
                memory.load(write_cycle);
            }
            self.cells[target].waiting -= 1;
            self.window.places[number as usize] = place;
        }
        self.write_lane(number, (cell, port), place);
        self.window.release_operands(number);
        self.waiting -= 1;
        self.finish_issue(number, kind, latency);
    }

    /// Notes that an operation has issued.
    fn finish_issue(&mut self, number: u32, kind: Kind, latency: u64) {
        self.window.set_issued(number);
        let own = &self.window.entries[number as usize];
        let (is_copying, issuer) = (own.is_copying, usize::from(own.issuer));
        if kind == Kind::Output {
            self.window.recycle(number);
        } else {
            self.wheel[(self.cycle + latency) as usize % WHEEL].push(number);
            self.in_flight += 1;
        }
        if is_copying {
            self.unblock(issuer);
        }
    }

    fn write_lane(&mut self, number: u32, (cell, port): (usize, Port), place: u32) {
        let Entry { kind, number: named, nots, cell: target, .. } =
            self.window.entries[number as usize];
        let lane = &mut self.cells[cell].lane;
        let figures = &mut self.figures;
        match kind {
            Kind::Load => {
                lane.writes[WRITE_LOAD] = place;
                if port != Port::Shared {
                    self.writer.load(named);
                }
            }
            Kind::Fill => {
                lane.writes[WRITE_LOAD] = place;
                lane.is_fill = true;
                let spill = self.window.entries[number as usize].operands[0];
                self.writer.load(STORED | self.window.entries[spill as usize].number);
                figures.fills += 1;
            }
            Kind::Move => {
                lane.moved = Some((target, place));
                figures.moves += 1;
            }
            Kind::Spill => {
                let stored = figures.spills as u32;
                (lane.is_output, lane.is_spill) = (true, true);
                self.window.entries[number as usize].number = stored;
                self.writer.output(STORED | stored);
                figures.spills += 1;
            }
            Kind::And => {
                lane.writes[WRITE_AND] = place;
                lane.index = named;
                lane.nots |= nots;
                figures.ands += 1;
            }
            Kind::Xor => {
                let (write, not) = match port {
                    Port::Y => (WRITE_Y, 4),
                    Port::Z => (WRITE_Z, 5),
                    Port::And | Port::X | Port::Load | Port::Shared => (WRITE_X, 3),
                };
                lane.writes[write] = place;
                lane.nots |= nots << not;
                figures.xors += 1;
            }
            Kind::Output => {
                lane.is_output = true;
                lane.nots |= nots << 3;
                self.writer.output(named);
            }
            Kind::Leave => unreachable!("no unit does it"),
        }
    }
}

/// Whether the result of an operation comes through the load port.
fn takes_load_port(kind: Kind) -> bool {
    match kind {
        Kind::Load | Kind::Fill | Kind::Move => true,
        Kind::And | Kind::Xor | Kind::Output | Kind::Spill | Kind::Leave => false,
    }
}

/// Ports of `a`, `b` and `post`.
const AND_GROUPS: [Group; 3] = [
    Group { first: PORT_A, ports: 2 },
    Group { first: PORT_B, ports: 2 },
    Group { first: PORT_POST, ports: 2 },
];
