//! `biometric`: which row of a database is nearest to a sample, by squared Euclidean distance.
//!
//! The first party holds the sample, the others parts of the database. Distances are sums of
//! squares in arithmetic sharing: `d` square pairs a row and one round, no gates. The minimum is a
//! tournament of `n - 1` comparisons and choices between neighbours, in Boolean or garbled sharing.
//! The index of the winner needs no numbers to begin with: each comparison adds one bit to it. Of
//! rows that are equally near, the first wins.
//!
//! The example of Büscher et al., "HyCC: Compilation of Hybrid Protocols for Practical Secure
//! Computation", CCS 2018, and of MOTION (ePrint 2020/1137). Distances are modulo 2^width.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Sharing, Table};
use phineus_frontend::{
    Arguments, Parameter, Program, ProgramError, Records, Tracer, Value, column, parties_parameter,
    party_names, receivers, to_parameter,
};

use super::choices::{sharing, width};
use super::sites;

/// Finds the nearest row.
pub(super) struct Biometric;

/// The most dimensions.
const DIMENSIONS_MAX: u64 = 4096;
/// Bits of a generated coordinate: squares of 4096 of them stay below 2^32.
const COORDINATE_BITS: u16 = 8;

/// Parameters of the program.
struct BiometricParameters {
    names: Vec<String>,
    dimensions: u64,
    width: u16,
    minimum: Sharing,
    index: bool,
    /// Rows of each party's part of the database; the sample's owner has none.
    rows: Vec<u64>,
}

impl BiometricParameters {
    fn new(arguments: &Arguments) -> Result<BiometricParameters, ProgramError> {
        let names = party_names(arguments)?;
        let dimensions = arguments.count("d")?;
        if dimensions > DIMENSIONS_MAX {
            return Err(arguments.bad("d", "1 to 4096"));
        }
        if let Some(found) = arguments.stated_rows(&names[0]).filter(|rows| *rows != 1) {
            let input = names[0].clone();
            return Err(ProgramError::WrongRows { input, found, expected: 1 });
        }
        let all = arguments.unstated_rows("n")?;
        let parts = names.len() as u64 - 1;
        if all < parts {
            return Err(arguments.bad("n", "a row for each party with a part of the database"));
        }
        let rows = names[1..].iter().zip(0..).map(|(name, part)| {
            let share = all / parts + u64::from(part < all % parts);
            arguments.stated_rows(name).unwrap_or(share)
        });
        let rows: Vec<u64> = rows.collect();
        if rows.iter().sum::<u64>() > u64::from(u32::MAX) {
            return Err(ProgramError::Refused("more than 2^32 rows".to_owned()));
        }
        Ok(BiometricParameters {
            rows,
            names,
            dimensions,
            width: width(arguments, 8, 64)?,
            minimum: sharing(arguments, "minimum", &[Sharing::Boolean, Sharing::Garbled])?,
            index: arguments.flag("index")?,
        })
    }

    fn element(&self) -> ElementType {
        ElementType::unsigned(self.width)
    }

    fn columns(&self) -> Vec<Column> {
        (0..self.dimensions)
            .map(|index| column(&format!("x{index}"), self.element(), Encoding::Number))
            .collect()
    }

    fn result_columns(&self) -> Vec<Column> {
        let mut columns = vec![column("distance", self.element(), Encoding::Number)];
        if self.index {
            columns.push(column("row", ElementType::unsigned(32), Encoding::Number));
        }
        columns
    }

    #[track_caller]
    fn input(&self, tracer: &Tracer, name: &str, rows: u64) -> Records {
        let mut input = tracer.input(name, rows);
        for column in self.columns() {
            input = input.column(column);
        }
        input.read().to_arith()
    }
}

/// The nearest of some rows that lie beside each other, for each lane.
struct Nearest {
    distance: Value,
    /// The bits of its row's number that are known so far; `None` before the first.
    row: Option<Value>,
}

impl Nearest {
    /// The nearer of this and `other`, of which this comes first and has as many lanes or one more;
    /// with the next bit of the row's number above the others.
    #[track_caller]
    fn or(self, other: Nearest, index: bool) -> Nearest {
        let (all, lanes) = (self.distance.lanes(), other.distance.lanes());
        let cut = |value: &Value| value.lane_slice(0, lanes);
        let left = cut(&self.distance);
        let is_nearer = other.distance.lt(&left);
        let distance = is_nearer.select(&other.distance, &left);
        let row = index.then(|| {
            let rows = self.row.as_ref().zip(other.row.as_ref());
            let old = rows.map(|(left, right)| is_nearer.select(right, &cut(left)));
            old.map_or_else(|| is_nearer.clone(), |old| old.bit_concat(&is_nearer))
        });
        let nearer = Nearest { distance, row };
        if lanes == all { nearer } else { nearer.then(self.lane(lanes).alone(index)) }
    }

    /// A row that has no other to be compared with: the next bit of its number is 0.
    #[track_caller]
    fn alone(self, index: bool) -> Nearest {
        let row = index.then(|| {
            let zero = self.distance.tracer().constant(ElementType::BIT, Lane::ZERO);
            self.row.as_ref().map_or_else(|| zero.clone(), |row| row.bit_concat(&zero))
        });
        Nearest { row, ..self }
    }

    #[track_caller]
    fn lane(&self, lane: u32) -> Nearest {
        let cut = |value: &Value| value.lane_slice(lane, 1);
        Nearest { distance: cut(&self.distance), row: self.row.as_ref().map(cut) }
    }

    /// These lanes, and behind them those of `next`.
    #[track_caller]
    fn then(&self, next: Nearest) -> Nearest {
        let rows = self.row.as_ref().zip(next.row.as_ref());
        Nearest {
            distance: self.distance.lane_concat(&next.distance),
            row: rows.map(|(first, next)| first.lane_concat(next)),
        }
    }

    /// The even and the odd lanes; of one lane there are no odd ones.
    #[track_caller]
    fn neighbours(self) -> (Nearest, Option<Nearest>) {
        let lanes = self.distance.lanes();
        if lanes == 1 {
            return (self, None);
        }
        let paired = lanes / 2 * 2;
        let split = |value: &Value| value.lane_slice(0, paired).deinterleave(1);
        let (even, odd) = split(&self.distance);
        let (even_row, odd_row) = self.row.as_ref().map(split).unzip();
        let even = Nearest { distance: even, row: even_row };
        let odd = Nearest { distance: odd, row: odd_row };
        (if lanes == paired { even } else { even.then(self.lane(paired)) }, Some(odd))
    }
}

/// The nearest of all rows, the first of those that are equally near, and its number. All chunks but
/// the last have the same even number of lanes.
///
/// Neighbours are compared, those of two chunks together, so that lanes stay full while there are
/// chunks, and rows in order.
#[track_caller]
fn nearest(distances: Vec<Value>, index: bool) -> Nearest {
    let mut chunks: Vec<Nearest> =
        distances.into_iter().map(|distance| Nearest { distance, row: None }).collect();
    while chunks.len() > 1 || chunks[0].distance.lanes() > 1 {
        let mut winners = Vec::new();
        let mut rest = chunks.into_iter();
        while let Some(first) = rest.next() {
            let (mut even, mut odd) = first.neighbours();
            if let Some((next_even, next_odd)) = rest.next().map(Nearest::neighbours) {
                even = even.then(next_even);
                let both = odd.as_ref().zip(next_odd).map(|(odd, next)| odd.then(next));
                odd = both.or(odd);
            }
            winners.push(match odd {
                Some(odd) => even.or(odd, index),
                None => even.alone(index),
            });
        }
        chunks = winners;
    }
    chunks.pop().expect("there is a distance")
}

impl Program for Biometric {
    fn name(&self) -> &str {
        "biometric"
    }

    fn about(&self) -> &str {
        "the row of the other parties' database nearest to site_a's sample, and its distance"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("n", "1000", "rows of the database in all, where no file says"),
            Parameter::new("d", "4", "coordinates of a row"),
            Parameter::new("width", "32", "bits of a coordinate and of a distance, 8 to 64"),
            Parameter::new("minimum", "gmw", "the sharing of the comparisons: gmw or bmr"),
            Parameter::new("index", "true", "whether to find the row's number: true or false"),
            parties_parameter("2"),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        party_names(arguments)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let settings = BiometricParameters::new(arguments)?;
        let sample = settings.input(tracer, &settings.names[0], 1);
        let parts = settings.names[1..].iter().zip(&settings.rows);
        let database = parts
            .map(|(name, &rows)| settings.input(tracer, name, rows))
            .reduce(Records::concat)
            .expect("there are two parties or more");
        let mut distances = Vec::new();
        for chunk in 0..database.chunk_count() {
            let squares = database.chunk(chunk).into_iter().enumerate().map(|(place, value)| {
                let difference = value.sub(&sample.chunks(place)[0]);
                difference.mul(&difference)
            });
            let distance = squares.reduce(|sum, square| sum.add(&square));
            let distance = distance.expect("a row has a coordinate");
            distances.push(distance.to_sharing(settings.minimum));
        }
        let (mut least, mut numbers) = (Vec::new(), Vec::new());
        // In a database without rows none is nearest: the result has no rows either.
        if !distances.is_empty() {
            let Nearest { distance, row } = nearest(distances, settings.index);
            least.push(distance);
            // A database of one row has no bit to choose by.
            let row = row.unwrap_or_else(|| tracer.constant(ElementType::BIT, Lane::ZERO));
            numbers.push(row.cast(ElementType::unsigned(32)));
        }
        let receivers = receivers(arguments, &settings.names)?;
        let mut output = tracer.output("nearest", &receivers);
        for (column, chunks) in settings.result_columns().into_iter().zip([least, numbers]) {
            output = output.chunks(column, chunks);
        }
        output.write();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(BiometricParameters::new(arguments).map(|settings| {
            let mask = u64::MAX >> (64 - settings.width);
            let cell = |table: &Table, row, column| table.cell(row, column).as_limbs()[0];
            let distance = |table: &Table, row| {
                (0..settings.dimensions as usize).fold(0u64, |sum, column| {
                    let difference =
                        cell(table, row, column).wrapping_sub(cell(&inputs[0], 0, column));
                    sum.wrapping_add(difference.wrapping_mul(difference)) & mask
                })
            };
            let database = inputs[1..]
                .iter()
                .flat_map(|table| (0..table.row_count()).map(move |row| (table, row)));
            let all =
                database.zip(0u64..).map(|((table, row), number)| (distance(table, row), number));
            let mut table = Table::new(settings.result_columns());
            if let Some((least, number)) = all.min() {
                let row = [Lane::from(least), Lane::from(number)];
                table.push(&row[..if settings.index { 2 } else { 1 }]);
            }
            vec![table]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let settings = BiometricParameters::new(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let mut tables = Vec::new();
        for rows in std::iter::once(1).chain(settings.rows.iter().copied()) {
            let mut table = Table::new(settings.columns());
            for _ in 0..rows {
                let row: Vec<Lane> =
                    (0..settings.dimensions).map(|_| random.bits(COORDINATE_BITS)).collect();
                table.push(&row);
            }
            tables.push(table);
        }
        Some(tables)
    }
}
