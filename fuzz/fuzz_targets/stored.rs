//! Stored preprocessing and garbled tables, and the file of their key.
#![no_main]

use std::fs::{Permissions, set_permissions, write};
use std::os::unix::fs::PermissionsExt;

use libfuzzer_sys::fuzz_target;
use phineus_correlated::demand::Demand;
use phineus_correlated::stored::{StoredKey};
use phineus_correlated::semi_honest::{Binding, Stored};

fuzz_target!(|input: ([u8; 32], &[u8])| {
    let (key, bytes) = input;
    let directory = tempfile::tempdir().expect("there is room");
    let path = |name: &str| directory.path().join(name);
    write(path("key"), key).expect("there is room");
    set_permissions(path("key"), Permissions::from_mode(0o600)).expect("it is ours");
    write(path("triples"), bytes).expect("there is room");
    let key = StoredKey::open(&path("key")).expect("it has 32 bytes and one reader");
    let binding =
        Binding { protocol: "gmw".to_owned(), program: [7; 32], demand: Demand::default() };
    let _ = Stored::open(&path("triples"), &key, &binding, 0, 2);
});
