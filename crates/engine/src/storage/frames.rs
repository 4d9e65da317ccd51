//! [`FrameMemory`]: the array that a worker computes on, and the rule that makes its use sound.
//!
//! The array is `frame_count * page_bytes` bytes. The engine borrows parts of it per instruction,
//! and between two instructions storage moves whole frames to and from the swap file.
//!
//! Invariant: *while a frame is in flight, no Rust reference to its bytes exists.* The compiler
//! proves one half of it: a transfer is issued through `&mut FrameMemory`, so no slice handed out
//! before can still be alive. A flag per frame gives the other half: a frame is flagged from
//! issue to finish, and every slice is checked against the flags (also in release; one byte read
//! for a cell, since cells never straddle pages). `FrameMemory` itself holds a raw address only,
//! so the kernel and the I/O threads may write to a flagged frame at any moment.
//!
//! Cost: two comparisons and one flag per operand; nothing is allocated after the start.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::mapping::Mapping;
use super::{FrameIndex, StorageError};

/// Smallest page: O_DIRECT wants multiples of the device's logical block, which is 4096 at most.
pub const PAGE_BYTES_MIN: u32 = 4096;

/// Largest page: one transfer must stay a small part of even a 1 GiB limit.
pub const PAGE_BYTES_MAX: u32 = 64 << 20;

/// The frames of one worker: aligned, zero at the start, wiped on drop, never in a core dump.
pub struct FrameMemory {
    mapping: Arc<Mapping>,
    page_shift: u32,
    frame_count: u32,
    in_flight: Box<[bool]>,
    in_flight_count: u32,
}

impl FrameMemory {
    /// Reserves `frame_count` frames of `page_bytes` bytes each, all zero.
    ///
    /// # Errors
    /// [`StorageError::Memory`] if the operating system does not give that much.
    ///
    /// # Panics
    /// If `frame_count` is 0 or `page_bytes` is not a power of two between [`PAGE_BYTES_MIN`]
    /// and [`PAGE_BYTES_MAX`].
    pub fn new(frame_count: u32, page_bytes: u32) -> Result<FrameMemory, StorageError> {
        assert!(frame_count > 0, "a run needs at least one frame");
        assert!(page_bytes.is_power_of_two(), "a page is a power of two, not {page_bytes} bytes");
        assert!((PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&page_bytes), "{page_bytes}-byte page");
        let bytes = u64::from(frame_count) * u64::from(page_bytes);
        let refused = |source| StorageError::Memory { bytes, source };
        let length_bytes = usize::try_from(bytes)
            .map_err(|_| refused(std::io::Error::from_raw_os_error(libc::ENOMEM)))?;
        Ok(FrameMemory {
            mapping: Arc::new(Mapping::new(length_bytes).map_err(refused)?),
            page_shift: page_bytes.trailing_zeros(),
            frame_count,
            in_flight: vec![false; frame_count as usize].into_boxed_slice(),
            in_flight_count: 0,
        })
    }

    /// Number of frames.
    pub fn frame_count(&self) -> u32 {
        self.frame_count
    }

    /// Bytes of one frame.
    pub fn page_bytes(&self) -> u32 {
        1 << self.page_shift
    }

    /// Bytes of all frames: what this costs of the memory limit, besides one byte per frame.
    pub fn length_bytes(&self) -> usize {
        (self.frame_count as usize) << self.page_shift
    }

    /// The whole array as wires of type `W`.
    ///
    /// # Panics
    /// If any frame is in flight.
    pub fn as_slice<W: FromBytes + Immutable>(&self) -> &[W] {
        self.slice(0..self.length_bytes() / size_of::<W>())
    }

    /// The whole array as wires of type `W`, to write.
    ///
    /// # Panics
    /// If any frame is in flight.
    pub fn as_mut_slice<W: FromBytes + IntoBytes>(&mut self) -> &mut [W] {
        self.slice_mut(0..self.length_bytes() / size_of::<W>())
    }

    /// The wires `range`, counted in `W` from the start of the array.
    ///
    /// # Panics
    /// If the range leaves the array or touches a frame in flight: the plan is wrong.
    #[inline]
    pub fn slice<W: FromBytes + Immutable>(&self, range: Range<usize>) -> &[W] {
        let start = self.check::<W>(&range);
        // SAFETY: in bounds, aligned and initialised as `check` found. No transfer touches these
        // frames now, and none can be issued while the result borrows `self`. No `&mut` to them
        // exists, since those borrow `self` mutably.
        unsafe { slice::from_raw_parts(start, range.end - range.start) }
    }

    /// The wires `range`, to write.
    ///
    /// # Panics
    /// As [`FrameMemory::slice`].
    #[inline]
    pub fn slice_mut<W: FromBytes + IntoBytes>(&mut self, range: Range<usize>) -> &mut [W] {
        let start = self.check::<W>(&range);
        // SAFETY: as in `slice`; the result borrows `self` mutably, so it is the only reference.
        // `IntoBytes` makes sure that a `W` written leaves no uninitialised padding behind.
        unsafe { slice::from_raw_parts_mut(start, range.end - range.start) }
    }

    /// The operands of one instruction: cells to write and cells to read, in wires.
    ///
    /// Sources may overlap one another; a target overlaps nothing.
    ///
    /// # Panics
    /// As [`FrameMemory::slice`], and if a target overlaps another operand.
    #[inline]
    pub fn operands<W, const TARGETS: usize, const SOURCES: usize>(
        &mut self,
        targets: [Range<usize>; TARGETS],
        sources: [Range<usize>; SOURCES],
    ) -> ([&mut [W]; TARGETS], [&[W]; SOURCES])
    where
        W: FromBytes + IntoBytes + Immutable,
    {
        for (index, target) in targets.iter().enumerate() {
            let others = targets[index + 1..].iter().chain(&sources);
            for other in others {
                assert!(!overlap(target, other), "operands {target:?} and {other:?} overlap");
            }
        }
        // SAFETY: each range is in bounds, aligned, initialised and not in flight as `check`
        // found; the mutable ones are disjoint from all others as asserted above; all borrow
        // `self` mutably, so nothing else refers to the array and no transfer can be issued.
        let targets = targets.map(|range| unsafe {
            slice::from_raw_parts_mut(self.check::<W>(&range), range.end - range.start)
        });
        // SAFETY: as above.
        let sources = sources.map(|range| unsafe {
            slice::from_raw_parts(self.check::<W>(&range).cast_const(), range.end - range.start)
        });
        (targets, sources)
    }

    /// The bytes of one frame, to write.
    ///
    /// # Panics
    /// If there is no such frame, or it is in flight.
    pub fn frame_mut(&mut self, frame: FrameIndex) -> &mut [u8] {
        let start = (frame.0 as usize) << self.page_shift;
        self.slice_mut(start..start + self.page_bytes() as usize)
    }

    /// True from the issue of a transfer of `frame` to its finish.
    pub fn is_in_flight(&self, frame: FrameIndex) -> bool {
        self.in_flight[frame.0 as usize]
    }

    /// Marks `frame` as the device's.
    pub(super) fn lend(&mut self, frame: FrameIndex) {
        let flag = &mut self.in_flight[frame.0 as usize];
        assert!(!*flag, "plan error: a transfer of frame {} is already in flight", frame.0);
        *flag = true;
        self.in_flight_count += 1;
    }

    /// Marks `frame` as the engine's again.
    pub(super) fn take_back(&mut self, frame: FrameIndex) {
        let flag = &mut self.in_flight[frame.0 as usize];
        assert!(*flag, "frame {} was not in flight", frame.0);
        *flag = false;
        self.in_flight_count -= 1;
    }

    /// The memory itself, for whoever must keep it alive during a transfer.
    pub(super) fn mapping(&self) -> &Arc<Mapping> {
        &self.mapping
    }

    /// Address of the first wire of `range`, after checking bounds and flags.
    #[inline]
    fn check<W>(&self, range: &Range<usize>) -> *mut W {
        const { assert!(size_of::<W>() > 0, "wires have a size") };
        const { assert!(align_of::<W>() <= PAGE_BYTES_MIN as usize, "wires align to a page") };
        let wires_max = self.length_bytes() / size_of::<W>();
        assert!(
            range.start <= range.end && range.end <= wires_max,
            "plan error: wires {range:?} of {wires_max}"
        );
        if range.start < range.end && self.in_flight_count > 0 {
            self.check_flags(range.start * size_of::<W>(), range.end * size_of::<W>() - 1);
        }
        // SAFETY: range.start <= wires_max, so the result is in the mapping or just past it.
        unsafe { self.mapping.base().cast::<W>().add(range.start) }
    }

    /// Checks that the frames of bytes `first..=last` are not in flight.
    #[inline]
    fn check_flags(&self, first: usize, last: usize) {
        let frames = &self.in_flight[first >> self.page_shift..=last >> self.page_shift];
        assert!(
            !frames.contains(&true),
            "plan error: bytes {first}..={last} are used while their frame is in flight"
        );
    }
}

fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end && !a.is_empty() && !b.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use phineus_crypto::Block;

    fn frames(frame_count: u32) -> FrameMemory {
        FrameMemory::new(frame_count, PAGE_BYTES_MIN).expect("a few KiB are free")
    }

    #[test]
    fn starts_zero_and_keeps_what_is_written() {
        let mut frames = frames(3);
        assert_eq!(frames.length_bytes(), 3 * 4096);
        assert!(frames.as_slice::<u8>().iter().all(|&byte| byte == 0));
        frames.slice_mut::<Block>(256..258).fill(Block::from_bits(7));
        assert_eq!(frames.slice::<Block>(255..256)[0].to_bits(), 0);
        assert_eq!(frames.slice::<Block>(257..258)[0].to_bits(), 7);
        assert_eq!(frames.as_mut_slice::<Block>().len(), 3 * 256);
        assert_eq!(frames.frame_mut(FrameIndex(1))[0], 7);
    }

    #[test]
    fn operands_are_disjoint_views() {
        let mut frames = frames(2);
        frames.slice_mut::<u8>(0..4).copy_from_slice(&[1, 2, 3, 4]);
        let ([sum, product], [a, b]) = frames.operands::<u8, 2, 2>([8..10, 10..12], [0..2, 1..3]);
        for i in 0..2 {
            sum[i] = a[i] + b[i];
            product[i] = a[i] * b[i];
        }
        assert_eq!(frames.slice::<u8>(8..12), [3, 5, 2, 6]);
    }

    #[test]
    fn empty_ranges_overlap_nothing() {
        let mut frames = frames(1);
        let (all, nothing) = (0..8, 4..4);
        let ([target], [source]) = frames.operands::<u8, 1, 1>([all], [nothing]);
        assert_eq!((target.len(), source.len()), (8, 0));
    }

    #[test]
    #[should_panic(expected = "overlap")]
    fn a_target_over_a_source_is_refused() {
        let (target, source) = (0..8, 7..9);
        frames(1).operands::<u8, 1, 1>([target], [source]);
    }

    #[test]
    #[should_panic(expected = "plan error: wires")]
    fn the_end_of_the_array_is_checked() {
        frames(1).slice::<Block>(255..257);
    }

    #[test]
    fn only_frames_in_flight_are_refused() {
        let mut frames = frames(3);
        frames.lend(FrameIndex(1));
        frames.slice_mut::<u8>(0..4096).fill(1);
        frames.slice_mut::<u8>(8192..12288).fill(1);
        assert!(frames.is_in_flight(FrameIndex(1)));
        for range in [4096..4097, 4095..4097, 8191..8192, 0..12288] {
            let touched = std::panic::catch_unwind(|| frames.slice::<u8>(range.clone())[0]);
            assert!(touched.is_err(), "{range:?} was handed out");
        }
        frames.take_back(FrameIndex(1));
        assert_eq!(frames.slice::<u8>(4095..4097), [1, 0]);
    }

    #[test]
    fn too_much_memory_is_an_error() {
        let error = FrameMemory::new(u32::MAX, PAGE_BYTES_MAX).err().expect("256 PiB are not free");
        assert!(error.to_string().starts_with("cannot reserve 256.0 PiB"), "{error}");
    }
}
