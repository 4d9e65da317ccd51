//! [`Activity`]: activity of a party, for callers that measure time. Protocol code has no clock.

/// Activities of a party in the online phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Instructions that are no inputs, what is done alone, and everything else.
    Computing,
    /// Masks of inputs, and shares of inputs.
    Sharing,
    /// A round's messages: so many elements of inputs, and so many opened.
    Exchanging {
        /// Elements that parties tell of their inputs.
        told: usize,
        /// Elements that are opened.
        opened: usize,
    },
    /// MACs of what was opened.
    Checking,
}

/// Is told of each change of activity.
pub type Watch = Box<dyn FnMut(Activity) + Send>;
