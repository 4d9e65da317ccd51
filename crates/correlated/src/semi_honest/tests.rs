//! All parties as threads over an in-process mesh; what their shares add up to is checked against
//! what it means, and what went over the channels against `costs`, to the byte.

mod in_progress;
mod point_functions;
mod silent;

use std::path::Path;
use std::thread;

use phineus_channels::{MemoryChannel, Parties, Traffic, memory_mesh_ahead};
use phineus_crypto::{Block, Prg};
use phineus_ot::packing::mask;
use phineus_ot::{FieldBits, SessionId};

use super::costs::{PairCosts, PartyPair, batch_costs, demand_costs, kind_costs, setup_costs};
use super::*;
use crate::StoreError;
use crate::demand::BatchScale;
use crate::stored::{StoredFile, StoredKey, UnfinishedFile};

const FIELD: FieldBits = FieldBits::DEFAULT;

/// Runs a function as every party, and gives the results by party.
pub(super) fn everybody<T: Send + 'static>(
    parties: usize,
    run: impl Fn(Parties<MemoryChannel>) -> T + Send + Sync + Clone + 'static,
) -> Vec<T> {
    everybody_scaled(parties, BatchScale::FULL, run)
}

/// Runs all parties over channels whose buffers follow the batch size.
pub(super) fn everybody_scaled<T: Send + 'static>(
    parties: usize,
    scale: BatchScale,
    run: impl Fn(Parties<MemoryChannel>) -> T + Send + Sync + Clone + 'static,
) -> Vec<T> {
    let threads: Vec<_> = memory_mesh_ahead(parties, scale.ahead_bytes())
        .into_iter()
        .map(|parties| {
            let run = run.clone();
            thread::spawn(move || run(parties))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().expect("no party panics")).collect()
}

fn generator(parties: Parties<MemoryChannel>, seed: u128) -> Generator<MemoryChannel> {
    let prg = Prg::from_seed(Block::from_bits(seed + 1000 * parties.me() as u128));
    Generator::setup(parties, prg, &SessionId::new([seed as u8; 32]), FIELD).expect("all honest")
}

fn bit(words: &[u64], index: usize) -> u64 {
    words[index / 64] >> (index % 64) & 1
}

/// Opens element `index` of a column: the sum or the XOR of all parties' shares.
fn opened(shares: &[&Vec<Vec<u64>>], kind: Kind, column: usize, index: usize) -> u64 {
    if kind.is_packed(column) {
        shares.iter().fold(0, |sum, shares| sum ^ bit(&shares[column], index))
    } else {
        let sum = shares.iter().fold(0u64, |sum, shares| sum.wrapping_add(shares[column][index]));
        sum & mask(kind.width().into())
    }
}

/// The meaning of every kind. Shares are also reduced, and there is nothing beyond the last bit.
pub(super) fn assert_meaning(kind: Kind, count: usize, shares: &[&Vec<Vec<u64>>], what: &str) {
    let modulus = mask(kind.width().min(64).into());
    let (mut seen, mut ones) = (std::collections::BTreeSet::new(), 0);
    for index in 0..count {
        let at = |column| opened(shares, kind, column, index);
        match kind {
            Kind::BitTriple => assert_eq!(at(2), at(0) & at(1), "{index}, {what}"),
            Kind::RingTriple { .. } => {
                assert_eq!(at(2), at(0).wrapping_mul(at(1)) & modulus, "{index}, {what}");
            }
            Kind::SquarePair { .. } => {
                assert_eq!(at(1), at(0).wrapping_mul(at(0)) & modulus, "{index}, {what}");
            }
            Kind::SharedBit { .. } => assert_eq!(at(1), at(0), "{index}, {what}"),
            Kind::KnownTriple { width, .. } => {
                let words = count.div_ceil(64);
                for string in (0..usize::from(width)).map(|string| 64 * words * string) {
                    let of_row = |column| opened(shares, kind, column, string + index);
                    assert_eq!(of_row(2), at(0) & of_row(1), "{index}, {what}");
                }
            }
            Kind::PointFunction { .. } => unreachable!("in a test of its own"),
        }
        ones += at(0) & 1;
        seen.insert(at(0));
    }
    if count >= 1000 {
        assert!((400..600).contains(&(1000 * ones as usize / count)), "not random, {what}");
        let wide = matches!(kind, Kind::RingTriple { .. } | Kind::SquarePair { .. });
        assert!(!wide || kind.width() < 32 || seen.len() == count, "values repeat, {what}");
    }
    for shares in shares {
        for (column, words) in shares.iter().enumerate() {
            if kind.is_packed(column) {
                let beyond = count % 64;
                for words in words.chunks(count.div_ceil(64)) {
                    assert!(beyond == 0 || words[count / 64] & !mask(beyond as u32) == 0, "{what}");
                }
            } else {
                assert!(words.iter().all(|word| word & !modulus == 0), "not reduced, {what}");
            }
        }
    }
    if let Kind::KnownTriple { owner, .. } = kind {
        for (party, shares) in shares.iter().enumerate() {
            let nothing = usize::from(party == usize::from(owner));
            assert!(shares[nothing].iter().all(|&word| word == 0), "party {party}, {what}");
            assert!(count < 64 || shares[1 - nothing].iter().any(|&word| word != 0), "{what}");
        }
    }
}

/// Every kind with widths that are special somewhere, and counts around words and batches.
fn all_kinds() -> Vec<(Kind, usize)> {
    let mut kinds = Vec::new();
    for count in [1, 64, 65, 1000, 20_000] {
        kinds.push((Kind::BitTriple, count));
    }
    for width in [1, 2, 13, 32, 64] {
        for count in [1, 65, 300] {
            kinds.push((Kind::RingTriple { width }, count));
            kinds.push((Kind::SquarePair { width }, count));
            kinds.push((Kind::SharedBit { width }, count));
        }
    }
    for (owner, width) in [(0, 1), (1, 1), (0, 13), (1, 64), (0, 65), (1, 127), (0, 128)] {
        for count in [1, 64, 65, 300, 5000] {
            kinds.push((Kind::KnownTriple { owner, width }, count));
        }
    }
    kinds.push((Kind::RingTriple { width: 64 }, 1024));
    kinds.push((Kind::SquarePair { width: 32 }, 2001));
    kinds.push((Kind::SharedBit { width: 32 }, 10_000));
    kinds
}

#[test]
fn every_kind_means_what_it_says_and_costs_what_it_says() {
    for (parties, seed) in [(2, 0x2a), (3, 0x3a), (5, 0x5a)] {
        let results = everybody(parties, move |parties| {
            let me = parties.me();
            let mut generator = generator(parties, seed);
            let mut batch = Batch::empty();
            let traffic = |generator: &mut Generator<_>| generator.parties().traffic();
            let check =
                |before: &[_], after: &[Traffic], costs: &dyn Fn(PartyPair) -> PairCosts| {
                    for peer in (0..after.len()).filter(|&peer| peer != me) {
                        let costs = costs(PartyPair::of(me, peer, after.len()));
                        let before: &Traffic = &before[peer];
                        let sent = after[peer].sent_bytes - before.sent_bytes;
                        let received = after[peer].received_bytes - before.received_bytes;
                        let expected = (costs.from_lower_bytes, costs.from_higher_bytes);
                        let (lower, higher) =
                            if me < peer { (sent, received) } else { (received, sent) };
                        assert_eq!((lower, higher), expected, "party {me} and {peer}");
                    }
                };
            let parties = generator.parties().count();
            let zero = vec![Traffic::default(); parties];
            check(&zero, &traffic(&mut generator), &|_| setup_costs(FIELD));
            let made = all_kinds().into_iter().map(|(kind, count)| {
                let before = traffic(&mut generator);
                generator.make(kind, count, &mut batch).expect("all honest");
                let costs = |pair| batch_costs(kind, count, pair, FIELD);
                check(&before, &traffic(&mut generator), &costs);
                batch.columns[..kind.columns()].iter().map(|column| column.to_vec()).collect()
            });
            made.collect::<Vec<Vec<Vec<u64>>>>()
        });
        for (i, (kind, count)) in all_kinds().into_iter().enumerate() {
            let shares: Vec<_> = results.iter().map(|made| &made[i]).collect();
            let what = format!("{count} {kind:?}, {parties} parties, seed {seed:#x}");
            assert_meaning(kind, count, &shares, &what);
        }
    }
}

#[test]
fn costs_are_those_of_the_formulas() {
    let pair = |parties| PartyPair::of(0, 1, parties);
    let ots = |kind, parties| kind_costs(kind, 4096, pair(parties), FIELD).ots;
    for parties in [2, 3] {
        for width in [2, 8, 32, 64] {
            let triples = ots(Kind::RingTriple { width }, parties);
            assert_eq!(triples, 2 * 4096 * u64::from(width));
            // Half of the triples', and the highest bit's is not needed either.
            assert_eq!(ots(Kind::SquarePair { width }, parties), triples / 2 - 4096);
            assert_eq!(ots(Kind::SharedBit { width }, parties), 4096);
        }
        assert_eq!(ots(Kind::BitTriple, parties), 2 * 4096);
    }
    // Two parties: 31 bits per OT and nothing else for triples of bits; in Z_2^32, 32 of them
    // and 32 * 33 / 2 bits.
    let bytes = |kind, parties| kind_costs(kind, 1 << 20, pair(parties), FIELD).from_lower_bytes;
    assert_eq!(bytes(Kind::BitTriple, 2), 31 << 17);
    assert_eq!(bytes(Kind::BitTriple, 3), 33 << 17);
    assert_eq!(bytes(Kind::RingTriple { width: 32 }, 2), (32 * 31 + 32 * 33 / 2) << 17);
    assert_eq!(bytes(Kind::SharedBit { width: 32 }, 2), (31 + 31) << 16);
    // One OT with each other party, and nothing else, for rows of any width.
    for width in [1, 16, 128] {
        let known = |owner| Kind::KnownTriple { owner, width };
        assert_eq!([0, 1, 2].map(|owner| ots(known(owner), 3)), [4096, 4096, 0]);
        assert_eq!([0, 1].map(|owner| bytes(known(owner), 2)), [31 << 17, 0]);
        assert_eq!([0, 1].map(|owner| bytes(known(owner), 3)), [32 << 17, 0]);
    }
}

/// Needs of a program with interleaved kinds, some of more than a batch.
fn needs() -> Vec<(Kind, usize)> {
    let (ring, square) = (Kind::RingTriple { width: 64 }, Kind::SquarePair { width: 16 });
    let shared = Kind::SharedBit { width: 32 };
    let known = |owner| Kind::KnownTriple { owner, width: 70 };
    vec![
        (Kind::BitTriple, 100),
        (ring, 1000),
        (shared, 7),
        (Kind::BitTriple, 70_000),
        (ring, 30),
        (square, 50),
        (ring, 1500),
        (shared, 300),
        (known(1), 1000),
        (known(0), 20_000),
        (known(1), 129),
        (Kind::BitTriple, 1),
    ]
}

/// Uses everything of [`needs`] in pieces of other sizes; per need the columns.
fn use_all(source: &mut impl CorrelatedRandomness) -> Vec<Vec<Vec<u64>>> {
    needs()
        .into_iter()
        .map(|(kind, count)| {
            let strings = |column| vec![Vec::new(); kind.strings(column)];
            let mut columns: Vec<Vec<Vec<u64>>> = (0..kind.columns()).map(strings).collect();
            // Packed columns cannot be joined at any bit: those are taken in whole words.
            let piece = if kind.is_packed(0) { 640 } else { 77 };
            for first in (0..count).step_by(piece) {
                let taken = piece.min(count - first);
                let mut new: Vec<Vec<u64>> =
                    (0..kind.columns()).map(|c| vec![!0; kind.column_words(c, taken)]).collect();
                take(source, kind, taken, &mut new).expect("all honest");
                for (strings, new) in columns.iter_mut().zip(new) {
                    let length = new.len() / strings.len();
                    let both = strings.iter_mut().zip(new.chunks(length));
                    both.for_each(|(string, new)| string.extend(new));
                }
            }
            columns.into_iter().map(|strings| strings.concat()).collect()
        })
        .collect()
}

fn take(
    source: &mut impl CorrelatedRandomness,
    kind: Kind,
    count: usize,
    columns: &mut [Vec<u64>],
) -> Result<(), CorrelatedError> {
    match (kind, columns) {
        (Kind::BitTriple, [a, b, c]) => source.bit_triples(count, a, b, c),
        (Kind::RingTriple { width }, [a, b, c]) => source.ring_triples(width, a, b, c),
        (Kind::SquarePair { width }, [a, c]) => source.square_pairs(width, a, c),
        (Kind::SharedBit { width }, [bits, ring]) => source.shared_bits(width, bits, ring),
        (Kind::KnownTriple { owner, width }, [bits, rows, products]) => {
            source.known_triples((owner, width), count, bits, rows, products)
        }
        (Kind::PointFunction { bits }, [points, keys]) => {
            source.point_functions(bits, count, points, keys)
        }
        _ => panic!("a kind has its columns"),
    }
}

fn assert_needs(results: &[Vec<Vec<Vec<u64>>>], what: &str) {
    let mut firsts = std::collections::BTreeSet::new();
    for (i, (kind, count)) in needs().into_iter().enumerate() {
        let shares: Vec<_> = results.iter().map(|made| &made[i]).collect();
        assert_meaning(kind, count, &shares, &format!("need {i}, {kind:?}, {what}"));
        if count >= 64 {
            // Who does not know the bits has none.
            let first =
                results.iter().find_map(|made| made[i][0].first().filter(|&&word| word != 0));
            assert!(firsts.insert(first), "nothing is given out twice, {what}");
        }
    }
}

#[test]
fn live_randomness_makes_exactly_what_is_demanded() {
    for (parties, seed) in [(2, 0x71), (3, 0x73)] {
        let results = everybody(parties, move |parties| {
            let count = parties.count();
            let generator = generator(parties, seed);
            let demand = Demand::of(needs());
            let expected = demand_costs(&demand, PartyPair::of(0, 1, count), FIELD);
            let expected = expected.from_lower_bytes;
            let setup = setup_costs(FIELD).from_lower_bytes;
            let mut live =
                Live::start(generator, demand, needs().into_iter().map(Ok)).expect("a thread");
            let used = use_all(&mut live);
            let mut generator = live.finish().expect("the thread does not fail");
            let me = generator.parties().me();
            let peers = (0..count).filter(|&peer| peer != me);
            let pairs = peers.map(|peer| PartyPair::of(me, peer, count));
            let ots = pairs.map(|pair| demand_costs(&Demand::of(needs()), pair, FIELD).ots);
            assert_eq!(generator.ots(), ots.sum::<u64>(), "every OT is counted");
            let parties = generator.parties();
            if parties.me() == 0 {
                assert_eq!(parties.traffic()[1].sent_bytes, setup + expected);
            }
            used
        });
        assert_needs(&results, &format!("{parties} parties, seed {seed:#x}"));
    }
}

#[test]
fn live_randomness_whose_peer_leaves_gives_the_error_once_and_then_another() {
    let seed = 0x1e;
    let results = everybody(2, move |parties| {
        let me = parties.me();
        let mut generator = generator(parties, seed);
        if me == 1 {
            generator.make(Kind::BitTriple, 1 << 16, &mut Batch::empty()).expect("all honest");
            return None;
        }
        let order = [(Kind::BitTriple, 1 << 20)];
        let mut live =
            Live::start(generator, Demand::of(order), order.into_iter().map(Ok)).expect("thread");
        let mut words = vec![vec![0; 1 << 10]; 3];
        let mut errors = Vec::new();
        while errors.len() < 2 {
            errors.extend(take(&mut live, Kind::BitTriple, 1 << 16, &mut words).err());
        }
        Some(errors)
    });
    let errors = results.into_iter().flatten().next().expect("party 0 has errors");
    assert!(matches!(errors[0], CorrelatedError::Channel(_)));
    assert!(matches!(errors[1], CorrelatedError::Store(StoreError::Failed)));
}

#[test]
fn live_randomness_gives_the_error_of_an_order_that_cannot_be_read() {
    let results = everybody(2, move |parties| {
        let generator = generator(parties, 0x1f);
        let order = [Ok((Kind::BitTriple, 64)), Err(StoreError::Failed.into())];
        let demand = Demand::of([(Kind::BitTriple, 64)]);
        let live = Live::start_batches(generator, order.into_iter(), &demand);
        let mut live = live.expect("a thread");
        let mut words = vec![vec![0; 1]; 3];
        take(&mut live, Kind::BitTriple, 64, &mut words).expect("all honest");
        take(&mut live, Kind::BitTriple, 64, &mut words).err()
    });
    for error in results {
        assert!(matches!(error, Some(CorrelatedError::Store(StoreError::Failed))));
    }
}

#[test]
fn of_two_runs_that_make_a_file_the_second_leaves_it_to_the_first() {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let path = directory.path().join("a.prep");
    let first = UnfinishedFile::create(&path).expect("nobody makes it");
    let Err(StoreError::Io { source, .. }) = UnfinishedFile::create(&path) else {
        panic!("two runs make one file");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::AlreadyExists);
    let partial = first.partial().to_owned();
    assert!(partial.exists() && !path.exists(), "the first one's is still there");
    drop(first);
    assert!(!partial.exists(), "what is not finished is removed");
}

#[test]
fn sequential_randomness_keeps_to_its_memory() {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let path = directory.path().to_owned();
    for (memory_bytes, seed) in [(u64::MAX, 0x5e), (1000, 0x5f)] {
        let path = path.clone();
        let results = everybody(2, move |parties| {
            let mut generator = generator(parties, seed);
            let (demand, order) = (Demand::of(needs()), needs().into_iter().map(Ok));
            let made = Sequential::make(&mut generator, demand, order, memory_bytes, &path);
            let mut made = made.expect("all honest");
            assert_eq!(made.is_in_memory(), memory_bytes > 1000);
            assert_eq!(path.read_dir().expect("it exists").count(), 0, "a file has no name");
            let used = use_all(&mut made);
            assert!(made.is_used_up());
            used
        });
        assert_needs(&results, &format!("memory {memory_bytes}, seed {seed:#x}"));
    }
}

#[test]
fn a_dealer_deals_what_it_says() {
    for parties in [2, 3, 5] {
        let seed = Block::from_bits(0xdea1);
        let results: Vec<_> =
            (0..parties).map(|me| use_all(&mut Dealer::insecure(seed, me, parties))).collect();
        assert_needs(&results, &format!("{parties} parties"));
    }
}

fn binding() -> Binding {
    Binding { protocol: "mixed".to_owned(), program: [9; 32], demand: Demand::of(needs()) }
}

/// Makes the files `0.prep`, `1.prep` and keys of two parties.
fn make_files(directory: &Path, seed: u128) {
    let directory = directory.to_owned();
    everybody(2, move |parties| {
        let me = parties.me();
        let mut generator = generator(parties, seed);
        let mut prg = Prg::from_seed(Block::from_bits(seed + 7));
        let key = StoredKey::create(&directory.join(format!("{me}.key")), &mut prg).expect("key");
        let (path, order) = (directory.join(format!("{me}.prep")), needs().into_iter().map(Ok));
        let file = UnfinishedFile::create(&path).expect("it is new");
        Stored::make(file, &key, &mut generator, (&binding(), None), order).expect("all honest");
    });
}

fn open(directory: &Path, me: usize) -> Result<StoredFile, StoreError> {
    let key = StoredKey::open(&directory.join(format!("{me}.key")))?;
    Stored::open(&directory.join(format!("{me}.prep")), &key, &binding(), me, 2)
}

#[test]
fn stored_material_is_used_once() {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let seed = 0x570;
    make_files(directory.path(), seed);
    let path = directory.path().to_owned();
    let unused = std::fs::read(path.join("1.prep")).expect("it exists");
    let results = everybody(2, move |mut parties| {
        let file = open(&path, parties.me()).expect("the file is good");
        // While it is open nobody else gets it.
        let again = open(&path, parties.me());
        assert!(matches!(again, Err(StoreError::AlreadyUsed { .. })));
        let mut stored = Stored::consume(file, &mut parties).expect("the files belong together");
        use_all(&mut stored)
    });
    assert_needs(&results, &format!("seed {seed:#x}"));
    for me in 0..2 {
        assert!(matches!(open(directory.path(), me), Err(StoreError::AlreadyUsed { .. })));
    }
    // Who brings an old copy back gains nothing: it is known where the key is.
    std::fs::write(directory.path().join("1.prep"), unused).expect("it can be written");
    assert!(matches!(open(directory.path(), 1), Err(StoreError::AlreadyUsed { .. })));
    // Who takes the mark away gains nothing: the salt is gone.
    let path = directory.path().join("0.prep");
    let mut bytes = std::fs::read(&path).expect("it exists");
    bytes[12..16].fill(0);
    std::fs::write(&path, bytes).expect("it can be written");
    assert!(matches!(open(directory.path(), 0), Err(StoreError::Damaged { .. })));
}

#[test]
fn stored_material_that_does_not_fit_is_refused() {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let (one, other) = (directory.path().join("one"), directory.path().join("other"));
    for (place, seed) in [(&one, 0x571), (&other, 0x572)] {
        std::fs::create_dir(place).expect("it is new");
        make_files(place, seed);
    }
    let (path, key_path) = (one.join("0.prep"), one.join("0.key"));
    let key = StoredKey::open(&key_path).expect("the key is good");
    let whole = std::fs::read(&path).expect("it exists");
    let with = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("it can be written");
        open(&one, 0)
    };
    for cut in [0, 11, 47, 155, 170, 250, whole.len() / 2, whole.len() - 1] {
        assert!(matches!(with(&whole[..cut]), Err(StoreError::Truncated { .. })), "cut {cut}");
    }
    // Any bit of what is bound to the key; the magic and the version say what it is not.
    for at in 0..256 {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        let expected = match at {
            0..12 => matches!(with(&changed), Err(StoreError::Unknown { .. })),
            12..16 => matches!(with(&changed), Err(StoreError::AlreadyUsed { .. })),
            152..156 => with(&changed).is_err(),
            // From 252 on it is the first page, which has the key of garbled tables.
            _ => matches!(with(&changed), Err(StoreError::Damaged { .. })),
        };
        assert!(expected, "byte {at} of the header");
    }
    with(&whole).expect("the file is good");

    let refused = |binding: &Binding, me, parties| {
        Stored::open(&path, &key, binding, me, parties).err().expect("it is refused")
    };
    assert!(matches!(refused(&binding(), 1, 2), StoreError::OtherParty { party: 0, .. }));
    assert!(matches!(refused(&binding(), 0, 3), StoreError::OtherParty { parties: 2, .. }));
    let program = Binding { program: [8; 32], ..binding() };
    assert!(matches!(refused(&program, 0, 2), StoreError::OtherProgram { .. }));
    let gmw = Binding { protocol: "gmw".to_owned(), ..binding() };
    assert!(matches!(refused(&gmw, 0, 2), StoreError::OtherProtocol { .. }));
    let mut more = binding();
    more.demand.add(Kind::SharedBit { width: 32 }, 1);
    let short = refused(&more, 0, 2);
    assert!(matches!(short, StoreError::TooShort { stored: 307, needed: 308, .. }));

    use std::os::unix::fs::PermissionsExt;
    let exposed = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(&key_path, exposed).expect("it is ours");
    assert!(matches!(StoredKey::open(&key_path), Err(StoreError::Exposed { .. })));

    // Party 1 has a file of another run: both notice, nothing is used up.
    let places = [one.clone(), other.clone()];
    let owner = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&key_path, owner).expect("it is ours");
    let errors = everybody(2, move |mut parties| {
        let file = open(&places[parties.me()], parties.me()).expect("the file is good");
        Stored::consume(file, &mut parties).err()
    });
    for (me, error) in errors.into_iter().enumerate() {
        let Some(CorrelatedError::Store(StoreError::OtherRun { party, .. })) = error else {
            panic!("files of different runs are refused");
        };
        assert_eq!(party, 1 - me);
    }
    open(&one, 0).expect("nothing was used up");
    open(&other, 1).expect("nothing was used up");

    // A page that was changed is found when it is read.
    let mut changed = whole.clone();
    *changed.last_mut().expect("the file is long") ^= 1;
    std::fs::write(&path, changed).expect("it can be written");
    let errors = everybody(2, move |mut parties| {
        let me = parties.me();
        let file = open(&one, me).expect("the header is good");
        let mut stored = Stored::consume(file, &mut parties).ok()?;
        let mut words = vec![vec![0; 1]; 3];
        let mut error = None;
        while me == 0 && error.is_none() {
            let taken = take(&mut stored, Kind::RingTriple { width: 64 }, 1, &mut words);
            error = taken.err();
        }
        error
    });
    assert!(matches!(errors[0], Some(CorrelatedError::Store(StoreError::Damaged { .. }))));
}

#[test]
fn a_schedule_makes_batches_when_they_are_first_needed() {
    let schedule = Schedule::new(Demand::of(needs()), needs().into_iter().map(Ok));
    let (ring, square) = (Kind::RingTriple { width: 64 }, Kind::SquarePair { width: 16 });
    let known = |owner| Kind::KnownTriple { owner, width: 70 };
    let expected = [
        (Kind::BitTriple, 65_536),
        (ring, 1024),
        (Kind::SharedBit { width: 32 }, 307),
        (Kind::BitTriple, 70_101 - 65_536),
        (ring, 1024),
        (square, 50),
        (ring, 2530 - 2048),
        (known(1), 1129),
        (known(0), 14_979),
        (known(0), 20_000 - 14_979),
    ];
    let schedule: Result<Vec<_>, CorrelatedError> = schedule.collect();
    assert_eq!(schedule.expect("the order has no error"), expected);
}
