//! A protocol of one's own from oblivious transfer: an integer that one party knows times a bit
//! that two parties share, as an integer that they share.
//!
//! Source: Braun, Demmler, Schneider, Tkachenko, "MOTION", ACM TOPS 2022, Listing 2. With the
//! server's share `s` and the client's share `t` of the bit, `(s ^ t) * value` is
//! `s * value + t * (1 - 2 s) * value`: the server knows the first term, and the second is one
//! additively correlated OT in which the client chooses with `t`. All products go at once.
//!
//! Both parties run in this process; over a network their channels come from
//! `phineus::channels::connect`.

use std::thread;

use phineus::channels::{Channel, memory_pair};
use phineus::crypto::{Delta, Prg};
use phineus::ot::OtError;
use phineus::ot::{
    ChoiceBits, Correlation, FieldBits, RandomOtReceiver, RandomOtSender, SessionId,
    SoftSpokenReceiver, SoftSpokenSender,
};

const WIDTH: u16 = 32;

/// The party that knows the integers: its additive shares of the products.
fn multiply_server(
    channel: &mut impl Channel,
    mut prg: Prg,
    session: &SessionId,
    bits: &[bool],
    values: &[u64],
) -> Result<Vec<u64>, OtError> {
    let delta = Delta::random(&mut prg);
    let ots = SoftSpokenSender::setup(channel, &mut prg, session, FieldBits::DEFAULT, delta)?;
    let mut ots = RandomOtSender::new(ots, session);
    let shared = bits.iter().zip(values);
    // `value`, or its negative where this party's share of the bit is 1.
    let offered: Vec<u64> = shared
        .map(|(&bit, value)| value.wrapping_mul(1u64.wrapping_sub(2 * u64::from(bit))))
        .collect();
    let mut shares = vec![0; values.len()];
    ots.correlate(channel, Correlation::additive(WIDTH, 1), &offered, &mut shares)?;
    for ((share, &bit), value) in shares.iter_mut().zip(bits).zip(values) {
        *share = share.wrapping_add(u64::from(bit) * value);
    }
    Ok(shares)
}

/// The party that knows nothing but its shares of the bits.
fn multiply_client(
    channel: &mut impl Channel,
    mut prg: Prg,
    session: &SessionId,
    bits: &[bool],
) -> Result<Vec<u64>, OtError> {
    let ots = SoftSpokenReceiver::setup(channel, &mut prg, session, FieldBits::DEFAULT)?;
    let mut ots = RandomOtReceiver::new(ots, session);
    let mut choices = vec![0; bits.len().div_ceil(64)];
    for (i, &bit) in bits.iter().enumerate() {
        choices[i / 64] |= u64::from(bit) << (i % 64);
    }
    let ring = Correlation::additive(WIDTH, 1);
    let mut shares = vec![0; bits.len()];
    ots.issue_correlate(channel, ring, ChoiceBits::Chosen(&choices), &mut shares)?;
    ots.finish_correlate(channel, ring, &choices, &mut shares)?;
    Ok(shares)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let values: Vec<u64> = (0..1000).map(|i| i * i).collect();
    let server_bits: Vec<bool> = (0..1000).map(|i| i % 3 == 0).collect();
    let client_bits: Vec<bool> = (0..1000).map(|i| i % 5 < 2).collect();

    // Both parties know the name of the session and never use it again.
    let session = SessionId::new([1; 32]);
    let (mut server, mut client) = memory_pair();
    let (server_prg, client_prg) = (Prg::from_os()?, Prg::from_os()?);
    let (left, right) = thread::scope(|scope| {
        let left = scope
            .spawn(|| multiply_server(&mut server, server_prg, &session, &server_bits, &values));
        let right = multiply_client(&mut client, client_prg, &session, &client_bits);
        (left.join().expect("the server does not panic"), right)
    });
    let (left, right) = (left?, right?);

    for (i, value) in values.iter().enumerate() {
        let product = left[i].wrapping_add(right[i]) % (1 << WIDTH);
        let expected = if server_bits[i] != client_bits[i] { *value } else { 0 };
        assert_eq!(product, expected, "product {i}");
    }
    println!("{} products of an integer and a shared bit are right", values.len());
    Ok(())
}
