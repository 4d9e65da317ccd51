//! [`ProgramGenerator`]: draws instructions that the op table accepts, and tracks the values of a
//! program.

use std::collections::BTreeMap;

use crate::description::{Column, Description, Encoding, InputPort, OutputPort, RowOrder};
use crate::instruction::{ElementType, Instruction, Shape};
use crate::limits::{FIXED_WIDTH_MAX, VALUE_WIRES_MAX};
use crate::ops::{Op, Role};
use crate::random::{RandomOptions, SeededRng};

/// Which of the candidates an operand prefers.
#[derive(Clone, Copy)]
enum Preference {
    Newest,
    Oldest,
    Any,
}

/// Appends instruction after instruction to a program.
pub(super) struct ProgramGenerator<'a> {
    pub(super) random: SeededRng,
    options: &'a RandomOptions,
    preference: Preference,
    pub(super) instructions: Vec<Instruction>,
    value_count: u64,
    /// Values that can still be used, oldest first.
    live: Vec<(u64, Shape)>,
    /// For each input port its columns, and how many rows of each were used.
    inputs: Vec<Vec<(ElementType, u64)>>,
    /// For each output port its columns' types, and how many rows were written.
    outputs: BTreeMap<Vec<(u16, bool)>, (usize, u64)>,
}

impl<'a> ProgramGenerator<'a> {
    pub(super) fn new(seed: u64, options: &'a RandomOptions) -> ProgramGenerator<'a> {
        let mut random = SeededRng::new(seed);
        let preferences = [Preference::Newest, Preference::Oldest, Preference::Any];
        ProgramGenerator {
            preference: *random.pick(&preferences),
            random,
            options,
            instructions: Vec::new(),
            value_count: 0,
            live: Vec::new(),
            inputs: Vec::new(),
            outputs: BTreeMap::new(),
        }
    }

    fn element(&mut self, width: u16) -> ElementType {
        ElementType::integer(width, self.random.one_in(2))
    }

    /// A shape within the options: that of a live value, or a new one.
    fn shape(&mut self) -> Shape {
        let common = [1, 8, 16, 32, 64, 128, 256];
        if !self.live.is_empty() && !self.random.one_in(3) {
            return self.random.pick(&self.live).1;
        }
        let max = u64::from(self.options.width_max);
        let width = if self.random.one_in(2) {
            (*self.random.pick(&common)).min(max)
        } else {
            self.random.below(max) + 1
        };
        let width = width.min(u64::from(self.options.wires_max));
        let lanes_max = u64::from(self.options.wires_max) / width;
        let lanes = match self.random.below(4) {
            0 => 1,
            1 => 11.min(lanes_max),
            2 => lanes_max,
            _ => self.random.magnitude(lanes_max),
        };
        // The largest values are rare, so that a program of many instructions stays cheap to run.
        let lanes = if lanes > 64 && !self.random.one_in(8) { lanes % 64 + 1 } else { lanes };
        Shape::new(width as u16, lanes as u32)
    }

    fn is_allowed(&self, shape: Shape) -> bool {
        shape.is_valid_within(self.options.wires_max) && shape.width <= self.options.width_max
    }

    /// A value for immediate `index`, likely to suit the roles that speak of it.
    fn immediate(&mut self, op: Op, index: usize, shape: Shape) -> u64 {
        let (width, lanes) = (u64::from(shape.width), u64::from(shape.lanes));
        let roles = op.info().operands.iter().chain(op.info().results);
        let role = roles.copied().find(|role| match *role {
            Role::Width(i) | Role::RestWidth(i) | Role::Lanes(i) => i == index,
            Role::LanesTimes(i, j) => i == index || j == index,
            Role::RestLanes(i) | Role::Reshaped(i) => i == index,
            Role::WidthLanes(w, n) => w == index || n == index,
            Role::SharedAs(i) => i == index,
            _ => false,
        });
        let other = self.shape();
        match role {
            Some(Role::Width(_)) => u64::from(other.width),
            Some(Role::WidthLanes(w, _)) if w == index => u64::from(other.width),
            Some(Role::WidthLanes(..)) => u64::from(other.lanes),
            Some(Role::Lanes(_) | Role::RestLanes(_)) => match self.random.below(4) {
                0 => self.random.divisor(lanes),
                1 => self.random.below(lanes) + 1,
                2 => lanes + self.random.below(8),
                _ => u64::from(other.lanes),
            },
            // Columns, and vectors, which divide what comes out.
            Some(Role::LanesTimes(columns, _)) if columns == index => self.random.below(6) + 1,
            Some(Role::LanesTimes(..)) => self.random.divisor(lanes),
            Some(Role::RestWidth(_)) => self.random.below(width) + 1,
            // Random programs leave the sharing to the protocol.
            Some(Role::SharedAs(_)) => 0,
            Some(Role::Reshaped(_)) => self.random.divisor(width * lanes),
            _ => match self.random.below(8) {
                0 => 0,
                1 => 1,
                2 => self.random.divisor(lanes),
                3 => self.random.divisor(width),
                4 => self.random.below(2 * width + 2),
                5 => self.random.below(lanes),
                6 => self.random.below(width),
                _ if self.random.one_in(8) => self.random.next_u64(),
                _ => width,
            },
        }
    }

    /// An instruction of `op` that the table accepts, if one is found; its places are still empty.
    fn draw(&mut self, op: Op) -> Option<Instruction> {
        let info = op.info();
        let mut found = None;
        let mut tries_left = 100;
        while tries_left > 0 {
            tries_left -= 1;
            let mut shape = self.shape();
            // Only where there are as many rows as vectors, one value can be both matrices.
            let vectors = (op == Op::MatMul && self.random.one_in(2)).then(|| {
                let vectors = self.random.below(4) + 1;
                shape.lanes = (vectors * vectors) as u32;
                vectors
            });
            let mut instruction = Instruction::new(op, self.element(shape.width), shape.lanes);
            if op == Op::Constant {
                instruction.immediates = self.random.lane(shape.width).into_limbs();
            } else {
                for index in 0..info.immediates.len() {
                    instruction.immediates[index] = self.immediate(op, index, shape);
                }
                if let Some(vectors) = vectors {
                    instruction.immediates[1] = vectors;
                }
            }
            let roles = info.operands.iter().chain(info.results);
            let mut shapes = roles.map(|role| role.shape(&instruction));
            if !shapes.all(|shape| self.is_allowed(shape)) || (info.rule)(&instruction).is_err() {
                continue;
            }
            let is_live = |role: &Role| {
                let shape = role.shape(&instruction);
                self.live.iter().any(|&(_, live)| live == shape)
            };
            // Operands that exist already make deeper programs than new inputs do.
            if info.operands.iter().all(is_live) {
                return Some(instruction);
            }
            if found.is_none() {
                found = Some(instruction);
                tries_left = tries_left.min(12);
            }
        }
        found
    }

    pub(super) fn add_op(&mut self, op: Op) {
        if op == Op::Input {
            let shape = self.shape();
            self.add_input(shape);
            return;
        }
        let Some(mut instruction) = self.draw(op) else {
            return;
        };
        for index in 0..op.info().operands.len() {
            let shape = instruction.operand_shape(index);
            let same = (0..index).find(|&other| instruction.operand_shape(other) == shape);
            instruction.operands[index] = match same {
                // One value as several operands: what claims something of such must be right.
                Some(other) if self.random.one_in(4) => instruction.operands[other],
                _ => self.operand(shape),
            };
        }
        self.push(instruction);
    }

    /// A live value of this shape, or a new one.
    fn operand(&mut self, shape: Shape) -> u64 {
        let mut suitable = self.live.iter().filter(|(_, live)| *live == shape);
        let found = match self.preference {
            _ if self.random.one_in(4) => suitable.nth(self.random.below(3) as usize),
            Preference::Newest => suitable.next_back(),
            Preference::Oldest => suitable.next(),
            Preference::Any => {
                let count = suitable.clone().count() as u64;
                suitable.nth(self.random.below(count.max(1)) as usize)
            }
        };
        let constants = self.options.ops.as_ref().is_none_or(|ops| ops.contains(&Op::Constant));
        if let Some(&(value, _)) = found
            && !(constants && self.random.one_in(12))
        {
            return value;
        }
        if constants && (found.is_some() || self.random.one_in(6)) {
            let mut constant =
                Instruction::new(Op::Constant, self.element(shape.width), shape.lanes);
            constant.immediates = self.random.lane(shape.width).into_limbs();
            self.push(constant);
        } else {
            self.add_input(shape);
        }
        self.value_count - 1
    }

    fn add_input(&mut self, shape: Shape) {
        let element = self.element(shape.width);
        let parties = usize::from(self.options.party_count);
        let find = |inputs: &Vec<Vec<(ElementType, u64)>>, port: usize| {
            inputs[port].iter().position(|&(column, _)| column == element)
        };
        // Two ports for each party, so that some parties bring two tables.
        if self.inputs.len() < 2 * parties && self.random.one_in(2) {
            self.inputs.push(vec![(element, 0)]);
        }
        if self.inputs.is_empty() {
            self.inputs.push(Vec::new());
        }
        let port = self.random.below(self.inputs.len() as u64) as usize;
        let column = find(&self.inputs, port).unwrap_or_else(|| {
            self.inputs[port].push((element, 0));
            self.inputs[port].len() - 1
        });
        let rows = &mut self.inputs[port][column].1;
        let lanes = u64::from(shape.lanes);
        let row = if *rows > lanes && self.random.one_in(8) {
            self.random.below(*rows - lanes)
        } else {
            *rows
        };
        *rows = (*rows).max(row + lanes);
        let mut input = Instruction::new(Op::Input, element, shape.lanes);
        input.immediates = [port as u64, column as u64, row, 0];
        self.push(input);
    }

    /// Outputs a live value as the next rows of a port, or two of the same lanes as two columns.
    pub(super) fn output_something(&mut self) {
        if self.live.is_empty() {
            let shape = self.shape();
            self.add_input(shape);
        }
        let first = *self.random.pick(&self.live);
        let mut values = vec![first];
        if self.random.one_in(3) {
            let same: Vec<(u64, Shape)> =
                self.live.iter().filter(|live| live.1.lanes == first.1.lanes).copied().collect();
            values.push(*self.random.pick(&same));
        }
        self.output(&values);
    }

    fn output(&mut self, values: &[(u64, Shape)]) {
        let types: Vec<(u16, bool)> =
            values.iter().map(|(_, shape)| (shape.width, self.random.one_in(2))).collect();
        let port_count = self.outputs.len();
        let entry = self.outputs.entry(types.clone()).or_insert((port_count, 0));
        let (port, row) = *entry;
        entry.1 += u64::from(values[0].1.lanes);
        for (column, (&(value, shape), (width, signed))) in values.iter().zip(types).enumerate() {
            let element = ElementType::integer(width, signed);
            let mut output = Instruction::new(Op::Output, element, shape.lanes);
            output.operands[0] = value;
            output.immediates = [port as u64, column as u64, row, 0];
            self.push(output);
        }
    }

    fn push(&mut self, mut instruction: Instruction) {
        for index in 0..instruction.op.info().results.len() {
            instruction.results[index] = self.value_count;
            self.live.push((self.value_count, instruction.result_shape(index)));
            self.value_count += 1;
        }
        while self.live.len() > self.options.live_max + 1 {
            // Half of the deaths in order of birth, half at random: some values live very long.
            let oldest = self.random.one_in(2);
            let bound = (self.live.len() - 1) as u64;
            let victim = if oldest { 0 } else { self.random.below(bound) as usize };
            self.live.remove(victim);
        }
        self.instructions.push(instruction);
    }

    pub(super) fn finish(mut self, seed: u64) -> (Vec<Instruction>, Description) {
        for value in self.live.clone() {
            if self.random.one_in(2) || self.outputs.is_empty() {
                self.output(&[value]);
            }
        }
        if self.outputs.is_empty() {
            self.output_something();
        }
        let parties: Vec<String> =
            (0..self.options.party_count).map(|party| format!("party_{party}")).collect();
        let wires_max = self.options.wires_max;
        let description = Description {
            name: format!("random_{seed}"),
            value_wires_max: (wires_max > VALUE_WIRES_MAX).then_some(wires_max),
            inputs: self.input_ports().into(),
            outputs: self.output_ports().into(),
            parties,
            ..Description::default()
        };
        (self.instructions, description)
    }

    fn input_ports(&self) -> Vec<InputPort> {
        let port = |(index, columns): (usize, &Vec<(ElementType, u64)>)| InputPort {
            name: format!("in_{index}"),
            party: (index % usize::from(self.options.party_count)) as u16,
            rows: columns.iter().map(|&(_, rows)| rows).max().unwrap_or(0),
            columns: named(columns.iter().map(|&(element, _)| element)),
            order: RowOrder::Given,
        };
        self.inputs.iter().enumerate().map(port).collect()
    }

    fn output_ports(&self) -> Vec<OutputPort> {
        let party_count = self.options.party_count;
        let mut ports: Vec<(usize, OutputPort)> = self
            .outputs
            .iter()
            .map(|(types, &(index, rows))| {
                // In turn each party alone, then all of them.
                let turn = index % (usize::from(party_count) + 1);
                let everyone = turn == usize::from(party_count);
                let learners =
                    if everyone { (0..party_count).collect() } else { vec![turn as u16] };
                let elements =
                    types.iter().map(|&(width, signed)| ElementType::integer(width, signed));
                let name = format!("out_{index}");
                (
                    index,
                    OutputPort {
                        name,
                        parties: learners,
                        rows,
                        columns: named(elements),
                        rows_of: None,
                    },
                )
            })
            .collect();
        ports.sort_by_key(|&(index, _)| index);
        ports.into_iter().map(|(_, port)| port).collect()
    }
}

/// Columns of these types, named by number.
fn named(elements: impl Iterator<Item = ElementType>) -> Vec<Column> {
    let column = |(index, element): (usize, ElementType)| Column {
        name: format!("column_{index}"),
        element,
        encoding: match index % 4 {
            1 if element.width() <= FIXED_WIDTH_MAX => Encoding::Fixed((7 * index % 64) as u8),
            2 => Encoding::Hex,
            3 if matches!(element.width(), 16 | 32 | 64) => Encoding::Float,
            _ => Encoding::Number,
        },
    };
    elements.enumerate().map(column).collect()
}
