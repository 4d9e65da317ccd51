//! [`RowSource`]: makes the rows of the garbler's gates elsewhere, for example on a device.
//!
//! The garbler sends what the source gives, and computes the labels of false of the results from rows and labels, as an
//! evaluator would: two hashes a gate. So the messages are those of a garbler without a source if the rows are. The
//! source must make the rows of the session's half gates, in the order of the gates.
//!
//! Not protected: rows are not checked. A wrong one gives a wrong result, or labels that nobody can use.

use phineus_bytecode::Description;
use phineus_crypto::{Block, Delta};
use zeroize::Zeroizing;

use crate::ProtocolError;
use crate::garbled::limits::{BATCHES_AHEAD, OTS_PER_BATCH};
use crate::garbled::totals;

/// What the rows of a session are made from.
///
/// Has no `Debug`: it holds the offset.
pub struct RowSecrets {
    /// Start value of the hash.
    pub start: Block,
    /// The offset.
    pub delta: Delta,
    /// Labels of false of all inputs, in the order of the program.
    pub labels: Zeroizing<Vec<Block>>,
}

/// Makes the rows of the garbler's gates. The driver owns it, and drops it when the run ends.
pub trait RowSource {
    /// Takes what the rows are made from; called once, before the first gate.
    ///
    /// # Errors
    /// If it can make no rows.
    fn begin(&mut self, secrets: RowSecrets) -> Result<(), ProtocolError>;

    /// Writes the rows of the next gates, as they are sent.
    ///
    /// # Errors
    /// If there are no more rows.
    fn next_rows(&mut self, rows: &mut [u8]) -> Result<(), ProtocolError>;
}

/// The most input bits of the evaluator in a program whose rows a source makes.
///
/// The source gets all labels before the first gate, so the evaluator must send all transfers without having seen a row:
/// what it sends ahead.
pub const EVALUATOR_BITS_MAX: u64 = (BATCHES_AHEAD * OTS_PER_BATCH) as u64;

/// Whether all labels of inputs are known before the first gate.
pub fn are_labels_known_ahead(description: &Description) -> bool {
    totals::value(description, totals::EVALUATOR_INPUT_BITS) <= EVALUATOR_BITS_MAX
}
