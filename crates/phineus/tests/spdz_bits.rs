//! Bits stay bits under SPDZ: exact numbers of triples of C programs.
//!
//! AES-128 took 834,404 triples and 376,858 random bits once: each shifted or masked byte was decomposed again.
#![cfg(feature = "llvm")]

mod common;

use common::{Place, Result};

const AES: &str = include_str!("spdz_bits/aes.c");

/// A function of secret integers, half of them of each party, and its triples.
struct Case {
    name: &'static str,
    width: u32,
    parameter_count: usize,
    result: String,
    triples: u64,
}

fn case(
    name: &'static str,
    width: u32,
    parameter_count: usize,
    result: &str,
    triples: u64,
) -> Case {
    Case { name, width, parameter_count, result: result.to_owned(), triples }
}

fn cases() -> Vec<Case> {
    let chain: Vec<String> = (0..19).map(|k| format!("a{k}")).collect();
    let mut cases = vec![
        case("masks", 32, 2, "(a0 & 0x55555555u) | (a1 & 0xaaaaaaaau)", 0),
        case("masks", 64, 2, "(a0 & 0x5555555555555555u) | (a1 & 0xaaaaaaaaaaaaaaaau)", 0),
        case(
            "bytes",
            32,
            2,
            "(a0 >> 24) | (a0 >> 8 & 0xff00) | (a1 << 8 & 0xff0000) | a1 << 24",
            0,
        ),
        case("complement and constants", 32, 2, "(~a0 ^ 0x0f0f0f0fu) & 0xffffu | a1 << 16", 0),
    ];
    for width in [32, 64] {
        let triples = 18 * u64::from(width);
        cases.push(case("chain", width, 19, &chain.join(" ^ "), triples));
    }
    cases
}

fn source(case: &Case) -> String {
    let Case { width, result, .. } = case;
    let parameter = |k: usize| {
        format!("PH_IN({}) uint{width}_t a{k}", if k.is_multiple_of(2) { "ann" } else { "ben" })
    };
    let parameters: Vec<String> = (0..case.parameter_count).map(parameter).collect();
    format!(
        "#include <phineus.h>\nPH_MAIN PH_OUT(ann) uint{width}_t f({})\n{{\n    return {result};\n}}\n",
        parameters.join(", ")
    )
}

/// The triples that `explain` states; asserts that nothing is decomposed or reduced.
fn triples(place: &Place, file: &str) -> Result<u64> {
    let line = format!("explain {file} --protocol spdz --json");
    let told = place.run(&line)?.succeeded()?.document()?;
    let costs = &told["plan"]["costs"];
    assert!(costs["random_bits"].is_null(), "{file} decomposes an integer: {costs}");
    Ok(costs["triples"].as_u64().unwrap_or(0))
}

#[test]
fn bits_stay_bits() -> Result {
    let place = Place::new()?;
    let mut wrong = Vec::new();
    for case in cases() {
        place.write("case.c", source(&case))?;
        let found = triples(&place, "case.c")?;
        if found != case.triples {
            wrong.push(format!("{} of {} bits: {found}", case.name, case.width));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// FIPS-197, appendix B.
#[test]
fn aes_decomposes_nothing() -> Result {
    let place = Place::new()?;
    place.write("aes.c", AES)?;
    let column = |name: &str, hex: &str| -> Result {
        let bytes = (0..16).map(|k| u8::from_str_radix(&hex[2 * k..2 * k + 2], 16));
        let bytes = bytes.collect::<std::result::Result<Vec<u8>, _>>()?;
        let lines: String = bytes.iter().map(|byte| format!("{byte}\n")).collect();
        place.write(&format!("{name}.csv"), format!("{name}\n{lines}"))
    };
    column("key", "2b7e151628aed2a6abf7158809cf4f3c")?;
    column("text", "3243f6a8885a308d313198a2e0370734")?;
    column("cipher", "3925841d02dc09fbdc118597196a0b32")?;
    let expected = place.read("cipher.csv")?;
    assert_eq!(triples(&place, "aes.c")?, 31_576);
    let line = "run aes.c --local --protocol spdz --fake-preprocessing --verify --in key=key.csv \
                --in text=text.csv --out cipher=found.csv";
    place.run(line)?.succeeded()?.says("equals the plaintext answer: yes")?;
    assert_eq!(place.read("found.csv")?, expected);
    Ok(())
}
