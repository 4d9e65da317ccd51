//! How fast pages move between frames and an encrypted swap file, in random order.
//!
//! `cargo run --release -p phineus-engine --example storage_speed -- [DIRECTORY] [MIB] [PAGE_KIB]`
//! (default: the temporary directory, 1024 MiB, 64 KiB). Prints the best and the median of five
//! repetitions in GB/s, with the time the page cipher takes of it.

use std::path::PathBuf;
use std::time::Instant;

use phineus_engine::{
    FrameIndex, FrameMemory, SpillSlot, Storage, StorageBackend, StorageConfig, StorageError,
    TransferDirection, probe_disk,
};

const REPETITIONS: usize = 5;
const DEPTHS: [u32; 3] = [1, 8, 32];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let mebibytes: u32 = arguments.next().map_or(Ok(1024), |text| text.parse())?;
    let page_kibibytes: u32 = arguments.next().map_or(Ok(64), |text| text.parse())?;
    let page_bytes = page_kibibytes << 10;
    let slots = u32::try_from((u64::from(mebibytes) << 20) / u64::from(page_bytes))?;
    println!("{:#?}", probe_disk(&directory, StorageBackend::Auto)?);
    println!("{slots} pages of {page_kibibytes} KiB each way, GB/s best (median), cipher share");
    for backend in [StorageBackend::IoUring, StorageBackend::Threads] {
        for depth in DEPTHS {
            let frames = FrameMemory::new(depth, page_bytes)?;
            let directory = directory.clone();
            let config = StorageConfig { directory, page_bytes, slots, backend, depth };
            match Storage::new(&config, &frames) {
                Ok(storage) => measure(storage, frames, slots)?,
                Err(error) => println!("skipped: {error}"),
            }
        }
    }
    Ok(())
}

fn measure(mut storage: Storage, mut frames: FrameMemory, slots: u32) -> Result<(), StorageError> {
    let depth = frames.frame_count();
    let bytes = f64::from(slots) * f64::from(frames.page_bytes());
    for direction in [TransferDirection::Out, TransferDirection::In] {
        let mut speeds = Vec::new();
        let cipher_before = storage.statistics().cipher;
        let start = Instant::now();
        for repetition in 0..REPETITIONS {
            let start = Instant::now();
            one_pass(&mut storage, &mut frames, direction, slots, repetition as u64)?;
            speeds.push(bytes / start.elapsed().as_secs_f64() / 1e9);
        }
        let cipher = (storage.statistics().cipher - cipher_before).as_secs_f64();
        let share = 100.0 * cipher / start.elapsed().as_secs_f64();
        speeds.sort_by(f64::total_cmp);
        println!(
            "{:29} depth {depth:2} {direction:3?} {:6.2} ({:.2}) {share:3.0} %",
            storage.backend_name(),
            speeds[REPETITIONS - 1],
            speeds[REPETITIONS / 2],
        );
    }
    Ok(())
}

/// Moves every slot once, in random order, through all frames in turn.
fn one_pass(
    storage: &mut Storage,
    frames: &mut FrameMemory,
    direction: TransferDirection,
    slots: u32,
    seed: u64,
) -> Result<(), StorageError> {
    let depth = frames.frame_count();
    for (step, slot) in shuffled(slots, seed).into_iter().enumerate() {
        let frame = FrameIndex(step as u32 % depth);
        let is_used = step as u32 >= depth;
        match direction {
            TransferDirection::In => {
                if is_used {
                    storage.finish_in(frames, frame)?;
                }
                storage.issue_in(frames, frame, SpillSlot(slot))?;
            }
            TransferDirection::Out => {
                if is_used {
                    storage.finish_out(frames, frame)?;
                }
                storage.issue_out(frames, frame, SpillSlot(slot))?;
            }
        }
    }
    storage.drain(frames)
}

/// The numbers below `count` in an order that `seed` chooses (Fisher-Yates over xorshift64).
fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    let mut state = seed.wrapping_mul(2).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for last in (1..numbers.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        numbers.swap(last, (state % (last as u64 + 1)) as usize);
    }
    numbers
}
