//! [`CudaDevice`]: a CUDA device with our kernels.
//!
//! The driver is `libcuda`, opened when first asked for; without it there is no device. Kernels
//! come as PTX of an old architecture, which every later driver compiles for its device. Cost:
//! opening takes tenths of a second, and some hundred MiB of the process's memory for the driver;
//! [`DEVICE_BYTES`] of the device, and of the process two buffers for each lane, which the driver may
//! not move (16 MiB).

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, DriverError, LaunchConfig, PushKernelArg, sys};
use cudarc::nvrtc::Ptx;

use crate::element::PREFIXES;
use crate::stream::Stream;

/// The kernels, as clang makes them of `kernels/products.cu`.
const KERNELS: &str = include_str!("../kernels/products.ptx");

/// A buffer: at 25 GB/s across the bus 160 microseconds, beside which some 10 to begin a copy are
/// little; and two of them lie in a processor's cache while they are filled.
pub(crate) const BUFFER_BYTES: usize = 4 << 20;

/// Lanes: one is filled while the other is at work.
pub(crate) const LANES: usize = 2;

/// Memory of a device that is used: input, results and planes of each lane.
pub const DEVICE_BYTES: usize = LANES * 3 * BUFFER_BYTES;

/// Threads of a block.
const BLOCK_THREADS: u32 = 256;

/// Columns whose products a kernel adds up without a look: those of 2^32-5 are below 2^35 each.
const COLUMNS_MAX: usize = 1 << 28;
const _: () = assert!(BUFFER_BYTES / 4 <= COLUMNS_MAX, "no buffer holds more columns");

/// Functions of the driver that are used. `cudarc` ends the program on a call of one that the
/// library lacks, so they are looked up first: with a stub or a very old driver there is no device,
/// which is not an error.
const FUNCTIONS: [&str; 35] = [
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDriverGetVersion",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuInit",
    "cuLaunchKernel",
    "cuMemAllocAsync",
    "cuMemAlloc_v2",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

/// Why there is no device, or not any longer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No driver library.
    #[error("no CUDA driver (libcuda)")]
    NoDriver,
    /// A driver library that lacks something.
    #[error("the CUDA driver lacks {function}")]
    OldDriver {
        /// The missing function.
        function: &'static str,
    },
    /// A driver, and nothing that it drives.
    #[error("no CUDA device")]
    NoDevice,
    /// The driver refuses.
    #[error("the CUDA device failed when {during}: {code}")]
    Failed {
        /// The call that failed.
        during: &'static str,
        /// The driver's name of the fault.
        code: String,
    },
    /// The device computes something else than the processor.
    #[error("the CUDA device computes wrong products")]
    Wrong,
}

/// An answer of the driver, as ours.
pub(crate) fn asked<T>(during: &'static str, answer: Result<T, DriverError>) -> Result<T, Error> {
    answer.map_err(|fault| {
        let name = fault.error_name().ok().and_then(|name| name.to_str().ok());
        Error::Failed { during, code: name.unwrap_or("unknown error").to_owned() }
    })
}

/// Whether this machine has a driver library. Cheap; says nothing about devices.
pub fn is_driver_present() -> bool {
    // SAFETY: opens the library by its name as any program that uses CUDA does; its initialisers
    // are the driver's.
    unsafe { sys::is_culib_present() }
}

/// Refuses a driver that lacks something.
fn check_functions() -> Result<(), Error> {
    if !is_driver_present() {
        return Err(Error::NoDriver);
    }
    for function in FUNCTIONS {
        // SAFETY: the symbol is only looked for and never called as this type.
        let found = unsafe { sys::culib().get::<unsafe extern "C" fn()>(function.as_bytes()) };
        if found.is_err() {
            return Err(Error::OldDriver { function });
        }
    }
    Ok(())
}

/// The kernels of a ring.
struct Kernels {
    /// For 1, 2 and 4 vectors.
    products: [CudaFunction; 3],
    planes: CudaFunction,
}

/// A device that is ready.
pub struct CudaDevice {
    context: Arc<CudaContext>,
    kernels: Vec<Kernels>,
    name: String,
    total_bytes: usize,
    free_bytes: usize,
    driver: (i32, i32),
    processors: u32,
}

impl CudaDevice {
    /// The first device, with our kernels.
    ///
    /// # Errors
    /// If there is none, or it does not take them.
    pub fn open() -> Result<CudaDevice, Error> {
        check_functions()?;
        match CudaContext::device_count() {
            Ok(0) => return Err(Error::NoDevice),
            Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => return Err(Error::NoDevice),
            count => asked("counting devices", count)?,
        };
        let context = asked("opening it", CudaContext::new(0))?;
        let module = asked("loading kernels", context.load_module(Ptx::from_src(KERNELS)))?;
        let load = |name: String| asked("loading kernels", module.load_function(&name));
        let kernels = |prefix: &str| -> Result<Kernels, Error> {
            let products = |width| load(format!("{prefix}_products_{width}"));
            let products = [products(1)?, products(2)?, products(4)?];
            Ok(Kernels { products, planes: load(format!("{prefix}_planes"))? })
        };
        let kernels = PREFIXES.into_iter().map(kernels).collect::<Result<_, _>>()?;
        let (free_bytes, total_bytes) = asked("asking for memory", context.mem_get_info())?;
        let processors = context
            .attribute(sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        let processors = asked("asking for processors", processors)?;
        let mut version = 0;
        // SAFETY: writes one integer, which lives.
        let answer = unsafe { sys::cuDriverGetVersion(&mut version) }.result();
        asked("asking for the version", answer)?;
        Ok(CudaDevice {
            name: asked("asking for the name", context.name())?,
            context,
            kernels,
            total_bytes,
            free_bytes,
            // 1000 times the major and 10 times the minor number.
            driver: (version / 1000, version % 1000 / 10),
            processors: processors.max(1) as u32,
        })
    }

    /// The vendor's name of the device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All of its memory.
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Device memory that was free when the device was opened.
    pub fn free_bytes(&self) -> usize {
        self.free_bytes
    }

    /// The newest version of CUDA that the driver knows, major and minor.
    pub fn driver(&self) -> (i32, i32) {
        self.driver
    }

    /// Threads that keep the device busy.
    pub(crate) fn threads(&self) -> usize {
        self.processors as usize * 2048
    }

    /// Buffers and a stream.
    pub(crate) fn lane(&self) -> Result<Stream, Error> {
        Stream::new(&self.context)
    }

    /// Adds to a launch what kernels of products are called with.
    pub(crate) fn products(&self, lane: &Stream, call: &KernelCall) -> Result<(), Error> {
        let kernels = &self.kernels[call.ring];
        let element_bytes = call.element_bytes;
        let parts = call.columns.div_ceil(call.part_columns);
        let target = if parts > 1 { lane.planes } else { lane.results };
        let adds = u32::from(call.adds && parts == 1);
        let threads = call.count * call.rows;
        let grid = (threads.div_ceil(BLOCK_THREADS), parts, 1);
        let matrix = lane.input + call.matrix_at as u64;
        let vectors = lane.input + call.vectors_at as u64;
        let mut first = 0;
        while first < call.width {
            let (kernel, vectors_now) = match call.width - first {
                1 => (0, 1),
                2 | 3 => (1, 2),
                _ => (2, 4),
            };
            let mut launch = lane.stream.launch_builder(&kernels.products[kernel]);
            launch.arg(&matrix).arg(&vectors).arg(&target).arg(&call.rows).arg(&call.columns);
            launch.arg(&call.count).arg(&call.width).arg(&first).arg(&call.part_columns);
            launch.arg(&adds);
            // SAFETY: the arguments are those of the kernel in number, order and size. It reads
            // `count * rows * columns` elements of the matrix and `count * columns * width` of
            // vectors and writes `parts * count * rows * width` results, all of which
            // `KernelCall::check` has found to be inside the lane's buffers; they live until the
            // stream is idle.
            let launched = unsafe { launch.launch(config(grid)) };
            asked("starting a kernel", launched)?;
            first += vectors_now;
        }
        if parts == 1 {
            return Ok(());
        }
        let len = u64::from(threads) * u64::from(call.width);
        debug_assert!(len as usize * element_bytes <= BUFFER_BYTES);
        let adds = u32::from(call.adds);
        let mut launch = lane.stream.launch_builder(&kernels.planes);
        launch.arg(&lane.planes).arg(&lane.results).arg(&len).arg(&parts).arg(&adds);
        // SAFETY: as above: it reads `parts` planes of `len` elements and writes one.
        let launched =
            unsafe { launch.launch(config(((len as u32).div_ceil(BLOCK_THREADS), 1, 1))) };
        asked("starting a kernel", launched).map(drop)
    }
}

fn config(grid_dim: (u32, u32, u32)) -> LaunchConfig {
    LaunchConfig { grid_dim, block_dim: (BLOCK_THREADS, 1, 1), shared_mem_bytes: 0 }
}

/// Matrices of one size in a lane's input, times vectors, to or onto its results.
#[derive(Clone, Copy)]
pub(crate) struct KernelCall {
    pub(crate) ring: usize,
    pub(crate) element_bytes: usize,
    /// Byte offsets.
    pub(crate) matrix_at: usize,
    pub(crate) vectors_at: usize,
    pub(crate) rows: u32,
    pub(crate) columns: u32,
    pub(crate) count: u32,
    pub(crate) width: u32,
    /// Columns of one part of the grid.
    pub(crate) part_columns: u32,
    /// Onto what is there.
    pub(crate) adds: bool,
}

impl KernelCall {
    /// # Panics
    /// If something would be outside of the buffers.
    pub(crate) fn check(&self) {
        let [rows, columns, count, width] =
            [self.rows, self.columns, self.count, self.width].map(|size| size as usize);
        assert!(rows > 0 && columns > 0 && count > 0 && width > 0 && self.part_columns > 0);
        let parts = columns.div_ceil(self.part_columns as usize);
        let bytes = |elements: Option<usize>| {
            elements.and_then(|elements| elements.checked_mul(self.element_bytes))
        };
        let matrices = bytes(rows.checked_mul(columns).and_then(|size| size.checked_mul(count)));
        let vectors = bytes(columns.checked_mul(width).and_then(|size| size.checked_mul(count)));
        let results = rows.checked_mul(width).and_then(|size| size.checked_mul(count));
        let planes = bytes(results.and_then(|size| size.checked_mul(parts)));
        let fits = |at: usize, bytes: Option<usize>| {
            bytes.and_then(|bytes| at.checked_add(bytes)).is_some_and(|end| end <= BUFFER_BYTES)
        };
        let inside = fits(self.matrix_at, matrices) && fits(self.vectors_at, vectors);
        assert!(inside && fits(0, planes), "a call stays within its buffers");
        assert!(parts <= 65_535, "a grid has at most so many rows");
        assert!(columns <= COLUMNS_MAX, "a sum has no more room");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that is called and not looked for before would end the program where it lacks.
    /// The emulated driver has no other functions than these, so none but these is called in its
    /// tests.
    #[test]
    fn the_emulated_driver_has_what_is_looked_for_and_no_more() {
        let emulated = include_str!("../tests/emulated/libcuda.c");
        let defined = emulated.lines().filter_map(|line| line.strip_prefix("Result cu"));
        let mut names: Vec<&str> =
            defined.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name).collect();
        names.sort_unstable();
        let looked_for = FUNCTIONS.map(|name| name.strip_prefix("cu").expect("all begin so"));
        assert_eq!(names, looked_for);
    }
}
