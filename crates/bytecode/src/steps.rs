//! Steps of a sorted input: by how much the key of a row exceeds that of another row before it.
//!
//! A protocol that proves the order of an input (`plan/src/integers/row_order.rs`, decision 0039) has its
//! owner bring the steps as well. A step is brought in bits, so it is not negative, and the keys are in
//! order if each step is the difference of its keys.
//!
//! A key is one number: its columns side by side, the first the most significant. It is cut into digits of
//! at most [`STEP_DIGIT_BITS`] bits, none of which lies in two columns, and subtracted as in long
//! subtraction. Digit `k` of a step is the difference of two digits less what the digit below has borrowed;
//! it is negative if it borrows from the next one. The highest digit has no sign, because it must not borrow.
//!
//! In programs that are lowered to a field, digit `k` of the steps of an input with `c` columns is read as
//! its column `c + k`, and row `r` of it is about the rows `r` and `r` + [`StepDigit::stride`].

use std::cmp::Ordering;

use crate::description::{InputPort, RowOrder};
use crate::instruction::ElementType;
use crate::meaning::{Lane, mask_of};
use crate::table::Table;

/// The most bits of a digit. Differences of two of them, less a third with a sign, are below 2^30 in
/// magnitude, which the smallest field holds.
pub const STEP_DIGIT_BITS: u16 = 28;

/// A digit of the steps of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepDigit {
    /// The rows with the smaller and with the larger key, counted from the first of the two.
    pub rows: [u64; 2],
    /// The column of the key, the digit's lowest bit in it, and how many bits it has.
    pub column: usize,
    /// See [`StepDigit::column`].
    pub start: u16,
    /// See [`StepDigit::column`].
    pub width: u16,
    /// Whether the keys must differ.
    pub is_strict: bool,
    /// True for the least significant digit of a step.
    pub is_lowest: bool,
    /// True for the most significant digit of a step.
    pub is_highest: bool,
}

impl StepDigit {
    /// How far apart the two rows are.
    pub fn stride(&self) -> u64 {
        self.rows[0].max(self.rows[1])
    }

    /// The type that it is brought in.
    pub fn element(&self) -> ElementType {
        match self.is_highest {
            true => ElementType::unsigned(self.width),
            false => ElementType::signed(self.width + 1),
        }
    }

    fn of(&self, key: Lane) -> i64 {
        let bits = (key >> usize::from(self.start)) & mask_of(self.width);
        bits.as_limbs()[0] as i64
    }
}

impl RowOrder {
    /// The distances between rows whose keys must be in order, and whether such keys must differ.
    fn strides(&self) -> Vec<(u64, bool)> {
        match *self {
            RowOrder::Given => Vec::new(),
            RowOrder::Sorted { unique: true, .. }
            | RowOrder::Sorted { repeats_max: Some(1), .. } => {
                vec![(1, true)]
            }
            RowOrder::Sorted { repeats_max: None, .. } => vec![(1, false)],
            RowOrder::Sorted { repeats_max: Some(most), .. } => {
                vec![(1, false), (u64::from(most.max(1)), true)]
            }
        }
    }
}

impl InputPort {
    /// The digits of all steps that must be brought to prove the order; none if the rows have no order.
    pub fn step_digits(&self) -> Vec<StepDigit> {
        let RowOrder::Sorted { columns, descending, .. } = self.order else { return Vec::new() };
        let mut digits = Vec::new();
        for (stride, is_strict) in self.order.strides() {
            let first = digits.len();
            for column in (0..usize::from(columns)).rev() {
                let bits = self.columns[column].element.width();
                for start in (0..bits).step_by(usize::from(STEP_DIGIT_BITS)) {
                    digits.push(StepDigit {
                        rows: if descending { [stride, 0] } else { [0, stride] },
                        column,
                        start,
                        width: STEP_DIGIT_BITS.min(bits - start),
                        is_strict,
                        is_lowest: digits.len() == first,
                        is_highest: false,
                    });
                }
            }
            digits.last_mut().expect("a key has a column").is_highest = true;
        }
        digits
    }

    /// The first row of `table`, counted from 0, that must not stand behind those before it.
    pub fn out_of_order(&self, table: &Table) -> Option<u64> {
        let RowOrder::Sorted { columns, descending, .. } = self.order else { return None };
        let key = |row: u64| (0..usize::from(columns)).map(move |column| table.cell(row, column));
        let wrong = |(stride, is_strict): (u64, bool)| {
            (stride..table.row_count()).find(|&row| {
                let order = match key(row - stride).cmp(key(row)) {
                    order if descending => order.reverse(),
                    order => order,
                };
                order == Ordering::Greater || is_strict && order == Ordering::Equal
            })
        };
        self.order.strides().into_iter().filter_map(wrong).min()
    }
}

/// Digit `k` of the step between two rows of `table`, the first of which is `row`.
///
/// Where the rows are not in order it is the digit modulo two to its width, which is not the difference.
///
/// # Panics
/// If there is no such digit or row.
pub fn step_digit(digits: &[StepDigit], k: usize, table: &Table, row: u64) -> Lane {
    let lowest = digits[..=k].iter().rposition(|digit| digit.is_lowest);
    let (mut step, mut borrowed) = (0, i64::from(digits[k].is_strict));
    for digit in &digits[lowest.expect("a step has a lowest digit")..=k] {
        let [lower, upper] =
            digit.rows.map(|offset| digit.of(table.cell(row + offset, digit.column)));
        step = upper - lower - borrowed;
        borrowed = step >> 63 & 1;
    }
    Lane::from(step as u64) & mask_of(digits[k].element().width())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::{Column, Encoding};
    use crate::random::{SeededRng, Seeds};

    fn port(widths: &[u16], order: RowOrder, rows: u64) -> InputPort {
        let columns = widths.iter().map(|&width| Column {
            name: "k".to_owned(),
            element: ElementType::unsigned(width),
            encoding: Encoding::Number,
        });
        InputPort { name: "x".to_owned(), party: 0, rows, columns: columns.collect(), order }
    }

    /// Evaluates the relations of the lowering on the steps of a table; returns whether all are
    /// zero.
    fn holds(port: &InputPort, table: &Table) -> bool {
        let digits = port.step_digits();
        (0..digits.len()).all(|k| {
            let digit = digits[k];
            (0..table.row_count().saturating_sub(digit.stride())).all(|row| {
                let of = |k: usize| {
                    let width = digits[k].element().width();
                    let step = step_digit(&digits, k, table, row).as_limbs()[0] as i64;
                    match digits[k].element().is_signed() && step >> (width - 1) & 1 == 1 {
                        true => step - (1 << width),
                        false => step,
                    }
                };
                let [lower, upper] =
                    digit.rows.map(|at| digit.of(table.cell(row + at, digit.column)));
                let borrowed = match digit.is_lowest {
                    true => i64::from(digit.is_strict),
                    false => i64::from(of(k - 1) < 0),
                };
                upper - lower - borrowed == of(k)
            })
        })
    }

    #[test]
    fn steps_hold_where_rows_are_in_order_and_nowhere_else() {
        let (mut seeds, mut found) = (Seeds::fresh(), [0; 2]);
        for _ in 0..4000 {
            let random = &mut SeededRng::new(seeds.draw());
            let widths = [*random.pick(&[1, 2, 28, 29, 64, 90]), *random.pick(&[1, 2, 30])];
            let columns = 1 + random.below(2) as u16;
            let repeats_max = random.one_in(2).then(|| 1 + random.below(3) as u32);
            let order = RowOrder::Sorted {
                columns,
                descending: random.one_in(2),
                unique: random.one_in(3),
                repeats_max,
            };
            let rows = random.below(6);
            let port = port(&widths, order.clone(), rows);
            let mut keys: Vec<[Lane; 2]> = Vec::new();
            for _ in 0..rows {
                let drawn = widths.map(|width| random.lane(width));
                let near = keys.last().map(|last| [last[0], drawn[1]]);
                let again = keys.last().copied();
                keys.push(match random.below(4) {
                    0 => near.unwrap_or(drawn),
                    1 => again.unwrap_or(drawn),
                    _ => drawn,
                });
            }
            if random.one_in(2) {
                keys.sort();
                if matches!(order, RowOrder::Sorted { descending: true, .. }) {
                    keys.reverse();
                }
            }
            let mut table = Table::new(port.columns.clone());
            keys.iter().for_each(|key| table.push(key));
            let is_right = port.out_of_order(&table).is_none();
            assert_eq!(holds(&port, &table), is_right, "{order:?} {widths:?} {keys:?}");
            found[usize::from(is_right)] += 1;
        }
        assert!(found.iter().all(|&count| count > 400), "{found:?}");
    }
}
