//! [`Circuit`]: a circuit file as a program.
//!
//! A party brings one row for each instance of the circuit, a column for each of its inputs (or
//! for each 256 bits of it); instances are lanes of the same instructions, one for each gate.

use std::path::{Path, PathBuf};

use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};

use crate::arguments::{Arguments, Parameter};
use crate::bristol::evaluate::evaluate;
use crate::bristol::gates::{CircuitHeader, Gate, GateReader};
use crate::error::ProgramError;
use crate::parties::{first_names, parties_parameter, party_names, receivers, to_parameter};
use crate::port::column;
use crate::program::Program;
use crate::tracer::Tracer;
use crate::value::{Value, ValueOrigin};

/// Bits of one column.
const COLUMN_BITS: u64 = 256;
/// Instances that run as lanes of one instruction. More would fill wide batches no better and
/// make every live wire larger: 256 labels of 16 bytes are 4 KiB.
const INSTANCE_LANES: u64 = 256;

/// A Bristol or Bristol Fashion file.
pub struct Circuit {
    name: String,
    about: String,
    path: PathBuf,
    header: CircuitHeader,
}

/// The part of an input or output that is one column.
#[derive(Clone, Debug)]
pub(super) struct ColumnBits {
    pub(super) column: Column,
    pub(super) first_wire: u64,
    pub(super) bits: u64,
}

impl Circuit {
    /// Opens a circuit file and reads its header.
    pub fn open(path: &Path) -> Result<Circuit, ProgramError> {
        let header = GateReader::open(path)?.header().clone();
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let (format, gates) = match header.fashion {
            true => ("Bristol Fashion", header.gates),
            false => ("Bristol", header.gates),
        };
        Ok(Circuit {
            name: stem.to_string_lossy().into_owned(),
            about: format!("a {format} circuit of {gates} gates"),
            path: path.to_path_buf(),
            header,
        })
    }

    /// Header of the file, before its gates.
    pub fn header(&self) -> &CircuitHeader {
        &self.header
    }

    /// Which of the parties brings each input: parameter `owners`, or the first party the first
    /// input and the second all others.
    fn owners(&self, arguments: &Arguments, parties: usize) -> Result<Vec<usize>, ProgramError> {
        let count = self.header.inputs.len();
        let text: String = arguments.parsed("owners", "party numbers")?;
        if text == "auto" {
            return Ok((0..count).map(|input| input.min(1)).collect());
        }
        let owners: Option<Vec<usize>> = text
            .split(',')
            .map(|owner| owner.trim().parse().ok().filter(|&owner| owner < parties))
            .collect();
        owners.filter(|owners| owners.len() == count).ok_or_else(|| {
            let last = parties - 1;
            arguments.bad("owners", &format!("auto, or {count} of 0 to {last} with commas between"))
        })
    }

    /// The parties that bring inputs, and the columns of each.
    pub(super) fn input_parts(
        &self,
        arguments: &Arguments,
    ) -> Result<Vec<(String, Vec<ColumnBits>)>, ProgramError> {
        let names = party_names(arguments)?;
        let owners = self.owners(arguments, names.len())?;
        let mut parties: Vec<_> = names.into_iter().map(|name| (name, Vec::new())).collect();
        let mut wire = 0;
        for (&owner, (index, &bits)) in owners.iter().zip(self.header.inputs.iter().enumerate()) {
            parties[owner].1.extend(parts(&format!("in{index}"), wire, bits));
            wire += bits;
        }
        parties.retain(|(_, parts)| !parts.is_empty());
        Ok(parties)
    }

    /// The columns of the outputs.
    pub(super) fn output_parts(&self) -> Vec<ColumnBits> {
        let mut wire = self.header.wires - self.header.output_bits();
        let mut all = Vec::new();
        for (index, &bits) in self.header.outputs.iter().enumerate() {
            all.extend(parts(&format!("out{index}"), wire, bits));
            wire += bits;
        }
        all
    }

    /// How many instances run: the rows of the inputs, which must agree.
    pub(super) fn instances(&self, arguments: &Arguments) -> Result<u64, ProgramError> {
        let names = party_names(arguments)?;
        arguments.equal_rows(names.iter().map(String::as_str), "batch")
    }
}

/// One input or output cut into columns, the lowest bits first.
fn parts(name: &str, first_wire: u64, bits: u64) -> Vec<ColumnBits> {
    let count = bits.div_ceil(COLUMN_BITS);
    (0..count)
        .map(|index| {
            let width = (bits - index * COLUMN_BITS).min(COLUMN_BITS);
            let name = match count {
                1 => name.to_string(),
                _ => format!("{name}_{index}"),
            };
            let encoding = match width {
                0..=64 => Encoding::Number,
                _ => Encoding::Hex,
            };
            ColumnBits {
                column: column(&name, ElementType::unsigned(width as u16), encoding),
                first_wire: first_wire + index * COLUMN_BITS,
                bits: width,
            }
        })
        .collect()
}

impl Program for Circuit {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("batch", "1", "instances to run, where no file says"),
            Parameter::new(
                "owners",
                "auto",
                "which party (0 is the first) brings each input, with commas between",
            ),
            parties_parameter("2"),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        first_names(2)
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        party_names(arguments)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let instances = self.instances(arguments)?;
        let inputs = self.read_inputs(arguments, tracer, instances)?;
        let names = party_names(arguments)?;
        let receivers = receivers(arguments, &names)?;
        let parts = self.output_parts();
        let mut columns = vec![Vec::new(); parts.len()];
        let mut first = 0;
        while first < instances {
            let lanes = (instances - first).min(INSTANCE_LANES) as u32;
            let mut wires = Wires::new(tracer, lanes, self.header.wires);
            for (part, rows) in &inputs {
                wires.unpack(part, rows, first);
            }
            self.run_gates(&mut wires)?;
            for (part, column) in parts.iter().zip(&mut columns) {
                wires.pack(part, column);
            }
            first += u64::from(lanes);
        }
        let mut output = tracer.output("result", &receivers);
        for (part, column) in parts.into_iter().zip(columns) {
            output = output.chunks(part.column, column);
        }
        output.write();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(evaluate(self, &self.path, arguments, inputs))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let instances = self.instances(arguments).ok()?;
        let mut state = seed;
        let mut tables = Vec::new();
        for (_, parts) in self.input_parts(arguments).ok()? {
            let columns: Vec<Column> = parts.into_iter().map(|part| part.column).collect();
            let mut table = Table::new(columns.clone());
            for _ in 0..instances {
                let row: Vec<Lane> = columns
                    .iter()
                    .map(|column| random_lane(&mut state, column.element.width()))
                    .collect();
                table.push(&row);
            }
            tables.push(table);
        }
        Some(tables)
    }
}

/// The next number of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014, figure 16), four times.
fn random_lane(state: &mut u64, width: u16) -> Lane {
    let mut word = || {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    Lane::from_limbs([word(), word(), word(), word()]) >> (256 - usize::from(width))
}

impl Circuit {
    /// Brings in all inputs: for each column its part of the circuit, and its rows.
    fn read_inputs(
        &self,
        arguments: &Arguments,
        tracer: &Tracer,
        instances: u64,
    ) -> Result<Vec<(ColumnBits, Vec<Value>)>, ProgramError> {
        let mut inputs = Vec::new();
        for (party, parts) in self.input_parts(arguments)? {
            let mut port = tracer.input(&party, instances);
            for part in &parts {
                port = port.column(part.column.clone());
            }
            inputs.extend(parts.into_iter().zip(port.read().into_columns()));
        }
        Ok(inputs)
    }

    fn run_gates(&self, wires: &mut Wires<'_>) -> Result<(), ProgramError> {
        let mut gates = GateReader::open(&self.path)?;
        if *gates.header() != self.header {
            return Err(ProgramError::Refused(format!(
                "{} changed while it was read",
                self.path.display()
            )));
        }
        while let Some(gate) = gates.next_gate()? {
            match gate {
                Gate::Xor([a, b, result]) => wires.set(result, |w| w.get(a).xor(&w.get(b))),
                Gate::And([a, b, result]) => wires.set(result, |w| w.get(a).and(&w.get(b))),
                Gate::Not([a, result]) => wires.set(result, |w| w.get(a).not()),
                Gate::Copy([a, result]) => wires.names[result as usize] = wires.names[a as usize],
                Gate::Constant(bit, result) => {
                    wires.names[result as usize] = if bit { ONE } else { ZERO };
                }
                Gate::ManyAnds(count) => {
                    let all = gates.wires();
                    for index in 0..count {
                        let (a, b) = (all[index], all[count + index]);
                        wires.set(all[2 * count + index], |w| w.get(a).and(&w.get(b)));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The name of a wire that is the public bit 0.
const ZERO: u64 = u64::MAX - 1;
/// The name of a wire that is the public bit 1.
const ONE: u64 = u64::MAX;
/// The name of a wire after a mistake; nothing is recorded any more then.
const NONE: u64 = u64::MAX - 2;

/// The values of wires, by number, of one group of instances.
struct Wires<'t> {
    tracer: &'t Tracer,
    lanes: u32,
    names: Vec<u64>,
}

impl Wires<'_> {
    fn new(tracer: &Tracer, lanes: u32, count: u64) -> Wires<'_> {
        Wires { tracer, lanes, names: vec![NONE; count as usize] }
    }

    fn get(&self, wire: u64) -> Value {
        let bit = |one: bool| {
            let lane = Lane::from(u8::from(one));
            Value::known(self.tracer, ElementType::BIT, self.lanes, lane)
        };
        match self.names[wire as usize] {
            ZERO => bit(false),
            ONE => bit(true),
            NONE => Value::poisoned(self.tracer, ElementType::BIT, self.lanes),
            name => {
                let results = Some([name, 0]);
                Value::result(self.tracer, ElementType::BIT, self.lanes, results, 0)
            }
        }
    }

    fn set(&mut self, wire: u64, value: impl FnOnce(&Self) -> Value) {
        let value = value(self);
        self.names[wire as usize] = match value.place() {
            ValueOrigin::Named(name) => *name,
            ValueOrigin::Input(_) | ValueOrigin::Delayed(_) => {
                self.tracer.name_in(&value, value.sharing()).unwrap_or(NONE)
            }
            ValueOrigin::Known(lane) if lane.is_zero() => ZERO,
            ValueOrigin::Known(_) => ONE,
            ValueOrigin::Poisoned => NONE,
        };
    }

    /// Sets the wires of `part` from its column's rows, from row `first` on.
    fn unpack(&mut self, part: &ColumnBits, rows: &[Value], first: u64) {
        let lanes = u64::from(rows[0].lanes());
        let wanted = u64::from(self.lanes);
        let pieces = crate::vector::slice_pieces(rows, lanes as u32, first, wanted);
        for bit in 0..part.bits {
            let bits = pieces.iter().map(|piece| piece.bit_slice(bit as u16, 1));
            let joined = crate::vector::rechunk(bits.collect::<Vec<_>>(), self.lanes);
            self.set(part.first_wire + bit, |_| joined[0].clone());
        }
    }

    /// Appends the wires of `part` to its column.
    fn pack(&self, part: &ColumnBits, column: &mut Vec<Value>) {
        let most = crate::vector::lanes_for(part.bits as u16);
        let mut start = 0;
        while start < self.lanes {
            let lanes = most.min(self.lanes - start);
            let bits =
                (0..part.bits).map(|bit| self.get(part.first_wire + bit).lane_slice(start, lanes));
            column.push(joined_bits(self.tracer, bits.collect()));
            start += lanes;
        }
    }
}

/// One value of single bits, the lowest first, in pairs so that each is copied log times.
fn joined_bits(tracer: &Tracer, mut parts: Vec<Value>) -> Value {
    while parts.len() > 1 {
        let pairs = parts.chunks(2).map(|pair| match pair {
            [low, high] => low.bit_concat(high),
            _ => pair[0].clone(),
        });
        parts = pairs.collect();
    }
    parts.pop().unwrap_or_else(|| Value::poisoned(tracer, ElementType::BIT, 1))
}
