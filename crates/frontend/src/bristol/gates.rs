//! Reads a circuit file: its header, then gate by gate; reports all faults.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::error::ProgramError;

/// The most bits of all inputs, and of all outputs, of a circuit: 2^24, 2 MiB of data.
pub const PORT_BITS_MAX: u64 = 1 << 24;
/// The most bytes of one line; the longest are gates of many ANDs.
const LINE_BYTES_MAX: u64 = 1 << 22;

/// Header of a circuit file, before its gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitHeader {
    /// Number of gates.
    pub gates: u64,
    /// Number of wires.
    pub wires: u64,
    /// Bits of each input; their wires come first.
    pub inputs: Vec<u64>,
    /// Bits of each output; their wires come last.
    pub outputs: Vec<u64>,
    /// Whether the file is Bristol Fashion.
    pub fashion: bool,
}

impl CircuitHeader {
    /// Bits of all inputs.
    pub fn input_bits(&self) -> u64 {
        self.inputs.iter().sum()
    }

    /// Bits of all outputs.
    pub fn output_bits(&self) -> u64 {
        self.outputs.iter().sum()
    }
}

/// One gate; the wires of a gate of many ANDs stand in [`GateReader::wires`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Exclusive or of two wires into a third.
    Xor([u64; 3]),
    /// And of two wires into a third.
    And([u64; 3]),
    /// Complement of a wire into another.
    Not([u64; 2]),
    /// A wire under another number.
    Copy([u64; 2]),
    /// A public bit into a wire.
    Constant(bool, u64),
    /// The and of wire `i` and wire `k + i` into wire `2 k + i`, for `i < k`.
    ManyAnds(usize),
}

/// The gates of a circuit file, one after the other.
pub struct GateReader {
    input: BufReader<File>,
    file: String,
    line: String,
    line_number: u64,
    pending: bool,
    header: CircuitHeader,
    gate_count: u64,
    defined: u64,
    is_defined: Vec<u64>,
    wires: Vec<u64>,
}

/// The head of a gate's line: numbers of operands and results, and the name.
struct GateLine {
    operands: usize,
    results: usize,
    name: String,
}

impl GateReader {
    /// Opens a circuit file and reads its header.
    pub fn open(path: &Path) -> Result<GateReader, ProgramError> {
        let input = File::open(path)?;
        let file_bytes = input.metadata()?.len();
        let name = path.file_name().unwrap_or(path.as_os_str());
        let mut gates = GateReader {
            input: BufReader::with_capacity(256 * 1024, input),
            file: name.to_string_lossy().into_owned(),
            line: String::new(),
            line_number: 0,
            pending: false,
            header: CircuitHeader {
                gates: 0,
                wires: 0,
                inputs: Vec::new(),
                outputs: Vec::new(),
                fashion: false,
            },
            gate_count: 0,
            defined: 0,
            is_defined: Vec::new(),
            wires: Vec::new(),
        };
        gates.read_header(file_bytes)?;
        gates.define_inputs();
        Ok(gates)
    }

    /// Header of the file, before its gates.
    pub fn header(&self) -> &CircuitHeader {
        &self.header
    }

    /// The wires of the last gate that was read, as they stand in the file.
    pub fn wires(&self) -> &[u64] {
        &self.wires
    }

    fn error(&self, what: impl Into<String>) -> ProgramError {
        self.error_at(self.line_number, what)
    }

    fn error_at(&self, line: u64, what: impl Into<String>) -> ProgramError {
        ProgramError::Circuit { file: self.file.clone(), line, what: what.into() }
    }

    /// Reads the next line that is not empty; false at the end.
    fn next_line(&mut self) -> Result<bool, ProgramError> {
        if std::mem::take(&mut self.pending) {
            return Ok(true);
        }
        loop {
            self.line.clear();
            self.line_number += 1;
            let mut limited = self.input.by_ref().take(LINE_BYTES_MAX);
            let bytes = match limited.read_line(&mut self.line) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    return Err(self.error("this is not text"));
                }
                Err(error) => return Err(error.into()),
            };
            if bytes as u64 == LINE_BYTES_MAX {
                return Err(self.error(format!("the line is longer than {LINE_BYTES_MAX} bytes")));
            }
            if bytes == 0 {
                return Ok(false);
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// The numbers of the next line.
    fn numbers(&mut self, what: &str) -> Result<Vec<u64>, ProgramError> {
        if !self.next_line()? {
            return Err(self.error(format!("the file ends before {what}")));
        }
        let numbers: Result<Vec<u64>, _> =
            self.line.split_ascii_whitespace().map(str::parse).collect();
        numbers.map_err(|_| self.error(format!("expected {what}, as whole numbers")))
    }

    fn read_header(&mut self, file_bytes: u64) -> Result<(), ProgramError> {
        let counts = self.numbers("the number of gates and of wires")?;
        let [gates, wires] = counts[..] else {
            let found = counts.len();
            return Err(self.error(format!(
                "expected the number of gates and of wires, found {found} numbers"
            )));
        };
        (self.header.gates, self.header.wires) = (gates, wires);
        let first = self.numbers("the widths of the inputs")?;
        let line = self.line_number;
        // A second line of numbers tells Fashion from the old format; gates end with a name.
        let more = self.next_line()?;
        self.pending = more;
        let last_token = self.line.split_ascii_whitespace().next_back();
        let is_numbers = more && last_token.is_some_and(|last| last.parse::<u64>().is_ok());
        if is_numbers {
            self.header.fashion = true;
            self.header.inputs = self.widths(line, &first, "inputs")?;
            let second = self.numbers("the widths of the outputs")?;
            self.header.outputs = self.widths(self.line_number, &second, "outputs")?;
        } else {
            let [first_party, second_party, output] = first[..] else {
                let found = first.len();
                return Err(self.error_at(
                    line,
                    format!(
                        "expected the bits of both inputs and of the output, found {found} numbers"
                    ),
                ));
            };
            self.header.inputs = vec![first_party, second_party];
            self.header.outputs = vec![output];
        }
        self.check_header(line, file_bytes)
    }

    /// The widths after their count.
    fn widths(&self, line: u64, numbers: &[u64], what: &str) -> Result<Vec<u64>, ProgramError> {
        let (&count, widths) = numbers.split_first().expect("a line is not empty");
        if count != widths.len() as u64 {
            let found = widths.len();
            return Err(self.error_at(
                line,
                format!("the line states {count} {what} and has the widths of {found}"),
            ));
        }
        Ok(widths.to_vec())
    }

    fn check_header(&self, line: u64, file_bytes: u64) -> Result<(), ProgramError> {
        let header = &self.header;
        let mut bits = [0u64; 2];
        for (sum, widths) in bits.iter_mut().zip([&header.inputs, &header.outputs]) {
            for &width in widths {
                *sum = sum.saturating_add(width);
            }
            if *sum > PORT_BITS_MAX {
                return Err(self.error_at(
                    line,
                    format!("the inputs or outputs have {sum} bits; the most is {PORT_BITS_MAX}"),
                ));
            }
        }
        let [inputs, outputs] = bits;
        if outputs == 0 {
            return Err(self.error_at(line, "the circuit has no outputs"));
        }
        if header.wires < inputs || header.wires < outputs {
            let wires = header.wires;
            return Err(self.error_at(
                line,
                format!(
                    "{wires} wires are too few for {inputs} bits of input and {outputs} of output"
                ),
            ));
        }
        // Every wire that is not an input stands in the file, in at least 2 bytes.
        if header.wires - inputs > file_bytes / 2 {
            let wires = header.wires;
            return Err(self.error_at(
                line,
                format!("the header states {wires} wires, more than the file can define"),
            ));
        }
        Ok(())
    }

    fn define_inputs(&mut self) {
        let words = self.header.wires.div_ceil(64) as usize;
        self.is_defined = vec![0; words];
        for wire in 0..self.header.input_bits() {
            self.is_defined[(wire / 64) as usize] |= 1 << (wire % 64);
        }
        self.defined = self.header.input_bits();
    }

    /// The next gate; `None` after the last, when everything that the header states was there.
    pub fn next_gate(&mut self) -> Result<Option<Gate>, ProgramError> {
        if !self.next_line()? {
            return self.check_end().map(|()| None);
        }
        self.gate_count += 1;
        if self.gate_count > self.header.gates {
            let gates = self.header.gates;
            return Err(self.error(format!("the header states {gates} gates, here is one more")));
        }
        let GateLine { operands, results, name } = self.read_gate()?;
        self.gate(operands, results, &name).map(Some)
    }

    /// Splits a gate line; fills `wires`.
    fn read_gate(&mut self) -> Result<GateLine, ProgramError> {
        self.wires.clear();
        let mut counts = [0u64; 2];
        let mut name = "";
        for (index, token) in self.line.split_ascii_whitespace().enumerate() {
            if !name.is_empty() {
                return Err(self.error(format!("'{token}' stands after the gate's name {name}")));
            }
            match token.parse::<u64>() {
                Ok(number) if index < 2 => counts[index] = number,
                Ok(number) => self.wires.push(number),
                Err(_) => name = token,
            }
        }
        if name.is_empty() {
            return Err(self.error("the gate has no name"));
        }
        let stated = counts[0].saturating_add(counts[1]);
        if stated != self.wires.len() as u64 {
            let found = self.wires.len();
            return Err(self
                .error(format!("the gate states {stated} operands and results and has {found}")));
        }
        let [operands, results] = counts.map(|count| count as usize);
        Ok(GateLine { operands, results, name: name.to_string() })
    }

    fn gate(&mut self, operands: usize, results: usize, name: &str) -> Result<Gate, ProgramError> {
        let arity = |wanted: (usize, usize)| {
            if (operands, results) == wanted {
                return Ok(());
            }
            let (wanted_operands, wanted_results) = wanted;
            Err(self.error(format!(
                "{name} has {wanted_operands} operands and {wanted_results} result, \
                 got {operands} and {results}"
            )))
        };
        let upper = name.to_ascii_uppercase();
        let gate = match upper.as_str() {
            "XOR" | "AND" => {
                arity((2, 1))?;
                let wires = [self.wires[0], self.wires[1], self.wires[2]];
                if upper == "XOR" { Gate::Xor(wires) } else { Gate::And(wires) }
            }
            "INV" | "NOT" | "EQW" => {
                arity((1, 1))?;
                let wires = [self.wires[0], self.wires[1]];
                if upper == "EQW" { Gate::Copy(wires) } else { Gate::Not(wires) }
            }
            "EQ" => {
                arity((1, 1))?;
                if self.wires[0] > 1 {
                    let value = self.wires[0];
                    return Err(self.error(format!("EQ takes the constant 0 or 1, got {value}")));
                }
                Gate::Constant(self.wires[0] == 1, self.wires[1])
            }
            "MAND" => {
                if results == 0 || operands != 2 * results {
                    return Err(self.error(format!(
                        "MAND has twice as many operands as results, got {operands} and {results}"
                    )));
                }
                Gate::ManyAnds(results)
            }
            _ => {
                return Err(self.error(format!(
                    "gate '{name}' is unknown; known are AND, XOR, INV, NOT, EQ, EQW and MAND"
                )));
            }
        };
        let used = if upper == "EQ" { 1..1 } else { 0..operands };
        self.check_wires(used, operands..operands + results)?;
        Ok(gate)
    }

    fn check_wires(
        &mut self,
        used: std::ops::Range<usize>,
        defined: std::ops::Range<usize>,
    ) -> Result<(), ProgramError> {
        let wires = self.header.wires;
        for index in used.start..defined.end {
            if index >= used.end && index < defined.start {
                continue;
            }
            let wire = self.wires[index];
            if wire >= wires {
                return Err(
                    self.error(format!("there is no wire {wire}; the header states {wires}"))
                );
            }
            let (word, bit) = ((wire / 64) as usize, 1u64 << (wire % 64));
            let known = self.is_defined[word] & bit != 0;
            if index < used.end && !known {
                return Err(self.error(format!("wire {wire} is used before it is defined")));
            }
            if index >= defined.start {
                if known {
                    return Err(self.error(format!("wire {wire} is defined twice")));
                }
                self.is_defined[word] |= bit;
                self.defined += 1;
            }
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), ProgramError> {
        let header = &self.header;
        if self.gate_count != header.gates {
            let (stated, found) = (header.gates, self.gate_count);
            return Err(
                self.error(format!("the header states {stated} gates, the file has {found}"))
            );
        }
        for wire in header.wires - header.output_bits()..header.wires {
            if self.is_defined[(wire / 64) as usize] >> (wire % 64) & 1 == 0 {
                return Err(self.error(format!("the output wire {wire} is never defined")));
            }
        }
        Ok(())
    }
}
