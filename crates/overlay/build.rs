//! Builds the Verilated model of `hw/` for the feature `verilator`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "verilator")]
    verilated::build();
}

#[cfg(feature = "verilator")]
mod verilated {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    pub fn build() {
        let hw = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hw");
        println!("cargo::rerun-if-changed={}", hw.display());
        model(&hw, "sources.f", "ovl_top", "ip/overlay/tb/ovl_shim.cpp");
        model(&hw, "sifo.f", "sifo_top", "ip/sifo/tb/sifo_shim.cpp");
        println!("cargo::rustc-link-lib=pthread");
        println!("cargo::rustc-link-lib=atomic");
    }

    /// Compiles the RTL of a list of sources, and the C++ that drives it.
    fn model(hw: &Path, list: &str, top: &str, shim: &str) {
        let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it")).join(top);
        let list = std::fs::read_to_string(hw.join(list)).expect("the list can be read");
        let sources = list.lines().map(|source| hw.join(source));
        // A model of other sources may be there.
        let _ = std::fs::remove_dir_all(&out);
        let mut verilator = Command::new("verilator");
        verilator.args(["--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"]);
        verilator.args(["-Wall", "-DOVL_ASSERT", "--top-module", top, "--Mdir"]).arg(&out);
        let status = verilator.args(sources).status();
        let status = status.expect("the feature verilator needs the program verilator in PATH");
        assert!(status.success(), "verilator refuses hw/");
        let root = Command::new("verilator").args(["--getenv", "VERILATOR_ROOT"]).output();
        let root = root.expect("verilator answers").stdout;
        let root = PathBuf::from(String::from_utf8_lossy(&root).trim());
        let include = root.join("include");
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").opt_level(3).debug(false).warnings(false);
        build.include(&out).include(&include).include(include.join("vltstd"));
        build.define("VM_COVERAGE", "0").define("VM_SC", "0").define("VM_TRACE", "0");
        for entry in std::fs::read_dir(&out).expect("verilator made it") {
            let path = entry.expect("it can be listed").path();
            if path.extension().is_some_and(|extension| extension == "cpp") {
                build.file(path);
            }
        }
        if top == "ovl_top" {
            // Both models use one runtime.
            build.file(include.join("verilated.cpp")).file(include.join("verilated_threads.cpp"));
        }
        build.file(hw.join(shim));
        build.compile(&format!("phineus_{top}_model"));
    }
}
