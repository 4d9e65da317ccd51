//! Garbled values that become additive without a message of their own in the online phase.
//!
//! Source: Braun et al., "MOTION" (ePrint 2020/1137), section 7.6, with these deviations:
//! * Deviation: there a pair of shares of one random `r`, additive and garbled, is made by an
//!   A2Y conversion. Here each party but the first has an additive mask of its own, and a bit of it
//!   is a wire with public value 0 and zero-keys 0 at all parties, whose mask bit the owner has
//!   alone: garbled as a constant is, but known to one party only. So the pair costs nothing. What
//!   others see of the wire, value and keys, is public; the other keys are offsets, which the hash
//!   allows: its inputs may be related by any known difference ([`super::hash`]).
//! * Deviation: the sum of value and masks is decoded by the first party alone, which has it for
//!   its share, and all others' shares are their masks, negative. So the first party has no mask;
//!   any other one hides the value from it, and without it nobody sees the sum.
//!
//! Cost for `w` bits among `n` parties: at most `(n - 1)(w - 1)` garbled ANDs, which the first
//! party alone evaluates, and while garbling `w` bits from each party to the first.

use phineus_crypto::Block;

use super::rows::TemplateRows;

/// Puts a value and all parties' masks into the slots of the circuit that adds them.
///
/// `masks` are this party's; the first party has none.
pub(super) fn load(
    rows: &mut TemplateRows,
    (me, parties): (usize, usize),
    value: &[Block],
    masks: &[u64],
) {
    let (lanes, length) = (rows.lanes, value.len() / rows.planes);
    // The garbling walk has only the own plane.
    let own = if rows.planes == 1 { 0 } else { me };
    for (plane, wires) in value.chunks_exact(length).enumerate() {
        for (bit, wires) in wires.chunks_exact(lanes).enumerate() {
            rows.plane_mut(bit * parties, plane).copy_from_slice(wires);
            for owner in 1..parties {
                let row = rows.plane_mut(bit * parties + owner, plane);
                row.fill(Block::ZERO);
                if owner == me && plane == own {
                    let wires = row.iter_mut().zip(masks);
                    wires.for_each(|(wire, mask)| {
                        *wire = Block::from_bits(u128::from(mask >> bit & 1));
                    });
                }
            }
        }
    }
}

/// The sums, whose bits have these public values, lane after lane, and these masks, packed.
pub(super) fn decode(public: &[Block], masks: &[u8], sums: &mut [u64]) {
    let lanes = sums.len();
    sums.fill(0);
    for (wire, key) in public.iter().enumerate() {
        let mask = masks[wire / 8] >> (wire % 8) & 1;
        let bit = key.select_u64() ^ u64::from(mask);
        sums[wire % lanes] |= bit << (wire / lanes);
    }
}
