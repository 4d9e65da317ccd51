//! Vectors of RFC 7914, and the number of ANDs.

use phineus_bytecode::{BlockDirectory, Lane, Op, Table};
use phineus_frontend::{Arguments, Program, program, reference, trace_to_file};
use phineus_oblivious::MemoryMethod;

use super::{Cost, Scrypt, byte_column, mixed, plaintext};

fn from_hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn table(bytes: &[u8]) -> Table {
    let mut table = Table::new(vec![byte_column()]);
    bytes.iter().for_each(|&byte| table.push(&[Lane::from(byte)]));
    table
}

fn bytes(table: &Table) -> Vec<u8> {
    (0..table.row_count()).map(|row| table.cell(row, 0).as_limbs()[0] as u8).collect()
}

/// Section 12: password, salt, parameters and key.
type Vector = (&'static str, &'static str, [u64; 3], &'static str);

const EMPTY: Vector = (
    "",
    "",
    [16, 1, 1],
    "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442
     fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906",
);

const NACL: Vector = (
    "password",
    "NaCl",
    [1024, 8, 16],
    "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162
     2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640",
);

#[test]
fn the_key_is_that_of_the_rfc() {
    let (password, salt, [n, r, p], key) = EMPTY;
    for method in ["scan", "square-root"] {
        let mut arguments = Arguments::new(&Scrypt, [("memory", method)]).expect("known");
        arguments.set_rows("password", 0);
        arguments.set_rows("salt", 0);
        let inputs = [table(password.as_bytes()), table(salt.as_bytes())];
        let outputs = reference::run(&Scrypt, &arguments, &inputs).expect("it runs");
        assert_eq!(bytes(&outputs[0]), from_hex(key), "{method}");
    }
    let cost = Cost { n, r, p, length: 64 };
    assert_eq!(plaintext::scrypt(password.as_bytes(), salt.as_bytes(), &cost), from_hex(key));
}

#[test]
fn the_plaintext_reference_follows_the_rfc() {
    let (password, salt, [n, r, p], key) = NACL;
    let cost = Cost { n, r, p, length: 64 };
    assert_eq!(plaintext::scrypt(password.as_bytes(), salt.as_bytes(), &cost), from_hex(key));
    // Section 11.
    let key = "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc
               49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783";
    assert_eq!(plaintext::pbkdf2(b"passwd", b"salt", 64), from_hex(key));
}

/// Section 10: scryptROMix of `n = 16` and `r = 1`.
#[test]
fn rows_are_mixed_as_the_rfc_mixes_them() {
    let from = from_hex(
        "f7ce0b653d2d72a4108cf5abe912ffdd777616dbbb27a70e8204f3ae2d0f6fad
         89f68f4811d1e87bcc3bd7400a9ffd29094f0184639574f39ae5a1315217bcd7
         894991447213bb226c25b54da86370fbcd984380374666bb8ffcb5bf40c254b0
         67d27c51ce4ad5fed829c90b505a571b7f4d1cad6a523cda770e67bceaaf7e89",
    );
    let to = from_hex(
        "79ccc193629debca047f0b70604bf6b62ce3dd4a9626e355fafc6198e6ea2b46
         d58413673b99b029d665c357601fb426a0b2f4bba200ee9f0a43d19b571a9c71
         ef1142e65d5a266fddca832ce59faa7cac0b9cf1be2bffca300d01ee387619c4
         ae12fd4438f203a0e4e1c47ec314861f4e9087cb33396a6873e8f9d2539a4b8e",
    );
    assert_eq!(plaintext::ro_mix(&from, 16), to);
    for method in [MemoryMethod::Scan, MemoryMethod::SquareRoot] {
        let mixing = program("mixing").party("a").party("b").trace(move |t, _| {
            let row = t.input("row", 128).by("a").column(byte_column()).lanes(1).read();
            let mixed = mixed(t, row.chunks(0), 16, Some(method));
            t.output("mixed", &["b"]).chunks(byte_column(), mixed).write();
            Ok(())
        });
        let arguments = Arguments::new(&mixing, []).expect("no parameters");
        let outputs = reference::run(&mixing, &arguments, &[table(&from)]).expect("it runs");
        assert_eq!(bytes(&outputs[0]), to, "{method:?}");
    }
}

/// 144 additions of 31 ANDs in each of the `4 n r p` blocks.
#[test]
fn a_block_takes_144_additions() {
    for [n, r, p] in [[16, 1, 1], [4, 2, 3]] {
        let parameters =
            [("n", n), ("r", r), ("p", p)].map(|(name, count)| (name, count.to_string()));
        let given = parameters.iter().map(|(name, count)| (*name, count.as_str()));
        let arguments = Arguments::new(&Scrypt, given).expect("known");
        let (mut file, _) = trace_to_file(&Scrypt, &arguments).expect("it traces");
        let blocks = BlockDirectory::read(&mut file).expect("it reads").expect("loops");
        let mut lanes = 0;
        for (block, times) in blocks.flow.stated().expect("all is stated") {
            let mut reader = blocks.open(&mut file, block).expect("it was written");
            let counted = reader.for_each::<phineus_bytecode::Error>(|instruction| {
                if instruction.op == Op::Add {
                    assert_eq!(instruction.element.width(), 32);
                    lanes += u64::from(instruction.lanes) * times;
                }
                Ok(())
            });
            counted.expect("it reads");
        }
        assert_eq!(lanes, 144 * 4 * n * r * p);
    }
}

#[test]
fn sizes_of_all_kinds_agree_with_the_plaintext() {
    // Passwords longer than a block, salts whose end needs a block more, keys that are cut.
    let cases = [
        (["2", "1", "1"], "1", [1, 55]),
        (["4", "1", "2"], "33", [64, 47]),
        (["8", "2", "1"], "100", [65, 64]),
        (["2", "1", "1"], "600", [200, 130]),
    ];
    for ([n, r, p], length, [password, salt]) in cases {
        let given = [("n", n), ("r", r), ("p", p), ("dklen", length)];
        crate::tests::check(&Scrypt, &given, &[("password", password), ("salt", salt)], salt);
    }
}

#[test]
fn wrong_parameters_are_refused() {
    let error = |name: &str, value: &str| {
        let arguments = Arguments::new(&Scrypt, [(name, value)]).expect("known");
        trace_to_file(&Scrypt, &arguments).map(|_| ()).expect_err("it is refused").to_string()
    };
    for (name, value) in [("n", "1"), ("n", "48"), ("r", "0"), ("p", "70000"), ("dklen", "0")] {
        assert!(error(name, value).starts_with(&format!("{name}={value}: expected")));
    }
    assert!(error("r", "65536").contains("instructions"), "{}", error("r", "65536"));
    assert!(error("salt_bytes", "65537").contains("at most 65536 bytes"));
    assert_eq!(Scrypt.name(), "scrypt");
}
