//! `run --garbler hw-sim`: the overlay garbles, simulated. Without the feature `verilator` it is refused, as is everything
//! that the overlay cannot do.

mod common;

use common::{Place, Result};

/// What a run says that the overlay has no part in.
#[test]
fn only_the_garbler_of_garbled_states_a_garbler() -> Result {
    let place = Place::new()?;
    place.run("data millionaires")?.succeeded()?;
    for protocol in ["gmw", "auto", "clear"] {
        let line = format!("run millionaires --local --garbler hw-sim --protocol {protocol}");
        let done = place.run(&line)?.failed_with(2)?;
        done.says(&format!("protocol '{protocol}' has no garbler 'hw-sim'"))?
            .says("state --protocol garbled, or leave --garbler out")?;
    }
    place
        .run("run millionaires --local --garbler fpga")?
        .failed_with(2)?
        .says("[possible values")?;
    Ok(())
}

#[cfg(not(feature = "verilator"))]
#[test]
fn a_build_without_the_simulation_says_how_to_get_it() -> Result {
    let place = Place::new()?;
    for line in ["run millionaires --local --garbler hw-sim", "hw simulate millionaires"] {
        let done = place.run(line)?.failed_with(2)?.says("E2132")?;
        done.says("build with `--features verilator`")?;
    }
    Ok(())
}

#[cfg(feature = "verilator")]
mod simulated {
    use std::time::Duration;

    use serde_json::Value;

    use crate::common::{Place, Result, wait};

    /// Runs a program with its generated inputs; returns the report of both parties.
    fn run(place: &Place, program: &str, inputs: &str, options: &str) -> Result<Value> {
        let line = format!("run {program} --local --verify {options}{inputs}");
        let done = place.run(&line)?.succeeded().map_err(|error| format!("{line}: {error}"))?;
        // Of a plan the answer is computed in the clear.
        let what = if program.ends_with(".plan") {
            "answer computed in the clear"
        } else {
            "plaintext answer"
        };
        done.says(&format!("equals the {what}: yes"))?;
        Ok(serde_json::from_str(&place.read("run.json")?)?)
    }

    /// Makes the inputs of a program; returns the options that name them.
    fn generated(place: &Place, program: &str) -> Result<String> {
        let data = place.run(&format!("data {program} --json"))?.succeeded()?.document()?;
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let files = data.as_array().ok_or("a list")?.iter();
        Ok(files
            .map(|file| format!(" --in {}={}", text(&file["input"]), text(&file["file"])))
            .collect())
    }

    /// Figures that do not depend on who garbles.
    fn figures(report: &Value) -> Vec<Value> {
        let parties = report["parties"].as_array().into_iter().flatten();
        let names = ["and_gates", "oblivious_transfers", "rounds", "sent_bytes", "received_bytes"];
        let figure = |party: &Value, name: &&str| party["measured"][*name].clone();
        parties
            .flat_map(|party| names.iter().map(|name| figure(party, name)).collect::<Vec<_>>())
            .collect()
    }

    #[test]
    fn the_overlay_garbles_in_a_run() -> Result {
        for program in
            ["sort --param n=8", "psi --param n=6", "mvmul --param n=3", "aes128 --param n=1"]
        {
            let place = Place::new()?;
            let inputs = generated(&place, program)?;
            let software = run(&place, program, &inputs, "")?;
            let report = run(&place, program, &inputs, "--garbler hw-sim")?;
            assert_eq!(figures(&software), figures(&report), "{program}");
            let [garbler, evaluator] = [0, 1].map(|party| &report["parties"][party]);
            let cycles = &garbler["measured"]["overlay_cycles"];
            assert!(cycles.as_u64().is_some_and(|cycles| cycles > 0), "{program}: {garbler}");
            assert_eq!(*cycles, garbler["predicted"]["overlay_cycles"], "{program}");
            assert_eq!(*cycles, garbler["overlay"]["cycles"], "{program}");
            assert_eq!(garbler["overlay"]["stalls"], 0, "{program}");
            assert!(evaluator["overlay"].is_null() && software["parties"][0]["overlay"].is_null());
            let note = garbler["notes"][0].as_str().unwrap_or_default();
            assert!(note.contains("garbled by the simulated overlay in"), "{program}: {garbler}");
            assert!(note.contains("as predicted"), "{program}: {garbler}");
            check_memory(program, garbler);
        }
        Ok(())
    }

    fn check_memory(program: &str, garbler: &Value) {
        let memory = &garbler["memory_bytes"];
        let [peak, predicted] =
            ["measured_peak", "predicted_peak"].map(|name| memory[name].as_u64().unwrap_or(0));
        assert!(peak <= predicted, "{program}: {memory}");
    }

    #[test]
    fn several_cells_garble_in_a_run() -> Result {
        let place = Place::new()?;
        let program = "mvmul --param n=8";
        let inputs = generated(&place, program)?;
        let software = run(&place, program, &inputs, "")?;
        let mut cycles = Vec::new();
        for cells in [1, 2, 4] {
            let options = format!("--garbler hw-sim --cells {cells}");
            let report = run(&place, program, &inputs, &options)?;
            assert_eq!(figures(&software), figures(&report), "{cells} cells");
            let garbler = &report["parties"][0];
            assert_eq!(garbler["overlay"]["cells"], cells, "{garbler}");
            let found = &garbler["measured"]["overlay_cycles"];
            assert_eq!(*found, garbler["predicted"]["overlay_cycles"], "{cells} cells");
            check_memory(&options, garbler);
            cycles.extend(found.as_u64());
        }
        assert!(cycles.len() == 3 && 3 * cycles[2] < cycles[0], "{cycles:?}");
        let refused = [
            ("--garbler hw-sim --cells 3", "simulates overlays of 1, 2, 4 cells, not of 3"),
            ("--cells 2", "only the overlay has cells"),
        ];
        for (options, message) in refused {
            let line = format!("run {program} --local {options}{inputs}");
            place.run(&line)?.failed_with(2)?.says(message)?;
        }
        Ok(())
    }

    #[test]
    fn several_cells_are_simulated() -> Result {
        let place = Place::new()?;
        for cells in [2, 4] {
            let line = format!("--json hw simulate sort --param n=8 --cells {cells} --stalls 7");
            let document = place.run(&line)?.succeeded()?.document()?;
            assert_eq!(document["cells"], cells, "{document}");
        }
        for options in ["--link gen3x8", "--cells 4 --link gen4x16 --words-in-memory"] {
            let line = format!("--json hw simulate sort --param n=8 {options}");
            let simulated = place.run(&line)?.succeeded()?.document()?;
            let line = format!("--json hw explain sort --param n=8 {options}");
            let explained = place.run(&line)?.succeeded()?.document()?;
            for name in ["stalls", "total_cycles"] {
                assert_eq!(simulated[name], explained["links"][0][name], "{options}: {name}");
            }
        }
        let failed = place.run("hw simulate sort --param n=8 --cells 3")?.failed_with(2)?;
        failed.says("E2132")?.says("simulates overlays of 1, 2, 4 cells, not of 3")?;
        Ok(())
    }

    #[test]
    fn circuits_and_plans_run_on_the_overlay() -> Result {
        let place = Place::new()?;
        place.write("both.txt", "2 4\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n2 1 2 0 3 XOR\n")?;
        place.write("a.csv", "in0\n1\n0\n1\n")?;
        place.write("b.csv", "in1\n1\n1\n0\n")?;
        let line = "run both.txt --local --garbler hw-sim --in a.csv --in b.csv";
        let done = place.run(line)?.succeeded()?;
        assert_eq!(done.stdout, "out0\n0\n0\n1\n");

        let inputs = generated(&place, "sort --param n=8")?;
        place.run("plan sort --param n=8 --out sort.plan")?.succeeded()?;
        run(&place, "sort.plan", &inputs, "--garbler hw-sim")?;
        Ok(())
    }

    /// Memories are expanded before planning; the garbler refuses, and the evaluator does not wait.
    #[test]
    fn programs_that_are_no_circuit_are_refused() -> Result {
        let place = Place::new()?;
        let inputs = generated(&place, "binary-search --param n=16")?;
        let line = format!("run binary-search --param n=16 --local --garbler hw-sim{inputs}");
        let done = wait(place.start(&line)?, Duration::from_secs(60))?.failed_with(3)?;
        done.says("E3150")?;
        Ok(())
    }

    /// A device in the middle of a run ends with the evaluator.
    #[test]
    fn nobody_waits_for_an_evaluator_that_is_gone() -> Result {
        let place = Place::new()?;
        place.two_parties(["site_a", "site_b"])?;
        generated(&place, "sort --param n=64")?;
        let line =
            |name| format!("run sort --param n=64 --as {name} --id-dir id_{name} --in {name}.csv");
        let garbler = place.start(&format!("{} --garbler hw-sim", line("site_a")))?;
        let mut evaluator = place.start(&line("site_b"))?;
        std::thread::sleep(Duration::from_secs(2));
        evaluator.kill()?;
        evaluator.wait()?;
        wait(garbler, Duration::from_secs(60))?.failed_with(4)?;
        Ok(())
    }

    #[cfg(feature = "llvm")]
    #[test]
    fn c_programs_run_on_the_overlay() -> Result {
        let place = Place::new()?;
        let program = "#include <phineus.h>\n\
            PH_MAIN void f(PH_IN(a) const uint32_t x[3], PH_IN(b) const uint32_t y[3], PH_OUT(a, b) uint32_t *z)\n\
            { *z = 0; for (int i = 0; i < 3; i++) *z += x[i] < y[i] ? x[i] * y[i] : 1; }\n";
        place.write("f.c", program)?;
        place.write("a.csv", "x\n1\n20\n300\n")?;
        place.write("b.csv", "y\n100\n2\n500\n")?;
        run(&place, "f.c", " --in a=a.csv --in b=b.csv", "--garbler hw-sim")?;
        Ok(())
    }

    #[test]
    fn a_program_that_does_not_fit_is_refused() -> Result {
        let place = Place::new()?;
        let inputs = generated(&place, "sort --param n=128")?;
        let line =
            format!("run sort --param n=128 --local --garbler hw-sim --memory 64MiB{inputs}");
        let done = place.run(&line)?.failed_with(6)?;
        done.says("E6125")?.says("give more --memory")?;
        Ok(())
    }

    #[test]
    fn the_evaluator_states_no_garbler() -> Result {
        let place = Place::new()?;
        place.two_parties(["alice", "bob"])?;
        place.run("data millionaires")?.succeeded()?;
        let line = "run millionaires --as bob --id-dir id_bob --garbler hw-sim --in bob.csv";
        place.run(line)?.failed_with(2)?.says("bob evaluates in this run, and alice garbles")?;
        Ok(())
    }
}
