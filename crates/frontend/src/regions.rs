//! Arrays that opened indices select from, and permutations that one party knows: what oblivious memory is made of.

use phineus_bytecode::limits::REGISTER_BITS;
use phineus_bytecode::{ElementType, Op, Permutation, PermutationKind, Sharing};

use crate::tracer::Tracer;
use crate::value::Value;

/// An array of rows of one type, all 0 at the beginning.
#[derive(Clone)]
pub struct Region {
    tracer: Tracer,
    index: u64,
    element: ElementType,
    rows: u64,
}

/// An index that was opened to all parties: known when the program runs, not when it is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedIndex(u32);

/// A permutation that one party knows, and its Waksman network.
#[derive(Clone)]
pub struct PartyPermutation {
    tracer: Tracer,
    index: u64,
    shape: Permutation,
}

impl Tracer {
    /// A new region.
    pub fn region(&self, element: ElementType, rows: u64) -> Region {
        let regions = &mut self.recording.borrow_mut().description.regions;
        regions.push(phineus_bytecode::Region { element, rows });
        Region { tracer: self.clone(), index: regions.len() as u64 - 1, element, rows }
    }

    /// A new permutation of `items` items that `party` alone knows.
    pub fn permutation(&self, party: u16, items: u32, kind: PermutationKind) -> PartyPermutation {
        let shape = Permutation { party, items, kind };
        let permutations = &mut self.recording.borrow_mut().description.permutations;
        permutations.push(shape);
        PartyPermutation { tracer: self.clone(), index: permutations.len() as u64 - 1, shape }
    }
}

impl Tracer {
    fn opened_index(&self) -> OpenedIndex {
        let registers = &mut self.recording.borrow_mut().description.registers;
        *registers += 1;
        OpenedIndex(*registers - 1)
    }
}

impl Value {
    /// Opens this value of one lane to all parties before anything that is recorded later.
    ///
    /// # Security
    /// The value must be independent of everybody's data. `explain` does not list single values that are opened so.
    #[track_caller]
    pub fn reveal(&self) -> OpenedIndex {
        self.reveal_into(self.tracer().opened_index())
    }

    /// As [`Value::reveal`], in place of an index that is not used any more.
    #[track_caller]
    pub fn reveal_into(&self, index: OpenedIndex) -> OpenedIndex {
        if self.width() > REGISTER_BITS {
            let width = self.width();
            self.tracer().fault(format!("an index has at most {REGISTER_BITS} bits, not {width}"));
        }
        self.tracer().emit(
            Op::Reveal,
            self.element(),
            self.lanes(),
            &[self],
            [u64::from(index.0), 0, 0, 0],
        );
        index
    }
}

impl Region {
    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The rows from `row` on, one in each lane.
    #[track_caller]
    pub fn load(&self, row: u64, lanes: u32) -> Value {
        self.load_each_iteration(row, 0, lanes)
    }

    /// As [`Region::load`]; where the block at hand is repeated, `stride` rows further in each iteration, and from the
    /// last row on to the first.
    #[track_caller]
    pub fn load_each_iteration(&self, row: u64, stride: u64, lanes: u32) -> Value {
        self.bring(Op::RegionLoad, lanes, [row, stride])
    }

    /// Makes the lanes the rows from `row` on.
    #[track_caller]
    pub fn store(&self, row: u64, rows: &Value) {
        self.store_each_iteration(row, 0, rows);
    }

    /// As [`Region::store`]; where the block at hand is repeated, `stride` rows further in each iteration, and from the
    /// last row on to the first.
    #[track_caller]
    pub fn store_each_iteration(&self, row: u64, stride: u64, rows: &Value) {
        self.take(Op::RegionStore, rows, [row, stride]);
    }

    /// The row at an opened index.
    #[track_caller]
    pub fn load_at(&self, index: OpenedIndex) -> Value {
        self.bring(Op::RegionLoadAt, 1, [index.0.into(), 0])
    }

    /// The group of so many rows whose number the lowest `bits` bits of an opened index are.
    #[track_caller]
    pub fn load_group_at(&self, index: OpenedIndex, bits: u16, lanes: u32) -> Value {
        self.bring(Op::RegionLoadAt, lanes, [index.0.into(), bits.into()])
    }

    /// Makes lanes the group of as many rows whose number the lowest `bits` bits of an opened index are.
    #[track_caller]
    pub fn store_group_at(&self, index: OpenedIndex, bits: u16, rows: &Value) {
        self.take(Op::RegionStoreAt, rows, [index.0.into(), bits.into()]);
    }

    /// Makes a value the row at an opened index.
    #[track_caller]
    pub fn store_at(&self, index: OpenedIndex, row: &Value) {
        self.take(Op::RegionStoreAt, row, [index.0.into(), 0]);
    }

    #[track_caller]
    fn bring(&self, op: Op, lanes: u32, [place, more]: [u64; 2]) -> Value {
        let immediates = [self.index, place, more, 0];
        let results = self.tracer.emit(op, self.element, lanes, &[], immediates);
        Value::result(&self.tracer, self.element, lanes, results, 0)
    }

    #[track_caller]
    fn take(&self, op: Op, value: &Value, [place, more]: [u64; 2]) {
        if value.integer() != self.element.shared(Sharing::Any) {
            let (wanted, found) = (self.element, value.integer());
            self.tracer.fault(format!("rows of the region are {wanted}, not {found}"));
        }
        let immediates = [self.index, place, more, 0];
        let value = value.to_sharing(self.element.sharing());
        self.tracer.emit(op, self.element, value.lanes(), &[&value], immediates);
    }
}

impl PartyPermutation {
    /// Control bits from switch `switch` on, in the order of `phineus_circuits::permutation`.
    #[track_caller]
    pub fn switches(&self, switch: u64, lanes: u32) -> Value {
        self.switches_in(Sharing::Any, switch, lanes)
    }

    /// As [`PartyPermutation::switches`], for rows in a sharing.
    #[track_caller]
    pub fn switches_in(&self, sharing: Sharing, switch: u64, lanes: u32) -> Value {
        self.bring(Op::Switches, ElementType::BIT.shared(sharing), switch, lanes)
    }

    /// Which rows are moved to the rows from `row` on.
    #[track_caller]
    pub fn origins(&self, row: u64, lanes: u32) -> Value {
        self.bring(Op::Origins, self.item(), row, lanes)
    }

    /// Opens to all parties where row `item` of this permutation, which its party was told, comes from under `hiding`:
    /// the place `p` for which `hiding` moves `p` to the position that this permutation moves to `item`.
    ///
    /// The opened place replaces `spare`, if there is one. After the last item nothing is located by these two
    /// permutations any more.
    ///
    /// # Security
    /// The place must be independent of everybody's data: no item is located twice.
    #[track_caller]
    pub fn locate(
        &self,
        hiding: &PartyPermutation,
        item: &Value,
        spare: Option<OpenedIndex>,
        is_last: bool,
    ) -> OpenedIndex {
        let into = spare.unwrap_or_else(|| self.tracer.opened_index());
        let immediates = [u64::from(into.0), self.index, hiding.index, is_last.into()];
        self.tracer.emit(Op::Locate, self.item(), item.lanes(), &[item], immediates);
        into
    }

    /// Tells the party where the rows from `row` on are moved.
    #[track_caller]
    pub fn tell(&self, row: u64, rows: &Value) {
        let element = self.item().shared(rows.sharing());
        self.tracer.emit(Op::Tell, element, rows.lanes(), &[rows], [self.index, row, 0, 0]);
    }

    /// The lanes of two values, exchanged where `switches`, which are switches of this permutation, are 1.
    #[track_caller]
    pub fn swap(&self, switches: &Value, first: &Value, second: &Value) -> (Value, Value) {
        // Public rows have no sharing of their own.
        let element = match switches.sharing() {
            Sharing::Any => first.element(),
            sharing => first.element().shared(sharing),
        };
        let lanes = first.lanes();
        let immediates = [u64::from(self.shape.party), 0, 0, 0];
        let operands = [switches, first, second];
        let results = self.tracer.emit(Op::SwapKnown, element, lanes, &operands, immediates);
        let value = |index| Value::result(&self.tracer, element, lanes, results, index);
        (value(0), value(1))
    }

    fn item(&self) -> ElementType {
        ElementType::unsigned(self.shape.item_bits())
    }

    #[track_caller]
    fn bring(&self, op: Op, element: ElementType, place: u64, lanes: u32) -> Value {
        let results = self.tracer.emit(op, element, lanes, &[], [self.index, place, 0, 0]);
        Value::result(&self.tracer, element, lanes, results, 0)
    }
}
