//! Authenticated correlated randomness in files: used once, by whom and for what it was made.

use std::path::Path;

use super::drawing::{ORDER, take_all};
use super::*;
use crate::StoreError;
use crate::authenticated::AuthenticatedRandomness;
use crate::stored::{StoredFile, StoredKey, UnfinishedFile};

fn binding() -> Binding {
    Binding { protocol: "spdz".to_owned(), program: [9; 32], demand: Demand::of(ORDER) }
}

/// Runs a function as every party, and gives the results by party.
fn everybody<T: Send + 'static>(
    parties: usize,
    run: impl Fn(Parties<phineus_channels::MemoryChannel>) -> T + Send + Clone + 'static,
) -> Vec<T> {
    let threads: Vec<_> = memory_mesh(parties)
        .into_iter()
        .map(|parties| {
            let run = run.clone();
            thread::spawn(move || run(parties))
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().expect("no party panics")).collect()
}

/// Makes files and keys of so many parties in a directory; gives their shares of the MAC key.
fn make_files<F: Field>(directory: &Path, parties: usize, seed: u128) -> Vec<F> {
    let directory = directory.to_owned();
    everybody(parties, move |parties| {
        let me = parties.me();
        let mut generator = generator::<F, _>(parties, seed).expect("all are honest");
        let key = StoredKey::create(&directory.join(format!("{me}.key")), &mut prg(me, seed + 1));
        let (path, key) = (directory.join(format!("{me}.prep")), key.expect("it is new"));
        let file = UnfinishedFile::create(&path).expect("it is new");
        let made = Stored::make(file, &key, &mut generator, &binding(), ORDER.into_iter().map(Ok));
        made.expect("all are honest");
        generator.delta()
    })
}

fn open_with<F: Field>(
    directory: &Path,
    (me, parties): (usize, usize),
    binding: &Binding,
) -> Result<StoredFile, StoreError> {
    let key = StoredKey::open(&directory.join(format!("{me}.key")))?;
    Stored::<F>::open(&directory.join(format!("{me}.prep")), &key, binding, me, parties)
}

fn used_once<F: Field>(parties: usize, seed: u128) {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let deltas = make_files::<F>(directory.path(), parties, seed);
    let path = directory.path().to_owned();
    let made: Vec<Vec<PartyBatch<F>>> = everybody(parties, move |mut all| {
        let me = all.me();
        let file = open_with::<F>(&path, (me, parties), &binding()).expect("the file is good");
        let again = open_with::<F>(&path, (me, parties), &binding());
        assert!(matches!(again, Err(StoreError::AlreadyUsed { .. })), "it is in use");
        let mut stored = Stored::<F>::consume(file, &mut all).expect("the files belong together");
        assert!(stored.settle().is_ok());
        let made = take_all(&mut stored, me);
        assert!(stored.is_used_up());
        made
    });
    for (made, delta) in made.iter().zip(deltas) {
        assert!(made[0].key == delta, "the key comes with it");
    }
    for i in 0..ORDER.len() {
        check(&made.iter().map(|made| &made[i]).collect::<Vec<_>>());
    }
    for me in 0..parties {
        let used = open_with::<F>(directory.path(), (me, parties), &binding());
        assert!(matches!(used, Err(StoreError::AlreadyUsed { .. })));
    }
    // Who takes the mark away gains nothing: the salt is gone.
    let path = directory.path().join("0.prep");
    let mut bytes = std::fs::read(&path).expect("it exists");
    bytes[12..16].fill(0);
    std::fs::write(&path, bytes).expect("it can be written");
    let unmarked = open_with::<F>(directory.path(), (0, parties), &binding());
    assert!(matches!(unmarked, Err(StoreError::Damaged { .. })));
}

#[test]
fn stored_material_is_used_once() {
    used_once::<F61>(2, 0xa1);
    used_once::<F32>(3, 0xa2);
    used_once::<F128>(2, 0xa3);
}

#[test]
fn stored_material_that_does_not_fit_is_refused() {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    let (one, other) = (directory.path().join("one"), directory.path().join("other"));
    for (place, seed) in [(&one, 0xa5), (&other, 0xa6)] {
        std::fs::create_dir(place).expect("it is new");
        make_files::<F32>(place, 2, seed);
    }
    let whole = std::fs::read(one.join("0.prep")).expect("it exists");
    for cut in [0, 47, 155, 170, whole.len() / 2, whole.len() - 1] {
        std::fs::write(one.join("0.prep"), &whole[..cut]).expect("it can be written");
        let cut_off = open_with::<F32>(&one, (0, 2), &binding());
        assert!(matches!(cut_off, Err(StoreError::Truncated { .. })), "cut {cut}");
    }
    std::fs::write(one.join("0.prep"), &whole).expect("it can be written");
    let refused = |binding: &Binding, parties| {
        open_with::<F32>(&one, (0, parties), binding).err().expect("it is refused")
    };
    assert!(matches!(refused(&binding(), 3), StoreError::OtherParty { parties: 2, .. }));
    let protocol = Binding { protocol: "spdz-32".to_owned(), ..binding() };
    assert!(matches!(refused(&protocol, 2), StoreError::OtherProtocol { .. }));
    let program = Binding { program: [8; 32], ..binding() };
    assert!(matches!(refused(&program, 2), StoreError::OtherProgram { .. }));
    let mut more = binding();
    more.demand.add(product(2, 3, 1), 1);
    let short = refused(&more, 2);
    assert!(matches!(short, StoreError::TooShort { stored: 2, needed: 3, .. }), "{short}");
    assert!(short.to_string().contains("rows: 2, cols: 3"), "{short}");
    // The same names in another field.
    let field = open_with::<F61>(&one, (0, 2), &binding()).err().expect("it is refused");
    assert!(matches!(field, StoreError::OtherProtocol { .. }));
    // A file of another run at party 1: both notice, and nothing is used up.
    let places = [one.clone(), other.clone()];
    let errors = everybody(2, move |mut parties| {
        let file = open_with::<F32>(&places[parties.me()], (parties.me(), 2), &binding());
        let file = file.expect("the file is good");
        Stored::<F32>::consume(file, &mut parties).err()
    });
    for error in errors {
        let error = error.expect("files of different runs are refused");
        assert!(matches!(error, CorrelatedError::Store(StoreError::OtherRun { .. })));
    }
    // A changed page, key share or correlated randomness, is found when it is read.
    let first_page = 156 + 20 * binding().demand.kinds().count() + 16;
    for at in [first_page, first_page + 1000, whole.len() - 17, whole.len() - 1] {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(one.join("0.prep"), changed).expect("it can be written");
        let partner = std::fs::read(one.join("1.prep")).expect("it exists");
        let place = one.clone();
        let errors = everybody(2, move |mut parties| {
            let file = open_with::<F32>(&place, (parties.me(), 2), &binding());
            // The first page is looked at when the file is opened.
            match file {
                Ok(file) => Stored::<F32>::consume(file, &mut parties).err(),
                Err(error) => Some(error.into()),
            }
        });
        let found = errors[0].as_ref().expect("it is noticed before anything is used");
        let damaged = matches!(found, CorrelatedError::Store(StoreError::Damaged { .. }));
        assert!(damaged, "byte {at}: {found}");
        std::fs::write(one.join("1.prep"), partner).expect("it can be written");
        // As nobody should: all is brought back, the notes of what was used too, if there are any.
        for me in 0..2 {
            let _ = std::fs::remove_file(one.join(format!("{me}.key.used")));
        }
    }
}

/// Batches that do not fit into the given memory go to an unnamed file.
#[test]
fn material_made_before_keeps_to_its_memory() {
    let directory = tempfile::tempdir().expect("there is a temporary directory");
    for memory_bytes in [1000, u64::MAX] {
        let path = directory.path().to_owned();
        let made: Vec<Vec<PartyBatch<F61>>> = everybody(2, move |parties| {
            let me = parties.me();
            let mut generator = generator::<F61, _>(parties, 0xa9).expect("all are honest");
            let (demand, order) = (Demand::of(ORDER), ORDER.into_iter().map(Ok));
            let made = Sequential::make(&mut generator, demand, order, memory_bytes, &path);
            let mut made = made.expect("all are honest");
            assert_eq!(made.is_in_memory(), memory_bytes > 1000);
            assert_eq!(path.read_dir().expect("it exists").count(), 0, "a file has no name");
            take_all(&mut made, me)
        });
        for i in 0..ORDER.len() {
            check(&made.iter().map(|made| &made[i]).collect::<Vec<_>>());
        }
    }
}
