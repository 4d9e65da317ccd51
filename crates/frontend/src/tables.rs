//! [`LookupTable`]: rows that all parties know, or one of them, looked up at secret indices; and [`PartyKey`], by whose pads
//! other rows are hidden.

use phineus_bytecode::{ElementType, Lane, Op};

use crate::tracer::Tracer;
use crate::value::Value;

/// Rows that all parties know, or one of them; all 0 at the beginning.
#[derive(Clone)]
pub struct LookupTable {
    tracer: Tracer,
    index: u64,
    shape: phineus_bytecode::LookupTable,
}

/// An AES-128 key that one party draws, and nobody else knows.
#[derive(Clone, Copy)]
pub struct PartyKey {
    party: u16,
    key: u64,
}

impl PartyKey {
    /// The key with this number of a party.
    pub fn new(party: u16, key: u64) -> PartyKey {
        PartyKey { party, key }
    }

    /// The key as a secret value.
    #[track_caller]
    pub fn value(self, tracer: &Tracer) -> Value {
        let element = ElementType::unsigned(128);
        let immediates = [self.party.into(), self.key, 0, 0];
        let results = tracer.emit(Op::PartyKey, element, 1, &[], immediates);
        Value::result(tracer, element, 1, results, 0)
    }

    /// The lowest bits, as many as `element` has, of the blocks from `block` + 2^64 `piece` on under this key.
    #[track_caller]
    pub fn pads(
        self,
        tracer: &Tracer,
        (element, lanes): (ElementType, u32),
        [block, piece]: [u64; 2],
    ) -> Value {
        let immediates = [self.party.into(), self.key, block, piece];
        let results = tracer.emit(Op::PartyPad, element, lanes, &[], immediates);
        Value::result(tracer, element, lanes, results, 0)
    }
}

/// Rows that nobody knows, and that may change; all 0 at the beginning. What is done to them is done in order.
#[derive(Clone)]
pub struct SharedTable(LookupTable);

impl SharedTable {
    /// The type of a row.
    pub fn element(&self) -> ElementType {
        self.0.shape.element
    }

    /// Makes the lanes the rows from `row` on.
    #[track_caller]
    pub fn set(&self, row: u64, rows: &Value) {
        let immediates = [self.0.index, row, 0, 0];
        let element = self.element();
        self.0.tracer.emit(Op::SharedSet, element, rows.lanes(), &[rows], immediates);
    }

    /// Opens all rows, hidden by pads under fresh keys of the first two parties; returns the keys.
    #[track_caller]
    pub fn hide(&self) -> [Value; 2] {
        let (tracer, block) = (&self.0.tracer, ElementType::unsigned(128));
        let results = tracer.emit(Op::SharedHide, block, 2, &[], [self.0.index, 0, 0, 0]);
        let keys = Value::result(tracer, block, 2, results, 0);
        [0, 1].map(|party| keys.lane_slice(party, 1))
    }

    /// The row at a secret index of [`LookupTable::index_bits`] bits, as it was hidden last.
    #[track_caller]
    pub fn look_up(&self, index: &Value) -> Value {
        let immediates = [self.0.index, index.width().into(), 0, 0];
        index.emit(Op::SharedLookUp, self.element(), index.lanes(), &[index], immediates)
    }

    /// Adds, by exclusive or, to the row at a secret index; beyond the last row, to nothing.
    #[track_caller]
    pub fn add(&self, index: &Value, change: &Value) {
        let immediates = [self.0.index, index.width().into(), 0, 0];
        let (tracer, element) = (&self.0.tracer, self.element());
        tracer.emit(Op::SharedAdd, element, 1, &[index, change], immediates);
    }
}

impl Tracer {
    /// A new table.
    pub fn public_table(&self, element: ElementType, rows: u64) -> LookupTable {
        self.table(phineus_bytecode::LookupTable {
            element,
            rows,
            known_to: None,
            is_shared: false,
        })
    }

    /// A new table that only the party with this number knows.
    pub fn table_of_party(&self, element: ElementType, rows: u64, party: u16) -> LookupTable {
        self.table(phineus_bytecode::LookupTable {
            element,
            rows,
            known_to: Some(party),
            is_shared: false,
        })
    }

    /// A new table of rows that nobody knows.
    pub fn shared_table(&self, element: ElementType, rows: u64) -> SharedTable {
        let shape =
            phineus_bytecode::LookupTable { element, rows, known_to: None, is_shared: true };
        SharedTable(self.table(shape))
    }

    fn table(&self, shape: phineus_bytecode::LookupTable) -> LookupTable {
        let tables = &mut self.recording.borrow_mut().description.tables;
        tables.push(shape);
        LookupTable { tracer: self.clone(), index: tables.len() as u64 - 1, shape }
    }
}

impl LookupTable {
    /// The type of a row.
    pub fn element(&self) -> ElementType {
        self.shape.element
    }

    /// Bits of an index.
    pub fn index_bits(&self) -> u16 {
        self.shape.index_bits()
    }

    /// Makes `value` all rows from `row` on, as many as `lanes`; before any is looked up.
    #[track_caller]
    pub fn set(&self, row: u64, lanes: u32, value: Lane) {
        let [low, high, ..] = *value.as_limbs();
        let immediates = [self.index, row, low, high];
        self.tracer.emit(Op::TableSet, self.shape.element, lanes, &[], immediates);
    }

    /// Tells the party that knows the table the rows from `row` on, all of them in order and before any is looked up.
    ///
    /// # Security
    /// The party learns the rows: they follow from its own inputs alone.
    #[track_caller]
    pub fn tell(&self, row: u64, rows: &Value) {
        let (element, lanes) = (self.shape.element, rows.lanes());
        self.tracer.emit(Op::TableTell, element, lanes, &[rows], [self.index, row, 0, 0]);
    }

    /// The number of the table.
    pub fn number(&self) -> u64 {
        self.index
    }

    /// Opens the lanes to all parties, as the rows from `row` on; before any is looked up.
    ///
    /// # Security
    /// The opened rows must be independent of everybody's data.
    #[track_caller]
    pub fn open(&self, row: u64, rows: &Value) {
        let immediates = [self.index, row, 0, 0];
        self.tracer.emit(Op::TableOpen, self.shape.element, rows.lanes(), &[rows], immediates);
    }

    /// The rows at the lanes of a secret index without sign, of [`LookupTable::index_bits`] bits: zeros beyond the last row.
    #[track_caller]
    pub fn look_up(&self, index: &Value) -> Value {
        let immediates = [self.index, index.width().into(), 0, 0];
        let (element, lanes) = (self.shape.element, index.lanes());
        index.emit(Op::TableLookUp, element, lanes, &[index], immediates)
    }
}
