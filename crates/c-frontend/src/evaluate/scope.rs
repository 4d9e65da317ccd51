//! The regions that enclose the running code.

use crate::evaluate::dry_run::DryRun;

/// The secret branches, lanes and dry run that the running code is inside of.
pub(crate) struct EnclosingRegions {
    /// Iterations that run together; 1 is one after the other.
    pub(crate) lanes: u32,
    /// Secret branches that are being run.
    pub(crate) secret_branches: u32,
    /// Strips of lanes that are being run.
    pub(crate) strips: u32,
    pub(crate) dry_run: Option<DryRun>,
}

impl Default for EnclosingRegions {
    fn default() -> EnclosingRegions {
        EnclosingRegions { lanes: 1, secret_branches: 0, strips: 0, dry_run: None }
    }
}

impl EnclosingRegions {
    /// Whether control flow may depend on what is opened here: not where a secret decides whether
    /// this runs at all, nor for one of several iterations that run together.
    pub(crate) fn is_unconditional(&self) -> bool {
        self.secret_branches == 0 && self.strips == 0 && self.dry_run.is_none()
    }
}
