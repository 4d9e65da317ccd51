//! The emitter: data of the program as values of the tracer.
//!
//! It records what it is given and knows nothing of memory or control flow. Lanes that were cut out
//! or joined before, and constants, are remembered while a block lasts, so that they are recorded
//! once (`lanes.rs`, `casts.rs`); so are bits that are known to be 0 (`zeros.rs`), and bounds (`greatest.rs`).

pub(crate) mod cache;
pub(crate) mod casts;
pub(crate) mod float;
pub(crate) mod greatest;
pub(crate) mod lanes;
pub(crate) mod opened;
pub(crate) mod record;
pub(crate) mod shifts;
pub(crate) mod sums;
pub(crate) mod zeros;

use std::rc::Rc;

use phineus_bytecode::{ElementType, Lane};
use phineus_frontend::untyped::Value;
use phineus_frontend::{BlockId, ConstantTable, Tracer};

use crate::data::{CellValue, mask};
use crate::emit::cache::{ConstantTables, Greatest, KnownZeros, LaneCache, OpenedIntegers, Sums};

/// Where the program is recorded, and what is remembered of what was recorded.
pub(crate) struct Emitter {
    pub(crate) tracer: Tracer,
    /// Whether products of vectors and factors may be parts of a product of matrices.
    pub(crate) delays_products: bool,
    /// Whether the tracer is told where the program is.
    pub(crate) notes_sources: bool,
    /// Whether nothing may be recorded.
    pub(crate) is_dry_run: bool,
    cache: LaneCache,
    known_zeros: KnownZeros,
    greatest: Greatest,
    sums: Sums,
    opened: OpenedIntegers,
    constant_tables: ConstantTables,
}

impl Emitter {
    pub(crate) fn new(tracer: &Tracer) -> Emitter {
        Emitter {
            tracer: tracer.clone(),
            delays_products: false,
            notes_sources: tracer.notes_sources(),
            is_dry_run: false,
            cache: LaneCache::default(),
            known_zeros: KnownZeros::new(),
            greatest: Greatest::new(),
            sums: Sums::new(),
            opened: OpenedIntegers::default(),
            constant_tables: ConstantTables::new(),
        }
    }
}

impl Emitter {
    /// Records in another block from now on, where nothing is remembered of this one.
    pub(crate) fn begin(&mut self, block: BlockId) {
        if block == self.tracer.block() {
            return;
        }
        self.tracer.begin(block);
        self.cache.clear();
        self.sums.clear();
    }

    /// The result of an operation as data: known values are public.
    pub(crate) fn known(&self, value: Value) -> CellValue {
        match value.public() {
            Some(lane) => CellValue::Public(low_bits(lane)),
            None => CellValue::Secret(Rc::new(value)),
        }
    }

    /// The circuit of a table of constants of `width` bits.
    pub(crate) fn constant_table(&mut self, rows: Vec<u128>, width: u16) -> Rc<ConstantTable> {
        let make = |rows: &[u128]| ConstantTable::new(rows, ElementType::unsigned(width));
        let known = self.constant_tables.entry((rows, width));
        known.or_insert_with_key(|(rows, _)| Rc::new(make(rows))).clone()
    }

    pub(crate) fn constant_value(&self, width: u16, value: u128) -> Value {
        self.tracer.constant(ElementType::unsigned(width), Lane::from(value & mask(width)))
    }

    /// An integer as a value of `width` bits, its lanes cut out if they were not.
    pub(crate) fn value(&mut self, data: &CellValue, width: u16) -> Rc<Value> {
        match data {
            CellValue::Public(value) => Rc::new(self.constant_value(width, *value)),
            CellValue::Secret(value) => value.clone(),
            CellValue::Lane(value, lane) => self.slice(value, *lane),
            CellValue::Spread(values) => self.spread(width, values),
            CellValue::Opened(register) => Rc::new(self.published(*register, width)),
            _ => unreachable!("only integers become values"),
        }
    }
}

/// The low 128 bits of a lane.
fn low_bits(lane: Lane) -> u128 {
    let limbs = lane.as_limbs();
    u128::from(limbs[0]) | u128::from(limbs[1]) << 64
}
