//! Computation on shares by any number of parties: additive shares (A), XOR shares (B) and garbled
//! values (Y), with conversions between all of them.
//!
//! Sources: Goldreich, Micali, Wigderson, "How to play any mental game", STOC 1987; Beaver,
//! CRYPTO 1991, for the triples; Braun, Demmler, Schneider, Tkachenko, "MOTION", TOPS 2022 (ePrint
//! 2020/1137), sections 6.1, 6.2 and 7, for squares and conversions.
//!
//! How it runs: the planner has ordered the program (`phineus_plan::order`), so that instructions
//! that need the other parties come in two parts with rounds between them. Values on XOR shares are
//! computed by recorded circuits of least depth, one level of ANDs a round. In each round every
//! party sends one message to each other party, for all instructions in flight together; or two,
//! where openings go by a star ([`Broadcast`]).
//!
//! Cost: each AND opens 2 bits a lane and uses a triple, a product opens two ring elements and
//! uses a triple, a square opens one and uses a square pair; a bit that becomes additive opens one
//! bit and uses a shared bit, or costs garbled ANDs and no message; a garbled value is computed
//! without the others, once its tables are made ([`crate::bmr`]), and begins with two rounds; between two parties it may
//! take half gates instead ([`HalfGateGarbling`]), and begins with one; an output sends its shares to those who learn
//! it. Inputs to shares are free: each two parties have a generator in common, from which both draw
//! the share. Exact totals are in [`MixedCosts`].
//!
//! Clients ([`MixedClient`]) may bring inputs and learn outputs without computing; they are the
//! parties of a program's description after those that compute.
//!
//! Adversary: semi-honest, any number of the parties but one. Invariants: all parties run the same
//! ordered program, which the agreement on its hash ensures, so that triples, openings and draws
//! from common generators match; each triple is used once; an opened value is masked by a triple or
//! a shared bit that nothing else uses.
//!
//! Not protected: against a party that deviates. It can make results wrong; what an output reveals
//! is then not what the program says.

mod broadcast;
mod client;
mod clock;
mod costs;
mod driver;
mod flight;
mod garbled;
mod half_gates;
mod known;
mod labels;
mod look_up;
mod openings;
mod party_keys;
mod private;
mod replay;
mod rows;
mod selection;
mod settings;
mod shared_rows;
mod sharing;
mod sharing_costs;
mod state;
mod stated;
mod templates;
#[cfg(test)]
mod tests;

pub use crate::garbled::SETUP_NS as HALF_GATES_SETUP_NS;
use phineus_bytecode::layout::SHARE_UNIT_BYTES;
use phineus_bytecode::{Domain, Layout, ValueSize};

pub use broadcast::Broadcast;
pub use client::MixedClient;
pub use costs::{MixedCosts, totals};
pub use driver::MixedDriver;
pub use half_gates::HalfGateGarbling;
pub use look_up::table_bytes;
pub use settings::{MixedSettings, OtExtension};
pub use sharing_costs::{MixedSharingCosts, SharingTerms};
pub use stated::{
    POINT_FUNCTIONS, PlanDemand, demand, known_triples, needs_correlated_randomness, ot_kind,
    overlapped_rounds, ready_randomness_bytes,
};
pub use templates::{GarblingScheme, MixedRounds, YaoToArithmetic};

/// How shares of `parties` lie in memory: one share of each value, and for each garbled wire a key of
/// every party, or with half gates one label.
pub fn layout(parties: usize, scheme: GarblingScheme) -> Layout {
    let units = match scheme {
        GarblingScheme::Joint => parties as u16,
        GarblingScheme::HalfGates => 1,
    };
    Layout {
        unit_bytes: SHARE_UNIT_BYTES as u16,
        domain: Domain::Ring,
        arithmetic: ValueSize::RingElements { copies: 1 },
        boolean: ValueSize::Rows { copies: 1 },
        garbled: ValueSize::Wires { units },
    }
}
