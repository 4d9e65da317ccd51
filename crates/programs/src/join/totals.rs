//! Totals of a join: how many pairs match, sums and means, for each category.

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::{Tracer, Value};
use phineus_oblivious::Matching;

use super::plan::{
    JoinParameters, MEAN_BITS, PayloadColumn, SUM_BITS, Totals, mean_fraction, places_of,
    total_columns,
};
use crate::SITES;

/// Gives out the totals.
#[track_caller]
pub(super) fn give(
    tracer: &Tracer,
    plan: &JoinParameters,
    totals: &Totals,
    matching: Option<&Matching>,
) {
    let categories = totals.category.as_ref().map_or(1, |(_, count)| *count);
    let mut sums = vec![(Vec::new(), Vec::new()); categories as usize];
    if let Some(matching) = matching {
        matching.pairs(|is_pair, joined| {
            let value = totals.value.map(|place| extended(plan, place, joined));
            for (category, (counts, values)) in (0u64..).zip(&mut sums) {
                let chosen = in_category(plan, totals, category, is_pair, joined);
                if totals.count || totals.mean {
                    counts.push(chosen.lane_sum(COUNT));
                }
                if let Some(value) = &value {
                    values.push(chosen.mask(value).lane_sum(value_type(plan, totals)));
                }
            }
        });
    }
    let receivers: Vec<&str> = plan.receivers().map(|site| SITES[site]).collect();
    let columns = total_columns(plan, totals);
    let mut given: Vec<Vec<Value>> = vec![Vec::new(); columns.len()];
    for (category, (counts, values)) in (0u64..).zip(sums) {
        let row = row(tracer, plan, totals, category, (counts, values));
        given.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    let mut output = tracer.output("result", &receivers);
    for (column, values) in columns.into_iter().zip(given) {
        output = output.chunks(column, values);
    }
    output.write();
}

const COUNT: ElementType = ElementType::unsigned(32);

fn value_type(plan: &JoinParameters, totals: &Totals) -> ElementType {
    let signed = totals.value.is_some_and(|place| plan.bits_of(place).1.element.is_signed());
    ElementType::integer(SUM_BITS, signed)
}

/// The value of a column, with its sign.
#[track_caller]
fn extended(plan: &JoinParameters, place: PayloadColumn, joined: &Value) -> Value {
    let (start, column) = plan.bits_of(place);
    let value = joined.bit_slice(start, column.element.width());
    value.with_sign(column.element.is_signed())
}

/// Bits that are 1 where a pair matches and is of a category.
#[track_caller]
fn in_category(
    plan: &JoinParameters,
    totals: &Totals,
    category: u64,
    is_pair: &Value,
    joined: &Value,
) -> Value {
    let Some((place, _)) = totals.category else { return is_pair.clone() };
    let (start, column) = plan.bits_of(place);
    let found = joined.bit_slice(start, column.element.width());
    let wanted = joined.tracer().constant(found.element(), Lane::from(category));
    is_pair.and(&found.eq(&wanted.tile(found.lanes())))
}

/// One row of the result.
#[track_caller]
fn row(
    tracer: &Tracer,
    plan: &JoinParameters,
    totals: &Totals,
    category: u64,
    (counts, values): (Vec<Value>, Vec<Value>),
) -> Vec<Value> {
    let total = |parts: Vec<Value>, element| {
        Value::sum_of(parts).unwrap_or_else(|| tracer.constant(element, Lane::ZERO))
    };
    let mut row = Vec::new();
    if totals.category.is_some() {
        row.push(tracer.constant(ElementType::unsigned(16), Lane::from(category)));
    }
    let count = total(counts, COUNT);
    if totals.count {
        row.push(count.clone());
    }
    let Some(place) = totals.value else { return row };
    let sum = total(values, value_type(plan, totals));
    if totals.sum {
        row.push(sum.clone());
    }
    if totals.mean {
        let column = plan.bits_of(place).1;
        let shift = mean_fraction(&column) - places_of(&column);
        let wide = ElementType::signed(MEAN_BITS);
        let sum = sum.cast(wide).shift_left(shift.into());
        // Of no pairs the sum is 0, and so is what is given as their mean.
        let is_none = count.eq(&tracer.constant(COUNT, Lane::ZERO));
        let divisor = count.cast(ElementType::unsigned(MEAN_BITS)).with_sign(true);
        let divisor = divisor.or(&is_none.cast(ElementType::unsigned(MEAN_BITS)).with_sign(true));
        row.push(sum.div(&divisor));
    }
    row
}
