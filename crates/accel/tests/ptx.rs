//! The kernels that are checked in are what their source gives.
//!
//! `PHINEUS_BLESS=1 cargo test -p phineus-accel --test ptx` makes them anew.

use std::path::Path;
use std::process::Command;

/// The compiler's version whose output is checked in: others choose other instructions.
const VERSION: &str = "clang version 19.";

/// Of the first architecture that all drivers since CUDA 9 compile for, and newer ones too.
const OPTIONS: [&str; 9] = [
    "-x",
    "cuda",
    "--cuda-device-only",
    "-nocudainc",
    "-nocudalib",
    "--cuda-gpu-arch=sm_52",
    "-O3",
    "-S",
    "-Wno-unknown-cuda-version",
];

#[test]
fn kernels_are_what_their_source_gives() {
    let version = Command::new("clang-19").arg("--version").output();
    let version = version.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    if !version.is_ok_and(|version| version.contains(VERSION)) {
        eprintln!("skipped: no clang-19 to make the kernels with");
        return;
    }
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let made = tempfile::NamedTempFile::new().expect("temporary files can be made");
    let mut clang = Command::new("clang-19");
    clang.current_dir(&kernels).args(OPTIONS).arg("products.cu").arg("-o").arg(made.path());
    let said = clang.output().expect("it has just run");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let made = std::fs::read_to_string(made.path()).expect("clang has written it");
    let kept = kernels.join("products.ptx");
    if std::env::var_os("PHINEUS_BLESS").is_some() {
        std::fs::write(&kept, &made).expect("the kernels can be written");
    }
    let kept = std::fs::read_to_string(kept).expect("the kernels are there");
    assert!(kept == made, "kernels/products.ptx is not what clang-19 makes of products.cu");
}
