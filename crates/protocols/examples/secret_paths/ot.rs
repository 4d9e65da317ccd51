//! Oblivious transfer: base OTs, both extensions, all flavours.

use phineus_crypto::{Block, Delta};
use phineus_ot::{
    AdversaryModel, ChoiceBits, ChosenOtReceiver, ChosenOtSender, CorrelatedOtReceiver,
    CorrelatedOtSender, Correlation, FieldBits, LpnParameters, OtExtensionReceiver,
    OtExtensionSender, OtKind, PrecomputedReceiver, PrecomputedSender, RandomOtReceiver,
    RandomOtSender, SessionId, SoftSpokenReceiver, SoftSpokenSender,
};

use crate::wire::{Wire, both, secret_prg, secret_words};

const COUNTS: [usize; 3] = [1, 200, 5000];

fn session(number: u8) -> SessionId {
    SessionId::new([number; 32])
}

pub fn base() {
    both(
        |mut channel| {
            let mut pads = vec![[Block::ZERO; 2]; 70];
            let prg = &mut secret_prg(1);
            phineus_ot::base::send(&mut channel, prg, &session(1), &mut pads)
                .expect("both are honest");
        },
        |mut channel| {
            let (prg, mut pads) = (&mut secret_prg(2), vec![Block::ZERO; 70]);
            let choices = secret_words(prg, 2);
            phineus_ot::base::receive(&mut channel, prg, &session(1), &choices, &mut pads)
                .expect("both are honest");
        },
    );
}

pub fn softspoken() {
    for bits in [2, 5] {
        let field = FieldBits::new(bits).expect("a size that there is");
        extension(field, AdversaryModel::SemiHonest);
    }
}

pub fn malicious() {
    extension(FieldBits::DEFAULT, AdversaryModel::Malicious);
}

fn extension(field: FieldBits, security: AdversaryModel) {
    both(
        |mut channel| {
            let prg = &mut secret_prg(1);
            let delta = Delta::random(prg);
            let session = &session(field.bits() as u8);
            let ot =
                SoftSpokenSender::setup_for(&mut channel, prg, session, field, security, delta);
            send_all(&mut channel, &mut ot.expect("both are honest"), &COUNTS);
        },
        |mut channel| {
            let prg = &mut secret_prg(2);
            let session = &session(field.bits() as u8);
            let ot = SoftSpokenReceiver::setup_for(&mut channel, prg, session, field, security);
            receive_all(&mut channel, &mut ot.expect("both are honest"), &COUNTS);
        },
    );
}

fn send_all(channel: &mut Wire, ot: &mut impl CorrelatedOtSender, counts: &[usize]) {
    for &count in counts {
        let mut q = vec![Block::ZERO; count];
        ot.reserve(channel, 2 * count).expect("both are honest");
        ot.extend(channel, &mut q).expect("both are honest");
        ot.extend_random(channel, &mut q).expect("both are honest");
    }
}

fn receive_all(channel: &mut Wire, ot: &mut impl CorrelatedOtReceiver, counts: &[usize]) {
    let mut prg = secret_prg(3);
    for &count in counts {
        let mut t = vec![Block::ZERO; count];
        let mut choices = secret_words(&mut prg, count.div_ceil(64));
        ot.reserve(channel, 2 * count).expect("both are honest");
        ot.extend(channel, &choices, &mut t).expect("both are honest");
        ot.extend_random(channel, &mut choices, &mut t).expect("both are honest");
    }
}

pub fn silent() {
    // Into the second iteration: the first starts from SoftSpoken, the second from the first. But
    // not through all of one, which takes minutes under valgrind.
    extension_of_kind(OtKind::Silent(LpnParameters::SMALL), &[300, 5000]);
}

/// Both kinds of OTs of an extension, so many at a time.
pub fn extension_of_kind(kind: OtKind, counts: &[usize]) {
    both(
        |mut channel| {
            let prg = &mut secret_prg(1);
            let delta = Delta::random(prg);
            let ot = OtExtensionSender::setup(&mut channel, prg, &session(9), kind, delta);
            send_all(&mut channel, &mut ot.expect("both are honest"), counts);
        },
        |mut channel| {
            let prg = &mut secret_prg(2);
            let ot = OtExtensionReceiver::setup(&mut channel, prg, &session(9), kind);
            receive_all(&mut channel, &mut ot.expect("both are honest"), counts);
        },
    );
}

pub fn flavours() {
    let correlations =
        [Correlation::xor(100), Correlation::additive(32, 1), Correlation::additive(7, 3)];
    let count = 150;
    both(
        |mut channel| {
            let prg = &mut secret_prg(1);
            let delta = Delta::random(prg);
            let channel = &mut channel;
            let ot = SoftSpokenSender::setup(channel, prg, &session(5), FieldBits::DEFAULT, delta)
                .expect("both are honest");
            let mut random = RandomOtSender::new(ot, &session(5));
            let mut pairs = vec![[Block::ZERO; 2]; count];
            random.extend(channel, &mut pairs).expect("both are honest");
            random.extend_random(channel, &mut pairs).expect("both are honest");
            let (mut zero, mut one) = (vec![0; count.div_ceil(64)], vec![0; count.div_ceil(64)]);
            random.extend_bits(channel, count, &mut zero, &mut one).expect("both are honest");
            for correlation in correlations {
                let x = secret_words(prg, count * correlation.words());
                let mut shares = vec![0; x.len()];
                random.correlate(channel, correlation, &x, &mut shares).expect("both are honest");
            }
            let x = secret_words(prg, 10);
            random.multiply(channel, 13, false, &x, &mut [0; 10]).expect("both are honest");
            let single = Correlation::additive(20, 1);
            let ahead = PrecomputedSender::preprocess(&mut random, channel, single, count);
            let mut ahead = ahead.expect("both are honest");
            ahead.issue(channel, &secret_words(prg, count)).expect("both are honest");
            ahead.finish(channel, &mut vec![0; count]).expect("both are honest");
            let delta = Delta::random(prg);
            let ot = SoftSpokenSender::setup(channel, prg, &session(6), FieldBits::DEFAULT, delta);
            let mut chosen = ChosenOtSender::new(ot.expect("both are honest"), &session(6));
            let mut messages = vec![[Block::ZERO; 2]; count];
            prg.fill_blocks(messages.as_flattened_mut());
            chosen.send(channel, &messages).expect("both are honest");
        },
        |mut channel| {
            let prg = &mut secret_prg(2);
            let channel = &mut channel;
            let ot = SoftSpokenReceiver::setup(channel, prg, &session(5), FieldBits::DEFAULT)
                .expect("both are honest");
            let mut random = RandomOtReceiver::new(ot, &session(5));
            let mut choices = secret_words(prg, count.div_ceil(64));
            let mut messages = vec![Block::ZERO; count];
            random.extend(channel, &choices, &mut messages).expect("both are honest");
            random.extend_random(channel, &mut choices, &mut messages).expect("both are honest");
            let mut bits = vec![0; choices.len()];
            let chosen = ChoiceBits::Chosen(&choices);
            random.extend_bits(channel, chosen, count, &mut bits).expect("both are honest");
            for correlation in correlations {
                let mut shares = vec![0; count * correlation.words()];
                let chosen = ChoiceBits::Chosen(&choices);
                random
                    .issue_correlate(channel, correlation, chosen, &mut shares)
                    .expect("both are honest");
                random
                    .finish_correlate(channel, correlation, &choices, &mut shares)
                    .expect("both are honest");
            }
            let numbers = secret_words(prg, 130_usize.div_ceil(64));
            let mut pads = vec![0; 130];
            random
                .issue_multiply(channel, ChoiceBits::Chosen(&numbers), &mut pads)
                .expect("both are honest");
            random
                .finish_multiply(channel, 13, &numbers, &pads, &mut [0; 10])
                .expect("both are honest");
            let single = Correlation::additive(20, 1);
            let ahead = PrecomputedReceiver::preprocess(&mut random, channel, single, count);
            let mut ahead = ahead.expect("both are honest");
            ahead.issue(channel, count, &choices).expect("both are honest");
            ahead.finish(channel, &choices, &mut vec![0; count]).expect("both are honest");
            let ot = SoftSpokenReceiver::setup(channel, prg, &session(6), FieldBits::DEFAULT);
            let mut receiver = ChosenOtReceiver::new(ot.expect("both are honest"), &session(6));
            receiver.receive(channel, &choices, &mut messages).expect("both are honest");
        },
    );
}
