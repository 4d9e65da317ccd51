//! `beside`: a deep computation beside a wide one, to measure that they share rounds.
//!
//! Deep are products that each wait for the one before, wide are products of all rows at once. If
//! both are asked for they take the rounds of the deep part, not the sum of both.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Parameter, Program, ProgramError, Tracer, Value, column, parties_parameter,
    party_names, receivers, to_parameter,
};
use phineus_programs::choices::choice;
use phineus_programs::random::random_table;

use super::sites;

/// Products one after the other beside products at once.
pub(super) struct DeepBesideWide;

const WIDTH: u16 = 32;

/// Parameters of the program.
struct BesideParameters {
    names: Vec<String>,
    rows: u64,
    /// Products one after the other, if they are asked for.
    deep: Option<u64>,
    is_wide: bool,
}

impl BesideParameters {
    fn new(arguments: &Arguments) -> Result<BesideParameters, ProgramError> {
        let names = party_names(arguments)?;
        let part = choice(arguments, "part", &["both", "deep", "wide"])?;
        let rows = arguments.equal_rows(names[..2].iter().map(String::as_str), "n")?;
        let deep = if part == "wide" { None } else { Some(arguments.count("deep")?) };
        Ok(BesideParameters { names, rows, deep, is_wide: part != "deep" })
    }

    fn column(name: &str) -> Column {
        column(name, ElementType::unsigned(WIDTH), Encoding::Number)
    }

    fn reference(&self, a: impl Fn(u64) -> u32, b: impl Fn(u64) -> u32) -> u32 {
        if self.rows == 0 {
            return 0;
        }
        let steps = self.deep.unwrap_or(0);
        let deep = (0..steps).fold(a(0), |product, _| product.wrapping_mul(b(0)));
        let wide = (0..self.rows).fold(0, |sum, row| sum ^ a(row).wrapping_mul(b(row)));
        let deep = if self.deep.is_some() { deep } else { 0 };
        deep ^ if self.is_wide { wide } else { 0 }
    }
}

impl Program for DeepBesideWide {
    fn name(&self) -> &str {
        "beside"
    }

    fn about(&self) -> &str {
        "products one after the other beside products of all rows at once, and their exclusive or"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("n", "1000", "rows, where no file says"),
            Parameter::new("deep", "30", "how many products one after the other"),
            Parameter::new("part", "both", "both, deep or wide"),
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
        let settings = BesideParameters::new(arguments)?;
        let [a, b] = [0, 1].map(|party| {
            let input = tracer.input(&settings.names[party], settings.rows);
            input.column(BesideParameters::column("x")).read()
        });
        let (a, b) = (a.chunks(0), b.chunks(0));
        // Of no rows there is no first one to multiply.
        let deep = settings.deep.filter(|_| settings.rows > 0).map(|steps| {
            let (first, factor) = (a[0].lane_slice(0, 1), b[0].lane_slice(0, 1));
            (0..steps).fold(first, |product, _| product.mul(&factor))
        });
        let wide = a.iter().zip(b).map(|(a, b)| a.mul(b).lane_xor());
        let wide: Vec<Value> = if settings.is_wide { wide.collect() } else { Vec::new() };
        let zero = || tracer.constant(ElementType::unsigned(WIDTH), Lane::ZERO);
        let result = deep.into_iter().chain(wide).reduce(|a, b| a.xor(&b));
        tracer
            .output("result", &receivers(arguments, &settings.names)?)
            .chunks(BesideParameters::column("result"), vec![result.unwrap_or_else(zero)])
            .write();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(BesideParameters::new(arguments).map(|settings| {
            let cell = |table: usize| move |row| inputs[table].cell(row, 0).as_limbs()[0] as u32;
            let mut table = Table::new(vec![BesideParameters::column("result")]);
            table.push(&[Lane::from(u64::from(settings.reference(cell(0), cell(1))))]);
            vec![table]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let settings = BesideParameters::new(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let column = || vec![BesideParameters::column("x")];
        Some([0, 1].map(|_| random_table(column(), settings.rows, &mut random)).to_vec())
    }
}
