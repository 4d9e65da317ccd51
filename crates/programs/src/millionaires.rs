//! Who is richer?

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{ElementType, Encoding, Lane, Table};
use phineus_frontend::{Arguments, Parameter, Program, ProgramError, Tracer, U64, column};

/// Two parties learn whether the first has more, and nothing else.
pub(super) struct Millionaires;

const PARTIES: [&str; 2] = ["alice", "bob"];

impl Program for Millionaires {
    fn name(&self) -> &str {
        "millionaires"
    }

    fn about(&self) -> &str {
        "whether alice's wealth is greater than bob's, for both"
    }

    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }

    fn parties(&self) -> Vec<String> {
        PARTIES.map(String::from).to_vec()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        for party in PARTIES {
            if let Some(found) = arguments.stated_rows(party).filter(|&rows| rows != 1) {
                let input = party.to_owned();
                return Err(ProgramError::WrongRows { input, found, expected: 1 });
            }
        }
        let [alice, bob] =
            PARTIES.map(|party| tracer.input(party, 1).number::<U64>("wealth").vector::<U64>());
        let richer = alice.get(0).gt(bob.get(0));
        tracer.output("result", &PARTIES).number("alice_is_richer", &richer).write();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let richer = inputs[0].cell(0, 0) > inputs[1].cell(0, 0);
        let result = column("alice_is_richer", ElementType::BIT, Encoding::Number);
        let mut table = Table::new(vec![result]);
        table.push(&[Lane::from(u8::from(richer))]);
        Some(Ok(vec![table]))
    }

    fn generate(&self, _: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let mut random = SeededRng::new(seed);
        let wealth = column("wealth", ElementType::unsigned(64), Encoding::Number);
        let tables = PARTIES.map(|_| {
            let mut table = Table::new(vec![wealth.clone()]);
            table.push(&[random.bits(40)]);
            table
        });
        Some(tables.to_vec())
    }
}
