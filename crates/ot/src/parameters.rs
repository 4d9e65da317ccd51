//! Parameters of an OT extension: the size of its fields, and the receivers it is secure against.

use super::limits::{BASE_OT_COUNT, FIELD_BITS_MAX};

/// The logarithm `k` of the field size: more means fewer bytes and more computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldBits(usize);

impl FieldBits {
    /// 64 bits and 2 AES calls per OT: for a fast network.
    pub const LAN: FieldBits = FieldBits(2);
    /// 32 bits and 4 AES calls per OT.
    pub const DEFAULT: FieldBits = FieldBits(4);
    /// 16 bits and 32 AES calls per OT: for few OTs, whose bytes count.
    pub const QUIET: FieldBits = FieldBits(8);

    /// `k`, or `None` if it is not in 1 to [`FIELD_BITS_MAX`].
    pub fn new(k: usize) -> Option<FieldBits> {
        (1..=FIELD_BITS_MAX).contains(&k).then_some(FieldBits(k))
    }

    /// `k`.
    pub const fn bits(self) -> usize {
        self.0
    }

    /// Small-field VOLEs per session, which is also how many bits an OT with chosen choice costs.
    pub const fn vole_count(self) -> usize {
        BASE_OT_COUNT.div_ceil(self.0)
    }

    /// Leaves of all trees.
    pub(crate) fn leaf_count(self) -> usize {
        self.voles().map(|(_, width)| 1 << width).sum()
    }

    /// First column and width of each VOLE; the last one may be narrower.
    pub(crate) fn voles(self) -> impl Iterator<Item = (usize, usize)> {
        let k = self.0;
        (0..BASE_OT_COUNT).step_by(k).map(move |first| (first, k.min(BASE_OT_COUNT - first)))
    }
}

/// Against which receivers an extension is secure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdversaryModel {
    /// Receivers that follow the protocol.
    SemiHonest,
    /// Any receiver: it is checked after every tile (`consistency`). Any sender is harmless.
    Malicious,
}
