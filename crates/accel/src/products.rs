//! [`OnGpu`]: products on a device, if that is faster, for the protocols.

use phineus_crypto::field::{Field, MatrixProduct, MatrixProducts};

use crate::{Calibration, DeviceElement, Error, Gpu};

/// Told once, when a device fails.
type OnFailure = Box<dyn FnMut(&Error) + Send>;

/// A device, for batches of at least so much work.
pub struct OnGpu {
    gpu: Gpu,
    /// Products of elements from which on the device is asked; `None` if it never is.
    work_min: Option<usize>,
    on_failure: OnFailure,
}

impl OnGpu {
    /// As calibrated; `on_failure` is called once, if the device ever fails.
    pub fn new(gpu: Gpu, calibration: &Calibration, on_failure: OnFailure) -> OnGpu {
        OnGpu { gpu, work_min: calibration.work_min, on_failure }
    }
}

impl<F: Field + DeviceElement> MatrixProducts<F> for OnGpu {
    fn takes(&self, work: usize) -> bool {
        self.gpu.failure().is_none() && self.work_min.is_some_and(|least| work >= least)
    }

    fn add(&mut self, products: &mut [MatrixProduct<'_, F, 2>]) {
        let is_known = self.gpu.failure().is_some();
        match self.gpu.add(products) {
            // The processor has made the rest, as it does for all that comes after.
            Err(error) if !is_known => (self.on_failure)(&error),
            _ => {}
        }
    }
}
