//! A directory of circuits from HyCC: its files, with a line of three `=` between them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use phineus_frontend::hycc::Hybrid;

/// The files that there may be: names are not what is fuzzed.
const NAMES: [&str; 4] =
    ["hybrid.cmb", "mpc_main@bool_size.circ", "squared@arith.circ", "other@bool_depth.circ"];

const BETWEEN: &[u8] = b"\n===\n";

fuzz_target!(|bytes: &[u8]| {
    let directory = tempfile::tempdir().expect("there is room");
    let mut rest = Some(bytes);
    for name in NAMES {
        let Some(bytes) = rest else { break };
        let end = bytes.windows(BETWEEN.len()).position(|window| window == BETWEEN);
        let (content, behind) = match end {
            Some(end) => (&bytes[..end], Some(&bytes[end + BETWEEN.len()..])),
            None => (bytes, None),
        };
        rest = behind;
        // A directory may lack any of them.
        if !content.is_empty() {
            std::fs::write(directory.path().join(name), content).expect("there is room");
        }
    }
    if let Ok(hybrid) = Hybrid::open(directory.path()) {
        phineus_fuzz::trace_program(&hybrid);
    }
});
