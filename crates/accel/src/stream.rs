//! [`Stream`]: a stream of a device, with buffers on the device and in the process.
//!
//! What goes there is copied into memory that the driver may not move, and crosses the bus from
//! there while the processor does something else; and so back. Invariants: a buffer here is touched
//! only when nothing is under way; all buffers are wiped when a lane goes, but for those of a
//! device that is lost.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, PinnedHostSlice, result, sys};
use zeroize::Zeroize;

use crate::device::{BUFFER_BYTES, Error, asked};

/// A stream and its buffers.
pub(crate) struct Stream {
    upload: PinnedHostSlice<u8>,
    download: PinnedHostSlice<u8>,
    /// The addresses of the two, which a device that is lost does not tell any more.
    pages: [usize; 2],
    /// Where buffers lie in the device's memory.
    pub(crate) input: sys::CUdeviceptr,
    pub(crate) results: sys::CUdeviceptr,
    pub(crate) planes: sys::CUdeviceptr,
    buffers: [CudaSlice<u8>; 3],
    pub(crate) stream: Arc<CudaStream>,
}

impl Stream {
    /// Buffers of a device and a stream, all zeros.
    pub(crate) fn new(context: &Arc<CudaContext>) -> Result<Stream, Error> {
        let stream = asked("making a stream", context.new_stream())?;
        let pinned = || {
            // SAFETY: filled with zeros before anybody reads it.
            let buffer = unsafe { context.alloc_pinned_with_flags::<u8>(BUFFER_BYTES, 0) };
            let mut buffer = asked("taking memory of the process", buffer)?;
            let pointer = asked("taking memory of the process", buffer.as_mut_ptr())?;
            // SAFETY: the allocation has so many bytes, and nobody else knows it yet.
            unsafe { pointer.write_bytes(0, BUFFER_BYTES) };
            Ok::<_, Error>(buffer)
        };
        let memory = || asked("taking memory", stream.alloc_zeros::<u8>(BUFFER_BYTES));
        let buffers = [memory()?, memory()?, memory()?];
        let [input, results, planes] = [0, 1, 2].map(|i: usize| buffers[i].device_ptr(&stream).0);
        let mut pinned = [pinned()?, pinned()?];
        let mut pages = [0; 2];
        for (pages, pinned) in pages.iter_mut().zip(&mut pinned) {
            *pages = asked("taking memory of the process", pinned.as_mut_ptr())? as usize;
        }
        let [upload, download] = pinned;
        let lane = Stream { upload, download, pages, input, results, planes, buffers, stream };
        lane.wait()?;
        Ok(lane)
    }

    /// Waits until nothing is under way.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        asked("computing", self.stream.synchronize())
    }

    /// Buffer to fill for the next upload; no transfer may be in progress.
    pub(crate) fn upload_mut(&mut self) -> Result<&mut [u8], Error> {
        asked("filling a buffer", self.upload.as_mut_slice())
    }

    /// Bytes of the last download; no transfer may be in progress.
    pub(crate) fn downloaded(&self) -> Result<&[u8], Error> {
        asked("emptying a buffer", self.download.as_slice())
    }

    /// Sends the first bytes of what was filled in.
    pub(crate) fn send(&mut self, bytes: usize) -> Result<(), Error> {
        asked("copying there", self.stream.context().bind_to_thread())?;
        let source = &asked("copying there", self.upload.as_slice())?[..bytes];
        // SAFETY: both buffers have `BUFFER_BYTES`, of which the slice is a part. They live as long
        // as the lane does, which waits for its stream before it goes; and the source is written
        // again only after waiting.
        let sent =
            unsafe { result::memcpy_htod_async(self.input, source, self.stream.cu_stream()) };
        asked("copying there", sent)
    }

    /// Brings the first bytes of the results back.
    pub(crate) fn fetch(&mut self, bytes: usize) -> Result<(), Error> {
        asked("copying back", self.stream.context().bind_to_thread())?;
        let target = &mut asked("copying back", self.download.as_mut_slice())?[..bytes];
        // SAFETY: as for `send`; the target is read only after waiting.
        let fetched =
            unsafe { result::memcpy_dtoh_async(target, self.results, self.stream.cu_stream()) };
        asked("copying back", fetched)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // Of a device that is lost nothing can be wiped; what is here always is.
        let _ = self.wait();
        for buffer in &mut self.buffers {
            let _ = self.stream.memset_zeros(buffer);
        }
        let _ = self.wait();
        for pages in self.pages {
            // SAFETY: the addresses of the two allocations, of so many bytes, which are given back
            // behind this; their borrows ended with the calls that made them.
            unsafe { std::slice::from_raw_parts_mut(pages as *mut u8, BUFFER_BYTES) }.zeroize();
        }
    }
}
