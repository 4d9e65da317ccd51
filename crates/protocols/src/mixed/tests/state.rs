//! Regions, openings inside a block and permutations of a party, on shares of two parties and more.

use phineus_bytecode::random::{SeededRng, Seeds, random_inputs};
use phineus_bytecode::{
    Description, ElementType, Instruction, Op, Permutation, PermutationKind, Region, Sharing,
};
use phineus_correlated::semi_honest::{Dealer, Demand};
use phineus_crypto::Block;
use phineus_plan::{Assignment, assign};

use super::{TestPlans, VariantChoice, planned_garbling, run_all};
use crate::harness::{self, Builder, expected, options, read, scratch, write};
use crate::mixed::{GarblingScheme, MixedCosts, MixedRounds, PlanDemand, demand, layout};

const ITEM: ElementType = ElementType::unsigned(24);
const PLACE: ElementType = ElementType::unsigned(8);

/// Units of a page, the fewest.
const PAGE_UNITS: u64 = 4096;

/// A program in the making, with what works on state.
#[derive(Default)]
struct StateBuilder(Builder);

impl StateBuilder {
    fn state(
        &mut self,
        op: Op,
        (element, lanes): (ElementType, u32),
        operand: Option<u64>,
        immediates: [u64; 2],
    ) -> u64 {
        let mut made = Instruction::new(op, element, lanes);
        made.immediates[..2].copy_from_slice(&immediates);
        made.operands[0] = operand.unwrap_or(0);
        match made.result_count() {
            0 => self.0.act(made),
            _ => self.0.push(made),
        }
    }

    /// The lanes of two values, exchanged by switches of `party`.
    fn swap(&mut self, party: u64, [bits, first, second]: [u64; 3], lanes: u32) -> [u64; 2] {
        let mut swap = Instruction::new(Op::SwapKnown, ITEM, lanes);
        swap.immediates[0] = party;
        swap.operands = [bits, first, second];
        let first = self.0.push_two(swap);
        [first, first + 1]
    }
}

/// Stores chunks of rows, reads and changes rows at opened places, and exchanges rows by permutations of the first two
/// parties and of the last one.
fn program(
    (lanes, chunks): (u32, u64),
    parties: usize,
    seed: u64,
) -> (Vec<Instruction>, Description) {
    let mut random = SeededRng::new(seed);
    let mut made = StateBuilder::default();
    let rows = u64::from(lanes) * chunks;
    let all: Vec<u64> = (0..chunks).map(|k| made.0.input(k as u16 % 2, ITEM, lanes)).collect();
    for (value, row) in all.iter().zip((0..).step_by(lanes as usize)) {
        made.state(Op::RegionStore, (ITEM, lanes), Some(*value), [0, row]);
    }
    for access in 0..6 {
        let place = made.0.input(1, PLACE, 1);
        let register = access % 2;
        made.state(Op::Reveal, (PLACE, 1), Some(place), [register, 0]);
        let row = made.state(Op::RegionLoadAt, (ITEM, 1), None, [0, register]);
        made.0.output(row, ITEM, 1, &[0, 1]);
        // Garbled where sharings are as stated.
        let garbled = ITEM.shared(Sharing::Garbled);
        let entered = made.0.convert(row, (Sharing::Any, garbled), 1);
        let square = made.0.apply(Op::Mul, garbled, 1, [entered, entered, 0]);
        let square = made.0.convert(square, (Sharing::Garbled, ITEM), 1);
        made.state(Op::RegionStoreAt, (ITEM, 1), Some(square), [0, register]);
        let row = random.below(rows);
        let row = made.state(Op::RegionLoad, (ITEM, 1), None, [0, row]);
        made.0.output(row, ITEM, 1, &[access as u16 % 2]);
    }
    // A permutation of two items that exchanges them, and one that nobody knows.
    let bit = |made: &mut StateBuilder, value: u64| {
        let mut constant = Instruction::new(Op::Constant, ElementType::BIT, 1);
        constant.immediates[0] = value;
        made.0.push(constant)
    };
    let (one, zero) = (bit(&mut made, 1), bit(&mut made, 0));
    let mut both = Instruction::new(Op::LaneConcat, ElementType::BIT, 2);
    (both.immediates[0], both.operands) = (1, [one, zero, 0]);
    let both = made.0.push(both);
    made.state(Op::Tell, (ElementType::BIT, 2), Some(both), [0, 0]);
    let row =
        |made: &mut StateBuilder, row: u64| made.state(Op::RegionLoad, (ITEM, 1), None, [0, row]);
    let rows_of_two = [row(&mut made, 0), row(&mut made, 1)];
    let bits = made.state(Op::Switches, (ElementType::BIT, 1), None, [0, 0]);
    let [first, second] = made.swap(0, [bits, rows_of_two[0], rows_of_two[1]], 1);
    made.0.output(first, ITEM, 1, &[0, 1]);
    let bits = made.state(Op::Switches, (ElementType::BIT, 1), None, [1, 0]);
    let [first, second] = made.swap(1, [bits, first, second], 1);
    let sum = made.0.apply(Op::Xor, ITEM, 1, [first, second, 0]);
    made.0.output(sum, ITEM, 1, &[0]);
    // Columns of any width, of which wide ones take several triples, exchanged by the last party.
    let last = parties as u64 - 1;
    let mut of_last = Vec::new();
    for (number, (width, items_max)) in
        (3..).zip([(1, 100), (64, 19), (128, 11), (129, 11), (256, 7)])
    {
        let items = 2 + random.below(items_max - 1) as u32;
        let own = Permutation { party: last as u16, items, kind: PermutationKind::Random };
        let switches = own.switches() as u32;
        of_last.push(own);
        let bits = made.state(Op::Switches, (ElementType::BIT, switches), None, [number, 0]);
        let element = ElementType::unsigned(width);
        let rows = [0, 1].map(|party| made.0.input(party, element, switches));
        let mut swap = Instruction::new(Op::SwapKnown, element, switches);
        swap.immediates[0] = last;
        swap.operands = [bits, rows[0], rows[1]];
        let first = made.0.push_two(swap);
        let sum = made.0.apply(Op::Xor, element, switches, [first, first + 1, 0]);
        made.0.output(sum, element, switches, &[last as u16]);
        // Exchanged again by the same bits.
        (swap.operands[1], swap.operands[2]) = (first, first + 1);
        let second = made.0.push_two(swap);
        made.0.output(second, element, switches, &[0]);
        made.0.output(second + 1, element, switches, &[1]);
    }
    // Where rows come from, in an order that one party knows: all of them.
    let origins = Permutation { party: 1, items: 5, kind: PermutationKind::RandomWithOrigins };
    let number = ElementType::unsigned(origins.item_bits());
    let switches = origins.switches() as u32;
    made.state(Op::Switches, (ElementType::BIT, switches), None, [2, 0]);
    let from = made.state(Op::Origins, (number, 5), None, [2, 0]);
    let mut all_of_them = Instruction::new(Op::LaneXor, number, 1);
    (all_of_them.immediates[0], all_of_them.operands[0]) = (5, from);
    let all_of_them = made.0.push(all_of_them);
    made.0.output(all_of_them, number, 1, &[0, 1]);
    // The chunks as they were, which had to wait, and as they are.
    for (k, value) in all.iter().enumerate() {
        let row = k as u64 * u64::from(lanes);
        let now = made.state(Op::RegionLoad, (ITEM, lanes), None, [0, row]);
        let both = made.0.apply(Op::Xor, ITEM, lanes, [now, *value, 0]);
        made.0.output(both, ITEM, lanes, &[k as u16 % 2]);
    }
    let (source, mut description) = made.0.finish(parties);
    description.regions = vec![Region { element: ITEM, rows }].into();
    description.registers = 2;
    let of_two = |party, kind| Permutation { party, items: 2, kind };
    let mut permutations =
        vec![of_two(0, PermutationKind::Told), of_two(1, PermutationKind::Random), origins];
    permutations.append(&mut of_last);
    description.permutations = permutations.into();
    (source, description)
}

fn check(rows: (u32, u64), parties: usize, assignment: Assignment, frame_count: u64, seed: u64) {
    let (source, description) = program(rows, parties, seed);
    let source = write(&source, &description);
    let faults = phineus_bytecode::verify(&mut read(&source)).expect("readable");
    assert!(faults.is_empty(), "{}", faults[0]);
    let tables = random_inputs(seed, &description);
    let expected = expected(&source, &tables);
    let assigned = assign(&mut read(&source), Vec::new(), scratch(), assignment, 64 << 20);
    let assigned = assigned.expect("a valid program").0;
    let variants = VariantChoice::of(seed);
    let scheme = variants.scheme(parties);
    let layout = layout(parties, scheme);
    let mut model = MixedRounds::new(parties).with_y2a(variants.y2a).with_scheme(scheme);
    let ordered = harness::ordered(&assigned, layout, &mut model).expect("a valid program");
    for program in [&assigned, &ordered] {
        let faults = phineus_bytecode::verify(&mut read(program)).expect("readable");
        assert!(faults.is_empty(), "{}", faults[0]);
    }
    let options = options("mixed", layout, PAGE_UNITS, frame_count);
    let costs = MixedCosts::new(parties).with_broadcast(variants.broadcast);
    let mut costs = costs.with_scheme(scheme);
    let program = harness::planned(&ordered, &options, &mut costs).expect("it fits");
    let plan = read(&program).description().plan.clone().expect("it is planned");
    assert_eq!(plan.swap_in_count > 0, frame_count < 100, "seed {seed}");
    let needs = PlanDemand::new(read(&program), parties).map(|need| need.expect("readable"));
    assert_eq!(Demand::of(needs), demand(read(&program).description()), "seed {seed}");
    let garbling = match scheme {
        GarblingScheme::Joint => planned_garbling(&ordered, parties, frame_count, &program),
        GarblingScheme::HalfGates => None,
    };
    let broadcast = variants.broadcast;
    let plans = TestPlans { ordered, program, garbling, broadcast };
    let is_garbled = plans.garbling.is_some() || plans.takes_half_gates();
    assert_eq!(is_garbled, assignment == Assignment::Stated(Sharing::Boolean));
    let dealer = Block::from_bits(u128::from(seed));
    run_all(&plans, parties, &tables, &expected, |me| Dealer::insecure(dealer, me, parties));
}

#[test]
fn rows_at_opened_places() {
    let mut seeds = Seeds::fresh();
    for assignment in [
        Assignment::Uniform(Sharing::Boolean),
        Assignment::Stated(Sharing::Boolean),
        Assignment::Arithmetic,
    ] {
        for (lanes, chunks) in [(1, 300), (64, 5), (157, 2)] {
            check((lanes, chunks), 2, assignment, 1 << 10, seeds.draw());
        }
        for parties in [3, 4] {
            check((64, 5), parties, assignment, 1 << 10, seeds.draw());
        }
    }
    // 1300 chunks of 30 units are alive at once, which is more than 8 pages.
    check((157, 1300), 2, Assignment::Uniform(Sharing::Boolean), 8, seeds.draw());
}
