//! [`Netlist`]: AND and XOR gates in the form in which SIFO's tools exchange them.
//!
//! Text form (section 3.3.1), one gate a line: `wire AND wire = wire` or `wire XOR wire = wire`. Wires are decimal
//! numbers. A wire that no gate makes is a primary input. A gate stands after the gates that make its operands.
//! Wires 0 and 1 are the constants 0 and 1; that is our choice, because the paper does not say how they are written.

use std::fmt;

/// Number of a wire. The paper does not count the two constants as wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireId(pub u32);

impl WireId {
    /// The constant 0.
    pub const ZERO: WireId = WireId(0);

    /// The constant 1.
    pub const ONE: WireId = WireId(1);

    /// The first number that is no constant.
    pub const FIRST: WireId = WireId(2);

    /// Index into tables of wires.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Kinds of gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateKind {
    /// A free gate (gXOR).
    Xor,
    /// A garbled gate with three rows (gAND).
    And,
}

/// One gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// What it computes.
    pub kind: GateKind,
    /// First operand: the first label that is hashed.
    pub a: WireId,
    /// Second operand.
    pub b: WireId,
    /// Result.
    pub out: WireId,
}

/// A circuit. Gates stand after the gates that make their operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netlist {
    /// Gates in the order in which the program meets them.
    pub gates: Vec<Gate>,
    /// Primary inputs that belong to parties, in ascending order. The text form does not tell them from constants.
    pub inputs: Vec<WireId>,
    /// Other wires with a public value, such as the carry into an adder.
    pub constants: Vec<(WireId, bool)>,
    /// Results of the program. After an import: wires that no gate reads.
    pub outputs: Vec<WireId>,
    /// One more than the largest number of a wire; at least 2.
    pub wires_end: u32,
}

impl Default for Netlist {
    /// No gates.
    fn default() -> Netlist {
        Netlist {
            gates: Vec::new(),
            inputs: Vec::new(),
            constants: Vec::new(),
            outputs: Vec::new(),
            wires_end: WireId::FIRST.0,
        }
    }
}

impl Netlist {
    /// Wires as Table 3 counts them: inputs, constants and results of gates, without the constants 0 and 1.
    pub fn wire_count(&self) -> usize {
        self.inputs.len() + self.constants.len() + self.gates.len()
    }

    /// Number of AND gates.
    pub fn and_count(&self) -> usize {
        self.gates.iter().filter(|gate| gate.kind == GateKind::And).count()
    }

    /// Number of XOR gates.
    pub fn xor_count(&self) -> usize {
        self.gates.len() - self.and_count()
    }

    /// Values of the outputs. `inputs` are the values of [`Netlist::inputs`].
    ///
    /// # Panics
    /// If the number of inputs is another.
    pub fn compute_in_clear(&self, inputs: &[bool]) -> Vec<bool> {
        assert_eq!(inputs.len(), self.inputs.len(), "one value for each input");
        let mut values = vec![false; self.wires_end as usize];
        values[WireId::ONE.index()] = true;
        self.inputs.iter().zip(inputs).for_each(|(wire, &bit)| values[wire.index()] = bit);
        self.constants.iter().for_each(|&(wire, bit)| values[wire.index()] = bit);
        for gate in &self.gates {
            let (a, b) = (values[gate.a.index()], values[gate.b.index()]);
            values[gate.out.index()] = match gate.kind {
                GateKind::Xor => a ^ b,
                GateKind::And => a & b,
            };
        }
        self.outputs.iter().map(|wire| values[wire.index()]).collect()
    }

    /// Reads the text form. Empty lines are skipped.
    ///
    /// # Errors
    /// The first line that is no gate, makes a wire twice, or makes a wire that an earlier line has read.
    pub fn from_text(text: &str) -> Result<Netlist, NetlistError> {
        let mut reader = Reader::default();
        for (number, line) in (1..).zip(text.lines()) {
            if !line.trim().is_empty() {
                reader.gate(number, line)?;
            }
        }
        Ok(reader.finish())
    }
}

impl fmt::Display for Netlist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for gate in &self.gates {
            let kind = match gate.kind {
                GateKind::Xor => "XOR",
                GateKind::And => "AND",
            };
            writeln!(f, "{} {kind} {} = {}", gate.a.0, gate.b.0, gate.out.0)?;
        }
        Ok(())
    }
}

/// Why a text is not a netlist, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct NetlistError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub fault: NetlistFault,
}

/// What is wrong with a line of a netlist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetlistFault {
    /// The line is too short.
    #[error("expected {expected}, found the end of the line")]
    Missing {
        /// The part that should follow.
        expected: &'static str,
    },
    /// Another part stands there.
    #[error("expected {expected}, found '{found}'")]
    Unexpected {
        /// The part that should stand there.
        expected: &'static str,
        /// The word of the text.
        found: String,
    },
    /// Larger than [`WIRES_MAX`].
    #[error("wire {wire} is not below {WIRES_MAX}")]
    TooLarge {
        /// The number in the text.
        wire: String,
    },
    /// Two gates make one wire.
    #[error("wire {wire} is made twice")]
    MadeTwice {
        /// The wire.
        wire: u32,
    },
    /// An earlier gate reads the wire, or the gate reads its own result.
    #[error("wire {wire} is read before it is made")]
    ReadBefore {
        /// The wire.
        wire: u32,
    },
    /// Wires 0 and 1 are constants.
    #[error("wire {wire} is the constant {wire} and cannot be made by a gate")]
    Constant {
        /// The wire.
        wire: u32,
    },
}

/// Wires of one netlist. Tables of a reader have one entry for each number up to the largest.
pub const WIRES_MAX: u32 = 1 << 26;

#[derive(Clone, Copy, Default, PartialEq)]
enum Use {
    #[default]
    Unknown,
    Input,
    MadeUnread,
    MadeRead,
}

#[derive(Default)]
struct Reader {
    gates: Vec<Gate>,
    uses: Vec<Use>,
}

const WIRE: &str = "the number of a wire";

impl Reader {
    fn gate(&mut self, line: usize, text: &str) -> Result<(), NetlistError> {
        let mut words = words(text);
        let error = |column, fault| NetlistError { line, column, fault };
        let end = text.trim_end().chars().count() + 1;
        let mut next =
            |expected| words.next().ok_or_else(|| error(end, NetlistFault::Missing { expected }));
        let a = next(WIRE)?;
        let kind = next("AND or XOR")?;
        let b = next(WIRE)?;
        let equals = next("'='")?;
        let out = next(WIRE)?;
        let unexpected = |(column, found): (usize, &str), expected| {
            error(column, NetlistFault::Unexpected { expected, found: found.to_owned() })
        };
        let number = |(column, word): (usize, &str)| {
            if !word.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(unexpected((column, word), WIRE));
            }
            let small = word.parse().ok().filter(|&wire: &u32| wire < WIRES_MAX);
            let large = || error(column, NetlistFault::TooLarge { wire: word.to_owned() });
            small.map(WireId).ok_or_else(large)
        };
        let gate_a = number(a)?;
        let kind = match kind.1 {
            "AND" => GateKind::And,
            "XOR" => GateKind::Xor,
            _ => return Err(unexpected(kind, "AND or XOR")),
        };
        let gate_b = number(b)?;
        if equals.1 != "=" {
            return Err(unexpected(equals, "'='"));
        }
        let gate = Gate { kind, a: gate_a, b: gate_b, out: number(out)? };
        if let Some(rest) = words.next() {
            return Err(unexpected(rest, "the end of the line"));
        }
        self.note(gate).map_err(|fault| error(out.0, fault))
    }

    fn note(&mut self, gate: Gate) -> Result<(), NetlistFault> {
        let largest = gate.a.max(gate.b).max(gate.out).index();
        if largest >= self.uses.len() {
            self.uses.resize(largest + 1, Use::Unknown);
        }
        for wire in [gate.a, gate.b] {
            let slot = &mut self.uses[wire.index()];
            *slot = match *slot {
                Use::Unknown | Use::Input => Use::Input,
                Use::MadeUnread | Use::MadeRead => Use::MadeRead,
            };
        }
        let wire = gate.out.0;
        match self.uses[gate.out.index()] {
            _ if gate.out < WireId::FIRST => return Err(NetlistFault::Constant { wire }),
            Use::Unknown => self.uses[gate.out.index()] = Use::MadeUnread,
            Use::Input => return Err(NetlistFault::ReadBefore { wire }),
            Use::MadeUnread | Use::MadeRead => return Err(NetlistFault::MadeTwice { wire }),
        }
        self.gates.push(gate);
        Ok(())
    }

    fn finish(self) -> Netlist {
        let with = |wanted| {
            let all = (0..).map(WireId).zip(&self.uses).skip(WireId::FIRST.index());
            all.filter(move |(_, is)| **is == wanted).map(|(wire, _)| wire).collect()
        };
        Netlist {
            inputs: with(Use::Input),
            outputs: with(Use::MadeUnread),
            constants: Vec::new(),
            wires_end: (self.uses.len() as u32).max(WireId::FIRST.0),
            gates: self.gates,
        }
    }
}

/// The words of a line, each with its column.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = line.as_ptr() as usize;
    line.split_whitespace().map(move |word| {
        let before = &line[..word.as_ptr() as usize - start];
        (before.chars().count() + 1, word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Netlist::from_text(text).expect_err("it is malformed").to_string()
    }

    #[test]
    fn faults_have_lines_and_columns() {
        for (text, expected) in [
            ("1 AND 2 = 3\n1 OR 2 = 4", "line 2, column 3: expected AND or XOR, found 'OR'"),
            ("1 AND", "line 1, column 6: expected the number of a wire, found the end of the line"),
            (
                "1 AND 2 3",
                "line 1, column 10: expected the number of a wire, found the end of the line",
            ),
            ("1 AND 2 3 4", "line 1, column 9: expected '=', found '3'"),
            ("\n x AND 2 = 3", "line 2, column 2: expected the number of a wire, found 'x'"),
            ("1 AND -2 = 3", "line 1, column 7: expected the number of a wire, found '-2'"),
            ("1 XOR 2 = 3 4", "line 1, column 13: expected the end of the line, found '4'"),
            ("1 XOR 2 = 3\n1 AND 2 = 3", "line 2, column 11: wire 3 is made twice"),
            ("4 XOR 2 = 3\n3 AND 2 = 4", "line 2, column 11: wire 4 is read before it is made"),
            ("1 XOR 2 = 2", "line 1, column 11: wire 2 is read before it is made"),
            (
                "2 XOR 2 = 1",
                "line 1, column 11: wire 1 is the constant 1 and cannot be made by a gate",
            ),
            ("1 XOR 67108864 = 2", "line 1, column 7: wire 67108864 is not below 67108864"),
            ("1 XOR 99999999999 = 2", "line 1, column 7: wire 99999999999 is not below 67108864"),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
    }

    #[test]
    fn a_netlist_is_read_and_written() {
        let text = "5 XOR 2 = 3\n3 AND 1 = 4\n3 AND 5 = 7\n";
        let netlist = Netlist::from_text(text).expect("it is well-formed");
        assert_eq!(netlist.to_string(), text);
        assert_eq!(netlist.inputs, [WireId(2), WireId(5)]);
        assert_eq!(netlist.outputs, [WireId(4), WireId(7)]);
        assert_eq!((netlist.wire_count(), netlist.and_count(), netlist.xor_count()), (5, 2, 1));
        assert_eq!(netlist.compute_in_clear(&[false, true]), [true, true]);
        assert_eq!(Netlist::from_text("").expect("it has no gates").gates, []);
    }
}
