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
        println!("cargo::rerun-if-env-changed={CELLS_VARIABLE}");
        let cells = cells();
        declare(&cells);
        let mut models = vec![Model::of_sifo()];
        models.extend(cells.iter().map(|&cells| Model::of_cells(cells)));
        let compile = |model: &Model| model.compile(&hw);
        std::thread::scope(|scope| {
            let started: Vec<_> =
                models.iter().map(|model| scope.spawn(|| compile(model))).collect();
            started.into_iter().for_each(|thread| thread.join().expect("the model compiles"));
        });
        runtime();
        println!("cargo::rustc-link-lib=pthread");
        println!("cargo::rustc-link-lib=atomic");
    }

    /// Numbers of cells that models are made of, with commas between them.
    const CELLS_VARIABLE: &str = "PHINEUS_OVERLAY_CELLS";

    /// Those without the variable. A model takes 15 s of compile time for each cell.
    const CELLS: &str = "1,2,4";

    fn cells() -> Vec<u32> {
        let list = std::env::var(CELLS_VARIABLE).unwrap_or_else(|_| CELLS.to_owned());
        let number = |text: &str| match text.trim().parse() {
            Ok(number @ 1..=16) => number,
            _ => {
                panic!("{CELLS_VARIABLE} is '{list}'; state numbers from 1 to 16, as in '{CELLS}'")
            }
        };
        let mut cells: Vec<u32> = list.split(',').map(number).collect();
        cells.push(1);
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// Writes the declarations of the functions of all models of the overlay.
    fn declare(cells: &[u32]) {
        let lines = cells.iter().map(|cells| {
            format!(
                "{cells}: ovl{cells}_open, ovl{cells}_close, ovl{cells}_word_lanes, \
                 ovl{cells}_write, ovl{cells}_read, ovl{cells}_run, ovl{cells}_set_memory, \
                 ovl{cells}_store, ovl{cells}_beats_moved;\n"
            )
        });
        let text = format!("models! {{\n{}}}\n", lines.collect::<String>());
        std::fs::write(out().join("models.rs"), text).expect("the folder of the build is writable");
    }

    fn out() -> PathBuf {
        PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"))
    }

    /// Folders of headers that models include.
    fn includes() -> [PathBuf; 2] {
        let root = Command::new("verilator").args(["--getenv", "VERILATOR_ROOT"]).output();
        let root = root.expect("verilator answers").stdout;
        let include = PathBuf::from(String::from_utf8_lossy(&root).trim()).join("include");
        [include.join("vltstd"), include]
    }

    /// Compiles the runtime, which all models use.
    fn runtime() {
        let [standard, include] = includes();
        let mut build = builder(3);
        build.include(&standard).include(&include);
        build.file(include.join("verilated.cpp")).file(include.join("verilated_threads.cpp"));
        build.compile("phineus_verilated");
    }

    fn builder(level: u32) -> cc::Build {
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").opt_level(level).debug(false).warnings(false);
        build.define("VM_COVERAGE", "0").define("VM_SC", "0").define("VM_TRACE", "0");
        build
    }

    /// RTL that is simulated.
    struct Model {
        /// Name of the class that Verilator makes.
        name: String,
        sources: &'static str,
        top: &'static str,
        shim: &'static str,
        cells: Option<u32>,
    }

    impl Model {
        fn of_sifo() -> Model {
            let (sources, shim) = ("sifo.f", "ip/sifo/tb/sifo_shim.cpp");
            Model { name: "Vsifo_top".to_owned(), sources, top: "sifo_top", shim, cells: None }
        }

        fn of_cells(cells: u32) -> Model {
            let (sources, shim) = ("sources.f", "ip/overlay/tb/ovl_shim.cpp");
            Model {
                name: format!("Vovl{cells}"),
                sources,
                top: "ovl_top",
                shim,
                cells: Some(cells),
            }
        }

        /// Compiles the RTL, and the C++ that drives it.
        fn compile(&self, hw: &Path) {
            let out = out().join(&self.name);
            let list =
                std::fs::read_to_string(hw.join(self.sources)).expect("the list can be read");
            let sources = list.lines().map(|source| hw.join(source));
            // A model of other sources may be there.
            let _ = std::fs::remove_dir_all(&out);
            let mut verilator = Command::new("verilator");
            verilator.args(["--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast"]);
            verilator.args(["--noassert", "-Wall", "-DOVL_ASSERT", "--top-module", self.top]);
            verilator.args(["--prefix", &self.name, "--Mdir"]).arg(&out);
            if let Some(cells) = self.cells {
                verilator.arg(format!("-GCELLS={cells}"));
            }
            let status = verilator.args(sources).status();
            let status = status.expect("the feature verilator needs the program verilator in PATH");
            assert!(status.success(), "verilator refuses hw/");
            // Large models compile for minutes otherwise.
            let level = if self.cells.is_some_and(|cells| cells > 1) { 1 } else { 3 };
            let (mut fast, mut slow) = (self.builder(&out, level), self.builder(&out, 0));
            for entry in std::fs::read_dir(&out).expect("verilator made it") {
                let path = entry.expect("it can be listed").path();
                if path.extension().is_some_and(|extension| extension == "cpp") {
                    // What runs once, when a model is opened.
                    let is_slow = path.to_string_lossy().ends_with("__Slow.cpp");
                    if is_slow {
                        slow.file(path)
                    } else {
                        fast.file(path)
                    };
                }
            }
            let shim = hw.join(self.shim);
            fast.include(shim.parent().expect("it is in a folder")).file(&shim);
            slow.compile_intermediates().iter().for_each(|object| {
                fast.object(object);
            });
            fast.compile(&format!("phineus_{}_model", self.name));
        }

        fn builder(&self, out: &Path, level: u32) -> cc::Build {
            let mut build = builder(level);
            build.include(out).includes(includes());
            // Objects of several models have files of one name.
            let objects = out.join(format!("objects{level}"));
            std::fs::create_dir_all(&objects).expect("the folder of the build is writable");
            build.out_dir(objects);
            if let Some(cells) = self.cells {
                let header = format!("\"{}.h\"", self.name);
                build.define("OVL_MODEL", self.name.as_str()).define("OVL_HEADER", header.as_str());
                build.define("OVL_CELLS", cells.to_string().as_str());
                build.define("OVL_NAME(name)", format!("ovl{cells}_##name").as_str());
            }
            build
        }
    }
}
