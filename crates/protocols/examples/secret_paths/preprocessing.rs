//! Triples, also of known bits, square pairs, shared bits and point functions, from either extension.

use phineus_correlated::demand::BatchScale;
use phineus_correlated::semi_honest::{Batch, Generator, Kind};
use phineus_ot::{FieldBits, SessionId};

use crate::wire::{mesh, on_threads, secret_prg};

pub fn all() {
    for parties in [2, 3] {
        on_threads(mesh(parties), |parties| {
            let prg = secret_prg(parties.me() as u128 + 1);
            let session = SessionId::new([parties.count() as u8; 32]);
            let kind = (FieldBits::LAN.into(), BatchScale::FULL);
            let mut generator =
                Generator::setup_scaled(parties, prg, &session, kind).expect("all are honest");
            let mut batch = Batch::empty();
            let mut kinds = vec![(Kind::BitTriple, 700)];
            for width in [1, 8, 33, 64] {
                kinds.push((Kind::RingTriple { width }, 70));
                kinds.push((Kind::SquarePair { width }, 70));
                kinds.push((Kind::SharedBit { width }, 70));
            }
            for (owner, width) in [(0, 1), (1, 100)] {
                kinds.push((Kind::KnownTriple { owner, width }, 70));
            }
            if generator.parties().count() == 2 {
                // Values alone, one level of a tree, and several.
                kinds.extend([3, 8, 11].map(|bits| (Kind::PointFunction { bits }, 9)));
            }
            for (kind, count) in kinds {
                generator.make(kind, count, &mut batch).expect("all are honest");
            }
        });
    }
}
