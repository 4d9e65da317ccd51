//! Computation on replicated shares by three parties, of which at most one is corrupted.
//!
//! Sources: Araki, Furukawa, Lindell, Nof, Ohara, "High-Throughput Semi-Honest Secure Three-Party
//! Computation with an Honest Majority", CCS 2016 (ePrint 2016/768), for products; Mohassel, Rindal,
//! "ABY3", CCS 2018 (ePrint 2018/403), for sums of products, inputs and conversions.
//!
//! A value is the sum of three components, modulo `2^w` or by XOR, and party `i` holds components `i` and
//! `i + 1` (of three, cyclic). Sums and movements are local. Of a product party `i` computes
//! `x_i y_i + x_i y_{i+1} + x_{i+1} y_i` and adds what it and its neighbours draw from common generators,
//! 0 in all; that is component `i` of the result, which it sends to the party before.
//!
//! Cost: each party sends one bit for an AND and one element for a product, or for a sum of products
//! ([`phineus_bytecode::Op::MatMul`]); an input costs its owner one element, an output one element for
//! each learner. Ring elements become bits with one bit for each bit and an addition, bits become ring
//! elements with about `w (w - 1) / 2` masked bits (each row of lanes is filled up to whole bytes) and one
//! element. There is no preprocessing. Exact totals are in [`Rep3Costs`].
//!
//! Adversary: semi-honest, one of three parties, and any clients. Invariants: all parties run the same
//! ordered program, so that two parties draw the same from the generator that they have in common.
//!
//! Not protected: two parties that collude know everything; a party that deviates can make results wrong.

mod circuits;
mod client;
mod costs;
mod driver;
mod gates;
mod keys;
mod messages;
mod ring;
mod rounds;
mod sharing;
#[cfg(test)]
mod tests;

use phineus_bytecode::layout::SHARE_UNIT_BYTES;
use phineus_bytecode::{Domain, Layout, ValueSize};

pub use client::Rep3Client;
pub use costs::{Rep3Costs, totals};
pub use driver::Rep3Driver;
pub use rounds::Rep3Rounds;

/// How values lie in memory: of each row and of each ring element both components, one behind the other.
/// Garbled sharing is taken as XOR shares.
pub fn layout() -> Layout {
    let rows = ValueSize::Rows { copies: 2 };
    Layout {
        unit_bytes: SHARE_UNIT_BYTES as u16,
        domain: Domain::Ring,
        arithmetic: ValueSize::RingElements { copies: 2 },
        boolean: rows,
        garbled: rows,
    }
}

/// The parties that compute.
pub const PARTIES: usize = 3;
