//! [`Failure`]: the one error of sessions: a stable code, what is wrong and where, what to do next, and
//! what was revealed before it. Sentences are made of these fields where they are shown.
//!
//! The first digit of a code is its class and the exit code of the command line: `E4102` ends with exit
//! code 4.

pub mod codes;
mod conversions;
mod fault;
mod remedy;

use std::fmt;

use codes::Code;
pub use fault::{Fault, Place};
pub use remedy::{Remedy, RemedyPart, RunField};

/// How a command ends, by exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command did what it was asked to, or its output is closed, as after `| head`.
    Success = 0,
    /// Something failed while running.
    RunTime = 1,
    /// The command line or a configuration file is wrong.
    Usage = 2,
    /// The program, circuit or plan is refused.
    ProgramRefused = 3,
    /// The peer is not there, or not any more.
    PeerLost = 4,
    /// The peer broke the protocol.
    PeerCheated = 5,
    /// Memory or disk is not enough.
    DoesNotFit = 6,
    /// The parties want different things.
    Disagreement = 7,
    /// The input data is wrong.
    BadInput = 8,
    /// The user stopped it.
    Interrupted = 130,
}

impl Exit {
    /// A few words for users.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "ok",
            Exit::RunTime => "run-time error",
            Exit::Usage => "usage",
            Exit::ProgramRefused => "program refused",
            Exit::PeerLost => "peer lost",
            Exit::PeerCheated => "peer cheated",
            Exit::DoesNotFit => "does not fit",
            Exit::Disagreement => "parties disagree",
            Exit::BadInput => "bad input",
            Exit::Interrupted => "interrupted",
        }
    }
}

/// How messages call the file that says who the parties are.
const CLUSTER_FILE: &str = "cluster.toml";

/// Why a command failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Which kind of failure it is, and how the process ends.
    pub code: Code,
    /// Faults with their places: one, or the first of several.
    pub faults: Vec<Fault>,
    /// Next step for the user.
    pub remedy: Option<Remedy>,
    /// What the parties had learned when it happened.
    pub revealed: Option<String>,
    /// The least memory with which it would fit.
    pub needed_bytes: Option<u64>,
    /// Whether nothing is printed: the reader of our output went away, or all is said.
    pub silent: bool,
}

impl Failure {
    /// A failure without a place; `what` is a sentence, or a line for each of several faults.
    pub fn new(code: Code, what: impl Into<String>) -> Failure {
        Failure::of_faults(code, vec![Fault::new(what)])
    }

    /// A failure with these faults, of which there is one at least.
    pub fn of_faults(code: Code, faults: Vec<Fault>) -> Failure {
        Failure { code, faults, remedy: None, revealed: None, needed_bytes: None, silent: false }
    }

    /// Text of all faults with their places: a line for each.
    pub fn message(&self) -> String {
        let lines: Vec<String> = self.faults.iter().map(Fault::to_string).collect();
        lines.join("\n")
    }

    /// With the file in which it was found, if none is known yet.
    pub fn in_file(mut self, file: &std::path::Path) -> Failure {
        for fault in &mut self.faults {
            fault.place.file.get_or_insert_with(|| file.display().to_string());
        }
        self
    }

    /// With the line of a file in which it was found.
    pub fn at_line(mut self, file: &std::path::Path, line: usize) -> Failure {
        for fault in &mut self.faults {
            fault.place.file = Some(file.display().to_string());
            fault.place.line = Some(line as u64);
        }
        self
    }

    /// A mistake in the command line.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(codes::USAGE, message)
    }

    /// Adds what to do next.
    pub fn remedy(mut self, remedy: impl Into<Remedy>) -> Failure {
        self.remedy = Some(remedy.into());
        self
    }

    /// Adds what had been revealed.
    pub fn revealed(mut self, revealed: impl Into<String>) -> Failure {
        self.revealed = Some(revealed.into());
        self
    }

    /// With the name that the user gave to the cluster file.
    pub fn of_cluster(self, path: &std::path::Path) -> Failure {
        let name = |text: String| match path.ends_with(CLUSTER_FILE) {
            true => text,
            false => text.replace(CLUSTER_FILE, &path.display().to_string()),
        };
        let Failure { faults, remedy, .. } = self;
        let named = |fault: Fault| Fault { what: name(fault.what), ..fault };
        let faults = faults.into_iter().map(named).collect();
        Failure { faults, remedy: remedy.map(|remedy| remedy.map_text(name)), ..self }
    }

    /// Whether planning itself needs more memory than the limit leaves for it.
    pub fn is_of_planning(&self) -> bool {
        self.code == codes::PLANNER_MEMORY
    }

    /// The user stopped it.
    pub fn interrupted() -> Failure {
        Failure::new(codes::INTERRUPTED, "interrupted")
    }

    /// A file that cannot be read or written.
    pub fn file(path: &std::path::Path, error: &std::io::Error) -> Failure {
        Failure::new(codes::FILE, error.to_string()).in_file(path)
    }

    /// The failure as an object of JSON.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::json!({
            "code": self.code.to_string(),
            "exit_code": self.code.exit as u8,
            "message": self.message(),
            "faults": self.faults,
            "remedy": self.remedy.as_ref().map(Remedy::to_string),
            "revealed": self.revealed,
        });
        if let Some(needed) = self.needed_bytes {
            value["needed_bytes"] = needed.into();
        }
        value
    }

    /// The inverse of [`Failure::to_json`], for the failure of another process.
    pub fn from_json(value: &serde_json::Value) -> Option<Failure> {
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let code = Code::parse(&text("code")?)?;
        Some(Failure {
            code,
            faults: serde_json::from_value(value["faults"].clone()).ok()?,
            remedy: text("remedy").map(Remedy::from),
            revealed: text("revealed"),
            needed_bytes: value["needed_bytes"].as_u64(),
            silent: false,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.code, self.message())?;
        if let Some(revealed) = &self.revealed {
            write!(f, "\n  {revealed}")?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  next: {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use phineus_channels::ChannelError;

    use super::*;

    #[test]
    fn the_first_digit_of_a_code_is_the_exit_code() {
        let failure = Failure::from(ChannelError::Closed { party: "site_b".to_owned() });
        assert_eq!(
            (failure.code.to_string().as_str(), failure.code.exit),
            ("E4102", Exit::PeerLost)
        );
    }

    #[test]
    fn a_failure_survives_json() {
        let failure = Failure::usage("what").remedy("do").revealed("nothing");
        let copy = Failure::from_json(&failure.to_json()).expect("it is one");
        assert_eq!(copy.to_string(), failure.to_string());
        assert_eq!(copy.code.exit, failure.code.exit);
    }
}
