//! Cuts batches and chains of AND gates into pieces whose rows fit into a buffer.

use std::ops::Range;

use crate::garbled::limits::GATES_PER_PIECE;

/// Gates `gates` of a batch, whose second inputs are `second`, used cyclically.
pub(super) struct GateRange {
    pub(super) gates: Range<usize>,
    pub(super) second: Range<usize>,
}

/// Pieces of a batch of `gates` gates with `period` second inputs, in order.
pub(super) fn pieces(gates: usize, period: usize) -> impl Iterator<Item = GateRange> {
    // Whole periods if they fit, else parts of one period at a time.
    let whole = GATES_PER_PIECE.checked_div(period).unwrap_or(0) * period;
    let mut start = 0;
    std::iter::from_fn(move || {
        if start == gates {
            return None;
        }
        let (length, second) = if whole > 0 {
            let length = whole.min(gates - start);
            (length, 0..period.min(length))
        } else {
            let at = start % period;
            let length = GATES_PER_PIECE.min(period - at);
            (length, at..at + length)
        };
        start += length;
        Some(GateRange { gates: start - length..start, second })
    })
}

/// Pieces of a chain of `gates` gates, of whole rows of `lanes` gates, in order.
pub(super) fn chain_pieces(gates: usize, lanes: usize) -> impl Iterator<Item = Range<usize>> {
    let length = (GATES_PER_PIECE / lanes).max(1) * lanes;
    (0..gates).step_by(length).map(move |start| start..gates.min(start + length))
}

#[cfg(test)]
mod tests {
    use super::{GATES_PER_PIECE, chain_pieces, pieces};

    #[test]
    fn pieces_of_a_chain_are_whole_rows() {
        for lanes in [1, 3, 64, 2048, 2049, 4096] {
            for width in [0, 1, 2, 31, 700, 4096] {
                let mut next = 0;
                for piece in chain_pieces(width * lanes, lanes) {
                    assert_eq!((piece.start, piece.len() % lanes), (next, 0));
                    assert!(piece.len() <= GATES_PER_PIECE.max(lanes));
                    next = piece.end;
                }
                assert_eq!(next, width * lanes);
            }
        }
    }

    #[test]
    fn pieces_cover_every_gate_once_with_its_second_input() {
        for period in [0, 1, 3, 32, 2047, 2048, 2049, 5000] {
            for repeats in [0, 1, 2, 7, 100] {
                let mut next = 0;
                for piece in pieces(period * repeats, period) {
                    assert_eq!(piece.gates.start, next);
                    assert!(piece.gates.len() % piece.second.len() == 0);
                    for (k, gate) in piece.gates.clone().enumerate() {
                        let second = piece.second.start + k % piece.second.len();
                        assert_eq!(second, gate % period, "gate {gate} of period {period}");
                    }
                    next = piece.gates.end;
                }
                assert_eq!(next, period * repeats);
            }
        }
    }
}
