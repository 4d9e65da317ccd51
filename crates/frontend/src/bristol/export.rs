//! Writing a program as a Bristol Fashion circuit.
//!
//! Every operation is expanded into its gates by a recording [`BitAlgebra`]. Each column of an
//! input or output port becomes an input or output of the circuit, its rows one after the other,
//! so that a column of `r` rows of `w` bits has `r w` bits. Gates with constants are simplified.
//!
//! Memory: 8 bytes for each wire of each value of the program.

use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};

use phineus_bytecode::{Column, Instruction, Op, ProgramReader};
use phineus_circuits::BitAlgebra;

use crate::bristol::gates::PORT_BITS_MAX;
use crate::error::ProgramError;

/// A wire of the circuit being written: a number, or a public bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportedWire(u64);

const ZERO: ExportedWire = ExportedWire(u64::MAX - 1);
const ONE: ExportedWire = ExportedWire(u64::MAX);

impl Default for ExportedWire {
    fn default() -> ExportedWire {
        ZERO
    }
}

/// Records gates as lines of a Bristol Fashion file.
pub struct GateWriter {
    lines: BufWriter<std::fs::File>,
    gate_count: u64,
    next_wire: u64,
    failure: Option<std::io::Error>,
}

impl GateWriter {
    fn new(input_bits: u64) -> Result<GateWriter, ProgramError> {
        Ok(GateWriter {
            lines: BufWriter::new(tempfile::tempfile()?),
            gate_count: 0,
            next_wire: input_bits,
            failure: None,
        })
    }

    /// Writes one gate and returns its result.
    fn gate(&mut self, operands: &[u64], name: &str) -> ExportedWire {
        let result = self.next_wire;
        self.next_wire += 1;
        self.gate_count += 1;
        let count = operands.len();
        let written = match *operands {
            [a] => writeln!(self.lines, "{count} 1 {a} {result} {name}"),
            [a, b] => writeln!(self.lines, "{count} 1 {a} {b} {result} {name}"),
            _ => unreachable!("a gate has one or two operands"),
        };
        if let Err(error) = written {
            self.failure.get_or_insert(error);
        }
        ExportedWire(result)
    }

    fn xor_one(&mut self, a: ExportedWire, b: ExportedWire) -> ExportedWire {
        match (a, b) {
            (ZERO, other) | (other, ZERO) => other,
            (ONE, other) | (other, ONE) => self.not_one(other),
            (a, b) if a == b => ZERO,
            (a, b) => self.gate(&[a.0, b.0], "XOR"),
        }
    }

    fn not_one(&mut self, a: ExportedWire) -> ExportedWire {
        match a {
            ZERO => ONE,
            ONE => ZERO,
            a => self.gate(&[a.0], "INV"),
        }
    }

    fn and_one(&mut self, a: ExportedWire, b: ExportedWire) -> ExportedWire {
        match (a, b) {
            (ZERO, _) | (_, ZERO) => ZERO,
            (ONE, other) | (other, ONE) => other,
            (a, b) if a == b => a,
            (a, b) => self.gate(&[a.0, b.0], "AND"),
        }
    }

    /// Writes the circuit: the header, the gates, and copies of the `outputs`, which come last.
    fn finish(
        mut self,
        inputs: &[u64],
        outputs: &[Vec<ExportedWire>],
        mut output: impl Write,
    ) -> Result<(), ProgramError> {
        for &wire in outputs.iter().flatten() {
            match wire {
                ZERO | ONE => self.gate(&[u64::from(wire == ONE)], "EQ"),
                wire => self.gate(&[wire.0], "EQW"),
            };
        }
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        let list = |widths: &[u64]| {
            let words: Vec<String> = widths.iter().map(u64::to_string).collect();
            format!("{} {}", words.len(), words.join(" "))
        };
        let widths: Vec<u64> = outputs.iter().map(|wires| wires.len() as u64).collect();
        writeln!(output, "{} {}", self.gate_count, self.next_wire)?;
        writeln!(output, "{}\n{}\n", list(inputs), list(&widths))?;
        let mut lines = self.lines.into_inner().map_err(|error| error.into_error())?;
        lines.seek(SeekFrom::Start(0))?;
        std::io::copy(&mut BufReader::new(lines), &mut output)?;
        output.flush()?;
        Ok(())
    }
}

impl BitAlgebra for GateWriter {
    type Wire = ExportedWire;

    fn xor(&mut self, out: &mut [ExportedWire], a: &[ExportedWire], b: &[ExportedWire]) {
        for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
            *out = self.xor_one(a, b);
        }
    }

    fn xor_assign(&mut self, out: &mut [ExportedWire], a: &[ExportedWire]) {
        for (out, &a) in out.iter_mut().zip(a) {
            *out = self.xor_one(*out, a);
        }
    }

    fn not(&mut self, out: &mut [ExportedWire], a: &[ExportedWire]) {
        for (out, &a) in out.iter_mut().zip(a) {
            *out = self.not_one(a);
        }
    }

    fn and(&mut self, out: &mut [ExportedWire], a: &[ExportedWire], b: &[ExportedWire]) {
        for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b.iter().cycle())) {
            *out = self.and_one(a, b);
        }
    }

    fn constant(&mut self, out: &mut [ExportedWire], value: bool) {
        out.fill(if value { ONE } else { ZERO });
    }
}

/// How an operation becomes gates: the engine's interpreter over bits.
pub trait Expansion {
    /// Wires of scratch memory for `instruction`.
    fn scratch_wires(&self, instruction: &Instruction) -> usize;

    /// Executes `instruction`, which is neither input nor output.
    fn execute(
        &self,
        recorder: &mut GateWriter,
        instruction: &Instruction,
        results: &mut [&mut [ExportedWire]],
        operands: &[&[ExportedWire]],
        scratch: &mut [ExportedWire],
    );
}

/// Writes the program in `reader` to `output` as a Bristol Fashion circuit.
///
/// # Errors
/// If the program reads or writes more bits than [`PORT_BITS_MAX`], or a file fails.
pub fn export<R: Read + Seek>(
    reader: &mut ProgramReader<R>,
    expansion: &impl Expansion,
    output: impl Write,
) -> Result<(), ProgramError> {
    let description = reader.description().clone();
    let inputs = description.inputs.iter();
    let inputs = Ports::new(inputs.map(|port| (port.rows, &port.columns[..])))?;
    let outputs = description.outputs.iter();
    let outputs = Ports::new(outputs.map(|port| (port.rows, &port.columns[..])))?;
    let mut written: Vec<Vec<ExportedWire>> =
        outputs.widths.iter().map(|&bits| vec![ZERO; bits as usize]).collect();
    let mut recorder = GateWriter::new(inputs.widths.iter().sum())?;
    let mut values: Vec<Vec<ExportedWire>> = Vec::new();
    let mut scratch = Vec::new();
    reader.for_each::<ProgramError>(|instruction| {
        match instruction.op {
            Op::Input => values.push(inputs.read(instruction)),
            Op::Output => {
                let value = &values[instruction.operands[0] as usize];
                outputs.write(instruction, value, &mut written);
            }
            _ => {
                let needed = expansion.scratch_wires(instruction);
                scratch.resize(needed.max(scratch.len()), ZERO);
                let operands: Vec<&[ExportedWire]> =
                    instruction.operands().iter().map(|&name| &values[name as usize][..]).collect();
                let count = instruction.results().len();
                let mut results: Vec<Vec<ExportedWire>> = (0..count)
                    .map(|index| instruction.result_shape(index).wires() as usize)
                    .map(|wires| vec![ZERO; wires])
                    .collect();
                let mut places: Vec<&mut [ExportedWire]> =
                    results.iter_mut().map(|wires| &mut wires[..]).collect();
                expansion.execute(&mut recorder, instruction, &mut places, &operands, &mut scratch);
                values.extend(results);
            }
        }
        Ok(())
    })?;
    recorder.finish(&inputs.widths, &written, output)
}

/// The columns of all ports, each an input or output of the circuit.
struct Ports {
    /// The number of the first column of each port.
    first_column: Vec<usize>,
    /// Bits of each column.
    widths: Vec<u64>,
    /// The first wire of each column, counted from that of the first column.
    first_wire: Vec<u64>,
}

impl Ports {
    fn new<'a>(ports: impl Iterator<Item = (u64, &'a [Column])>) -> Result<Ports, ProgramError> {
        let mut all =
            Ports { first_column: Vec::new(), widths: Vec::new(), first_wire: Vec::new() };
        let mut wires = 0u64;
        for (rows, columns) in ports {
            all.first_column.push(all.widths.len());
            for column in columns {
                let bits = rows.saturating_mul(u64::from(column.element.width()));
                all.first_wire.push(wires);
                all.widths.push(bits);
                wires = wires.saturating_add(bits);
                if wires > PORT_BITS_MAX {
                    return Err(ProgramError::Refused(format!(
                        "a circuit file holds at most {PORT_BITS_MAX} bits of input or output"
                    )));
                }
            }
        }
        Ok(all)
    }

    /// Which column an input or output instruction is about, and the place in it of each wire.
    fn places(&self, instruction: &Instruction) -> (usize, impl Iterator<Item = u64> + use<>) {
        let [port, column, row, _] = instruction.immediates;
        let column = self.first_column[port as usize] + column as usize;
        let shape = instruction.shape();
        let (width, lanes) = (u64::from(shape.width), u64::from(shape.lanes));
        let places = (0..width * lanes).map(move |wire| {
            let (bit, lane) = (wire / lanes, wire % lanes);
            (row + lane) * width + bit
        });
        (column, places)
    }

    fn read(&self, instruction: &Instruction) -> Vec<ExportedWire> {
        let (column, places) = self.places(instruction);
        let first = self.first_wire[column];
        places.map(|place| ExportedWire(first + place)).collect()
    }

    fn write(
        &self,
        instruction: &Instruction,
        value: &[ExportedWire],
        written: &mut [Vec<ExportedWire>],
    ) {
        let (column, places) = self.places(instruction);
        for (place, &wire) in places.zip(value) {
            written[column][place as usize] = wire;
        }
    }
}
