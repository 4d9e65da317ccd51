//! [`Calibration`]: measures the size from which on a device is faster than the processor.
//!
//! Both make the same batches the same way as in a run, copies and buffers included: products of
//! matrices of 128 rows and one column of shares, of which a private linear layer is made and for
//! which copying weighs most. From a small and a large batch follow what a batch costs at all and
//! what an element costs. The results are compared, too: a device that computes something else is
//! refused. Cost: some milliseconds, 10 MiB.

use std::time::{Duration, Instant};

use phineus_crypto::field::{Field, MatrixProduct, MatrixProducts, ProductTerm};
use phineus_crypto::{Block, Prg};

use crate::device::BUFFER_BYTES;
use crate::{DeviceElement, Error, Gpu};

/// Rows of a matrix that is measured: the largest value of 32-bit lanes.
const ROWS: usize = 128;

/// Matrices of the two batches.
const FEW: usize = 16;
const MANY: usize = 1024;

/// The fastest of so many counts.
const REPETITIONS: usize = 7;

/// Products of elements for an entry of a shared matrix: entry and mask times value and MAC.
const WORK_PER_ENTRY: usize = 4;

/// Measurements with elements of one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Products of elements from which on a batch is faster on the device; `None` if none is.
    pub work_min: Option<usize>,
    /// Entries of shared matrices per second there, copies included.
    pub device_entries_per_s: f64,
    /// The rate on the processor.
    pub processor_entries_per_s: f64,
    /// Fixed time of a batch on the device, besides its entries.
    pub begin: Duration,
}

impl Calibration {
    /// Entries of a shared matrix from which on the device is faster.
    pub fn entries_min(&self) -> Option<usize> {
        self.work_min.map(|work| work.div_ceil(WORK_PER_ENTRY))
    }

    /// Of the seconds that batches of `FEW` and `MANY` matrices take on the device and here.
    fn of(device: [f64; 2], processor: [f64; 2]) -> Calibration {
        let between = ((MANY - FEW) * ROWS) as f64;
        // A clock may see no difference: an element takes some time.
        let each = |[few, many]: [f64; 2]| ((many - few) / between).max(1e-12);
        let (device_each, processor_each) = (each(device), each(processor));
        let begin = (device[0] - device_each * (FEW * ROWS) as f64).max(0.0);
        let gain = processor_each - device_each;
        // At least a twentieth has to be won: measurements differ by as much.
        let pays = gain > processor_each / 20.0;
        let entries = (begin / gain).ceil() as usize;
        Calibration {
            work_min: pays.then_some(entries.max(1).saturating_mul(WORK_PER_ENTRY)),
            device_entries_per_s: 1.0 / device_each,
            processor_entries_per_s: 1.0 / processor_each,
            begin: Duration::from_secs_f64(begin),
        }
    }
}

/// Matrices of shares with what they are multiplied by.
struct ProductBatch<F: Field> {
    out: Vec<F>,
    masks: Vec<F>,
    opened: Vec<F>,
    factors: Vec<F>,
    shares: Vec<F>,
}

impl<F: Field> ProductBatch<F> {
    fn random(count: usize) -> ProductBatch<F> {
        let mut prg = Prg::from_seed(Block::from_bits(9));
        let mut random = |len: usize| {
            let mut x = vec![F::ZERO; len];
            F::fill_random(&mut prg, &mut x);
            x
        };
        let results = 2 * ROWS * count;
        ProductBatch {
            out: random(results),
            masks: random(results),
            opened: random(ROWS * count),
            factors: random(count),
            shares: random(2 * count),
        }
    }

    fn products(&mut self) -> Vec<MatrixProduct<'_, F, 2>> {
        let terms = self
            .masks
            .chunks_exact(2 * ROWS)
            .zip(self.opened.chunks_exact(ROWS))
            .zip(self.factors.chunks_exact(1).zip(self.shares.chunks_exact(2)));
        self.out
            .chunks_exact_mut(2 * ROWS)
            .zip(terms)
            .map(|(out, ((masks, opened), (factor, shares)))| MatrixProduct {
                out,
                terms: [
                    ProductTerm { matrix: masks, vectors: factor, width: 1, count: 1 },
                    ProductTerm { matrix: opened, vectors: shares, width: 2, count: 1 },
                ],
            })
            .collect()
    }

    /// The least seconds that `add` takes.
    fn time(
        &mut self,
        mut add: impl FnMut(&mut [MatrixProduct<'_, F, 2>]) -> Result<(), Error>,
    ) -> Result<f64, Error> {
        let mut products = self.products();
        let mut least = f64::MAX;
        for _ in 0..REPETITIONS {
            let start = Instant::now();
            add(&mut products)?;
            least = least.min(start.elapsed().as_secs_f64());
        }
        Ok(least)
    }
}

impl Gpu {
    /// Compares the device with `processor`, in results and in time.
    ///
    /// # Errors
    /// If the device fails or its results differ.
    pub fn calibrate<F: Field + DeviceElement>(
        &mut self,
        processor: &mut dyn MatrixProducts<F>,
    ) -> Result<Calibration, Error> {
        let (mut device, mut here) = ([0.0; 2], [0.0; 2]);
        for (i, count) in [FEW, MANY].into_iter().enumerate() {
            let (mut ours, mut theirs) =
                (ProductBatch::<F>::random(count), ProductBatch::<F>::random(count));
            here[i] = ours.time(|products| {
                processor.add(products);
                Ok(())
            })?;
            device[i] = theirs.time(|products| self.add(products))?;
            if ours.out != theirs.out {
                return Err(Error::Wrong);
            }
        }
        Ok(Calibration::of(device, here))
    }

    /// Bytes per second to the device and back, from and to memory that the driver holds.
    ///
    /// # Errors
    /// If the device fails.
    pub fn copy_rates(&mut self) -> Result<[f64; 2], Error> {
        let lane = &mut self.lanes_mut()[0];
        lane.wait()?;
        let mut rates = [0f64; 2];
        for (i, rate) in rates.iter_mut().enumerate() {
            for _ in 0..REPETITIONS {
                let start = Instant::now();
                if i == 0 {
                    lane.send(BUFFER_BYTES)?;
                } else {
                    lane.fetch(BUFFER_BYTES)?;
                }
                lane.wait()?;
                *rate = rate.max(BUFFER_BYTES as f64 / start.elapsed().as_secs_f64().max(1e-9));
            }
        }
        Ok(rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_batch_pays_its_beginning() {
        let each =
            |fixed: f64, each: f64| [FEW, MANY].map(|count| fixed + each * (count * ROWS) as f64);
        // 20 us to begin; 1 ns there and 3 ns here: 10,000 entries.
        let calibration = Calibration::of(each(20e-6, 1e-9), each(0.0, 3e-9));
        let entries = calibration.entries_min().expect("it pays");
        assert!((9_990..=10_010).contains(&entries), "{entries}");
        assert!((calibration.device_entries_per_s / 1e9 - 1.0).abs() < 1e-6);
        assert!((calibration.begin.as_secs_f64() / 20e-6 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn a_slow_device_never_pays() {
        let each =
            |fixed: f64, each: f64| [FEW, MANY].map(|count| fixed + each * (count * ROWS) as f64);
        assert_eq!(Calibration::of(each(0.0, 3e-9), each(0.0, 1e-9)).work_min, None);
        // A fiftieth faster is within the noise.
        assert_eq!(Calibration::of(each(0.0, 0.98e-9), each(0.0, 1e-9)).work_min, None);
    }
}
