//! A join in plain Rust, and random tables to join.

use std::collections::HashMap;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, Lane, Table, mask_of};

use super::plan::{
    JoinParameters, JoinResult, SUM_BITS, Totals, mean_fraction, places_of, total_columns,
};
use crate::SITES;

/// Rows by key.
type Index = HashMap<Vec<Lane>, Vec<u64>>;

fn key_of(plan: &JoinParameters, table: &Table, row: u64) -> Vec<Lane> {
    (0..plan.key.len()).map(|column| table.cell(row, column)).collect()
}

fn index(plan: &JoinParameters, table: &Table) -> Index {
    let mut index = Index::new();
    for row in 0..table.row_count() {
        index.entry(key_of(plan, table, row)).or_default().push(row);
    }
    index
}

/// The outputs of a join.
pub(super) fn outputs(plan: &JoinParameters, inputs: &[Table]) -> Vec<Table> {
    match &plan.wanted {
        JoinResult::Rows { .. } => plan
            .receivers()
            .map(|site| rows_of(plan, site, &inputs[site], &inputs[1 - site]))
            .collect(),
        JoinResult::Totals(totals) => vec![totals_of(plan, totals, inputs)],
    }
}

/// The result about a site's own rows.
fn rows_of(plan: &JoinParameters, site: usize, own: &Table, other: &Table) -> Table {
    let partners = index(plan, other);
    let slots = plan.slots(site);
    let columns: Vec<Column> = (0..slots).flat_map(|slot| plan.slot_columns(site, slot)).collect();
    let mut result = Table::new(columns);
    let sent = plan.sent(1 - site);
    for row in 0..own.row_count() {
        let none = Vec::new();
        let found = partners.get(&key_of(plan, own, row)).unwrap_or(&none);
        let mut cells = Vec::new();
        for slot in 0..slots {
            match found.get(slot) {
                Some(&partner) => {
                    cells.push(Lane::ONE);
                    cells.extend((0..sent.len()).map(|c| other.cell(partner, plan.key.len() + c)));
                }
                None => {
                    cells.push(Lane::ZERO);
                    cells.extend(sent.iter().map(|_| Lane::ZERO));
                }
            }
        }
        result.push(&cells);
    }
    result
}

fn signed(value: Lane, column: &Column) -> i128 {
    let width = column.element.width();
    let is_negative = column.element.is_signed() && value.bit(usize::from(width) - 1);
    let all = if is_negative { value | !mask_of(width) } else { value };
    let limbs = all.as_limbs();
    (u128::from(limbs[0]) | u128::from(limbs[1]) << 64) as i128
}

fn lane(value: i128, width: u16) -> Lane {
    let high = if value < 0 { Lane::MAX } else { Lane::ZERO };
    (Lane::from(value as u128) | high << 128) & mask_of(width)
}

fn totals_of(plan: &JoinParameters, totals: &Totals, inputs: &[Table]) -> Table {
    let first = index(plan, &inputs[0]);
    let categories = totals.category.as_ref().map_or(1, |(_, count)| *count) as usize;
    let mut sums = vec![(0i128, 0i128); categories];
    for row in 0..inputs[1].row_count() {
        let Some(partner) = first.get(&key_of(plan, &inputs[1], row)) else { continue };
        let rows = [partner[0], row];
        let cell = |place: super::plan::PayloadColumn| {
            let column = plan.bits_of(place).1;
            let brought = plan.brought(place.site);
            let at = brought.iter().position(|known| known.name == column.name);
            let at = at.expect("it is brought");
            signed(inputs[place.site].cell(rows[place.site], at), &column)
        };
        let category = totals.category.as_ref().map_or(0, |(place, _)| cell(*place));
        if let Some((count, sum)) = sums.get_mut(category as usize) {
            *count += 1;
            *sum += totals.value.map_or(0, cell);
        }
    }
    let mut table = Table::new(total_columns(plan, totals));
    for (category, (count, sum)) in sums.into_iter().enumerate() {
        let mut row = Vec::new();
        if totals.category.is_some() {
            row.push(Lane::from(category));
        }
        if totals.count {
            row.push(lane(count, 32));
        }
        if let Some(place) = totals.value {
            let column = plan.bits_of(place).1;
            if totals.sum {
                row.push(lane(sum, SUM_BITS));
            }
            if totals.mean {
                let shift = mean_fraction(&column) - places_of(&column);
                row.push(lane((sum << shift) / count.max(1), super::plan::MEAN_BITS));
            }
        }
        table.push(&row);
    }
    table
}

/// Random tables of which about half of the keys match.
pub(super) fn generated(
    plan: &JoinParameters,
    rows: [u64; 2],
    random: &mut SeededRng,
) -> Vec<Table> {
    let mut keys: Vec<Vec<Lane>> = Vec::new();
    let mut tables = Vec::new();
    let ranges = plan.ranges();
    for (site, rows) in rows.into_iter().enumerate() {
        let brought = plan.brought(site);
        let mut table = Table::new(brought.clone());
        let mut used = Index::new();
        let most = if site == 0 { 1 } else { plan.repeats as usize };
        // Keys of few bits may all be taken.
        let mut tries = 0;
        while table.row_count() < rows && tries < 64 * rows + 1024 {
            tries += 1;
            let known = !keys.is_empty() && random.next_u64().is_multiple_of(2);
            let key: Vec<Lane> = match known {
                true => keys[(random.next_u64() % keys.len() as u64) as usize].clone(),
                false => plan.key.iter().map(|c| random.bits(c.element.width())).collect(),
            };
            let places = used.entry(key.clone()).or_default();
            if places.len() >= most {
                continue;
            }
            places.push(table.row_count());
            let mut row = key.clone();
            for (column, described) in brought.iter().enumerate().skip(plan.key.len()) {
                let range = ranges.iter().find(|r| r.input == SITES[site] && r.column == column);
                row.push(match range {
                    Some(range) => Lane::from(random.next_u64() % (range.high as u64 + 1)),
                    None => random.bits(described.element.width()),
                });
            }
            keys.push(key);
            table.push(&row);
        }
        tables.push(table);
    }
    tables
}
