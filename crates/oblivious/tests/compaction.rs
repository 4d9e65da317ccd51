//! Compaction, scans and joins against plain Rust.

mod common;

use common::{Traced, numbers};
use phineus_bytecode::Op;
use phineus_frontend::{Bit, Element, Records, U16, Vector};
use phineus_oblivious::{
    SortKey, compact, group_begins, group_sums, join_unique, last_valid, loop_join, prefix_sum,
    scan,
};

/// The lowest bit of a column.
fn bits(records: &Records, column: usize) -> Vector<Bit> {
    records.column::<U16>(column).map(|x| x.bit(0))
}

fn compaction(n: u64, lanes: u32) -> Traced {
    Traced::new(n, 2, lanes, |_, records| {
        let keep = bits(&records, 1);
        let (compacted, count) = compact(records, &keep);
        let element = U16::TYPE;
        let count = Records::from_columns(compacted.tracer(), 1, vec![vec![count.cast(element)]]);
        vec![compacted, count]
    })
}

fn check_compaction(traced: &mut Traced, keep: &[u64]) {
    let given: Vec<Vec<u64>> = (0..).zip(keep).map(|(i, &keep)| vec![i, keep]).collect();
    let outputs = traced.run(&given);
    let kept: Vec<Vec<u64>> = given.iter().filter(|row| row[1] == 1).cloned().collect();
    assert_eq!(outputs[1], [[kept.len() as u64]]);
    assert_eq!(outputs[0][..kept.len()], kept, "{keep:?}");
    let mut all = outputs[0].clone();
    all.sort();
    assert_eq!(all, given, "rows are neither lost nor doubled");
}

#[test]
fn compaction_keeps_all_choices_in_order() {
    for lanes in [1, 2, 8] {
        for n in 1..=11u64 {
            let mut traced = compaction(n, lanes);
            for choice in 0..1u64 << n {
                let keep: Vec<u64> = (0..n).map(|i| choice >> i & 1).collect();
                check_compaction(&mut traced, &keep);
            }
        }
    }
}

#[test]
fn compaction_works_for_many_rows() {
    for n in [31, 32, 33, 64, 100, 255, 256, 300, 515] {
        for lanes in [4, 32, 128] {
            let mut traced = compaction(n, lanes);
            for below in [1, 2, 5] {
                let keep: Vec<u64> =
                    numbers(n, below, n).iter().map(|x| u64::from(*x == 0)).collect();
                check_compaction(&mut traced, &keep);
            }
        }
    }
}

#[test]
fn compaction_exchanges_half_of_n_log_n_rows() {
    for k in 0..=9u64 {
        let n = 1 << k;
        // Each of the two columns is exchanged by itself.
        assert_eq!(compaction(n, 16).lanes_of(Op::CondSwap), 2 * k * n / 2);
    }
}

#[test]
fn scans_combine_all_rows_before() {
    for n in (1..=40).chain([63, 64, 65, 127, 128, 129, 300]) {
        for lanes in [1, 4, 256] {
            let mut traced = Traced::new(n, 1, lanes, |_, records| {
                let sums = prefix_sum(records.column::<U16>(0));
                // Not commutative: the last row that is not zero.
                let last = scan(records, |earlier, later| {
                    vec![later[0].any_bit().select(&later[0], &earlier[0])]
                });
                vec![Records::from_vector(sums), last]
            });
            let given: Vec<u64> = numbers(n, 3, n);
            let rows: Vec<Vec<u64>> = given.iter().map(|&x| vec![x]).collect();
            let outputs = traced.run(&rows);
            let (mut sum, mut last) = (0, 0);
            for (index, &x) in given.iter().enumerate() {
                sum += x;
                last = if x == 0 { last } else { x };
                assert_eq!(outputs[0][index], [sum], "{n} by {lanes}");
                assert_eq!(outputs[1][index], [last], "{n} by {lanes}");
            }
        }
    }
}

#[test]
fn valid_rows_are_carried_forward() {
    for n in [1, 2, 7, 32, 33, 100] {
        let mut traced = Traced::new(n, 2, 8, |_, records| {
            let valid = bits(&records, 1);
            let (found, carried) = last_valid(&valid, records);
            vec![Records::from_vector(found), carried]
        });
        let given: Vec<Vec<u64>> = (0..).zip(numbers(n, 4, n)).map(|(i, x)| vec![i, x]).collect();
        let outputs = traced.run(&given);
        for (index, found) in outputs[0].iter().enumerate() {
            let last = given[..=index].iter().rfind(|row| row[1] % 2 == 1);
            assert_eq!(found[0], u64::from(last.is_some()));
            if let Some(last) = last {
                assert_eq!(&outputs[1][index], last);
            }
        }
    }
}

#[test]
fn groups_are_summed() {
    for n in [1, 2, 9, 32, 70] {
        let mut traced = Traced::new(n, 2, 8, |_, records| {
            let begins = group_begins(&records, &SortKey::column(0));
            let sums = group_sums(&begins, records.column::<U16>(1));
            vec![Records::from_vector(sums)]
        });
        let mut groups = numbers(n, 5, n);
        groups.sort_unstable();
        let amounts = numbers(n, 100, n + 1);
        let given: Vec<Vec<u64>> = groups.iter().zip(&amounts).map(|(&g, &a)| vec![g, a]).collect();
        let outputs = traced.run(&given);
        for (index, found) in outputs[0].iter().enumerate() {
            let rows = given[..=index].iter();
            let sum: u64 = rows.filter(|row| row[0] == groups[index]).map(|row| row[1]).sum();
            assert_eq!(found[0], sum);
        }
    }
}

#[test]
fn unique_keys_find_their_partners() {
    for (first, second) in [(1, 1), (4, 9), (20, 13), (33, 40)] {
        let mut traced = Traced::new(first + second, 2, 8, move |_, records| {
            let (a, b) = (records.slice(0, first), records.slice(first, second));
            let (valid, joined) = join_unique(a, b, &SortKey::column(0));
            vec![Records::from_vector(valid), joined]
        });
        // Keys 0, 2, 4, ... once in the first table; any in the second.
        let mut given: Vec<Vec<u64>> = (0..first).map(|i| vec![2 * i, 500 + i]).collect();
        let keys = numbers(second, 2 * first + 4, first);
        given.extend(keys.iter().zip(0..).map(|(&key, i)| vec![key, 900 + i]));
        let outputs = traced.run(&given);
        let mut found: Vec<Vec<u64>> = outputs[1]
            .iter()
            .zip(&outputs[0])
            .filter(|(_, valid)| valid[0] == 1)
            .map(|(row, _)| row.clone())
            .collect();
        found.sort();
        let (left, right) = given.split_at(first as usize);
        let mut expected: Vec<Vec<u64>> = right
            .iter()
            .filter_map(|row| {
                let partner = left.iter().find(|partner| partner[0] == row[0])?;
                Some([row.clone(), partner.clone()].concat())
            })
            .collect();
        expected.sort();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_loop_join_visits_all_pairs_in_order() {
    let mut traced = Traced::new(11, 1, 4, |t, records| {
        let (a, b) = (records.slice(0, 5), records.slice(5, 6));
        let mut columns = vec![Vec::new(), Vec::new()];
        loop_join(&a, &b, |row, partner| {
            columns[0].push(row[0].clone());
            columns[1].push(partner[0].clone());
        });
        vec![Records::from_pieces(t, 4, &[U16::TYPE; 2], columns)]
    });
    let given: Vec<Vec<u64>> = (0..11).map(|i| vec![i]).collect();
    let expected: Vec<Vec<u64>> = (0..5).flat_map(|i| (5..11).map(move |j| vec![i, j])).collect();
    assert_eq!(traced.run(&given)[0], expected);
}
