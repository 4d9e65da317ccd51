//! `gcd`: Euclid's algorithm, until the remainder is revealed to be 0.
//!
//! Both parties learn how many divisions it took, which says something of their numbers.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{ElementType, Encoding, Lane, Table};
use phineus_frontend::{Arguments, Parameter, Program, ProgramError, Tracer, U32, column};

use super::{SITES, sites};

/// The greatest common divisor of two secret numbers.
pub(super) struct GreatestDivisor;

impl Program for GreatestDivisor {
    fn name(&self) -> &str {
        "gcd"
    }

    fn about(&self) -> &str {
        "the greatest common divisor of two numbers; reveals how many divisions it takes"
    }

    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        for site in SITES {
            if let Some(found) = arguments.stated_rows(site).filter(|&rows| rows != 1) {
                let input = site.to_owned();
                return Err(ProgramError::WrongRows { input, found, expected: 1 });
            }
        }
        let [a, b] =
            SITES.map(|site| tracer.input(site, 1).number::<U32>("number").vector::<U32>().get(0));
        let go_on = |state: &(U32, U32)| state.1.ne(0);
        let (divisor, _) =
            tracer.while_open("whether a remainder is left", (a, b), go_on, |(a, b)| {
                (b.clone(), a % b)
            });
        tracer.output("result", &SITES).number("gcd", &divisor).write();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let [mut a, mut b] = [inputs[0].cell(0, 0), inputs[1].cell(0, 0)];
        while !b.is_zero() {
            (a, b) = (b, a % b);
        }
        let mut table =
            Table::new(vec![column("gcd", ElementType::unsigned(32), Encoding::Number)]);
        table.push(&[a]);
        Some(Ok(vec![table]))
    }

    fn generate(&self, _: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let mut random = SeededRng::new(seed);
        let common = random.bits(8) | Lane::ONE;
        let number = column("number", ElementType::unsigned(32), Encoding::Number);
        let table = |_| {
            let mut table = Table::new(vec![number.clone()]);
            table.push(&[random.bits(24) * common]);
            table
        };
        Some(SITES.map(table).to_vec())
    }
}
