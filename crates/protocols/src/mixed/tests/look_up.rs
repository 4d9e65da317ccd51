//! Rows of tables that both parties know, at secret indices.

use phineus_bytecode::random::{SeededRng, Seeds, random_inputs};
use phineus_bytecode::{Description, ElementType, Instruction, LookupTable, Op, Sharing};
use phineus_correlated::semi_honest::{Dealer, Demand};
use phineus_crypto::Block;
use phineus_plan::{Assignment, assign};

use super::{TestPlans, VariantChoice, run_all};
use crate::harness::{self, Builder, expected, options, read, scratch, write};
use crate::mixed::{MixedCosts, MixedRounds, PlanDemand, demand, layout};

/// Looks rows up in tables of several sizes, of one index and of many, of indices that were computed, and of rows that
/// were looked up before.
fn program(seed: u64, parties: usize) -> (Vec<Instruction>, Description) {
    let mut random = SeededRng::new(seed);
    let mut made = Builder::default();
    let mut tables = Vec::new();
    for (rows, width) in [(1, 1), (2, 128), (100, 7), (128, 64), (129, 65), (3000, 128), (9000, 14)]
    {
        let element = ElementType::unsigned(width);
        let (table, number) =
            (LookupTable { element, rows, known_to: None, is_shared: false }, tables.len() as u64);
        let mut row = 0;
        while row < rows {
            // Some rows stay zeros.
            let lanes = (1 + random.below(20)).min(rows - row);
            if !random.one_in(5) {
                let mut set = Instruction::new(Op::TableSet, element, lanes as u32);
                let [low, high, ..] = *random.lane(width).as_limbs();
                set.immediates = [number, row, low, high];
                made.act(set);
            }
            row += lanes;
        }
        tables.push(table);
        let index_bits = table.index_bits();
        let index = ElementType::unsigned(index_bits);
        for lanes in [1, 3, 70] {
            if lanes * u32::from(width) > 4096 {
                continue;
            }
            let values = [0, 1].map(|party| made.input(party, index, lanes));
            let sum = made.apply(Op::Add, index, lanes, [values[0], values[1], 0]);
            for at in [values[0], sum] {
                let mut find = Instruction::new(Op::TableLookUp, element, lanes);
                find.immediates[..2].copy_from_slice(&[number, index_bits.into()]);
                find.operands[0] = at;
                let found = made.push(find);
                made.output(found, element, lanes, &[0, 1]);
                // A row says which one is next.
                if width >= index_bits {
                    let mut low = Instruction::new(Op::BitSlice, index, lanes);
                    low.immediates[..2].copy_from_slice(&[0, width.into()]);
                    low.operands[0] = found;
                    find.operands[0] = made.push(low);
                    let next = made.push(find);
                    made.output(next, element, lanes, &[1]);
                }
            }
        }
    }
    let (source, mut description) = made.finish(parties);
    description.tables = tables.into();
    (source, description)
}

fn check(assignment: Assignment, clients: usize, frame_count: u64, seed: u64) {
    let (source, description) = program(seed, 2 + clients);
    let source = write(&source, &description);
    let faults = phineus_bytecode::verify(&mut read(&source)).expect("readable");
    assert!(faults.is_empty(), "{}", faults[0]);
    let tables = random_inputs(seed, &description);
    let expected = expected(&source, &tables);
    let assigned = assign(&mut read(&source), Vec::new(), scratch(), assignment, 64 << 20);
    let assigned = assigned.expect("a valid program").0;
    let variants = VariantChoice::of(seed);
    let (scheme, mut model) = (variants.scheme(2), MixedRounds::new(2).with_y2a(variants.y2a));
    let layout = layout(2, scheme);
    let ordered = harness::ordered(&assigned, layout, &mut model).expect("a valid program");
    for program in [&assigned, &ordered] {
        let faults = phineus_bytecode::verify(&mut read(program)).expect("readable");
        assert!(faults.is_empty(), "{}", faults[0]);
    }
    let options = options("mixed", layout, 4096, frame_count);
    let mut costs = MixedCosts::new(2).with_broadcast(variants.broadcast);
    let program = harness::planned(&ordered, &options, &mut costs).expect("it fits");
    let needs = PlanDemand::new(read(&program), 2).map(|need| need.expect("readable"));
    assert_eq!(Demand::of(needs), demand(read(&program).description()), "seed {seed}");
    let broadcast = variants.broadcast;
    let plans = TestPlans { ordered, program, garbling: None, broadcast };
    let dealer = Block::from_bits(u128::from(seed));
    run_all(&plans, 2, &tables, &expected, |me| Dealer::insecure(dealer, me, 2));
}

#[test]
fn rows_of_tables_at_secret_indices() {
    let mut seeds = Seeds::fresh();
    for (assignment, clients) in [
        (Assignment::Uniform(Sharing::Boolean), 0),
        (Assignment::Uniform(Sharing::Boolean), 1),
        (Assignment::Arithmetic, 0),
    ] {
        check(assignment, clients, 1 << 10, seeds.draw());
    }
    check(Assignment::Uniform(Sharing::Boolean), 0, 8, seeds.draw());
}
