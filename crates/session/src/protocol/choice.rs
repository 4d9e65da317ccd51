//! [`ProtocolChoice`]: a protocol, or the fastest one.

use super::{Protocol, list};
use crate::choices::Choice;

/// A protocol, or the fastest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// The one with the least predicted time.
    Auto,
    /// This one.
    This(Protocol),
}

impl Choice for ProtocolChoice {
    const ALL: &'static [ProtocolChoice] = &{
        let mut all = [ProtocolChoice::Auto; list::ALL.len() + 1];
        let mut index = 0;
        while index < list::ALL.len() {
            all[index] = ProtocolChoice::This(list::ALL[index]);
            index += 1;
        }
        all
    };

    fn name(self) -> &'static str {
        match self {
            ProtocolChoice::Auto => "auto",
            ProtocolChoice::This(protocol) => protocol.name(),
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            ProtocolChoice::Auto => {
                "The one that is predicted to be the fastest on the network of --net"
            }
            ProtocolChoice::This(protocol) => protocol.meaning(),
        }
    }
}
