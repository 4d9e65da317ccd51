//! The handle that ends the session of this command: one process runs one.

use std::sync::LazyLock;

use phineus_session::cancel::Cancel;

static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::new);

/// The handle. A signal handler may use it once it has been used elsewhere.
pub(crate) fn cancel() -> &'static Cancel {
    &CANCEL
}
