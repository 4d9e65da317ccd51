use phineus_bytecode::random::{SeededRng, Seeds};
use phineus_bytecode::{Lane, Table};
use phineus_frontend::{Arguments, Program, reference, trace_to_file};

use super::GaleShapley;

/// The proposer of each reviewer, for ranks that the two sites give.
fn matched(ranks: [&[Vec<u64>]; 2], method: &str) -> Vec<u64> {
    let n = ranks[0].len().to_string();
    let arguments =
        Arguments::new(&GaleShapley, [("n", n.as_str()), ("memory", method)]).expect("known");
    let (_, traced) = trace_to_file(&GaleShapley, &arguments).expect("it traces");
    let ports = traced.description.inputs.iter();
    let tables: Vec<Table> = ports
        .zip(ranks)
        .map(|(port, ranks)| {
            let mut table = Table::new(port.columns.clone());
            for row in ranks {
                table.push(&row.iter().map(|&rank| Lane::from(rank)).collect::<Vec<_>>());
            }
            table
        })
        .collect();
    let outputs = reference::run(&GaleShapley, &arguments, &tables).expect("it runs");
    let reference =
        GaleShapley.reference(&arguments, &tables).expect("it has one").expect("it runs");
    assert!(GaleShapley.agrees(&outputs, &reference), "{ranks:?} by {method}");
    (0..outputs[0].row_count()).map(|row| outputs[0].cell(row, 1).as_limbs()[0]).collect()
}

/// No proposer and reviewer rank each other before their partners.
fn assert_stable(ranks: [&[Vec<u64>]; 2], proposer_of: &[u64]) {
    let n = proposer_of.len();
    let mut all = proposer_of.to_vec();
    all.sort_unstable();
    assert_eq!(all, (0..n as u64).collect::<Vec<_>>(), "everybody has one partner");
    for reviewer in 0..n {
        let holder = proposer_of[reviewer] as usize;
        for proposer in 0..n {
            let own = proposer_of.iter().position(|&other| other == proposer as u64);
            let own = own.expect("everybody has a partner");
            let would_go = ranks[0][proposer][reviewer] < ranks[0][proposer][own];
            let is_wanted = ranks[1][reviewer][proposer] < ranks[1][reviewer][holder];
            assert!(!would_go || !is_wanted, "{proposer} and {reviewer}: {ranks:?}");
        }
    }
}

/// Three pairs where who proposes matters: all proposers get their first choice.
#[test]
fn proposers_get_the_best_that_is_stable() {
    let proposers = [vec![1, 2, 3], vec![3, 1, 2], vec![2, 3, 1]];
    let reviewers = [vec![3, 1, 2], vec![2, 3, 1], vec![1, 2, 3]];
    for method in ["scan", "square-root"] {
        assert_eq!(matched([&proposers, &reviewers], method), [0, 1, 2]);
        assert_eq!(matched([&reviewers, &proposers], method), [2, 0, 1]);
    }
}

/// One list for all proposers, whom the reviewers rank all alike: from the first to the last, or from the last.
#[test]
fn lists_that_are_all_alike() {
    for n in [1, 2, 3, 4, 6] {
        let (up, down): (Vec<u64>, Vec<u64>) = ((1..=n).collect(), (1..=n).rev().collect());
        let same = vec![up.clone(); n as usize];
        let reverse = vec![down; n as usize];
        let last: Vec<u64> = (0..n).collect();
        let found = matched([&same, &same], "scan");
        assert_eq!(found, last, "{n} pairs");
        let found = matched([&same, &reverse], "scan");
        assert_eq!(found, last.into_iter().rev().collect::<Vec<_>>(), "{n} pairs");
    }
}

/// Ranks of any kind, with ties and gaps.
#[test]
fn matchings_are_stable_whatever_the_ranks() {
    let mut seeds = Seeds::fresh();
    for n in [1, 2, 3, 5, 7, 8] {
        for method in ["scan", "square-root"] {
            let mut random = SeededRng::new(seeds.draw());
            let mut ranks = || -> Vec<Vec<u64>> {
                (0..n).map(|_| (0..n).map(|_| random.below(n + 1)).collect()).collect()
            };
            let ranks = [ranks(), ranks()];
            let ranks = [&ranks[0][..], &ranks[1][..]];
            assert_stable(ranks, &matched(ranks, method));
        }
    }
}

/// Sizes where numbers become a bit wider: chunks of lanes are cut for the widest of several numbers.
#[test]
fn numbers_of_all_widths_fit_their_chunks() {
    for n in ["15", "16", "17", "31", "32", "33"] {
        for method in ["scan", "square-root"] {
            let arguments = Arguments::new(&GaleShapley, [("n", n), ("memory", method)]);
            let traced = trace_to_file(&GaleShapley, &arguments.expect("known"));
            assert!(traced.is_ok(), "{n} pairs: {:?}", traced.err());
        }
    }
}

#[test]
fn wrong_sizes_are_refused() {
    let error = |rows: [u64; 2]| {
        let mut arguments = Arguments::new(&GaleShapley, []).expect("defaults");
        ["site_a", "site_b"]
            .iter()
            .zip(rows)
            .for_each(|(site, rows)| arguments.set_rows(site, rows));
        let traced = trace_to_file(&GaleShapley, &arguments);
        traced.map(|_| ()).expect_err("it is refused").to_string()
    };
    assert!(error([3, 4]).contains("both need the same number"), "{}", error([3, 4]));
    assert!(error([0, 0]).contains("have no rows"), "{}", error([0, 0]));
    assert!(error([5000, 5000]).contains("at most 2048 pairs"), "{}", error([5000, 5000]));
}
