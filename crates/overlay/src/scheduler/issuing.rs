//! What issues in one cycle.
//!
//! The AND of a cell chooses its ports first. XOR unit Z then takes the XOR that is paired with this AND, because it reads
//! nothing else. Any other XOR goes to whichever of Y, X and Z finds ports. A XOR that waits for its AND issues before it
//! only if a unit would do nothing else. Unit X also gives labels to the host and to other cells.
//!
//! All cells together take one label of the host in a cycle and give it one. A label that several cells load goes to all
//! of them that are ready for it.

use std::cmp::Reverse;

use super::{Cell, PAIRED, Port, Scheduler, WHEEL};
use crate::graph::{NONE, Unit};
use crate::operations::Kind;
use crate::ports::Group;
use crate::scheduled::STORED;
use crate::word::{
    Address, PORT_A, PORT_B, PORT_POST, PORT_X, PORT_Y, WRITE_AND, WRITE_LOAD, WRITE_X, WRITE_Y,
    WRITE_Z,
};

/// Ready operations of a unit that are tried in one cycle.
const TRIES: usize = 12;

impl Scheduler<'_> {
    /// Gives the operands of an operation ports of the unit that is to do it.
    pub(super) fn assign(&mut self, kind: &Kind, (cell, port): (usize, Port)) -> bool {
        let ports = &mut self.cells[cell].ports;
        let mut operands = [(Group { first: 0, ports: 0 }, Address::default()); 6];
        let mut count = 0;
        let places = &self.graph.places;
        let mut add = |first, length, values: &[u32]| {
            for &value in values {
                operands[count] = (Group { first, ports: length }, places[value as usize]);
                count += 1;
            }
        };
        let first = if port == Port::Y { PORT_Y } else { PORT_X };
        match kind {
            Kind::Load { .. } | Kind::Fill { .. } => {}
            Kind::Spill { value } | Kind::Move { value } => {
                add(first, 3, std::slice::from_ref(value));
            }
            Kind::And { a, b, post, .. } => {
                add(PORT_A, 2, a.values());
                add(PORT_B, 2, b.values());
                add(PORT_POST, 2, post.values());
            }
            Kind::Xor { terms } if port == Port::Z => {
                let terms = terms.values().iter().map(|&value| places[value as usize]);
                return ports.assign_terms(terms);
            }
            Kind::Xor { terms } | Kind::Output { terms, .. } => add(first, 3, terms.values()),
        }
        ports.assign(&operands[..count])
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
        for Cell { word, ports, .. } in &mut self.cells {
            word.reads = ports.reads;
            word.operands = ports.operands;
            word.terms = ports.terms;
        }
        has_any
    }

    /// Issues operations of all units of a cell but loads.
    fn issue_in(&mut self, cell: usize) -> bool {
        self.cells[cell].ports.clear();
        let and = self.issue_on(Unit::And as usize, (cell, Port::And));
        let is_z_free = and.is_none_or(|and| !self.issue_partner(and, cell));
        // Outputs and moves need unit X, so XORs take unit Y first.
        let mut is_x_free = true;
        if !self.has_output {
            is_x_free = self.issue_on(Unit::Output as usize, (cell, Port::X)).is_none();
            self.has_output = !is_x_free;
        }
        if is_x_free {
            is_x_free = self.issue_on(Unit::Move as usize, (cell, Port::X)).is_none();
        }
        let mut has_any = and.is_some() || !is_x_free;
        let free = [(Port::Y, true), (Port::X, is_x_free), (Port::Z, is_z_free)];
        for (port, _) in free.into_iter().filter(|&(_, is_free)| is_free) {
            let issued = self.issue_on(Unit::Xor as usize, (cell, port));
            has_any |= issued.or_else(|| self.issue_on(PAIRED, (cell, port))).is_some();
        }
        has_any
    }

    /// Issues the XOR that is paired with an AND, on unit Z; returns whether it did.
    fn issue_partner(&mut self, and: u32, cell: usize) -> bool {
        let partner = self.graph.partner(and);
        if partner == NONE || self.issued[partner as usize] {
            return false;
        }
        let is_ready = self.graph.waiting[partner as usize] == 0;
        let has_issued = is_ready && self.try_issue(partner, (cell, Port::Z));
        if is_ready && !has_issued {
            // It waited for this AND in vain.
            let entry = (self.graph.priorities[partner as usize], Reverse(partner));
            self.cells[cell].ready[Unit::Xor as usize].push(entry);
        }
        has_issued
    }

    /// Loads the label that is most urgent in any cell, into all cells that are ready for it.
    fn issue_loads(&mut self) -> bool {
        let load = Unit::Load as usize;
        let mut tried = 0_u32;
        loop {
            let untried = (0..self.cells.len()).filter(|cell| tried >> cell & 1 == 0);
            let urgent =
                untried.filter_map(|cell| Some((*self.cells[cell].ready[load].peek()?, cell)));
            let Some((_, cell)) = urgent.max() else { return false };
            tried |= 1 << cell;
            if let Some(operation) = self.issue_on(load, (cell, Port::Load)) {
                self.issue_same_input(operation);
                return true;
            }
        }
    }

    /// Loads the same label into other cells.
    fn issue_same_input(&mut self, load: u32) {
        let mut next = self.same_input.get(&load).map_or(load, |&next| next);
        while next != load {
            let cell = self.graph.cell(next);
            let is_ready = (next as usize) < self.admitted && !self.issued[next as usize];
            if is_ready && self.cells[cell].word.writes[WRITE_LOAD].is_none() {
                self.try_issue(next, (cell, Port::Shared));
            }
            next = self.same_input[&next];
        }
    }

    /// Issues the first operation of a queue that finds ports and a place, and returns it.
    fn issue_on(&mut self, queue: usize, (cell, port): (usize, Port)) -> Option<u32> {
        let mut refused = [(0, Reverse(0)); TRIES];
        let (mut tried, mut issued) = (0, None);
        while tried < TRIES {
            let Some(entry) = self.cells[cell].ready[queue].pop() else { break };
            let Reverse(operation) = entry.1;
            if self.issued[operation as usize] {
                continue;
            }
            if self.try_issue(operation, (cell, port)) {
                issued = Some(operation);
                break;
            }
            refused[tried] = entry;
            tried += 1;
        }
        self.cells[cell].ready[queue].extend(&refused[..tried]);
        issued
    }

    /// Issues an operation on a unit of a cell, if its operands find ports and its result a place.
    fn try_issue(&mut self, operation: u32, (cell, port): (usize, Port)) -> bool {
        let kind = self.graph.kinds[operation as usize];
        let unit = Unit::of(&kind);
        let latency = u64::from(unit.latency());
        let write_cycle = self.cycle + latency - 1;
        let target = self.graph.cell(operation);
        let needs_load_port = matches!(unit, Unit::Load | Unit::Move);
        if needs_load_port && !self.cells[target].memory.can_load(write_cycle) {
            return false;
        }
        let before = self.cells[cell].ports.snapshot();
        if !self.assign(&kind, (cell, port)) {
            self.cells[cell].ports.restore(before);
            return false;
        }
        let mut place = None;
        if unit != Unit::Output {
            self.graph.penalise(operation, &mut self.penalties);
            let memory = &mut self.cells[target].memory;
            place = memory.allocate(write_cycle, &self.penalties);
            let Some(place) = place else {
                self.cells[cell].ports.restore(before);
                return false;
            };
            if needs_load_port {
                memory.load(write_cycle);
            }
            self.graph.places[operation as usize] = place;
        }
        self.write_word(operation, (cell, port), place);
        self.release_operands(&kind);
        if place.is_some() || matches!(kind, Kind::Spill { .. }) {
            self.wheel[(self.cycle + latency) as usize % WHEEL].push(operation);
            self.in_flight += 1;
        }
        self.issued[operation as usize] = true;
        self.remaining -= 1;
        true
    }

    fn write_word(&mut self, operation: u32, (cell, port): (usize, Port), place: Option<Address>) {
        let word = &mut self.cells[cell].word;
        match &self.graph.kinds[operation as usize] {
            Kind::Load { input } => {
                word.writes[WRITE_LOAD] = place;
                if port != Port::Shared {
                    self.schedule.loads.push(*input);
                }
            }
            Kind::Fill { spill } => {
                word.writes[WRITE_LOAD] = place;
                word.is_fill = true;
                self.schedule.loads.push(STORED | self.stored[spill]);
                self.schedule.figures.fills += 1;
            }
            Kind::Move { .. } => {
                let to = self.graph.cell(operation) as u8;
                word.moved = place.map(|place| (to, place));
                self.schedule.figures.moves += 1;
            }
            Kind::Spill { .. } => {
                let number = self.stored.len() as u32;
                (word.is_output, word.is_spill) = (true, true);
                self.stored.insert(operation, number);
                self.schedule.outputs.push(STORED | number);
                self.schedule.figures.spills += 1;
            }
            Kind::And { index, a, b, post } => {
                word.writes[WRITE_AND] = place;
                word.index = *index as u32;
                word.nots[..3].copy_from_slice(&[a.is_not(), b.is_not(), post.is_not()]);
                self.schedule.figures.ands += 1;
            }
            Kind::Xor { terms } => {
                let (write, not) = match port {
                    Port::Y => (WRITE_Y, 4),
                    Port::Z => (WRITE_Z, 5),
                    Port::And | Port::X | Port::Load | Port::Shared => (WRITE_X, 3),
                };
                word.writes[write] = place;
                word.nots[not] = terms.is_not();
                self.schedule.figures.xors += 1;
            }
            Kind::Output { output, terms } => {
                word.is_output = true;
                word.nots[3] = terms.is_not();
                self.schedule.outputs.push(*output);
            }
        }
    }

    fn release_operands(&mut self, kind: &Kind) {
        kind.operands(|value| {
            let uses = &mut self.graph.uses[value as usize];
            *uses -= 1;
            if *uses == 0 {
                let cell = self.graph.cell(value);
                self.cells[cell].memory.free(self.graph.places[value as usize]);
            }
        });
    }
}
