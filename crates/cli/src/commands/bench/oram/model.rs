//! Costs of Square-Root ORAM as SR describes it: the gates of each step, in half-gates bytes.
//!
//! A shuffle swaps each bit of a row and of its number at every switch of one Waksman network for each party, which
//! together take as much as an AND; the position map takes two passes over the numbers. An access compares with and
//! selects from a stash that is half full on average. SR used labels of 10 bytes; the model has ours, of 16.

use phineus_bytecode::{Permutation, PermutationKind};

use super::MemoryMethod;

/// Bytes of an AND: two labels.
const AND_BYTES: f64 = 32.0;

/// Places of the position map in one row of the next smaller memory.
const PACKED: u64 = 8;

/// Bytes of an access, shuffles included, and of one shuffle of all levels.
pub(super) struct ModelCosts {
    pub(super) access_bytes: f64,
    pub(super) shuffle_bytes: f64,
}

/// Costs of `rows` rows of `row_bits` bits; the shuffle of a scan is free. Nothing where there is no model.
pub(super) fn costs(method: MemoryMethod, rows: u64, row_bits: u64) -> Option<ModelCosts> {
    match method {
        // A bit for each row, and a selection of each bit: a read or a write. A change is both.
        MemoryMethod::Scan => Some(ModelCosts {
            access_bytes: (rows * (row_bits + 1)) as f64 * AND_BYTES,
            shuffle_bytes: 0.0,
        }),
        // The model is of what was published.
        MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable => {
            Some(square_root(rows, row_bits))
        }
        MemoryMethod::Circuit => None,
        MemoryMethod::Linked | MemoryMethod::Dpf | MemoryMethod::GarbledTable => {
            unreachable!("not among the methods that are measured")
        }
    }
}

fn square_root(rows: u64, row_bits: u64) -> ModelCosts {
    let period = (switches(rows) as f64).sqrt().ceil();
    let stash = period / 2.0;
    let number = index_bits(rows);
    let mut access = stash * (number - 1 + row_bits) as f64;
    let mut shuffle = switches(rows) * (row_bits + 2 * number);
    // Levels of the position map: 8 places in a row, until there are few rows.
    let (mut items, mut place_bits) = (rows, number);
    while items.div_ceil(PACKED) as f64 >= period {
        items = items.div_ceil(PACKED);
        let (bits, number) = (PACKED * place_bits, index_bits(items));
        access += stash * (number - 1 + PACKED + place_bits) as f64;
        access += (PACKED * place_bits) as f64;
        shuffle += switches(items) * (bits + 2 * number);
        place_bits = number;
    }
    // The smallest level is scanned.
    access += (items * (place_bits + 3)) as f64;
    let shuffle_bytes = shuffle as f64 * AND_BYTES;
    ModelCosts { access_bytes: access * AND_BYTES + shuffle_bytes / period, shuffle_bytes }
}

/// Switches of a Waksman network.
fn switches(items: u64) -> u64 {
    network(items).switches()
}

fn index_bits(items: u64) -> u64 {
    network(items).item_bits().into()
}

fn network(items: u64) -> Permutation {
    Permutation { party: 0, items: items as u32, kind: PermutationKind::Random }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SR's code, `jackdoerner/absentminded-crypto-kit`, sends 46.17, 234.2 and 1147.8 MB for the first shuffle.
    #[test]
    fn shuffles_are_those_of_the_authors_code() {
        for (rows, measured) in [(1 << 10, 46.17e6), (1 << 12, 234.2e6), (1 << 14, 1147.8e6)] {
            let model = square_root(rows, 128).shuffle_bytes;
            assert!((model / measured - 1.0).abs() < 0.01, "{rows} rows: {model} bytes");
        }
    }

    #[test]
    fn a_scan_selects_every_bit() {
        let scan = costs(MemoryMethod::Scan, 1024, 128).map(|costs| costs.access_bytes);
        assert_eq!(scan, Some(129.0 * 1024.0 * 32.0));
    }
}
