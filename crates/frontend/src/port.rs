//! Input and output ports: tables that parties bring and learn.

use phineus_bytecode::limits::VALUE_WIRES_MAX;
use phineus_bytecode::{
    Column, ElementType, Encoding, InputPort, Op, OutputPort, RowOrder, RowsOf,
};

use crate::element::Element;
use crate::records::Records;
use crate::tracer::Tracer;
use crate::value::Value;
use crate::vector::{Vector, lanes_for};

/// An input being described: name its columns, then read it.
#[must_use = "an input is read with `read` or `vector`"]
pub struct InputBuilder {
    tracer: Tracer,
    port: InputPort,
    lanes: Option<u32>,
    is_packed: bool,
}

/// An output being described: give its columns, then write it.
#[must_use = "an output is written with `write`"]
pub struct OutputBuilder {
    tracer: Tracer,
    port: OutputPort,
    columns: Vec<Vec<OutputChunk>>,
}

/// An output that is given out while it is computed; see [`OutputBuilder::rows`].
#[must_use = "rows are given out with `push`, and then there is `finish`"]
pub struct OutputRows {
    tracer: Tracer,
    name: String,
    port: u64,
    elements: Vec<ElementType>,
    rows: u64,
    given: u64,
}

/// Output of one column over consecutive rows.
struct OutputChunk {
    value: Value,
    /// First bit and number of bits, if not all of them.
    bits: Option<(u16, u16)>,
}

impl Tracer {
    /// A table of `rows` rows that a party brings: the party called `name`, unless
    /// [`InputBuilder::by`] says otherwise.
    pub fn input(&self, name: &str, rows: u64) -> InputBuilder {
        let party = self.parties().iter().position(|party| party == name);
        InputBuilder {
            tracer: self.clone(),
            port: InputPort {
                name: name.to_string(),
                party: party.map_or(u16::MAX, |index| index as u16),
                rows,
                columns: Vec::new(),
                order: RowOrder::Given,
            },
            lanes: None,
            is_packed: false,
        }
    }

    /// A table that `parties` learn.
    #[track_caller]
    pub fn output(&self, name: &str, parties: &[&str]) -> OutputBuilder {
        let mut indices: Vec<u16> = parties.iter().map(|name| self.known_party(name)).collect();
        indices.sort_unstable();
        indices.dedup();
        OutputBuilder {
            tracer: self.clone(),
            port: OutputPort {
                name: name.to_string(),
                parties: indices,
                rows: 0,
                columns: Vec::new(),
                rows_of: None,
            },
            columns: Vec::new(),
        }
    }

    /// The index of a party; reports an unknown one.
    #[track_caller]
    fn known_party(&self, name: &str) -> u16 {
        let parties = self.parties();
        match parties.iter().position(|party| party == name) {
            Some(index) => index as u16,
            None => {
                let known = parties.join(", ");
                self.fault(format!("there is no party '{name}'; there are {known}"));
                0
            }
        }
    }
}

/// A column called `name`.
pub fn column(name: &str, element: ElementType, encoding: Encoding) -> Column {
    Column { name: name.to_string(), element, encoding }
}

impl InputBuilder {
    /// Says who brings it.
    #[track_caller]
    pub fn by(mut self, party: &str) -> InputBuilder {
        self.port.party = self.tracer.known_party(party);
        self
    }

    /// Adds a column.
    pub fn column(mut self, column: Column) -> InputBuilder {
        self.port.columns.push(column);
        self
    }

    /// Adds a column of decimal numbers: integers, unless the type has another encoding.
    pub fn number<T: Element>(self, name: &str) -> InputBuilder {
        self.column(column(name, T::TYPE, T::ENCODING))
    }

    /// Adds a column of hexadecimal integers.
    pub fn hex<T: Element>(self, name: &str) -> InputBuilder {
        self.column(column(name, T::TYPE, Encoding::Hex))
    }

    /// Adds a column of text, each field hashed to the type's width.
    pub fn text<T: Element>(self, name: &str) -> InputBuilder {
        self.column(column(name, T::TYPE, Encoding::Text))
    }

    /// The owner sorts the rows by the first `columns` columns.
    pub fn sorted(mut self, columns: u16) -> InputBuilder {
        self.port.order =
            RowOrder::Sorted { columns, descending: false, unique: false, repeats_max: None };
        self
    }

    /// The owner sorts largest first.
    #[track_caller]
    pub fn descending(mut self) -> InputBuilder {
        match &mut self.port.order {
            RowOrder::Sorted { descending, .. } => *descending = true,
            RowOrder::Given => self.not_sorted("descending"),
        }
        self
    }

    /// The owner refuses two rows with the same key.
    #[track_caller]
    pub fn unique(mut self) -> InputBuilder {
        match &mut self.port.order {
            RowOrder::Sorted { unique, .. } => *unique = true,
            RowOrder::Given => self.not_sorted("unique"),
        }
        self
    }

    /// The owner refuses more than `most` rows with the same key.
    #[track_caller]
    pub fn repeats_max(mut self, most: u32) -> InputBuilder {
        match &mut self.port.order {
            RowOrder::Sorted { repeats_max, .. } => *repeats_max = Some(most),
            RowOrder::Given => self.not_sorted("repeats_max"),
        }
        self
    }

    #[track_caller]
    fn not_sorted(&self, what: &str) {
        let name = &self.port.name;
        self.tracer.fault(format!("input '{name}': say sorted before {what}"));
    }

    /// How many rows make a chunk; by default as many as fit the widest column.
    pub fn lanes(mut self, lanes: u32) -> InputBuilder {
        self.lanes = Some(lanes);
        self
    }

    /// Joins the columns of each row to one value, the first column in the low bits.
    ///
    /// A chunk is joined as soon as it is read. Joining columns that were all read before costs,
    /// when they do not fit into memory, a swap-out and a swap-in of everything.
    pub fn packed(mut self) -> InputBuilder {
        self.is_packed = true;
        self
    }

    /// Brings in all rows.
    #[track_caller]
    pub fn read(self) -> Records {
        self.read_split(0).1
    }

    /// Brings in the first `head` rows and the rest apart, each chunked from its own beginning.
    ///
    /// After `r` records that do not fill their last chunk, a head of as many rows as that chunk
    /// lacks lets the rest be appended without moving lanes.
    #[track_caller]
    pub fn read_split(self, head: u64) -> (Records, Records) {
        let (tracer, mut port) = (self.tracer, self.port);
        if port.party == u16::MAX {
            port.party = tracer.known_party(&port.name);
        }
        let is_packed = self.is_packed && port.columns.len() > 1;
        let widths = port.columns.iter().map(|column| column.element.width());
        let widest = if is_packed { widths.reduce(u16::saturating_add) } else { widths.max() };
        let lanes = self.lanes.unwrap_or_else(|| lanes_for(widest.unwrap_or(1)));
        let head = head.min(port.rows);
        let (rows, columns) = (port.rows, port.columns.clone());
        let port = tracer.add_input(port);
        let source = InputSource { tracer: &tracer, port, columns: &columns, lanes, is_packed };
        (source.read(0, head), source.read(head, rows - head))
    }

    /// Brings in all rows of the only column.
    #[track_caller]
    pub fn vector<T: Element>(self) -> Vector<T> {
        self.read().column(0)
    }
}

struct InputSource<'a> {
    tracer: &'a Tracer,
    port: u64,
    columns: &'a [Column],
    lanes: u32,
    is_packed: bool,
}

impl InputSource<'_> {
    #[track_caller]
    fn read(&self, first: u64, rows: u64) -> Records {
        let mut elements: Vec<ElementType> = self.columns.iter().map(|c| c.element).collect();
        if self.is_packed {
            let bits = elements.iter().map(|e| e.width()).reduce(u16::saturating_add);
            elements = vec![ElementType::unsigned(bits.expect("packed columns are two or more"))];
        }
        let mut chunks = vec![Vec::new(); elements.len()];
        let mut row = first;
        while row < first + rows {
            let lanes = (first + rows - row).min(u64::from(self.lanes)) as u32;
            let values = (0..self.columns.len()).map(|index| self.value(index, row, lanes));
            if self.is_packed {
                chunks[0].extend(values.reduce(|low, high| low.bit_concat(&high)));
            } else {
                chunks.iter_mut().zip(values).for_each(|(chunks, value)| chunks.push(value));
            }
            row += u64::from(lanes);
        }
        Records::new(self.tracer, &elements, self.lanes, rows, chunks)
    }

    #[track_caller]
    fn value(&self, column: usize, row: u64, lanes: u32) -> Value {
        let element = self.columns[column].element;
        Value::input(self.tracer, (self.port, column as u64), row, (element, lanes))
    }
}

impl OutputBuilder {
    #[track_caller]
    fn add(
        mut self,
        column: Column,
        chunks: Vec<Value>,
        bits: Option<(u16, u16)>,
    ) -> OutputBuilder {
        let rows: u64 = chunks.iter().map(|chunk| u64::from(chunk.lanes())).sum();
        if self.columns.is_empty() {
            self.port.rows = rows;
        } else if self.port.rows != rows {
            let (name, first) = (&self.port.name, self.port.rows);
            self.tracer.fault(format!(
                "output '{name}' needs columns of equal length, got {first} and {rows} rows"
            ));
        }
        self.port.columns.push(column);
        let chunks = chunks.into_iter().map(|value| OutputChunk { value, bits });
        self.columns.push(chunks.collect());
        self
    }

    /// States that row `i` of this table is about row `i` of the input called `input`. The owner of
    /// that input then sees its own rows beside these columns, in the order of its own file.
    ///
    /// The table must go to the owner of that input alone and have as many rows.
    #[track_caller]
    pub fn rows_of(mut self, input: &str) -> OutputBuilder {
        match self.tracer.input_index(input) {
            Some(index) => {
                self.port.rows_of =
                    Some(RowsOf { input: index, found: None, all: true, groups: 1 });
            }
            None => self.tracer.fault(format!("there is no input '{input}' to be about")),
        }
        self
    }

    /// Says that the column called `column`, already added, tells which rows have a result; rows
    /// without one are shown only if `all`.
    #[track_caller]
    pub fn found_by(mut self, column: &str, all: bool) -> OutputBuilder {
        let place = self.port.columns.iter().position(|known| known.name == column);
        match (&mut self.port.rows_of, place) {
            (Some(rows_of), Some(place)) => {
                (rows_of.found, rows_of.all) = (Some(place as u16), all);
            }
            (None, _) => self.tracer.fault("say rows_of before found_by".to_owned()),
            (_, None) => self.tracer.fault(format!("there is no column '{column}' to tell by")),
        }
        self
    }

    /// Says, after `found_by`, that the columns are `groups` groups of equally many, each of which begins
    /// with a column that tells which rows have a result in its group.
    #[track_caller]
    pub fn in_groups(mut self, groups: u16) -> OutputBuilder {
        match &mut self.port.rows_of {
            Some(rows_of) => rows_of.groups = groups,
            None => self.tracer.fault("say rows_of before in_groups".to_owned()),
        }
        self
    }

    /// Adds a column of untyped chunks.
    #[track_caller]
    pub fn chunks(self, column: Column, chunks: Vec<Value>) -> OutputBuilder {
        self.add(column, chunks, None)
    }

    /// Adds a column with a row for each lane of `value`, written as decimal numbers.
    #[track_caller]
    pub fn number<T: Element>(self, name: &str, value: &T) -> OutputBuilder {
        let chunks = vec![value.value().clone()];
        self.add(column(name, T::TYPE, T::ENCODING), chunks, None)
    }

    /// Adds a column with a row for each lane of `value`, written in hexadecimal.
    #[track_caller]
    pub fn hex<T: Element>(self, name: &str, value: &T) -> OutputBuilder {
        let chunks = vec![value.value().clone()];
        self.add(column(name, T::TYPE, Encoding::Hex), chunks, None)
    }

    /// Adds a column of the elements of `vector`, written as decimal numbers.
    #[track_caller]
    pub fn vector<T: Element>(self, name: &str, vector: Vector<T>) -> OutputBuilder {
        let chunks = vector.into_chunks();
        self.add(column(name, T::TYPE, T::ENCODING), chunks, None)
    }

    /// Adds all columns of `records`, described by `columns`.
    #[track_caller]
    pub fn records(mut self, columns: &[Column], records: Records) -> OutputBuilder {
        for (column, chunks) in columns.iter().zip(records.into_columns()) {
            self = self.add(column.clone(), chunks, None);
        }
        self
    }

    /// Adds `columns` whose bits are joined in the only column of `records`, the first lowest: the
    /// inverse of [`InputBuilder::packed`], each chunk taken apart when it leaves.
    #[track_caller]
    pub fn packed(mut self, columns: &[Column], records: Records) -> OutputBuilder {
        let chunks = records.into_columns().into_iter().next().unwrap_or_default();
        let mut first = 0;
        for column in columns {
            let width = column.element.width();
            self = self.add(column.clone(), chunks.clone(), Some((first, width)));
            first += width;
        }
        self
    }

    /// Describes a table of `rows` rows that is given out while it is computed, so that nothing of
    /// it waits for the rest.
    #[track_caller]
    pub fn rows(mut self, columns: &[Column], rows: u64) -> OutputRows {
        (self.port.rows, self.port.columns) = (rows, columns.to_vec());
        let elements = columns.iter().map(|column| column.element).collect();
        let (tracer, name) = (self.tracer, self.port.name.clone());
        let port = tracer.add_output(self.port);
        OutputRows { tracer, name, port, elements, rows, given: 0 }
    }

    /// Gives the table to its parties, a stretch of rows after the other.
    #[track_caller]
    pub fn write(self) {
        let OutputBuilder { tracer, port, columns } = self;
        let elements: Vec<ElementType> = port.columns.iter().map(|c| c.element).collect();
        let port = tracer.add_output(port);
        let mut columns: Vec<_> =
            columns.into_iter().map(|chunks| (0u64, chunks.into_iter().peekable())).collect();
        loop {
            // The column that is behind goes first, so that chunks of one stretch leave together.
            let next = columns
                .iter_mut()
                .enumerate()
                .filter_map(|(index, (row, chunks))| chunks.peek().map(|_| (*row, index)))
                .min();
            let Some((row, index)) = next else { break };
            let OutputChunk { value, bits } = columns[index].1.next().expect("peeked");
            let chunk = bits.map_or(value.clone(), |(first, width)| value.bit_slice(first, width));
            columns[index].0 = row + u64::from(chunk.lanes());
            debug_assert!(chunk.shape().wires() <= VALUE_WIRES_MAX);
            let immediates = [port, index as u64, row, 0];
            let element = elements[index].shared(chunk.sharing());
            tracer.emit(Op::Output, element, chunk.lanes(), &[&chunk], immediates);
        }
    }
}

impl OutputRows {
    /// Gives out the next rows: a value for each column, all of as many lanes.
    #[track_caller]
    pub fn push(&mut self, values: &[&Value]) {
        let lanes = values.first().map_or(0, |value| value.lanes());
        let is_whole = values.len() == self.elements.len();
        if !is_whole || values.iter().any(|value| value.lanes() != lanes) {
            let name = &self.name;
            self.tracer
                .fault(format!("output '{name}' needs a value of each column, of equal lanes"));
            return;
        }
        for ((column, value), element) in values.iter().enumerate().zip(&self.elements) {
            let immediates = [self.port, column as u64, self.given, 0];
            let element = element.shared(value.sharing());
            self.tracer.emit(Op::Output, element, lanes, &[value], immediates);
        }
        self.given += u64::from(lanes);
    }

    /// Says that these were all rows.
    #[track_caller]
    pub fn finish(self) {
        let OutputRows { tracer, name, rows, given, .. } = self;
        if given != rows {
            tracer.fault(format!("output '{name}' has {rows} rows, and {given} were given"));
        }
    }
}
