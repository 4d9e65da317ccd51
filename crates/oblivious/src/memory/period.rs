//! How often the rows of Square-Root ORAM are shuffled.
//!
//! An access pays for its part of a shuffle, and for the rows that were accessed since the last one. The period makes
//! the sum small, by the bits that the parties send: rows are moved as shares, and switches by known bits cost far less
//! than comparisons. Under garbled circuits `square-root` has the period that was published, when they cost as much.

use phineus_bytecode::{ElementType, Sharing};
use phineus_circuits::permutation::switch_count;

use super::index_bits;
use super::limbs::ColumnLimbs;
use super::position_map::{MapKind, is_packed, packed_rows_of};
use super::tables::piece_elements;

/// How the parties compute with memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryTerms {
    /// How many parties compute, each of which moves rows in turn.
    pub parties: u16,
    /// How rows are held.
    pub rows: RowSharing,
    /// The sharing of all that is neither an access nor scanned; [`Sharing::Any`] leaves it as the program says.
    pub outside: Sharing,
}

/// How rows are held while they are computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowSharing {
    /// Labels of garbled circuits, or values in the clear.
    Labels,
    /// XOR shares.
    Shares {
        /// Bits that an oblivious transfer takes.
        ot_bits: u32,
    },
    /// Authenticated elements of a field.
    Elements {
        /// Bits of the widest integer that is one element.
        bits: u16,
    },
}

impl RowSharing {
    /// The sharing of rows that permutations move, and of those that rest in between: XOR shares are moved for a fraction of
    /// what labels take. Where nothing else is garbled the protocol says it.
    pub(super) fn moved(self) -> Sharing {
        match self {
            RowSharing::Labels => Sharing::Boolean,
            RowSharing::Shares { .. } | RowSharing::Elements { .. } => Sharing::Any,
        }
    }
}

impl MemoryTerms {
    /// Two parties that compute on labels.
    pub const LABELS: MemoryTerms =
        MemoryTerms { parties: 2, rows: RowSharing::Labels, outside: Sharing::Any };

    /// Accesses between two shuffles of so many rows with these columns.
    pub(super) fn period(self, kind: MapKind, columns: &[ElementType], rows: u64) -> u64 {
        match (self.rows, kind) {
            (RowSharing::Labels, MapKind::Published) => published(rows),
            (_, MapKind::Located) => LabelPrices.best_period(columns, rows),
            (RowSharing::Shares { ot_bits }, MapKind::Published) => {
                let prices = SharePrices { parties: self.parties.into(), ot_bits: ot_bits.into() };
                let widths: Vec<u64> = columns.iter().map(|column| column.width().into()).collect();
                prices.best_period(&widths, rows)
            }
            (RowSharing::Elements { bits }, MapKind::Published) => {
                let limbs = ColumnLimbs::new(columns, bits).elements().len();
                ElementPrices::new(self.parties).best_period(limbs as u64, rows)
            }
        }
    }

    /// Changes between two times that all rows with these columns are hidden: those with which an access costs the least.
    pub(super) fn hiding_period(self, columns: &[ElementType], rows: u64) -> u64 {
        let ot_bits = match self.rows {
            RowSharing::Shares { ot_bits } => ot_bits.into(),
            // Nobody does it on others.
            RowSharing::Labels | RowSharing::Elements { .. } => 31,
        };
        let prices = SharePrices { parties: self.parties.into(), ot_bits };
        let costs = prices.hiding(columns, rows);
        let of_an_access = |period: u64| costs.of_an_access(period);
        let periods = candidates(rows.max(HIDING_PERIODS));
        periods.min_by_key(|&period| of_an_access(period)).expect("there is one")
    }

    /// As [`MemoryTerms::period`], so that all periods are about as long that so many accesses take.
    pub(super) fn period_of(
        self,
        kind: MapKind,
        columns: &[ElementType],
        rows: u64,
        accesses: u64,
    ) -> u64 {
        let shuffles = accesses.div_ceil(self.period(kind, columns, rows)).max(1);
        accesses.div_ceil(shuffles).clamp(1, rows)
    }
}

/// As published, the square root of the switches of a network (Zahur et al. 2016, section V).
fn published(rows: u64) -> u64 {
    let switches = switch_count(rows);
    let root = switches.isqrt();
    (root + u64::from(root * root < switches)).clamp(1, rows)
}

/// Bits that two parties send who garble, and move rows as shares.
struct LabelPrices;

impl LabelPrices {
    /// An AND.
    const AND: u64 = 256;
    /// An oblivious transfer, and what makes its choice a switch.
    const TRANSFER: u64 = 33;
    /// What hashing for a switch and 128 bits of a row takes, in bits that take as long.
    const HASHING: u64 = 192;

    /// A switch of one party, for rows with these columns.
    fn switch(columns: &[u64]) -> u64 {
        let of_column = |&width: &u64| width + width.div_ceil(TRIPLE_ROW_BITS) * Self::HASHING;
        Self::TRANSFER + columns.iter().map(of_column).sum::<u64>()
    }

    /// The period with which an access by a table costs the least: what `position_map/located.rs` does.
    fn best_period(&self, columns: &[ElementType], rows: u64) -> u64 {
        let number = u64::from(index_bits(rows));
        let widths: Vec<u64> = columns.iter().map(|column| column.width().into()).collect();
        let row: u64 = widths.iter().sum();
        let with_number = [&widths[..], &[number]].concat();
        // Both parties move the rows; one hides their numbers, and the other one is told them.
        let per_switch = 2 * Self::switch(&with_number) + Self::switch(&[number]);
        let costs = MemoryCosts {
            shuffle: switch_count(rows) * per_switch + rows * number,
            // Besides, each row is one of those that an unused one is looked for among: two ANDs.
            stash_row: Self::AND * (number + row + 4),
            access: 0,
        };
        let of_an_access = |period: u64| costs.of_an_access(period);
        candidates(rows).min_by_key(|&period| of_an_access(period)).expect("there is a row")
    }
}

/// Bits that all parties together send, online and before, on XOR shares.
struct SharePrices {
    parties: u64,
    ot_bits: u64,
}

/// What a memory takes with some period.
#[derive(Default)]
struct MemoryCosts {
    /// A shuffle of all stores, or hiding all rows anew.
    shuffle: u64,
    /// An access, for each row in the stash.
    stash_row: u64,
    /// An access, besides.
    access: u64,
}

impl MemoryCosts {
    /// Of an access with its part of a shuffle.
    fn of_an_access(&self, period: u64) -> u128 {
        let [shuffle, stash_row, access] =
            [self.shuffle, self.stash_row, self.access].map(u128::from);
        // A shuffle, and 0, 1, ... rows in the stash.
        let stash = u128::from(period * (period - 1) / 2) * stash_row;
        (shuffle + stash) / u128::from(period) + access
    }
}

/// Periods of changes that are compared, at the least: of few rows all are soon in the stash.
const HIDING_PERIODS: u64 = 64;

/// ANDs of a key schedule of AES-128 on shares: 40 S-boxes.
const SCHEDULE_ANDS: u64 = 40 * 34;

/// The widest row that one triple serves.
const TRIPLE_ROW_BITS: u64 = 128;

impl SharePrices {
    /// An AND: in each direction of a pair an OT, its correction if there are others, and two opened bits.
    fn and(&self) -> u64 {
        let corrections = u64::from(self.parties > 2);
        self.parties * (self.parties - 1) * (self.ot_bits + corrections + 2)
    }

    /// A product of a row of so many bits with a bit that one party knows: with each other party an OT, the masked bit
    /// and the masked row.
    fn known(&self, width: u64) -> u64 {
        (self.parties - 1) * (width.div_ceil(TRIPLE_ROW_BITS) * (self.ot_bits + 1) + width)
    }

    /// A product of a row with a shared bit.
    fn select(&self, width: u64) -> u64 {
        self.parties * self.known(width)
    }

    /// Costs of a period: as `square_root.rs` and `position_map.rs` do it.
    fn costs(&self, columns: &[u64], rows: u64, period: u64) -> MemoryCosts {
        let mut costs = MemoryCosts::default();
        let (mut items, mut place) = (rows, u64::from(index_bits(rows)));
        self.add_store(&mut costs, columns, items, 0);
        while is_packed(items, period) {
            items = packed_rows_of(items);
            let row = 8 * place;
            // One of eight places, and its number.
            costs.access += 8 * self.select(place) + 8 * self.and();
            self.add_store(&mut costs, &[row], items, 1);
            place = index_bits(items).into();
        }
        // Of each place a bit says whether it was given; the wanted one, or the first of these, is selected.
        costs.access += items * (4 * self.and() + self.select(place));
        costs
    }

    /// Rows that change, by point functions: `changing.rs`. What does not depend on the period is left out.
    fn hiding(&self, columns: &[ElementType], rows: u64) -> MemoryCosts {
        let mut costs = MemoryCosts::default();
        for piece in piece_elements(columns) {
            let width = u64::from(piece.width());
            costs.shuffle +=
                self.parties * (rows * 8 * width.div_ceil(8) + SCHEDULE_ANDS * self.and());
            costs.stash_row += self.select(width);
        }
        costs.stash_row += u64::from(index_bits(rows)) * self.and();
        costs
    }

    /// A store with its stash, and the inverse of its order. An access looks for a row by its number, with so many ANDs
    /// besides, and selects it.
    fn add_store(&self, costs: &mut MemoryCosts, columns: &[u64], items: u64, more_ands: u64) {
        let number = u64::from(index_bits(items));
        let switched: u64 = columns.iter().map(|&width| self.known(width)).sum();
        let per_switch = self.parties * (switched + self.known(number));
        // The numbers are hidden by all parties but one; the places are moved by all but the first of these.
        let inverse = 2 * (self.parties - 1) * self.known(number);
        costs.shuffle += switch_count(items) * (per_switch + inverse);
        costs.shuffle += (self.parties - 1) * items * number;
        let selected: u64 = columns.iter().map(|&width| self.select(width)).sum();
        costs.stash_row += (number + more_ands) * self.and() + selected;
    }

    /// The period with which an access costs the least, of many candidates. In integers, since all parties must find
    /// the same.
    fn best_period(&self, columns: &[u64], rows: u64) -> u64 {
        let of_an_access = |period: u64| self.costs(columns, rows, period).of_an_access(period);
        candidates(rows).min_by_key(|&period| of_an_access(period)).expect("there is a row")
    }
}

/// Periods of so many rows that are compared.
fn candidates(rows: u64) -> impl Iterator<Item = u64> {
    let all = std::iter::successors(Some(1), |period| Some(period + 1 + period / 32));
    all.take_while(move |&period| period <= rows)
}

/// Places in a row of a packed map on elements.
pub(super) const PACKED_PLACES: u64 = 8;

/// Quarters of a triple, or of what costs as much, that a memory takes on authenticated elements.
#[derive(Clone, Copy)]
pub(super) struct ElementPrices {
    parties: u16,
}

/// A product, and a bit that one party knows.
const PRODUCT: u64 = 4;
const KNOWN_BIT: u64 = 1;

impl ElementPrices {
    pub(super) fn new(parties: u16) -> ElementPrices {
        ElementPrices { parties }
    }

    pub(super) fn parties(self) -> u16 {
        self.parties
    }

    /// Whether two numbers are equal whose bits are shared: which bits differ, and whether any does.
    fn equality(bits: u64) -> u64 {
        PRODUCT * (2 * bits - 1)
    }

    /// Costs of a period: as `in_field.rs` does it.
    fn costs(self, columns: u64, rows: u64, period: u64) -> MemoryCosts {
        let items = rows + period;
        let per_switch = PRODUCT * (columns + 3) + 2 * KNOWN_BIT;
        let number = u64::from(index_bits(rows + 2));
        let mut costs = MemoryCosts {
            shuffle: u64::from(self.parties) * switch_count(items) * per_switch,
            stash_row: ElementPrices::equality(number) + PRODUCT * (1 + columns),
            access: PRODUCT * 4,
        };
        match self.is_packed(rows, period) {
            false => costs.access += PRODUCT * rows,
            true => {
                let of_map = self.costs(PACKED_PLACES, rows.div_ceil(PACKED_PLACES), period);
                costs.shuffle += of_map.shuffle;
                costs.stash_row += of_map.stash_row;
                costs.access += of_map.access + PRODUCT * PACKED_PLACES;
            }
        }
        costs
    }

    /// Returns whether the places of so many rows are packed into rows of eight, and not scanned.
    pub(super) fn is_packed(self, rows: u64, period: u64) -> bool {
        let packed = rows.div_ceil(PACKED_PLACES);
        packed >= 2 && {
            let costs = self.costs(PACKED_PLACES, packed, period);
            costs.of_an_access(period) < u128::from(PRODUCT * rows)
        }
    }

    /// The period with which an access costs the least.
    pub(super) fn best_period(self, columns: u64, rows: u64) -> u64 {
        let of_an_access = |period: u64| self.costs(columns, rows, period).of_an_access(period);
        candidates(rows).min_by_key(|&period| of_an_access(period)).expect("there is a row")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Periods follow the prices: of cheap comparisons there are many.
    #[test]
    fn periods_follow_the_prices() {
        let columns = [32, 96].map(ElementType::unsigned);
        let period = |parties, ot_bits, rows| {
            let rows_of = RowSharing::Shares { ot_bits };
            let terms = MemoryTerms { parties, rows: rows_of, outside: Sharing::Any };
            terms.period(MapKind::Published, &columns, rows)
        };
        for rows in [1 << 10, 1 << 12, 1 << 16, 1 << 20] {
            let labels = MemoryTerms::LABELS.period(MapKind::Published, &columns, rows);
            assert!(period(2, 31, rows) < period(2, 1, rows), "{rows} rows");
            assert!(period(2, 31, rows) < labels, "{rows} rows");
        }
        for rows in [1, 2, 3, 5, 9] {
            assert!((1..=rows).contains(&period(3, 31, rows)));
        }
    }
}
