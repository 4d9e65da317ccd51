//! `intops` and `and`: one operation on many lanes, to measure what it costs.
//!
//! `intops` has the integer operations of MOTION's table 8 (Braun et al., ePrint 2020/1137). In
//! arithmetic sharing there are sums, differences and products; its conversions are of a sum or an
//! exclusive or, which are free. `and` is independent ANDs alone;
//! only the exclusive or of their results, in words of 64, is given out.

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Op, Sharing, Table};
use phineus_frontend::{
    Arguments, Parameter, Program, ProgramError, Tracer, U64, Value, column, lanes_for,
    parties_parameter, party_names, receivers, to_parameter,
};
use phineus_programs::choices::{choice, sharing, width};
use phineus_programs::random::random_table;

use super::sites;

/// One integer operation on two parties' columns.
pub(super) struct IntegerOperation;

/// Independent ANDs of two parties' bits.
pub(super) struct Ands;

const OPERATIONS: [(&str, Op); 11] = [
    ("add", Op::Add),
    ("sub", Op::Sub),
    ("mul", Op::Mul),
    ("div", Op::Div),
    ("gt", Op::Lt),
    ("eq", Op::Eq),
    ("xor", Op::Xor),
    ("a2b", Op::Add),
    ("a2y", Op::Add),
    ("b2a", Op::Xor),
    ("y2a", Op::Xor),
];

/// From and to which sharing an operation's result is converted, if that is what it is for: what
/// comes from an input alone would be brought in anew.
fn conversion(name: &str) -> Option<(Sharing, Sharing)> {
    use Sharing::{Arithmetic, Boolean, Garbled};
    match name {
        "a2b" => Some((Arithmetic, Boolean)),
        "a2y" => Some((Arithmetic, Garbled)),
        "b2a" => Some((Boolean, Arithmetic)),
        "y2a" => Some((Garbled, Arithmetic)),
        _ => None,
    }
}

/// Parameters of the program.
struct OperationParameters {
    names: Vec<String>,
    op: Op,
    element: ElementType,
    lanes: u64,
    sharing: Sharing,
    /// Sharing to which the result is converted.
    to: Option<Sharing>,
}

impl OperationParameters {
    fn new(arguments: &Arguments) -> Result<OperationParameters, ProgramError> {
        let names = party_names(arguments)?;
        let name = choice(arguments, "op", &OPERATIONS.map(|(name, _)| name))?;
        let op = OPERATIONS.into_iter().find(|(other, _)| *other == name);
        let (_, op) = op.expect("it is one of them");
        let conversion = conversion(name);
        let stated = sharing(arguments, "sharing", &Sharing::ALL)?;
        if conversion.is_some() && stated != Sharing::Any {
            return Err(arguments.bad("sharing", "any, as the operation says the sharings"));
        }
        let sharing = conversion.map_or(stated, |(from, _)| from);
        if sharing == Sharing::Arithmetic && !op.is_arithmetic() {
            return Err(arguments.bad("op", "add, sub or mul, where sharing=arith"));
        }
        let lanes = arguments.equal_rows(names[..2].iter().map(String::as_str), "lanes")?;
        let element = ElementType::unsigned(width(arguments, 8, 64)?);
        let to = conversion.map(|(_, to)| to);
        Ok(OperationParameters { names, op, element, lanes, sharing, to })
    }

    fn result_column(&self) -> Column {
        let is_bit = matches!(self.op, Op::Lt | Op::Eq);
        let element = if is_bit { ElementType::BIT } else { self.element };
        column("result", element, Encoding::Number)
    }

    fn input_column(&self) -> Column {
        column("x", self.element, Encoding::Number)
    }

    #[track_caller]
    fn compute(&self, a: &Value, b: &Value) -> Value {
        let result = match self.op {
            Op::Add => a.add(b),
            Op::Sub => a.sub(b),
            Op::Mul => a.mul(b),
            Op::Div => a.div(b),
            Op::Lt => b.lt(a),
            Op::Xor => a.xor(b),
            _ => a.eq(b),
        };
        self.to.map_or(result.clone(), |to| result.to_sharing(to))
    }

    fn reference(&self, a: u64, b: u64) -> u64 {
        match self.op {
            Op::Add => a.wrapping_add(b),
            Op::Sub => a.wrapping_sub(b),
            Op::Mul => a.wrapping_mul(b),
            Op::Div => a.checked_div(b).unwrap_or(u64::MAX),
            Op::Lt => u64::from(a > b),
            Op::Xor => a ^ b,
            _ => u64::from(a == b),
        }
    }
}

/// The first 64 bits of a cell.
fn word(table: &Table, row: u64) -> u64 {
    table.cell(row, 0).as_limbs()[0]
}

impl Program for IntegerOperation {
    fn name(&self) -> &str {
        "intops"
    }

    fn about(&self) -> &str {
        "one operation on site_a's and site_b's integers, row by row"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("op", "add", "add, sub, mul, div, gt, eq, xor; a2b, a2y, b2a or y2a"),
            Parameter::new("width", "32", "bits of an integer, 8 to 64"),
            Parameter::new("lanes", "1000", "rows, where no file says"),
            Parameter::new("sharing", "any", "how they are shared: any, arith, gmw or bmr"),
            parties_parameter("2"),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        party_names(arguments)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let settings = OperationParameters::new(arguments)?;
        let [a, b] = [0, 1].map(|party| {
            let input = tracer.input(&settings.names[party], settings.lanes);
            input.column(settings.input_column()).read().to_sharing(settings.sharing)
        });
        let pairs = a.chunks(0).iter().zip(b.chunks(0));
        let results = pairs.map(|(a, b)| settings.compute(a, b)).collect();
        tracer
            .output("result", &receivers(arguments, &settings.names)?)
            .chunks(settings.result_column(), results)
            .write();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(OperationParameters::new(arguments).map(|settings| {
            let column = settings.result_column();
            let mask = mask_of(column.element.width());
            let mut table = Table::new(vec![column]);
            for row in 0..settings.lanes {
                let result = settings.reference(word(&inputs[0], row), word(&inputs[1], row));
                table.push(&[Lane::from(result) & mask]);
            }
            vec![table]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let settings = OperationParameters::new(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let tables = [0, 1].map(|_| {
            let mut table = Table::new(vec![settings.input_column()]);
            for row in 0..settings.lanes {
                // Small ones in between, so that quotients are large and some rows are equal.
                let width = if row % 4 == 3 { 2 } else { settings.element.width() };
                table.push(&[random.bits(width)]);
            }
            table
        });
        Some(tables.to_vec())
    }
}

const WORD_BITS: u64 = 64;

impl Ands {
    fn column(name: &str) -> Column {
        column(name, ElementType::unsigned(WORD_BITS as u16), Encoding::Hex)
    }

    /// Words of a column; the last may have bits that are not used.
    fn words(arguments: &Arguments) -> Result<u64, ProgramError> {
        Ok(Ands::count(arguments)?.div_ceil(WORD_BITS))
    }

    /// Number of ANDs.
    fn count(arguments: &Arguments) -> Result<u64, ProgramError> {
        arguments.parsed("n", "a whole number")
    }
}

impl Program for Ands {
    fn name(&self) -> &str {
        "and"
    }

    fn about(&self) -> &str {
        "n independent ANDs of site_a's and site_b's bits, and their exclusive or by words"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("n", "1000000", "how many ANDs"),
            Parameter::new("sharing", "any", "how the bits are shared: any, gmw or bmr"),
            parties_parameter("2"),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        party_names(arguments)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let names = party_names(arguments)?;
        let bits = [Sharing::Any, Sharing::Boolean, Sharing::Garbled];
        let sharing = sharing(arguments, "sharing", &bits)?;
        let words = Ands::words(arguments)?;
        for name in &names[..2] {
            if let Some(rows) = arguments.stated_rows(name).filter(|rows| *rows != words) {
                let n = Ands::count(arguments)?;
                return Err(ProgramError::Rows(format!(
                    "input '{name}' has {rows} rows; n={n} ANDs are {words} words of 64 bits: \
                     give --param n={} for these",
                    rows.saturating_mul(WORD_BITS)
                )));
            }
        }
        let [a, b] = [0, 1].map(|party| {
            let input = tracer.input(&names[party], words).hex::<U64>("word");
            input.read().to_sharing(sharing)
        });
        let bits = (Ands::count(arguments)? % WORD_BITS) as u16;
        let mut whole_words = Ands::count(arguments)? / WORD_BITS;
        let (mut full, mut rest) = (None::<Value>, Vec::new());
        for (a, b) in a.chunks(0).iter().zip(b.chunks(0)) {
            let lanes = whole_words.min(u64::from(a.lanes())) as u32;
            whole_words -= u64::from(lanes);
            let product = (lanes > 0).then(|| a.lane_slice(0, lanes).and(&b.lane_slice(0, lanes)));
            match product {
                Some(product) if lanes == lanes_for(WORD_BITS as u16) => {
                    full = Some(full.map_or(product.clone(), |sum| sum.xor(&product)));
                }
                Some(product) => rest.push(product.lane_xor()),
                None => {}
            }
            if lanes < a.lanes() {
                let [a, b] = [a, b].map(|value| value.lane_slice(lanes, 1).bit_slice(0, bits));
                rest.push(a.and(&b).cast(ElementType::unsigned(WORD_BITS as u16)));
            }
        }
        let zero = || tracer.constant(ElementType::unsigned(WORD_BITS as u16), Lane::ZERO);
        let words = full.map(|sum| sum.lane_xor()).into_iter().chain(rest);
        let result = words.reduce(|a, b| a.xor(&b));
        tracer
            .output("result", &receivers(arguments, &names)?)
            .chunks(Ands::column("xor"), vec![result.unwrap_or_else(zero)])
            .write();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(Ands::count(arguments).map(|n| {
            let result = (0..n.div_ceil(WORD_BITS)).fold(0u64, |sum, row| {
                let used = u64::MAX >> (WORD_BITS - (n - row * WORD_BITS).min(WORD_BITS));
                sum ^ (word(&inputs[0], row) & word(&inputs[1], row) & used)
            });
            let mut table = Table::new(vec![Ands::column("xor")]);
            table.push(&[Lane::from(result)]);
            vec![table]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let words = Ands::words(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let column = || vec![Ands::column("word")];
        Some([0, 1].map(|_| random_table(column(), words, &mut random)).to_vec())
    }
}
