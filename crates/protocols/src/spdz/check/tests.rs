//! Runs of honest parties against the clear meaning; runs with a party that lies, in everything.

use std::thread;

use phineus_channels::{Altering, MemoryChannel, MessagePosition, flip_bit, memory_mesh};
use phineus_correlated::authenticated::{AuthenticatedRandomness, Dealer, MatrixSize};
use phineus_crypto::SecretBit;
use phineus_crypto::field::{F32, F61, F128};

use super::*;

/// Lanes of everything in a session.
const LANES: usize = 3;
/// Rows and columns of its matrix.
const ROWS: usize = 2;
const COLS: usize = LANES;

/// PartyDeviation of the last party.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PartyDeviation {
    None,
    /// Another share of a value, at this push.
    Share(usize),
    /// Another share of a MAC, at this push.
    Mac(usize),
    /// Another sum of MACs in the check with this number, well committed to.
    Sigma(usize),
    /// Another sum of what it was told.
    Transcript(usize),
    /// Another seed than it committed to, when it tells the seed with this number.
    Seed(usize),
    /// Another key.
    Delta,
}

/// One party of a session that uses everything there is.
struct TestSession<F: Field, C> {
    parties: Parties<C>,
    opening: Opening<F>,
    dealer: Dealer<F>,
    lie: PartyDeviation,
    pushes: usize,
    reveals: usize,
    checks: usize,
    rounds: u64,
    bytes: u64,
    pending: bool,
}

fn element<F: Field>(value: usize) -> F {
    F::new(value as u128)
}

/// The secret inputs of the first two parties.
fn input<F: Field>(party: usize) -> Vec<F> {
    (0..LANES).map(|i| F::from_signed(5 - 7 * (1 + i as i128) * (1 + party as i128))).collect()
}

impl<F: Field, C: Channel> TestSession<F, C> {
    fn new(parties: Parties<C>, lie: PartyDeviation) -> TestSession<F, C> {
        let (me, count) = (parties.me(), parties.count());
        let dealer = Dealer::<F>::insecure(Block::from_bits(77), me, count);
        let lie = if me + 1 == count { lie } else { PartyDeviation::None };
        let delta =
            dealer.delta().add(F::ONE.and_bit(SecretBit::public(lie == PartyDeviation::Delta)));
        let prg = Prg::from_seed(Block::from_bits(me as u128));
        let opening = Opening::new(me, count, delta, &SessionId::new([3; 32]), prg);
        let (pushes, reveals, checks, rounds, bytes) = (0, 0, 0, 0, 0);
        let pending = false;
        TestSession {
            parties,
            opening,
            dealer,
            lie,
            pushes,
            reveals,
            checks,
            rounds,
            bytes,
            pending,
        }
    }

    fn push(&mut self, shares: &[Share<F>]) -> usize {
        let mut shares = shares.to_vec();
        let one = F::ONE;
        let last = shares.last_mut().expect("something is opened");
        match self.lie {
            PartyDeviation::Share(push) if push == self.pushes => last.value = last.value.add(one),
            PartyDeviation::Mac(push) if push == self.pushes => last.mac = last.mac.add(one),
            _ => {}
        }
        self.pushes += 1;
        self.opening.push(&shares)
    }

    fn lie_about_the_seed(&mut self) {
        if self.opening.pending && self.lie == PartyDeviation::Seed(self.reveals) {
            self.opening.seed ^= Block::from_bits(1 << 77);
        }
        self.reveals += usize::from(self.opening.pending);
    }

    fn exchange(&mut self) -> Result<(), ProtocolError> {
        self.lie_about_the_seed();
        let opened = self.opening.waiting.len();
        let told = |party: usize| self.opening.told[party].waiting.len();
        let telling = (0..self.parties.count()).any(|party| told(party) > 0);
        let own = told(self.parties.me());
        self.bytes += message_bytes(F::BYTES, opened, own, telling, self.pending);
        self.rounds += 1;
        self.pending = true;
        self.opening.exchange(&mut self.parties)
    }

    fn check(&mut self) -> Result<(), ProtocolError> {
        self.lie_about_the_seed();
        match self.lie {
            PartyDeviation::Sigma(check) if check == self.checks => {
                self.opening.sigma[0] = self.opening.sigma[0].add(F::ONE);
            }
            PartyDeviation::Transcript(check) if check == self.checks => {
                self.opening.transcript[0] = self.opening.transcript[0].add(F::ONE);
            }
            _ => {}
        }
        self.checks += 1;
        let (rounds, bytes) = check_cost(F::BYTES, self.pending);
        (self.rounds, self.bytes) = (self.rounds + rounds, self.bytes + bytes);
        self.pending = false;
        self.opening.check(&mut self.parties)
    }

    /// The inputs of the first two parties, shared in one round.
    fn inputs(&mut self) -> Result<[Vec<Share<F>>; 2], ProtocolError> {
        let (me, delta) = (self.parties.me(), self.opening.delta);
        let mut shares = [(); 2].map(|()| vec![Share::ZERO; LANES]);
        let mut at = [0; 2];
        for (owner, shares) in shares.iter_mut().enumerate() {
            let mut masks = vec![F::ZERO; LANES];
            let values = (owner == me).then_some(&mut masks[..]);
            self.dealer.masks(owner, shares, values)?;
            let mut masked = input::<F>(owner);
            F::sub_assign(&mut masked, &masks);
            let masked = (owner == me).then_some(&masked[..]);
            at[owner] = self.opening.tell(owner, LANES, masked);
        }
        self.exchange()?;
        for (owner, shares) in shares.iter_mut().enumerate() {
            let told = self.opening.told(owner, at[owner], LANES);
            for (share, &told) in shares.iter_mut().zip(told) {
                *share = share.add_public(told, me, delta);
            }
        }
        Ok(shares)
    }

    /// The products of the inputs, and the matrix of ones to six times the first input, both in
    /// one round; then the square of the sums, for which a triple of equal factors is used.
    fn compute(&mut self) -> Result<[Vec<Share<F>>; 3], ProtocolError> {
        let [x, y] = self.inputs()?;
        let (me, delta) = (self.parties.me(), self.opening.delta);
        let [mut a, mut b, mut c] = [(); 3].map(|()| vec![Share::ZERO; LANES]);
        self.dealer.triples(&mut a, &mut b, &mut c)?;
        let sub = |x: &[Share<F>], y: &[Share<F>]| -> Vec<Share<F>> {
            x.iter().zip(y).map(|(x, y)| x.sub(*y)).collect()
        };
        let [mut ma, mut mb, mut mc] = [ROWS * COLS, COLS, ROWS].map(|n| vec![Share::ZERO; n]);
        let size = MatrixSize { rows: ROWS as u32, cols: COLS as u32, vectors: 1 };
        self.dealer.matrix_triples(size, &mut ma, &mut mb, &mut mc)?;
        let matrix: Vec<Share<F>> =
            (0..ROWS * COLS).map(|i| Share::public(element(i + 1), me, delta)).collect();
        let at = [self.push(&sub(&x, &a)), self.push(&sub(&y, &b))];
        let at_matrix = [self.push(&sub(&matrix, &ma)), self.push(&sub(&x, &mb))];
        self.exchange()?;
        let opened = at.map(|at| self.opening.opened(at, LANES).to_vec());
        let product: Vec<Share<F>> = (0..LANES)
            .map(|i| {
                let [d, e] = [opened[0][i], opened[1][i]];
                let sum = c[i].add(b[i].scale(d)).add(a[i].scale(e));
                sum.add_public(d.mul(e), me, delta)
            })
            .collect();
        // c + D [b] + [A] e + D e.
        let d = self.opening.opened(at_matrix[0], ROWS * COLS);
        let e = self.opening.opened(at_matrix[1], COLS);
        F::mat_vec_add(Share::elements_mut(&mut mc), Share::elements(&ma), e);
        for (i, out) in mc.iter_mut().enumerate() {
            for j in 0..COLS {
                let d = d[j * ROWS + i];
                *out = out.add(mb[j].scale(d)).add_public(d.mul(e[j]), me, delta);
            }
        }
        let mut square = vec![Share::ZERO; LANES];
        self.dealer.squares(&mut a, &mut square)?;
        let sums: Vec<Share<F>> = x.iter().zip(&y).map(|(x, y)| x.add(*y)).collect();
        let at = self.push(&sub(&sums, &a));
        self.exchange()?;
        for (i, &d) in self.opening.opened(at, LANES).iter().enumerate() {
            square[i] = square[i].add(a[i].scale(d.add(d))).add_public(d.mul(d), me, delta);
        }
        Ok([product, mc, square])
    }

    /// Runs the program; returns the values that all learn, and those that only the second party
    /// learns (the squares).
    fn run(&mut self) -> Result<(Vec<F>, Vec<F>), ProtocolError> {
        let [product, layer, square] = self.compute()?;
        // What waits goes on waiting.
        let at = [self.push(&product), self.push(&layer)];
        self.check()?;
        let mut masked = vec![Share::ZERO; LANES];
        let mut masks = vec![F::ZERO; LANES];
        let receiver = self.parties.me() == 1;
        self.dealer.masks(1, &mut masked, receiver.then_some(&mut masks[..]))?;
        masked.iter_mut().zip(&square).for_each(|(mask, x)| *mask = mask.add(*x));
        let at = [at[0], at[1], self.push(&masked)];
        self.exchange()?;
        self.check()?;
        // Nothing is left: this costs nothing.
        self.opening.check(&mut self.parties)?;
        let mut public = self.opening.opened(at[0], LANES).to_vec();
        public.extend_from_slice(self.opening.opened(at[1], ROWS));
        let mut private = self.opening.opened(at[2], LANES).to_vec();
        F::sub_assign(&mut private, &masks);
        Ok((public, private))
    }
}

fn expected<F: Field>() -> (Vec<F>, Vec<F>) {
    let [x, y] = [0, 1].map(input::<F>);
    let mut public = vec![F::ZERO; LANES];
    F::mul_slices(&mut public, &x, &y);
    let row = |i| (0..COLS).fold(F::ZERO, |s, j| s.add(element::<F>(j * ROWS + i + 1).mul(x[j])));
    public.extend((0..ROWS).map(row));
    let square = |i: usize| x[i].add(y[i]).mul(x[i].add(y[i]));
    (public, (0..LANES).map(square).collect())
}

/// How the session ended for an honest party: with outputs that are right, or with an error.
/// Ending with wrong outputs is a panic.
type SessionResult = Result<(), ProtocolError>;

/// Runs a session in which the last party lies, and its messages to the parties in `to` have a bit
/// flipped. The ends of all others, and how many messages the last sent to each.
fn session<F: Field>(
    count: usize,
    lie: PartyDeviation,
    flip: Option<(usize, usize)>,
    to: &[usize],
) -> (Vec<SessionResult>, usize) {
    let liar = count - 1;
    let handles: Vec<_> = memory_mesh(count)
        .into_iter()
        .map(|parties| {
            let me = parties.me();
            let wrap = |(peer, channel): (usize, Option<MemoryChannel>)| {
                let at = flip.filter(|_| me == liar && to.contains(&peer));
                channel.map(|channel| {
                    let flip = move |place: MessagePosition, bytes: &mut [u8]| {
                        let bit = at.filter(|at| at.0 == place.message).map(|at| at.1);
                        if let Some(bit) = bit.filter(|bit| *bit < 8 * bytes.len()) {
                            flip_bit(bytes, bit);
                        }
                    };
                    Altering::new(channel, flip)
                })
            };
            let channels = parties.into_channels().into_iter().enumerate().map(wrap).collect();
            let parties = Parties::new(me, channels);
            thread::spawn(move || {
                let mut session = TestSession::<F, _>::new(parties, lie);
                let (public, private) = session.run()?;
                if me != liar {
                    let (all, second) = expected::<F>();
                    assert!(public == all, "a wrong output in {}, {lie:?}, {flip:?}", F::NAME);
                    assert!((private == second) == (me == 1), "{lie:?}, {flip:?}");
                }
                let peer = (me + 1) % count;
                let sent = session.parties.channel(peer).traffic().sent_bytes;
                assert_eq!(sent, session.bytes, "bytes of party {me} of {count}");
                let messages = session.parties.channel(peer).messages();
                assert_eq!(messages as u64, session.rounds, "a message is a round");
                Ok(messages)
            })
        })
        .collect();
    let mut ends = Vec::new();
    for handle in handles {
        ends.push(handle.join().expect("no party panics"));
    }
    let messages = ends.pop().and_then(Result::ok).unwrap_or_default();
    (ends.into_iter().map(|end| end.map(|_| ())).collect(), messages)
}

fn is_cheating(end: &SessionResult) -> bool {
    matches!(end, Err(ProtocolError::Cheated { .. } | ProtocolError::Misbehaved { .. }))
}

#[test]
fn honest_parties_get_right_outputs_at_the_stated_cost() {
    for count in [2, 3, 5] {
        for ends in [
            session::<F61>(count, PartyDeviation::None, None, &[]),
            session::<F32>(count, PartyDeviation::None, None, &[]),
            session::<F128>(count, PartyDeviation::None, None, &[]),
        ] {
            assert!(ends.0.iter().all(Result::is_ok), "{count} parties: {:?}", ends.0);
            // Inputs, products, squares, check, outputs, check.
            assert_eq!(ends.1, 1 + 1 + 1 + 3 + 1 + 3);
        }
    }
}

fn lies<F: Field>(count: usize) {
    let pushes = (0..8).flat_map(|push| [PartyDeviation::Share(push), PartyDeviation::Mac(push)]);
    let checks =
        (0..2).flat_map(|check| [PartyDeviation::Sigma(check), PartyDeviation::Transcript(check)]);
    let seeds = (0..4).map(PartyDeviation::Seed);
    for lie in pushes.chain(checks).chain(seeds).chain([PartyDeviation::Delta]) {
        let (ends, _) = session::<F>(count, lie, None, &[]);
        assert!(ends.iter().all(is_cheating), "{count}, {lie:?} in {}: {ends:?}", F::NAME);
    }
}

#[test]
fn a_party_that_lies_is_caught_by_everybody() {
    for count in [2, 3] {
        lies::<F61>(count);
        lies::<F32>(count);
        lies::<F128>(count);
    }
    lies::<F61>(5);
}

/// Flips in each message of the last party the bits from `first` in steps of `step`.
fn flips<F: Field>(count: usize, to: &[usize], first: usize, step: usize) {
    let (_, messages) = session::<F>(count, PartyDeviation::None, None, &[]);
    let longest = message_bytes(F::BYTES, 2 * LANES + ROWS * COLS + COLS, 0, true, true);
    for message in 0..messages {
        for bit in (first..8 * longest as usize).step_by(step) {
            let flip = Some((message, bit));
            let (ends, _) = session::<F>(count, PartyDeviation::None, flip, to);
            let hit = !ends.iter().all(Result::is_ok);
            for &peer in to {
                let caught = is_cheating(&ends[peer]) || !hit;
                assert!(caught, "{flip:?} to {peer} of {count} in {}: {ends:?}", F::NAME);
            }
            // Messages have different lengths, but none is so short that the first bits miss.
            assert!(hit || bit >= 8 * 32, "{flip:?} in {} went unnoticed", F::NAME);
        }
    }
}

#[test]
fn a_flipped_bit_in_any_message_is_caught() {
    flips::<F61>(2, &[0], 0, 41);
    flips::<F32>(2, &[0], 3, 97);
    flips::<F128>(2, &[0], 5, 97);
}

#[test]
fn a_party_that_tells_others_different_things_is_caught() {
    flips::<F61>(3, &[0], 1, 97);
    flips::<F61>(3, &[1], 2, 97);
    flips::<F32>(3, &[0, 1], 0, 97);
    flips::<F61>(4, &[0, 2], 7, 131);
}

/// Messages of several pieces, whose parts end anywhere in one.
#[test]
fn long_messages_are_put_together() {
    for (opened, told) in [(70_001, [0, 0, 0]), (16_383, [40_001, 0, 5]), (3, [0, 16_384, 90_000])]
    {
        let handles: Vec<_> = memory_mesh(3)
            .into_iter()
            .map(|mut parties| {
                thread::spawn(move || {
                    let me = parties.me();
                    let mut dealer = Dealer::<F61>::insecure(Block::from_bits(2), me, 3);
                    let mut shares = vec![Share::ZERO; opened];
                    let mut known = vec![F61::ZERO; opened];
                    let values = (me == 1).then_some(&mut known[..]);
                    dealer.masks(1, &mut shares, values).expect("the dealer does not fail");
                    let prg = Prg::from_seed(Block::from_bits(me as u128));
                    let session = SessionId::new([6; 32]);
                    let mut opening = Opening::new(me, 3, dealer.delta(), &session, prg);
                    opening.push(&shares);
                    let of = |party: usize| -> Vec<F61> {
                        (0..told[party]).map(|i| element(i * 7 + party)).collect()
                    };
                    for (party, &count) in told.iter().enumerate() {
                        opening.tell(party, count, (party == me).then_some(&of(party)));
                    }
                    opening.exchange(&mut parties).expect("all are honest");
                    let all_told =
                        (0..3).all(|party| opening.told(party, 0, told[party]) == of(party));
                    assert!(all_told);
                    let values = opening.opened(0, opened).to_vec();
                    opening.check(&mut parties).expect("all are honest");
                    (values, known)
                })
            })
            .collect();
        let all: Vec<_> =
            handles.into_iter().map(|handle| handle.join().expect("no party panics")).collect();
        assert!(all.iter().all(|(values, _)| *values == all[1].1));
    }
}

fn print_speed<F: Field>() {
    const LEN: usize = 1 << 16;
    const ROUNDS: usize = 32;
    let start = std::time::Instant::now();
    let handles: Vec<_> = memory_mesh(2)
        .into_iter()
        .map(|mut parties| {
            thread::spawn(move || {
                let me = parties.me();
                let mut dealer = Dealer::<F>::insecure(Block::from_bits(2), me, 2);
                let [mut a, mut b, mut c] = [(); 3].map(|()| vec![Share::ZERO; LEN]);
                dealer.triples(&mut a, &mut b, &mut c).expect("the dealer does not fail");
                let prg = Prg::from_seed(Block::from_bits(me as u128));
                let session = SessionId::new([4; 32]);
                let mut opening = Opening::new(me, 2, dealer.delta(), &session, prg);
                let start = std::time::Instant::now();
                for _ in 0..ROUNDS {
                    opening.push(&a);
                    opening.exchange(&mut parties).expect("all are honest");
                }
                opening.check(&mut parties).expect("all are honest");
                start.elapsed()
            })
        })
        .collect();
    for handle in handles {
        let elapsed = handle.join().expect("no party panics").as_secs_f64();
        let rate = (LEN * ROUNDS) as f64 / elapsed / 1e6;
        println!("{}: {rate:.0} million values opened per second", F::NAME);
    }
    println!("  with the dealer {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
}

#[test]
#[ignore = "a measurement"]
fn measure() {
    print_speed::<F32>();
    print_speed::<F61>();
    print_speed::<F128>();
}
