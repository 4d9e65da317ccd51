//! MACs on the elements of all parties at once.
//!
//! Source: Keller, Orsini, Scholl, "MASCOT", CCS 2016 (ePrint 2016/505), the protocol Pi_[[.]]
//! (Input): every party multiplies its elements with the key of every other (`cope`), and a random
//! combination of them plus a random mask is opened and its MAC checked, so that what a party
//! authenticates is one vector, the same towards all. *Deviation*: the paper opens the sum of all
//! MAC shares; here the owner sends each holder its own summand, which is the same equation for
//! each pair alone and takes one message. A holder computes that summand from the sum that it is
//! sent, so it learns no more.
//!
//! Cost per element and ordered pair: that of `cope`; two elements for the check of a batch.
//! Invariants: the coefficients are tossed when all rows have arrived.
//! Not protected: an owner may guess bits of a peer's key; each wrong guess is caught. A lie passes
//! with probability 1/p.

use phineus_channels::{Channel, Parties};
use phineus_crypto::Prg;
use phineus_crypto::field::Field;
use zeroize::Zeroize;

use super::coin::{cheated, misbehaved};
use super::limits::{ELEMENT_BYTES_MAX, ROW_ELEMENTS, rows_ahead};
use super::peer_state::{PeerState, link};
use crate::CorrelatedError;

/// Which parties' elements are authenticated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthenticatedOwners {
    /// Everybody's.
    All,
    /// Those of one party.
    One(usize),
}

impl AuthenticatedOwners {
    pub(super) fn contains(self, party: usize) -> bool {
        self == AuthenticatedOwners::All || self == AuthenticatedOwners::One(party)
    }
}

/// A check of what was authenticated, on its way: a combination of the elements and, to each
/// holder, of the summands.
pub(super) const CHECK_ELEMENTS: usize = 2;
pub(super) const CHECK_BYTES_MAX: usize = CHECK_ELEMENTS * ELEMENT_BYTES_MAX;

/// Multiplies the elements `x` of each owner with the keys of all others. Afterwards each link has
/// the summands `t` and `q` of all `count` elements.
pub(super) fn multiply_with_keys<F: Field, C: Channel>(
    parties: &mut Parties<C>,
    links: &mut [Option<PeerState<F>>],
    owners: AuthenticatedOwners,
    x: &[F],
    count: usize,
    rows: [&mut [F]; 2],
) -> Result<(), CorrelatedError> {
    let me = parties.me();
    let i_own = owners.contains(me);
    for link in links.iter_mut().flatten() {
        for sums in [&mut link.t, &mut link.q] {
            sums.as_mut_slice().zeroize();
            sums.resize(count, F::ZERO);
        }
    }
    let [row, other] = rows;
    let bits = F::BITS as usize;
    for first in (0..count).step_by(ROW_ELEMENTS) {
        let piece = first..(first + ROW_ELEMENTS).min(count);
        let (row, other) = (&mut row[..piece.len()], &mut other[..piece.len()]);
        let ahead = rows_ahead::<F>(piece.len(), parties.ahead_bytes()).min(bits);
        // The highest bit first.
        for step in 0..bits + ahead {
            if let Some(bit) = bits.checked_sub(step + 1).filter(|_| i_own) {
                for peer in parties.peers() {
                    let PeerState { owner, t, .. } = link(links, peer);
                    let (channel, t) = (parties.channel(peer), &mut t[piece.clone()]);
                    owner.send_row(channel, bit, &x[piece.clone()], t, [&mut *row, &mut *other])?;
                    channel.flush()?;
                }
            }
            if step < ahead {
                continue;
            }
            let bit = bits + ahead - 1 - step;
            for peer in parties.peers().filter(|&peer| owners.contains(peer)) {
                let PeerState { holder, q, .. } = link(links, peer);
                let room = [&mut *row, &mut *other];
                holder.receive_row(parties.channel(peer), bit, &mut q[piece.clone()], room)?;
            }
        }
    }
    row.zeroize();
    other.zeroize();
    Ok(())
}

/// This party's MAC shares: `mac += x * key` for its own elements, and the summands of all links.
pub(super) fn add_macs<F: Field>(
    links: &[Option<PeerState<F>>],
    owned: Option<&[F]>,
    key: F,
    mac: &mut [F],
) {
    if let Some(x) = owned {
        F::scale_add(mac, key, x);
    }
    for link in links.iter().flatten() {
        F::sub_assign(mac, &link.t[..mac.len()]);
        F::add_assign(mac, &link.q[..mac.len()]);
    }
}

/// Draws the coefficients of the check: one for the mask, which comes first, and random ones.
pub(super) fn draw_coefficients<F: Field>(coin: &mut Prg, coefficients: &mut [F]) {
    F::fill_random(coin, coefficients);
    if let Some(first) = coefficients.first_mut() {
        *first = F::ONE;
    }
}

/// Message to a peer for the check of `x`; to this party itself, only the combination of `x`.
pub(super) fn prove<F: Field>(
    link: Option<&PeerState<F>>,
    coefficients: &[F],
    x: &[F],
) -> [F; CHECK_ELEMENTS] {
    let t = link.map(|link| F::dot(coefficients, &link.t));
    [F::dot(coefficients, x), t.unwrap_or(F::ZERO)]
}

/// Checks what a peer has sent.
pub(super) fn check<F: Field>(
    link: &PeerState<F>,
    coefficients: &[F],
    key: F,
    bytes: &[u8],
) -> Result<(), CorrelatedError> {
    let mut proof = [F::ZERO; CHECK_ELEMENTS];
    F::read(bytes, &mut proof).map_err(|_| misbehaved())?;
    let [x, t] = proof;
    let holds = F::dot(coefficients, &link.q).equals(t.add(x.mul(key)));
    if holds.declassify("all learn whether a check holds") { Ok(()) } else { Err(cheated()) }
}

const _: () = assert!(CHECK_BYTES_MAX <= phineus_channels::MAX_BORROW_BYTES);
