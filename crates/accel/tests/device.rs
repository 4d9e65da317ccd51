//! On a real device, if there is one. `scripts/test` counts the lines that say `skipped`.

mod common;

use phineus_accel::{Error, Gpu};
use phineus_crypto::field::{F32, F61, OnCpu};

/// The device, or a line that says that there is none.
fn device(test: &str) -> Option<Gpu> {
    match Gpu::open() {
        Ok(gpu) => Some(gpu),
        Err(Error::NoDriver | Error::NoDevice) => {
            eprintln!("{test}: skipped: no CUDA device");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn products_are_those_of_the_processor() {
    let Some(mut gpu) = device("products_are_those_of_the_processor") else { return };
    common::everything(&mut gpu);
}

#[test]
fn the_device_is_measured() {
    let Some(mut gpu) = device("the_device_is_measured") else { return };
    let rates = gpu.copy_rates().expect("the device works");
    println!("{}: copies {:.1?} GB/s", gpu.device().name(), rates.map(|rate| rate / 1e9));
    let small = gpu.calibrate::<F32>(&mut OnCpu).expect("the device works");
    let large = gpu.calibrate::<F61>(&mut OnCpu).expect("the device works");
    println!("2^32-5: {small:?}\n2^61-1: {large:?}");
}
