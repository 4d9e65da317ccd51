//! Names of the totals that other protocols on shares do not have.

use phineus_correlated::authenticated::MatrixSize;

/// Multiplication triples.
pub const TRIPLES: &str = "triples";
/// Square pairs.
pub const SQUARES: &str = "squares";
/// Shared random bits.
pub const BITS: &str = "random_bits";
/// Sums of a bounded integer of each party.
pub const BOUNDED: &str = "bounded_integers";
/// Rounds that check MACs.
pub const CHECK_ROUNDS: &str = "check_rounds";
/// Checks of MACs.
pub const MAC_CHECKS: &str = "mac_checks";
/// Openings under masks of shared bits over the whole field.
pub const WHOLE_OPENINGS: &str = "whole_mask_openings";
/// Batches of bounded integers, each with a proof of each party.
pub const BOUNDED_BATCHES: &str = "bounded_integer_batches";
/// Batches of bits that a party knows, each with a proof.
pub const BIT_MASK_BATCHES: &str = "bit_mask_batches";
/// Checks in making correlated randomness that a lie passes with probability 1/p.
pub const PREPROCESSING_CHECKS: &str = "material_checks";
/// Elements opened to all.
pub const OPENED: &str = "opened_elements";

/// Payload bytes that a party receives in the online phase.
pub fn online_received_bytes(party: usize) -> String {
    format!("online_received_bytes_{party}")
}

/// Input masks of a party.
pub fn masks(party: usize) -> String {
    format!("masks_{party}")
}

/// Bits that a party knows.
pub fn bit_masks(party: usize) -> String {
    format!("bit_masks_{party}")
}

/// Matrix triples of a size; with one vector that is not said.
pub fn matrices(size: MatrixSize) -> String {
    let MatrixSize { rows, cols, vectors } = size;
    match vectors {
        1 => format!("matrices_{rows}_{cols}"),
        _ => format!("matrices_{rows}_{cols}_{vectors}"),
    }
}
