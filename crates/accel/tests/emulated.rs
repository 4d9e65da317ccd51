//! The device code on a device that is emulated: `tests/emulated/libcuda.c` has the functions of
//! the driver and runs the kernels' own source on the processor. A real driver could be installed:
//! tests begin anew as a process that finds the emulated one first.

mod common;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use common::{Case, Draw, compare};
use phineus_accel::{Calibration, Error, Gpu, OnGpu, is_driver_present};
use phineus_crypto::field::{F32, F61, Field, MatrixProduct, MatrixProducts, OnCpu, ProductTerm};
use tempfile::TempDir;

/// The directory of the emulated driver.
fn emulated() -> PathBuf {
    static BUILT: OnceLock<TempDir> = OnceLock::new();
    let directory = BUILT.get_or_init(|| {
        let directory = tempfile::tempdir().expect("temporary directories can be made");
        let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut compiler = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()));
        compiler.args(["-std=c11", "-O2", "-shared", "-fPIC", "-Wall", "-Werror"]);
        compiler.arg("-I").arg(package.join("kernels"));
        compiler.arg("-o").arg(directory.path().join("libcuda.so"));
        let built = compiler.arg(package.join("tests/emulated/libcuda.c")).output();
        let built = built.expect("there is a C compiler: ring needs one too");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        directory
    });
    directory.path().to_owned()
}

/// Runs an ignored test of this file as a process on the emulated device.
fn on_emulated(test: &str, settings: &[(&str, &str)]) {
    let mut process = Command::new(std::env::current_exe().expect("it runs"));
    process.args(["--exact", test, "--ignored", "--nocapture"]);
    process.env("LD_LIBRARY_PATH", emulated()).env("EMULATED", "1");
    process.envs(settings.iter().copied()).stdin(Stdio::null());
    let ran = process.output().expect("it can be run again");
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let fault = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && text.contains("1 passed"), "{settings:?}: {text}\n{fault}");
}

#[test]
fn products_are_those_of_the_processor() {
    on_emulated("child_products", &[]);
    on_emulated("child_products_quick", &[("EMULATED_NO_POOLS", "1")]);
}

#[test]
fn a_device_that_fails_costs_no_result() {
    // The first of a batch, one in the middle, and one that the second batch meets.
    for fault in [
        "cuLaunchKernel:1",
        "cuLaunchKernel:5",
        "cuMemcpyHtoDAsync_v2:2",
        "cuMemcpyDtoHAsync_v2:3",
        "cuStreamSynchronize:8",
        "cuStreamSynchronize:9",
    ] {
        on_emulated("child_failing", &[("EMULATED_FAULT", fault)]);
    }
    on_emulated("child_telling", &[("EMULATED_FAULT", "cuLaunchKernel:5")]);
}

#[test]
fn what_cannot_be_opened_is_said() {
    for (fault, expected) in [
        ("cuMemAllocAsync:4", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuMemHostAlloc:1", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("cuModuleLoadData:1", "CUDA_ERROR_LAUNCH_FAILED"),
    ] {
        on_emulated("child_unopened", &[("EMULATED_FAULT", fault), ("EXPECTED", expected)]);
    }
    on_emulated("child_unopened", &[("EMULATED_NONE", "1"), ("EXPECTED", "no CUDA device")]);
}

#[test]
fn the_device_is_calibrated_and_used() {
    on_emulated("child_calibrated", &[]);
}

fn gpu() -> Gpu {
    assert!(std::env::var_os("EMULATED").is_some() && is_driver_present(), "run by the others");
    let gpu = Gpu::open().expect("the emulated device opens");
    assert_eq!(gpu.device().name(), "emulated device");
    gpu
}

#[test]
#[ignore = "run by `products_are_those_of_the_processor`"]
fn child_products() {
    let mut gpu = gpu();
    assert_eq!(gpu.device().driver(), (12, 8));
    common::everything(&mut gpu);
}

#[test]
#[ignore = "run by `products_are_those_of_the_processor`"]
fn child_products_quick() {
    common::large::<F61>(&mut gpu());
}

#[test]
#[ignore = "run by `a_device_that_fails_costs_no_result`"]
fn child_failing() {
    let mut gpu = gpu();
    let case = Case {
        shapes: vec![(300, 500), (64, 1), (300, 500), (1000, 700)],
        widths: [1, 2],
        count: 1,
        how: Draw::Random,
    };
    let mut failures = 0;
    for seed in 0..3 {
        failures += u32::from(compare::<F61, 2>(&mut gpu, &case, seed).is_err());
    }
    assert!(failures > 0, "the fault was met");
    assert!(gpu.failure().is_some());
}

#[test]
#[ignore = "run by `a_device_that_fails_costs_no_result`"]
fn child_telling() {
    let told = Arc::new(AtomicUsize::new(0));
    let counted = told.clone();
    let on_failure = move |error: &Error| {
        assert!(error.to_string().contains("CUDA_ERROR_LAUNCH_FAILED"), "{error}");
        counted.fetch_add(1, Ordering::Relaxed);
    };
    let always = Calibration {
        work_min: Some(0),
        device_entries_per_s: 1.0,
        processor_entries_per_s: 1.0,
        begin: Duration::ZERO,
    };
    let mut products = OnGpu::new(gpu(), &always, Box::new(on_failure));
    let expected = tile::<F61>(&mut OnCpu);
    for _ in 0..5 {
        assert!(common::differs(&tile::<F61>(&mut products), &expected).is_none());
    }
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

#[test]
#[ignore = "run by `what_cannot_be_opened_is_said`"]
fn child_unopened() {
    let expected = std::env::var("EXPECTED").expect("it is set");
    let error = Gpu::open().err().expect("it does not open");
    assert!(error.to_string().contains(&expected), "{error}");
}

/// One tile of shares, on `products`; the results.
fn tile<F: Field>(products: &mut dyn MatrixProducts<F>) -> Vec<F> {
    let elements = |count: u64, from: u64| -> Vec<F> {
        (0..count).map(|i| F::new(u128::from(i * i + from))).collect()
    };
    let (masks, opened) = (elements(256 * 30, 3), elements(128 * 30, 5));
    let (factors, shares) = (elements(30, 7), elements(60, 11));
    let mut out = elements(256, 13);
    let terms = [
        ProductTerm { matrix: &masks, vectors: &factors, width: 1, count: 1 },
        ProductTerm { matrix: &opened, vectors: &shares, width: 2, count: 1 },
    ];
    products.add(&mut [MatrixProduct { out: &mut out, terms }]);
    out
}

#[test]
#[ignore = "run by `the_device_is_calibrated_and_used`"]
fn child_calibrated() {
    let mut first = gpu();
    let rates = first.copy_rates().expect("the device works");
    assert!(rates.iter().all(|rate| *rate > 0.0));
    first.calibrate::<F61>(&mut OnCpu).expect("the device works");
    let measured = first.calibrate::<F32>(&mut OnCpu).expect("the device works");
    assert!(measured.device_entries_per_s > 0.0 && measured.processor_entries_per_s > 0.0);
    let expected = tile::<F32>(&mut OnCpu);
    let (told, counted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let on_failure = |told: &Arc<AtomicUsize>| {
        let told = told.clone();
        Box::new(move |_: &Error| {
            told.fetch_add(1, Ordering::Relaxed);
        })
    };
    // Whatever was measured: from 1000 products on, and never.
    let often = Calibration { work_min: Some(1000), ..measured };
    let mut products = OnGpu::new(gpu(), &often, on_failure(&told));
    let takes = |products: &OnGpu, work| MatrixProducts::<F32>::takes(products, work);
    assert!(takes(&products, 1000) && !takes(&products, 999));
    assert!(common::differs(&tile::<F32>(&mut products), &expected).is_none());
    let never = Calibration { work_min: None, ..measured };
    assert!(!takes(&OnGpu::new(gpu(), &never, on_failure(&counted)), usize::MAX));
    assert_eq!(told.load(Ordering::Relaxed) + counted.load(Ordering::Relaxed), 0);
}
