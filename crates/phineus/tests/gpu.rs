//! Runs with an emulated CUDA device: where products are made changes nothing that others see.

mod common;

use std::path::Path;
use std::process::Command;

use common::{Done, Place, Result};
use serde_json::Value;

/// A driver that runs the kernels' own source on the processor, in the directory `driver`.
fn emulate(place: &Place) -> Result {
    let accel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../accel");
    std::fs::create_dir(place.file("driver"))?;
    let mut compiler = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
    compiler.args(["-std=c11", "-O2", "-shared", "-fPIC", "-I"]).arg(accel.join("kernels"));
    compiler.arg("-o").arg(place.file("driver/libcuda.so"));
    compiler.arg(accel.join("tests/emulated/libcuda.c"));
    place.settle(&mut compiler);
    Done::of(compiler.output()?).succeeded().map(drop)
}

/// As [`Place::run`], with the emulated driver and these settings of it.
fn run(place: &Place, line: &str, settings: &[(&str, &str)]) -> Result<Done> {
    let mut command = place.command(line);
    command.env("LD_LIBRARY_PATH", place.file("driver")).envs(settings.iter().copied());
    Ok(Done::of(command.output()?))
}

/// Bytes and rounds of all parties, from the report.
fn seen_by_others(place: &Place) -> Result<Vec<Value>> {
    let report: Value = serde_json::from_str(&place.read("run.json")?)?;
    let parties = report["parties"].as_array().ok_or("a report has parties")?;
    let seen = |party: &Value| {
        let measured = &party["measured"];
        ["sent_bytes", "received_bytes", "rounds"].map(|name| measured[name].clone())
    };
    Ok(parties.iter().flat_map(seen).collect())
}

const RUN: &str = "run linear-layer --local --verify --in matrix=matrix.csv --in bias=bias.csv \
                   --in vector=vector.csv --fake-preprocessing";

#[test]
fn a_device_changes_neither_results_nor_messages() -> Result {
    let place = Place::new()?;
    emulate(&place)?;
    place.run("data linear-layer --param n=40")?.succeeded()?;
    for protocol in ["spdz", "spdz-32"] {
        let off = run(&place, &format!("{RUN} --protocol {protocol} --gpu off"), &[])?;
        let off = off.succeeded()?;
        let without = seen_by_others(&place)?;
        let on = run(&place, &format!("{RUN} --protocol {protocol} --gpu always"), &[])?;
        let on = on.succeeded()?.says("emulated device")?;
        assert_eq!(on.stdout, off.stdout);
        assert_eq!(seen_by_others(&place)?, without);
        assert!(without.iter().all(|figure| figure.as_u64().is_some_and(|f| f > 0)), "{without:?}");
    }
    Ok(())
}

#[test]
fn a_device_that_fails_costs_a_line_and_no_result() -> Result {
    let place = Place::new()?;
    emulate(&place)?;
    place.run("data linear-layer --param n=40")?.succeeded()?;
    // Measuring starts 28 kernels.
    let fault = [("EMULATED_FAULT", "cuLaunchKernel:30")];
    let done = run(&place, &format!("{RUN} --protocol spdz --gpu always"), &fault)?.succeeded()?;
    let done = done.says("CUDA_ERROR_LAUNCH_FAILED")?.says("go on on the CPU")?;
    assert_eq!(
        done.stderr.matches("warning: the CUDA device failed").count(),
        2,
        "{}",
        done.stderr
    );
    Ok(())
}

#[test]
fn explain_and_doctor_say_what_was_found() -> Result {
    let place = Place::new()?;
    emulate(&place)?;
    let explain = "explain linear-layer --param n=40 --protocol spdz";
    let done = run(&place, &format!("{explain} --gpu always"), &[])?.succeeded()?;
    assert!(done.stdout.contains("on emulated device (1.00 GiB), else CPU"), "{}", done.stdout);
    let done = run(&place, &format!("{explain} --gpu off"), &[])?.succeeded()?;
    assert!(done.stdout.contains("not wanted: CPU"), "{}", done.stdout);
    let done = run(&place, explain, &[])?.succeeded()?;
    assert!(done.stdout.contains("fewer than 16,777,216 entries in all: CPU"), "{}", done.stdout);
    let none = [("EMULATED_NONE", "1")];
    let done = run(&place, &format!("{explain} --gpu always"), &none)?.succeeded()?;
    assert!(done.stdout.contains("no CUDA device: CPU"), "{}", done.stdout);
    let done = run(&place, "doctor --no-disk", &[])?.succeeded()?;
    for part in ["emulated device (1.00 GiB)", "for CUDA 12.8", "gpu copy back", "gpu 2^61-1"] {
        assert!(done.stdout.contains(part), "{}", done.stdout);
    }
    let done = run(&place, "doctor --no-disk", &none)?.succeeded()?;
    assert!(done.stdout.contains("no CUDA device; the CPU computes everything"), "{}", done.stdout);
    Ok(())
}
