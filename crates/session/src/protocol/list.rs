//! All protocols, in the order in which help pages list them; of several that `auto` predicts to take
//! the same time, it takes the first.

use phineus_bytecode::Sharing;
use phineus_crypto::field::FieldName;
use phineus_plan::Assignment;

use super::Protocol;
use super::authenticated::AuthenticatedProtocol;
use super::clear::ClearProtocol;
use super::garbled::GarbledProtocol;
use super::rep3::Rep3Protocol;
use super::shares::SharesProtocol;

/// Garbled circuits of two parties.
pub const GARBLED: Protocol = Protocol(&GarbledProtocol);

/// XOR shares.
pub const GMW: Protocol = Protocol(&SharesProtocol {
    name: "gmw",
    meaning: "XOR shares (GMW), two parties or more, semi-honest: few bytes, a round for each level",
    assignment: Assignment::Uniform(Sharing::Boolean),
    takes_triples: true,
    garbles: false,
    takes_half_gates: false,
});

/// Garbled circuits of two parties or more.
pub const BMR: Protocol = Protocol(&SharesProtocol {
    name: "bmr",
    meaning: "Garbled circuits of two parties or more (BMR), semi-honest: few rounds, many bytes",
    assignment: Assignment::Uniform(Sharing::Garbled),
    takes_triples: false,
    garbles: true,
    takes_half_gates: false,
});

/// Additive shares for sums and products.
pub const ARITH: Protocol = Protocol(&SharesProtocol {
    name: "arith",
    meaning: "Additive shares for sums and products, XOR shares for everything else, semi-honest",
    assignment: Assignment::Arithmetic,
    takes_triples: true,
    garbles: false,
    takes_half_gates: false,
});

/// The sharing that the program states for each part, and where it states none, the cheapest.
pub const MIXED: Protocol = Protocol(&SharesProtocol {
    name: "mixed",
    meaning: "Additive, XOR or garbled shares for each part: as the program states, or the cheapest, semi-honest",
    assignment: Assignment::Stated(Sharing::Boolean),
    takes_triples: true,
    garbles: true,
    takes_half_gates: true,
});

/// Replicated shares of three parties.
pub const REP3: Protocol = Protocol(&Rep3Protocol);

/// SPDZ with MASCOT modulo 2^61-1.
pub const SPDZ: Protocol = Protocol(&AuthenticatedProtocol {
    name: "spdz",
    meaning: "Authenticated shares modulo 2^61-1 (SPDZ, MASCOT): all other parties may be malicious",
    field: FieldName::F61,
});

/// SPDZ with MASCOT modulo 2^128-159.
pub const SPDZ_128: Protocol = Protocol(&AuthenticatedProtocol {
    name: "spdz-128",
    meaning: "The same modulo 2^128-159, for larger integers",
    field: FieldName::F128,
});

/// SPDZ with MASCOT modulo 2^32-5.
pub const SPDZ_32: Protocol = Protocol(&AuthenticatedProtocol {
    name: "spdz-32",
    meaning: "The same modulo 2^32-5: too weak for use, only for comparison with the literature",
    field: FieldName::F32,
});

/// No protection at all: the reference.
pub const CLEAR: Protocol = Protocol(&ClearProtocol);

/// All of them.
pub const ALL: &[Protocol] =
    &[GARBLED, GMW, BMR, ARITH, MIXED, REP3, SPDZ, SPDZ_128, SPDZ_32, CLEAR];
