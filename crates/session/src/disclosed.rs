//! Knowledge of the other parties when a run fails, for each phase of a run.

/// How far a run came before the first value left this party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disclosed {
    /// No other party was reached for.
    Nothing,
    /// Other parties were reached for: those that answered have this party's hello (`channels/src/hello.rs`).
    Hello,
    /// The parties have met, and each states what it was asked to do
    /// ([`crate::agreement::Proposal`]).
    Proposal,
}

/// Sentence for a run that has revealed all outputs.
pub(crate) const ALL_REVEALED: &str = "all outputs were revealed";

impl Disclosed {
    /// Sentence for the report of a failure.
    pub fn sentence(self) -> &'static str {
        match self {
            Disclosed::Nothing => "nothing was sent",
            Disclosed::Hello => {
                "nothing was revealed but, at most, a hello: this party's name, version and protocol"
            }
            Disclosed::Proposal => {
                "nothing was revealed but what parties tell each other first: program, options, numbers \
                 of rows, figures of the machine"
            }
        }
    }
}
