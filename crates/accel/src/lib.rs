//! Products of matrices on a CUDA device, if there is one and it is faster.
//!
//! | module | what it is |
//! |---|---|
//! | `element` | the four rings that kernels exist for, and their meaning on the processor |
//! | `device` | the driver library, looked for when the program runs; kernels |
//! | `lane` | memory of the device, and what crosses the bus |
//! | `batch` | many products at a time, in pieces that fit into fixed buffers |
//! | `calibration` | from which size on the device is faster, as measured, copies included |
//! | `products` | [`OnGpu`]: the device for the protocols, where it pays |
//!
//! Nothing is linked and nothing of CUDA is needed to build: `kernels/products.ptx` is checked in,
//! and the driver compiles it for its device. Source of the kernels: `kernels/products.cu`. Cost:
//! each element of a matrix crosses the bus once. Invariants: results are those of the processor,
//! bit for bit; a device that fails is not used again and the processor does what is left. Not
//! protected: shares lie in the device's memory while they are used, and whoever administers the
//! device or may debug its processes can read them there; ours is wiped when it is given back.

mod batch;
mod calibration;
mod device;
mod element;
mod products;
mod stream;

pub use batch::Gpu;
pub use calibration::Calibration;
pub use device::{CudaDevice, DEVICE_BYTES, Error, is_driver_present};
pub use element::DeviceElement;
pub use products::OnGpu;
