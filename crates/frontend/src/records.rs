//! [`Records`]: rows of secret columns that move together.

use phineus_bytecode::{ElementType, Sharing};

use crate::element::Element;
use crate::tracer::Tracer;
use crate::value::Value;
use crate::vector::{Vector, lanes_for, rechunk, slice_pieces};

/// Columns of equal length in chunks of equal lanes.
///
/// Row `i` is lane `i mod L` of chunk `i / L` of every column. `L` is a power of two, chosen for
/// the widest column, and only the last chunk is shorter.
#[derive(Clone)]
pub struct Records {
    tracer: Tracer,
    elements: Vec<ElementType>,
    lanes: u32,
    rows: u64,
    columns: Vec<Vec<Value>>,
}

impl Records {
    pub(crate) fn new(
        tracer: &Tracer,
        elements: &[ElementType],
        lanes: u32,
        rows: u64,
        columns: Vec<Vec<Value>>,
    ) -> Records {
        Records { tracer: tracer.clone(), elements: elements.to_vec(), lanes, rows, columns }
    }

    /// From columns of chunks that are all cut alike: into `lanes` rows, the last chunk shorter.
    ///
    /// Reports columns of another cut.
    #[track_caller]
    pub fn from_columns(tracer: &Tracer, lanes: u32, columns: Vec<Vec<Value>>) -> Records {
        let rows_of = |column: &Vec<Value>| column.iter().map(|c| u64::from(c.lanes())).sum();
        let rows: u64 = columns.first().map_or(0, rows_of);
        let elements = columns
            .iter()
            .map(|column| column.first().map_or(ElementType::BIT, Value::integer))
            .collect();
        let alike = columns.iter().all(|column| {
            let (last, full) = match column.split_last() {
                Some((last, full)) => (last.lanes(), full),
                None => (0, &[][..]),
            };
            last <= lanes && full.iter().all(|c| c.lanes() == lanes) && rows_of(column) == rows
        });
        if !alike {
            tracer.fault("the columns of records need equal chunks".to_string());
        }
        Records { tracer: tracer.clone(), elements, lanes, rows, columns }
    }

    /// From columns of pieces of any numbers of rows, cut into chunks of `lanes`.
    #[track_caller]
    pub fn from_pieces(
        tracer: &Tracer,
        lanes: u32,
        elements: &[ElementType],
        columns: Vec<Vec<Value>>,
    ) -> Records {
        let columns: Vec<Vec<Value>> = columns.into_iter().map(|c| rechunk(c, lanes)).collect();
        let rows_of = |column: &Vec<Value>| column.iter().map(|c| u64::from(c.lanes())).sum();
        let rows = columns.first().map_or(0, rows_of);
        if columns.iter().any(|column| rows_of(column) != rows) {
            tracer.fault("the columns of records need equal lengths".to_string());
        }
        Records::new(tracer, elements, lanes, rows, columns)
    }

    /// One column with the vector's elements.
    pub fn from_vector<T: Element>(vector: Vector<T>) -> Records {
        let (tracer, lanes, rows) = (vector.tracer().clone(), vector.chunk_lanes(), vector.len());
        Records::new(&tracer, &[T::TYPE], lanes, rows, vec![vector.into_chunks()])
    }

    /// With one more column.
    #[track_caller]
    pub fn with_column<T: Element>(mut self, column: &Vector<T>) -> Records {
        if column.len() != self.rows {
            let (a, b) = (self.rows, column.len());
            self.tracer.fault(format!("a column needs {a} rows, got {b}"));
        }
        let lanes = self.lanes.min(lanes_for(T::TYPE.width()));
        if lanes < self.lanes {
            self = self.rechunked(lanes);
        }
        self.elements.push(T::TYPE);
        self.columns.push(column.rechunked(lanes).into_chunks());
        self
    }

    /// All columns in a sharing; [`Sharing::Any`] leaves them as they are.
    #[track_caller]
    pub fn to_sharing(mut self, sharing: Sharing) -> Records {
        for value in self.columns.iter_mut().flatten() {
            *value = value.to_sharing(sharing);
        }
        self
    }

    /// All columns in arithmetic sharing.
    #[track_caller]
    pub fn to_arith(self) -> Records {
        self.to_sharing(Sharing::Arithmetic)
    }

    /// All columns in Boolean sharing, computed on by GMW.
    #[track_caller]
    pub fn to_gmw(self) -> Records {
        self.to_sharing(Sharing::Boolean)
    }

    /// All columns in garbled sharing, computed on by BMR.
    #[track_caller]
    pub fn to_bmr(self) -> Records {
        self.to_sharing(Sharing::Garbled)
    }

    /// Returns the same rows in chunks of `lanes`.
    #[track_caller]
    pub fn rechunked(self, lanes: u32) -> Records {
        if lanes == self.lanes {
            return self;
        }
        let columns = self.columns.into_iter().map(|c| rechunk(c, lanes));
        Records { columns: columns.collect(), lanes, ..self }
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows of a full chunk.
    pub fn chunk_lanes(&self) -> u32 {
        self.lanes
    }

    /// How many chunks each column has.
    pub fn chunk_count(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// The columns' types, however they are shared.
    pub fn elements(&self) -> &[ElementType] {
        &self.elements
    }

    /// Tracer that records the values.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Column `index` as a vector; reports a wrong type.
    #[track_caller]
    pub fn column<T: Element>(&self, index: usize) -> Vector<T> {
        let found = self.elements.get(index).copied();
        if found != Some(T::TYPE) {
            let found = found.map_or("no column".to_string(), |element| element.to_string());
            let wanted = T::TYPE;
            self.tracer.fault(format!("column {index} is {found}, not {wanted}"));
            return Vector::filled(&self.tracer, poisoned::<T>(&self.tracer), self.rows);
        }
        Vector::from_parts(&self.tracer, self.columns[index].clone(), self.lanes)
    }

    /// The chunks of column `index`.
    pub fn chunks(&self, index: usize) -> &[Value] {
        &self.columns[index]
    }

    /// All columns' chunks.
    pub fn into_columns(self) -> Vec<Vec<Value>> {
        self.columns
    }

    /// The values of chunk `chunk`, one a column.
    pub fn chunk(&self, chunk: usize) -> Vec<Value> {
        self.columns.iter().map(|c| c[chunk].clone()).collect()
    }

    /// Replaces the values of chunk `chunk`.
    ///
    /// # Panics
    /// If there is no such chunk, or not one value for each column.
    pub fn set_chunk(&mut self, chunk: usize, values: Vec<Value>) {
        assert_eq!(values.len(), self.columns.len(), "one value for each column");
        for (column, value) in self.columns.iter_mut().zip(values) {
            column[chunk] = value;
        }
    }

    /// The `rows` rows from `start` on.
    #[track_caller]
    pub fn slice(&self, start: u64, rows: u64) -> Records {
        if start.checked_add(rows).is_none_or(|end| end > self.rows) {
            let all = self.rows;
            self.tracer.fault(format!("a slice of {rows} rows from {start} of {all}"));
        }
        let rows = rows.min(self.rows.saturating_sub(start));
        let cut = |column: &Vec<Value>| {
            rechunk(slice_pieces(column, self.lanes, start, rows), self.lanes)
        };
        Records { columns: self.columns.iter().map(cut).collect(), rows, ..self.clone() }
    }

    /// These rows, then those of `next`.
    ///
    /// Lanes move only if the last chunk here is not full.
    #[track_caller]
    pub fn concat(self, next: Records) -> Records {
        if next.rows == 0 || self.rows == 0 {
            return if next.rows == 0 { self } else { next };
        }
        if self.elements != next.elements {
            self.tracer.fault("records need equal columns to be joined".to_string());
            return self;
        }
        let lanes = self.lanes.min(next.lanes);
        let rows = self.rows + next.rows;
        let (first, second) = (self.rechunked(lanes), next.rechunked(lanes));
        let columns = first
            .columns
            .into_iter()
            .zip(second.columns)
            .map(|(mut a, b)| {
                let open = a.last().is_some_and(|chunk| chunk.lanes() < lanes);
                let last = if open { a.pop() } else { None };
                match last {
                    Some(last) => a.extend(rechunk(std::iter::once(last).chain(b), lanes)),
                    None => a.extend(b),
                }
                a
            })
            .collect();
        Records { columns, rows, tracer: first.tracer, elements: first.elements, lanes }
    }

    /// The rows in reverse order.
    #[track_caller]
    pub fn reverse(self) -> Records {
        let lanes = self.lanes;
        let turned = |column: Vec<Value>| {
            let pieces = column.iter().rev().map(Value::lane_reverse);
            rechunk(pieces.collect::<Vec<_>>(), lanes)
        };
        Records { columns: self.columns.into_iter().map(turned).collect(), ..self }
    }
}

fn poisoned<T: Element>(tracer: &Tracer) -> T {
    T::from_value_unchecked(Value::poisoned(tracer, T::TYPE, 1))
}
