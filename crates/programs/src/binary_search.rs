//! `binary-search`: keys of one party in the sorted table of another, which is read at secret rows.
//!
//! A search halves the rows `log2 n + 1` times. Each time it reads one row of a [`Memory`], whose method parameter
//! `memory` chooses.
//!
//! With `layout=levels` the keys that step `s` can reach, `2^s` of them, are a memory of their own, and a value is read once,
//! at the end. All scanned, `n` rows of keys of `k` bits and values of `v` bits take about `n (k + v)` ANDs a search.
//! With `layout=array` each step reads a whole row of the whole table: Zahur et al., "Revisiting Square-Root ORAM", IEEE
//! S&P 2016, section V-C.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Element, OutputRows, Parameter, Program, ProgramError, Records, Tracer, U32, Value,
    column, receivers, rechunk, to_parameter,
};
use phineus_oblivious::{Memory, MemoryMethod};

use super::choices::{choice, memory_method, memory_parameter};
use super::random::random_table;
use super::sites;

/// The most rows of a table.
const ROWS_MAX: u64 = 1 << 24;

/// Values of parameter `layout`.
const LAYOUTS: [&str; 2] = ["levels", "array"];

/// Bits of what a row has beside its key: rows of 16 bytes.
const VALUE: ElementType = ElementType::unsigned(96);

/// Looks for keys in a sorted table.
pub(super) struct BinarySearch;

fn table_columns() -> Vec<Column> {
    vec![column("key", U32::TYPE, Encoding::Number), column("value", VALUE, Encoding::Number)]
}

fn key_columns() -> Vec<Column> {
    vec![column("key", U32::TYPE, Encoding::Number)]
}

fn result_columns() -> Vec<Column> {
    vec![
        column("found", ElementType::BIT, Encoding::Number),
        column("value", VALUE, Encoding::Number),
    ]
}

/// A sorted table, as it is searched.
enum SortedTable {
    /// All steps read the same rows.
    Array(Memory),
    /// The keys that each step can reach, from the first step on, and all values.
    Levels { keys: Vec<Memory>, values: Memory },
}

impl SortedTable {
    #[track_caller]
    fn levels(tracer: &Tracer, table: Records, method: Option<MemoryMethod>) -> SortedTable {
        let lanes = table.chunk_lanes();
        let of_step = |(step, keys): (usize, Vec<Value>)| {
            let rows = Records::from_pieces(tracer, lanes, &[U32::TYPE], vec![keys]);
            Memory::named(&format!("keys of step {}", step + 1), rows, method)
        };
        let keys = keys_by_step(table.chunks(0), lanes).into_iter().enumerate().map(of_step);
        let keys = keys.collect();
        let values = vec![table.chunks(1).to_vec()];
        let values = Records::from_columns(tracer, lanes, values);
        SortedTable::Levels { keys, values: Memory::named("values", values, method) }
    }

    /// The value of `key`, and whether there is one.
    #[track_caller]
    fn search(&mut self, tracer: &Tracer, key: &Value) -> [Value; 2] {
        match self {
            SortedTable::Array(rows) => search_array(tracer, rows, key),
            SortedTable::Levels { keys, values } => search_levels(keys, values, key),
        }
    }
}

/// The keys that each step can reach: the last step any in an even place; those before it the others, in the same way.
#[track_caller]
fn keys_by_step(keys: &[Value], lanes: u32) -> Vec<Vec<Value>> {
    let mut keys = keys.to_vec();
    let mut steps = Vec::new();
    while !keys.is_empty() {
        let (mut even, mut odd) = (Vec::new(), Vec::new());
        for chunk in &keys {
            let rows = chunk.lanes();
            let whole = match rows % 2 {
                0 => chunk.clone(),
                _ => chunk.lane_concat(&chunk.lane_slice(0, 1)),
            };
            let (low, high) = whole.deinterleave(1);
            even.push(low);
            if rows > 1 {
                odd.push(high.lane_slice(0, rows / 2));
            }
        }
        steps.push(rechunk(even, lanes));
        keys = rechunk(odd, lanes);
    }
    steps.reverse();
    steps
}

/// As [`SortedTable::search`], in the keys of each step.
#[track_caller]
fn search_levels(keys: &mut [Memory], values: &mut Memory, key: &Value) -> [Value; 2] {
    let tracer = key.tracer();
    let mut found = tracer.constant(ElementType::BIT, Lane::ZERO);
    // Where the search is among those that the step can reach: in the end, how many keys are smaller.
    let mut place: Option<Value> = None;
    for memory in keys {
        let (middle, is_there) = match &place {
            Some(place) => (memory.read(place), is_below(place, memory.rows())),
            None => {
                let [zero, one] = [Lane::ZERO, Lane::ONE];
                let [first, always] = [zero, one].map(|bit| tracer.constant(ElementType::BIT, bit));
                (memory.read(&first), always)
            }
        };
        found = found.or(&is_there.and(&middle[0].eq(key)));
        // Beyond the last row there are only larger keys.
        let is_less = is_there.and(&middle[0].lt(key));
        place = Some(match place {
            Some(place) => is_less.bit_concat(&place),
            None => is_less,
        });
    }
    let place = place.expect("there is a row");
    [found.clone(), found.mask(&values.read(&place)[0])]
}

/// Whether an index is that of one of so many rows.
#[track_caller]
fn is_below(index: &Value, rows: u64) -> Value {
    match 1 << index.width() <= rows {
        true => index.tracer().constant(ElementType::BIT, Lane::ONE),
        false => index.lt(&index.tracer().constant(index.integer(), Lane::from(rows))),
    }
}

/// One search: how many times it halves `rows` rows until one is left.
fn steps(rows: u64) -> u32 {
    rows.ilog2() + 1
}

/// As [`SortedTable::search`], in whole rows of the whole table.
#[track_caller]
fn search_array(tracer: &Tracer, memory: &mut Memory, key: &Value) -> [Value; 2] {
    let rows = memory.rows();
    // An index up to the number of rows, and one bit for the sum of two.
    let element = ElementType::unsigned((u64::BITS - rows.leading_zeros() + 1) as u16);
    let number = |number: u64| tracer.constant(element, Lane::from(number));
    let (mut low, mut high) = (number(0), number(rows));
    let mut found = tracer.constant(ElementType::BIT, Lane::ZERO);
    let mut value = tracer.constant(VALUE, Lane::ZERO);
    for _ in 0..steps(rows) {
        let middle = low.add(&high).shift_right(1);
        let row = memory.read(&middle);
        // Beyond the last row there are zeros, which may be a key.
        let equal = row[0].eq(key).and(&middle.lt(&number(rows)));
        let is_less = row[0].lt(key);
        value = equal.select(&row[1], &value);
        found = found.or(&equal);
        low = is_less.select(&middle.add(&number(1)), &low);
        high = is_less.select(&high, &middle);
    }
    [found, value]
}

impl Program for BinarySearch {
    fn name(&self) -> &str {
        "binary-search"
    }

    fn about(&self) -> &str {
        "the values of site_b's keys in site_a's sorted table, which is read at secret rows"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("n", "1000", "rows of the table, where no file says"),
            Parameter::new("searches", "1", "keys that are looked for, where no file says"),
            Parameter::new(
                "layout",
                LAYOUTS[0],
                "levels (the keys of each step are an array), or array (all steps read the whole table)",
            ),
            memory_parameter(),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let rows = arguments.equal_rows(["table"], "n")?;
        let keys = arguments.equal_rows(["keys"], "searches")?;
        if rows > ROWS_MAX {
            let what = format!("the table has at most {ROWS_MAX} rows, not {rows}");
            return Err(ProgramError::Refused(what));
        }
        let method = memory_method(arguments)?;
        let is_array = choice(arguments, "layout", &LAYOUTS)? == LAYOUTS[1];
        let names = sites();
        let to = receivers(arguments, &names)?;
        let mut table = tracer.input("table", rows).by("site_a").sorted(1).unique();
        for column in table_columns() {
            table = table.column(column);
        }
        let table = table.read();
        let keys = tracer.input("keys", keys).by("site_b").number::<U32>("key").vector::<U32>();
        let mut table = (rows > 0).then(|| match is_array {
            true => SortedTable::Array(Memory::named("table", table, method)),
            false => SortedTable::levels(tracer, table, method),
        });
        let output = tracer.output("result", &to);
        let mut results: OutputRows = output.rows(&result_columns(), keys.len());
        for at in 0..keys.len() {
            let [found, value] = match &mut table {
                Some(table) => table.search(tracer, keys.get(at).value()),
                None => [ElementType::BIT, VALUE].map(|zero| tracer.constant(zero, Lane::ZERO)),
            };
            results.push(&[&found, &value]);
        }
        results.finish();
        Ok(())
    }

    fn reference(
        &self,
        _: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let (table, keys) = (&inputs[0], &inputs[1]);
        let rows: std::collections::HashMap<Lane, Lane> =
            (0..table.row_count()).map(|row| (table.cell(row, 0), table.cell(row, 1))).collect();
        let mut result = Table::new(result_columns());
        for row in 0..keys.row_count() {
            let value = rows.get(&keys.cell(row, 0));
            result.push(&[Lane::from(value.is_some()), value.copied().unwrap_or_default()]);
        }
        Some(Ok(vec![result]))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let rows = arguments.equal_rows(["table"], "n").ok()?;
        let searches = arguments.equal_rows(["keys"], "searches").ok()?;
        let mut random = SeededRng::new(seed);
        let values = random_table(vec![table_columns()[1].clone()], rows, &mut random);
        // Some keys are there and some are not.
        let (mut table, mut keys) = (Table::new(table_columns()), Table::new(key_columns()));
        for row in 0..rows {
            let key = row * 3 + random.below(3);
            table.push(&[Lane::from(key), values.cell(row, 0)]);
        }
        for _ in 0..searches {
            keys.push(&[Lane::from(random.below(3 * rows.max(1)))]);
        }
        Some(vec![table, keys])
    }
}

#[cfg(test)]
mod tests;
