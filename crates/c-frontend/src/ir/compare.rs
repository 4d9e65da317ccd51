//! Comparisons with exchanged operands.

use crate::ir::Compare;

/// The comparison with its sides exchanged.
pub(crate) fn swapped(compare: Compare) -> Compare {
    match compare {
        Compare::Ult => Compare::Ugt,
        Compare::Ule => Compare::Uge,
        Compare::Ugt => Compare::Ult,
        Compare::Uge => Compare::Ule,
        Compare::Slt => Compare::Sgt,
        Compare::Sle => Compare::Sge,
        Compare::Sgt => Compare::Slt,
        Compare::Sge => Compare::Sle,
        equal => equal,
    }
}

/// The comparison that holds where this does not.
pub(crate) fn negated(compare: Compare) -> Compare {
    match compare {
        Compare::Eq => Compare::Ne,
        Compare::Ne => Compare::Eq,
        Compare::Ult => Compare::Uge,
        Compare::Ule => Compare::Ugt,
        Compare::Ugt => Compare::Ule,
        Compare::Uge => Compare::Ult,
        Compare::Slt => Compare::Sge,
        Compare::Sle => Compare::Sgt,
        Compare::Sgt => Compare::Sle,
        Compare::Sge => Compare::Slt,
    }
}
