//! Rounds as the transport sees them: the longest chain of messages of which each was sent after
//! the one before had come, against the rounds of the plan.

use std::sync::atomic::Ordering;

use phineus_bytecode::ElementType;
use phineus_channels::{clocked_mesh, clocked_mesh_beside};

use super::*;

/// Runs `plans` over channels with clocks; how many messages followed one another in the online
/// phase.
fn rounds_on_the_wire(plans: &TestPlans, count: usize, inputs: &[Table]) -> u64 {
    let description = read(&plans.program).description().clone();
    let (mesh, clocks) = clocked_mesh(count);
    let mut streams: Vec<_> = memory_mesh(count).into_iter().map(Some).collect();
    let mut beside: Vec<_> = clocked_mesh_beside(&clocks).into_iter().map(Some).collect();
    let handles: Vec<_> = mesh
        .into_iter()
        .map(|parties| {
            let (me, bytes) = (parties.me(), plans.program.clone());
            let inputs = own(&description, inputs, me);
            let garbling = plans.garbling.clone().zip(streams[me].take());
            let half_gates_stream = beside[me].take().filter(|_| plans.takes_half_gates());
            let (description, broadcast) = (description.clone(), plans.broadcast);
            thread::spawn(move || {
                let mut prg = Prg::from_seed(Block::from_bits(7 + me as u128));
                let dealer = Dealer::insecure(Block::from_bits(3), me, count);
                let driver = MixedDriver::new(parties, dealer, &mut prg, &description, inputs);
                let mut driver = driver.expect("the set-up works").with_broadcast(broadcast);
                if let Some((garbling, parties)) = garbling {
                    driver = driver.with_tables(tables(parties, garbling, true).0);
                }
                if let Some(stream) = half_gates_stream {
                    driver = driver.with_half_gates(half_gates(stream));
                }
                let mut memory = memory(&description);
                run(&mut read(&bytes), &mut driver, &mut memory, &mut |_| true).expect("it runs");
            })
        })
        .collect();
    handles.into_iter().for_each(|handle| handle.join().expect("no party panics"));
    let longest = clocks.iter().map(|clock| clock.load(Ordering::Relaxed)).max();
    let longest = longest.expect("there are parties");
    // One message told the seeds of the common generators; with half gates, at the same time as the first of the set-up.
    longest - u64::from(!plans.takes_half_gates())
}

/// A program all of whose outputs everybody learns, so that everybody has a part in each round.
fn program(seed: u64, width_max: u16, party_count: usize) -> (Vec<Instruction>, Description) {
    let options = RandomOptions {
        instruction_count: 40,
        party_count: party_count as u16,
        width_max,
        wires_max: 300,
        ..RandomOptions::default()
    };
    let (source, mut description) = random_program(seed, &options);
    description
        .outputs
        .iter_mut()
        .for_each(|port| port.parties = (0..party_count as u16).collect());
    (source, description)
}

fn check_rounds(seed: u64, variants: VariantChoice, pick: impl FnMut(&Instruction) -> Sharing) {
    let [rounds, on_the_wire] = rounds_of(3, seed, variants, pick);
    assert_eq!(on_the_wire, rounds, "seed {seed}");
}

/// Rounds as the plan of a random program states them, and those on the wire.
fn rounds_of(
    parties: usize,
    seed: u64,
    variants: VariantChoice,
    pick: impl FnMut(&Instruction) -> Sharing,
) -> [u64; 2] {
    let (source, description) = program(seed, 32, parties);
    let inputs = random_inputs(seed, &description);
    let plans = planned(&write(&with_sharings(&source, pick), &description), parties, 64, variants);
    let plan = read(&plans.program).description().plan.clone().expect("planned");
    let rounds = plan.costs[totals::ROUNDS];
    assert!(rounds > 1, "there is something to count");
    [rounds, rounds_on_the_wire(&plans, parties, &inputs)]
}

#[test]
fn rounds_of_half_gates_are_those_on_the_wire() {
    for seed in 0..8 {
        let mut random = SeededRng::new(seed);
        let y2a = VariantChoice::of(seed).y2a;
        let variants = VariantChoice {
            y2a,
            two_party_scheme: GarblingScheme::HalfGates,
            ..VariantChoice::default()
        };
        let [rounds, on_the_wire] = rounds_of(2, 7400 + seed, variants, |instruction| match random
            .below(if seed < 2 { 1 } else { 3 })
        {
            1 if can_be_additive(instruction) => Sharing::Arithmetic,
            2 => Sharing::Boolean,
            _ => Sharing::Garbled,
        });
        assert_eq!(on_the_wire, rounds, "seed {seed}");
    }
}

#[test]
fn rounds_of_gmw_are_those_on_the_wire() {
    for seed in 0..4 {
        check_rounds(7000 + seed, VariantChoice::of(2 * seed), |_| Sharing::Boolean);
    }
}

#[test]
fn rounds_of_bmr_are_those_on_the_wire() {
    for seed in 0..2 {
        check_rounds(7100 + seed, VariantChoice::of(2 * seed), |_| Sharing::Garbled);
    }
}

#[test]
fn rounds_of_mixed_programs_are_those_on_the_wire() {
    for seed in 0..4 {
        let mut random = SeededRng::new(seed);
        check_rounds(7200 + seed, VariantChoice::of(seed), |instruction| match random.below(3) {
            0 if can_be_additive(instruction) => Sharing::Arithmetic,
            1 => Sharing::Garbled,
            _ => Sharing::Boolean,
        });
    }
}

/// The sum of two inputs, garbled, becomes additive `links` times, each sum after the one before.
fn chain(links: u64) -> (Vec<Instruction>, Description) {
    let garbled = ElementType::unsigned(16).shared(Sharing::Garbled);
    let additive = ElementType::unsigned(16).shared(Sharing::Arithmetic);
    let (mut made, mut next) = (Vec::new(), 0);
    let mut push = |mut instruction: Instruction, operands: &[u64]| {
        instruction.operands[..operands.len()].copy_from_slice(operands);
        instruction.results[0] = next;
        next += u64::from(instruction.result_count() > 0);
        made.push(instruction);
        next.saturating_sub(1)
    };
    let mut value = push(Instruction::new(Op::Input, garbled, 20), &[]);
    let mut all = None;
    for _ in 0..links {
        value = push(Instruction::new(Op::Mul, garbled, 20), &[value, value]);
        let mut convert = Instruction::new(Op::Convert, additive, 20);
        convert.immediates[0] = Sharing::Garbled as u64;
        let part = push(convert, &[value]);
        all = Some(match all {
            None => part,
            Some(sum) => push(Instruction::new(Op::Add, additive, 20), &[sum, part]),
        });
    }
    let output = Instruction::new(Op::Output, additive, 20);
    push(output, &[all.expect("there are links")]);
    let (_, mut description) = program(1, 16, 3);
    let column = phineus_bytecode::Column {
        name: "x".to_owned(),
        element: ElementType::unsigned(16),
        encoding: phineus_bytecode::Encoding::Number,
    };
    description.inputs.truncate(1);
    description.inputs[0].columns = vec![column.clone()];
    description.inputs[0].rows = 20;
    description.outputs.truncate(1);
    description.outputs[0].columns = vec![column];
    description.outputs[0].rows = 20;
    (made, description)
}

#[test]
fn masks_make_garbled_values_additive_without_a_message() {
    let (source, description) = chain(5);
    let inputs = random_inputs(4, &description);
    let program = write(&source, &description);
    let costs = |y2a: YaoToArithmetic| {
        let plans = planned(&program, 3, 64, VariantChoice { y2a, ..VariantChoice::default() });
        let costs = read(&plans.program).description().plan.clone().expect("planned").costs;
        assert_eq!(rounds_on_the_wire(&plans, 3, &inputs), costs[totals::ROUNDS]);
        assert_eq!(costs[totals::GARBLED_TO_ARITHMETIC], 100);
        costs
    };
    let (bits, masks) = (costs(YaoToArithmetic::SharedBits), costs(YaoToArithmetic::Masks));
    // Two rounds bring the input in, the products need none, and the last opens the output.
    assert_eq!((bits[totals::ROUNDS], masks[totals::ROUNDS]), (4, 3));
    assert_eq!(masks.get("shared_bits_16"), None);
    assert_eq!(bits["shared_bits_16"], 5 * 20 * 16);
    let gates =
        |costs: &std::collections::BTreeMap<String, u64>| costs[garbling_totals::Y_AND_GATES];
    // Two masks of three parties: 15 full adders make two numbers of three, the second of which is
    // even, so 14 ANDs add them.
    assert_eq!(gates(&masks) - gates(&bits), 5 * 20 * (15 + 14));
    // Each other party tells the first 16 bits of 20 lanes, five times, before the online phase.
    assert_eq!(masks[totals::DECODING_BYTES], 5 * 40);
    let online = |costs: &std::collections::BTreeMap<String, u64>, party| {
        costs[&totals::online_bytes(party)]
    };
    for party in 0..3 {
        assert_eq!(online(&bits, party) - online(&masks, party), 2 * 5 * 40);
    }
    let expected = expected(&program, &inputs);
    for y2a in [YaoToArithmetic::SharedBits, YaoToArithmetic::Masks] {
        let plans = planned(&program, 3, 64, VariantChoice { y2a, ..VariantChoice::default() });
        run_all(&plans, 3, &inputs, &expected, |me| Dealer::insecure(Block::ZERO, me, 3));
    }
}

#[test]
fn a_star_opens_in_fewer_bytes_and_twice_the_rounds() {
    let costs = |program: &[u8], broadcast: Broadcast| {
        let plans =
            planned(program, 3, 64, VariantChoice { broadcast, ..VariantChoice::default() });
        read(&plans.program).description().plan.clone().expect("planned").costs
    };
    let sum = |costs: &std::collections::BTreeMap<String, u64>| {
        (0..3).map(|party| costs[&totals::online_bytes(party)]).sum::<u64>()
    };
    // Of a program each of whose rounds opens something.
    let mut programs = (7300..7320).map(|seed| {
        let (source, description) = program(seed, 32, 3);
        let program = write(&with_sharings(&source, |_| Sharing::Boolean), &description);
        (costs(&program, Broadcast::Direct), costs(&program, Broadcast::Star))
    });
    let found = programs.find(|(direct, star)| star[totals::ROUNDS] == 2 * direct[totals::ROUNDS]);
    let (direct, star) = found.expect("many programs open something in each round");
    let rounds = direct[totals::ROUNDS];
    // Of what is opened, 4 times its bytes are sent and not 6; bits fill up a byte each round.
    let opened = (sum(&direct) - sum(&star)) / 2;
    let least = 2 * direct[totals::AND_GATES] / 8;
    assert!((least..least + rounds).contains(&opened), "{opened} bytes, at least {least}");
}
