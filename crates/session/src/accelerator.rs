//! Decides whether a GPU computes products of matrices, and from which size on.
//!
//! The device is found and measured before a run is planned: its driver takes memory of the
//! process, which planning then counts. Nothing else of the plan depends on it, nor do results or
//! messages.

use std::sync::{Arc, OnceLock};

use phineus_accel::{Calibration, DEVICE_BYTES, DeviceElement, Error, Gpu, OnGpu};
use phineus_bytecode::Op;
use phineus_correlated::demand::BatchScale;
use phineus_correlated::mascot::Kind;
use phineus_crypto::field::{F32, F61, Field, FieldName, MatrixProduct, MatrixProducts, OnCpu};
use phineus_protocols::spdz::costs::demand_of_totals;
use phineus_tables::quantity;
use serde_json::{Value, json};

use crate::choices::GpuChoice;
use crate::failure::Failure;
use crate::planned::PlannedFile;
use crate::traced::TracedFile;

/// Entries of matrices for which a device is looked for. A core multiplies some 10^9 of them in a
/// second, and opening a device takes tenths of one.
const ENTRIES_MIN: u64 = 1 << 24;

/// The least memory limit for a device, whose driver takes some hundred MiB of it.
const LIMIT_MIN_BYTES: u64 = 1 << 30;

/// Where products of matrices are computed.
pub struct Accelerator(Result<Box<MeasuredDevice>, String>);

/// A device that was measured.
struct MeasuredDevice {
    gpu: Gpu,
    calibration: Calibration,
}

/// Warning for the user about a device that failed.
pub type Warning = Arc<OnceLock<String>>;

impl Accelerator {
    /// The processor, for this reason.
    pub fn processor(reason: impl Into<String>) -> Accelerator {
        Accelerator(Err(reason.into()))
    }

    /// The device of this machine, if it is wanted, there, worth it and right.
    pub fn find(
        choice: GpuChoice,
        field: Option<FieldName>,
        entries: u64,
        (limit_bytes, threads): (u64, usize),
    ) -> Accelerator {
        let is_forced = choice == GpuChoice::Always;
        if choice == GpuChoice::Off {
            return Accelerator::processor("not wanted");
        }
        let Some(field) = field.filter(|_| entries > 0) else {
            return Accelerator::processor("no products of matrices over a field");
        };
        if field == FieldName::F128 {
            return Accelerator::processor(format!("no kernels modulo {}", field.name()));
        }
        if !phineus_accel::is_driver_present() {
            return Accelerator::processor(Error::NoDevice.to_string());
        }
        if entries < ENTRIES_MIN && !is_forced {
            let least = quantity::count(ENTRIES_MIN);
            return Accelerator::processor(format!("fewer than {least} entries in all"));
        }
        if limit_bytes < LIMIT_MIN_BYTES && !is_forced {
            let least = quantity::bytes(LIMIT_MIN_BYTES);
            return Accelerator::processor(format!("a driver fits into no less than {least}"));
        }
        let ready = match field {
            FieldName::F61 => MeasuredDevice::open::<F61>(is_forced, threads),
            FieldName::F32 => MeasuredDevice::open::<F32>(is_forced, threads),
            FieldName::F128 => unreachable!("it has no kernels"),
        };
        Accelerator(ready.map(Box::new).map_err(|error| error.to_string()))
    }

    /// Where products are computed, in words.
    pub fn sentence(&self) -> String {
        let ready = match &self.0 {
            Ok(ready) => ready,
            Err(reason) => return format!("{reason}: CPU"),
        };
        let name = device_name(&ready.gpu);
        match ready.calibration.entries_min() {
            Some(least) => format!(
                "products of matrices of at least {} entries on {name}, else CPU; {} of its memory",
                quantity::count(least as u64),
                quantity::bytes(DEVICE_BYTES as u64)
            ),
            None => format!("{name} is slower, copies included: CPU"),
        }
    }

    /// Returns the findings as JSON.
    pub fn to_json(&self) -> Value {
        let Ok(ready) = &self.0 else { return json!({ "used": false, "why": self.sentence() }) };
        json!({
            "used": self.is_used(),
            "device": ready.gpu.device().name(),
            "device_memory_bytes": DEVICE_BYTES,
            "entries_min": ready.calibration.entries_min(),
            "device_entries_per_s": ready.calibration.device_entries_per_s,
            "processor_entries_per_s": ready.calibration.processor_entries_per_s,
        })
    }

    /// Whether there are sizes for which it is a device.
    pub fn is_used(&self) -> bool {
        self.0.as_ref().is_ok_and(|ready| ready.calibration.work_min.is_some())
    }

    /// The device, for a run in the field that it was measured for.
    pub fn products<F: Field + DeviceElement>(
        self,
        warning: &Warning,
    ) -> Option<Box<dyn MatrixProducts<F>>> {
        if !self.is_used() {
            return None;
        }
        let MeasuredDevice { gpu, calibration } = *self.0.ok()?;
        let warning = warning.clone();
        let on_failure = move |error: &Error| {
            let text = format!("warning: {error}; products of matrices go on on the CPU");
            // Told once by who calls it.
            let _ = warning.set(text);
        };
        Some(Box::new(OnGpu::new(gpu, &calibration, Box::new(on_failure))))
    }
}

impl MeasuredDevice {
    fn open<F: Field + DeviceElement>(
        is_forced: bool,
        threads: usize,
    ) -> Result<MeasuredDevice, Error> {
        let mut gpu = Gpu::open()?;
        let mut calibration = gpu.calibrate::<F>(&mut OnThreads(threads))?;
        if is_forced {
            calibration.work_min = Some(0);
        }
        Ok(MeasuredDevice { gpu, calibration })
    }
}

/// Computes with this number of threads of the processor, as in a run.
struct OnThreads(usize);

impl<F: Field> MatrixProducts<F> for OnThreads {
    fn takes(&self, _: usize) -> bool {
        true
    }

    fn add(&mut self, products: &mut [MatrixProduct<'_, F, 2>]) {
        if self.0 < 2 {
            return OnCpu.add(products);
        }
        let part = products.len().div_ceil(self.0).max(1);
        std::thread::scope(|scope| {
            for products in products.chunks_mut(part) {
                scope.spawn(|| OnCpu.add(products));
            }
        });
    }
}

fn device_name(gpu: &Gpu) -> String {
    let device = gpu.device();
    format!("{} ({})", device.name(), quantity::bytes(device.total_bytes() as u64))
}

/// Entries of shared matrices that a program multiplies, for each vector; of several blocks, when
/// each runs as often as the program states, or once.
pub fn matrix_entries(traced: &TracedFile) -> Result<u64, Failure> {
    if let Some(plan) = &traced.description.plan {
        return Ok(stated_entries(&plan.costs));
    }
    if let Some(blocks) = &traced.blocks {
        let times = blocks.flow.times_or_once();
        let parts = blocks.parts.iter().zip(times);
        return parts.map(|(part, times)| Ok(matrix_entries(part)? * times)).sum();
    }
    let mut entries = 0u64;
    traced.file.reader()?.for_each(|instruction| {
        if instruction.op == Op::MatMul {
            entries += u64::from(instruction.operand_shape(0).lanes) * instruction.immediates[1];
        }
        Ok::<_, Failure>(())
    })?;
    Ok(entries)
}

/// Entries of the matrices that a plan multiplies.
pub fn planned_entries(planned: &PlannedFile) -> u64 {
    stated_entries(&planned.plan().costs)
}

fn stated_entries(costs: &std::collections::BTreeMap<String, u64>) -> u64 {
    let entries = |(kind, count): (Kind, usize)| match kind {
        Kind::Matrix(size) => (size.multiplications() * count) as u64,
        Kind::Triple
        | Kind::Square
        | Kind::Bit
        | Kind::Mask { .. }
        | Kind::BitMask { .. }
        | Kind::Bounded => 0,
    };
    demand_of_totals(costs, BatchScale::FULL).kinds().map(entries).sum()
}

/// Findings of `doctor` about a device: names, values and texts.
pub fn findings() -> Vec<(&'static str, Value, String)> {
    match examine() {
        Ok(found) => found,
        Err(error) => vec![("gpu", Value::Null, format!("{error}; the CPU computes everything"))],
    }
}

fn examine() -> Result<Vec<(&'static str, Value, String)>, Error> {
    let mut gpu = Gpu::open()?;
    let [there, back] = gpu.copy_rates()?;
    let device = gpu.device();
    let (major, minor) = device.driver();
    let driver = format!("{major}.{minor}");
    let free = quantity::bytes(device.free_bytes() as u64);
    let rate = |bytes: f64| format!("{}/s", quantity::bytes(bytes as u64));
    let text = format!("{free} free");
    let mut found = vec![
        ("gpu", device.name().into(), device_name(&gpu)),
        ("gpu memory", device.total_bytes().into(), text),
        ("gpu driver", driver.clone().into(), format!("for CUDA {driver}")),
        ("gpu copy there", there.into(), rate(there)),
        ("gpu copy back", back.into(), rate(back)),
    ];
    let measured = [
        ("gpu 2^61-1", gpu.calibrate::<F61>(&mut OnCpu)?),
        ("gpu 2^32-5", gpu.calibrate::<F32>(&mut OnCpu)?),
    ];
    for (name, calibration) in measured {
        let device = calibration.device_entries_per_s / 1e6;
        let processor = calibration.processor_entries_per_s / 1e6;
        let from = match calibration.entries_min() {
            Some(least) => format!("from {} entries on", quantity::count(least as u64)),
            None => "never worth its copies".to_owned(),
        };
        let text = format!("{from} ({device:.0} M entries/s, one core {processor:.0} M)");
        found.push((name, calibration.entries_min().into(), text));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_wanted_or_too_small_is_not_looked_for() {
        let find = |choice, field, entries, limit| {
            Accelerator::find(choice, field, entries, (limit, 1)).sentence()
        };
        let (auto, f61) = (GpuChoice::Auto, Some(FieldName::F61));
        assert_eq!(find(GpuChoice::Off, f61, 1 << 30, 1 << 40), "not wanted: CPU");
        let none = "no products of matrices over a field: CPU";
        assert_eq!(find(auto, f61, 0, 1 << 40), none);
        assert_eq!(find(auto, None, 1 << 30, 1 << 40), none);
        let f128 = Some(FieldName::F128);
        assert_eq!(find(auto, f128, 1 << 30, 1 << 40), "no kernels modulo 2^128-159: CPU");
        if !phineus_accel::is_driver_present() {
            assert_eq!(find(auto, f61, 1 << 30, 1 << 40), "no CUDA device: CPU");
        }
    }

    #[test]
    fn entries_are_those_of_matrix_triples() {
        let costs =
            [("matrices_128_1", 7), ("matrices_3_5", 2), ("matrices_4_8_2", 3), ("triples", 100)];
        let costs = costs.map(|(name, count)| (name.to_owned(), count)).into();
        assert_eq!(stated_entries(&costs), 7 * 128 + 2 * 15 + 3 * 64);
    }
}
