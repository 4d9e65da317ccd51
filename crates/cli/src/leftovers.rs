//! The list of unfinished files of this process, which its signal handler and its panic hook remove.

use std::sync::LazyLock;

use phineus_session::leftovers::Leftovers;

static LEFTOVERS: LazyLock<Leftovers> = LazyLock::new(Leftovers::default);

/// The list.
pub(crate) fn leftovers() -> &'static Leftovers {
    &LEFTOVERS
}
