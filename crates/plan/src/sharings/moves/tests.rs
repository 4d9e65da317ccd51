//! Assignments against all others, on small programs.

use phineus_bytecode::random::{SeededRng, Seeds};

use super::{Energy, EnergyGroup, IMPOSSIBLE, SHARINGS};

const CLASSES_MAX: u64 = 8;

/// Costs of a random program: some classes have fixed sharings, some can have no arithmetic one.
fn random_energy(random: &mut SeededRng) -> Energy {
    let count = 1 + random.below(CLASSES_MAX) as usize;
    let classes = (0..count).map(|_| {
        let mut costs: [u64; SHARINGS] = std::array::from_fn(|_| random.below(100));
        if random.one_in(2) {
            costs[0] = IMPOSSIBLE;
        }
        if random.one_in(8) {
            let only = random.below(SHARINGS as u64) as usize;
            costs = std::array::from_fn(|k| if k == only { 0 } else { IMPOSSIBLE });
        }
        costs
    });
    let classes: Vec<[u64; SHARINGS]> = classes.collect();
    let groups = (0..random.below(12)).map(|_| {
        let class = |random: &mut SeededRng| random.below(count as u64) as usize;
        let producer = (!random.one_in(4)).then(|| class(random));
        let consumers = (0..1 + random.below(3)).map(|_| class(random)).collect();
        let convert = std::array::from_fn(|from| {
            std::array::from_fn(|to| match (producer, from == to) {
                (Some(_), true) => 0,
                (Some(_), false) | (None, _) => random.below(60),
            })
        });
        EnergyGroup { producer, consumers, convert }
    });
    let groups = groups.collect();
    Energy { classes, groups }
}

/// The least cost of all assignments with these sharings.
fn least(energy: &Energy, allowed: [bool; SHARINGS]) -> u64 {
    let mut labels = vec![0; energy.classes.len()];
    let mut least = u64::MAX;
    loop {
        let is_allowed = |(class, &label): (usize, &usize)| {
            let others = energy.classes[class].iter().zip(allowed);
            let is_possible = others.clone().any(|(&cost, allowed)| allowed && cost < IMPOSSIBLE);
            energy.classes[class][label] < IMPOSSIBLE && (allowed[label] || !is_possible)
        };
        if labels.iter().enumerate().all(is_allowed) {
            least = least.min(energy.of(&labels));
        }
        let Some(next) = labels.iter().position(|&label| label + 1 < SHARINGS) else {
            return least;
        };
        labels[next] += 1;
        labels[..next].fill(0);
    }
}

#[test]
fn of_two_sharings_the_cheapest_assignment_is_found() {
    let mut seeds = Seeds::fresh();
    for number in 0..2000 {
        let random = &mut SeededRng::new(seeds.draw());
        let mut energy = random_energy(random);
        let allowed = *random.pick(&[[true, true, false], [false, true, true]]);
        // Nothing is fixed to the third sharing.
        let third = allowed.iter().position(|allowed| !allowed).expect("one is not allowed");
        for costs in &mut energy.classes {
            if (0..SHARINGS).all(|k| k == third || costs[k] >= IMPOSSIBLE) {
                costs[1] = 0;
            }
            costs[third] = IMPOSSIBLE;
        }
        let found = energy.of(&energy.cheapest(allowed));
        assert_eq!(found, least(&energy, allowed), "program {number}: {energy:?}");
    }
}

/// Moves and single classes find the cheapest of all assignments in nearly all programs, and none that costs a third
/// more.
#[test]
fn of_three_sharings_a_cheap_assignment_is_found() {
    let mut seeds = Seeds::fresh();
    let (mut optimal, mut worst) = (0, 1.0f64);
    let programs = 1000;
    for number in 0..programs {
        let energy = random_energy(&mut SeededRng::new(seeds.draw()));
        let all = [true; SHARINGS];
        let (found, least) = (energy.of(&energy.cheapest(all)), least(&energy, all));
        assert!(found >= least, "program {number}: {found}, and the least is {least}");
        let uniform = (0..SHARINGS).map(|sharing| energy.of(&energy.uniform(sharing, all)));
        assert!(uniform.min() >= Some(found), "program {number}");
        optimal += u32::from(found == least);
        worst = worst.max((found + 20) as f64 / (least + 20) as f64);
    }
    println!("{optimal} of {programs} are optimal, the worst is {worst:.3} of the optimum");
    assert!(optimal * 100 >= programs * 95, "{optimal} of {programs}");
    assert!(worst < 1.33, "{worst}");
}
