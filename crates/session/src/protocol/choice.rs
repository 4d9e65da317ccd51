//! [`ProtocolChoice`]: a protocol, or the one with the least predicted time.

use super::{Adversary, Protocol, list};
use crate::choices::Choice;

/// A protocol, or the fastest one under an assumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolChoice {
    /// The one with the least predicted time, of those that protect a party from all others together.
    Auto,
    /// As `Auto`, but with protocols that assume that no two parties collude.
    AutoHonestMajority,
    /// This one.
    This(Protocol),
}

/// Choices that are not a protocol.
const AUTOMATIC: [ProtocolChoice; 2] = [ProtocolChoice::Auto, ProtocolChoice::AutoHonestMajority];

impl ProtocolChoice {
    /// The protocols that it may come to, whatever the program.
    pub fn candidates(self) -> Vec<Protocol> {
        let is_meant = |protocol: &Protocol| match self {
            ProtocolChoice::Auto => {
                protocol.is_automatic() && protocol.adversary() != Adversary::SemiHonestApart
            }
            ProtocolChoice::AutoHonestMajority => protocol.is_automatic(),
            ProtocolChoice::This(this) => *protocol == this,
        };
        list::ALL.iter().copied().filter(is_meant).collect()
    }

    /// The protocol that was stated.
    pub fn stated(self) -> Option<Protocol> {
        match self {
            ProtocolChoice::Auto | ProtocolChoice::AutoHonestMajority => None,
            ProtocolChoice::This(protocol) => Some(protocol),
        }
    }
}

impl Choice for ProtocolChoice {
    const ALL: &'static [ProtocolChoice] = &{
        let mut all = [ProtocolChoice::Auto; list::ALL.len() + AUTOMATIC.len()];
        let mut index = 0;
        while index < list::ALL.len() {
            all[index] = ProtocolChoice::This(list::ALL[index]);
            index += 1;
        }
        all[index] = AUTOMATIC[0];
        all[index + 1] = AUTOMATIC[1];
        all
    };

    fn name(self) -> &'static str {
        match self {
            ProtocolChoice::Auto => "auto",
            ProtocolChoice::AutoHonestMajority => "auto-honest-majority",
            ProtocolChoice::This(protocol) => protocol.name(),
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            ProtocolChoice::Auto => {
                "The semi-honest protocol with the least predicted time on the stated or measured network"
            }
            ProtocolChoice::AutoHonestMajority => {
                "The same, but also considers rep3, which assumes that no two parties collude"
            }
            ProtocolChoice::This(protocol) => protocol.meaning(),
        }
    }
}
