//! [`Simulation`]: the RTL in `hw/`, compiled by Verilator, as a device.

use phineus_crypto::{Block, GarbledGate};

use crate::OverlayError;
use crate::device::{Moved, OverlayDevice, Pause, Streams};
use crate::link::{ItemsMoved, LinkedHost, MemoryTiming, Permits};
use crate::memory_image::{MEMORY_BEAT_BYTES, MemoryImage, MemoryLayout};
use crate::registers::{self, Register};

/// Clocks without a transfer after which a run is over: longer than the drain and the longest idle times.
const QUIET_CLOCKS_MAX: u64 = 4096;

/// The model; its layout is known to C++ only.
#[repr(C)]
struct Model {
    _private: [u8; 0],
}

/// Clocks after which a transfer returns in any case: a quarter of a second or less.
const SLICE_CLOCKS: u64 = 8192;

/// As `OvlState` in `hw/ip/overlay/tb/ovl_shim.cpp`: what a run remembers from one transfer to the next.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct RawState {
    random: u64,
    quiet_clocks: u64,
    offered: [u64; 3],
}

/// As `OvlStreams` in `hw/ip/overlay/tb/ovl_shim.cpp`.
#[repr(C)]
struct RawStreams {
    words: *const u64,
    word_count: u64,
    words_sent: u64,
    labels: *const Block,
    label_results: *const u64,
    label_count: u64,
    labels_sent: u64,
    rows_in: *const GarbledGate,
    rows_in_count: u64,
    rows_in_sent: u64,
    rows: *mut GarbledGate,
    rows_max: u64,
    rows_received: u64,
    results: *mut Block,
    results_max: u64,
    results_received: u64,
    quiet_clocks_max: u64,
    clocks_max: u64,
    clocks: u64,
    permitted: u64,
}

/// Streams that may move: words, labels, rows to evaluate, rows, results.
const PERMIT_ALL: u64 = 31;

/// Rows and results.
const PERMIT_OUT: u64 = 0b11000;

/// The functions of a model in C++; `hw/ip/overlay/tb/ovl_shim.cpp` has them.
struct Functions {
    cells: u32,
    open: unsafe extern "C" fn() -> *mut Model,
    close: unsafe extern "C" fn(model: *mut Model),
    word_lanes: unsafe extern "C" fn() -> u32,
    write: unsafe extern "C" fn(model: *mut Model, address: u32, value: u32),
    read: unsafe extern "C" fn(model: *mut Model, address: u32) -> u32,
    run: unsafe extern "C" fn(*mut Model, streams: *mut RawStreams, state: *mut RawState) -> u32,
    set_memory: unsafe extern "C" fn(*mut Model, timing: *const MemoryTiming, random: u64),
    store: unsafe extern "C" fn(*mut Model, cell: u32, address: u64, words: *const u64, count: u64),
    beats_moved: unsafe extern "C" fn(model: *mut Model) -> u64,
}

/// Declares the functions of the models that `build.rs` made.
macro_rules! models {
    ($($cells:literal: $open:ident, $close:ident, $word_lanes:ident, $write:ident, $read:ident, $run:ident, $set_memory:ident,
        $store:ident, $beats_moved:ident;)*) => {
        unsafe extern "C" {
            $(
                fn $open() -> *mut Model;
                fn $close(model: *mut Model);
                fn $word_lanes() -> u32;
                fn $write(model: *mut Model, address: u32, value: u32);
                fn $read(model: *mut Model, address: u32) -> u32;
                fn $run(model: *mut Model, streams: *mut RawStreams, state: *mut RawState) -> u32;
                fn $set_memory(model: *mut Model, timing: *const MemoryTiming, random: u64);
                fn $store(model: *mut Model, cell: u32, address: u64, words: *const u64, count: u64);
                fn $beats_moved(model: *mut Model) -> u64;
            )*
        }

        const MODELS: &[Functions] = &[$(Functions {
            cells: $cells,
            open: $open,
            close: $close,
            word_lanes: $word_lanes,
            write: $write,
            read: $read,
            run: $run,
            set_memory: $set_memory,
            store: $store,
            beats_moved: $beats_moved,
        },)*];
    };
}

include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// Numbers of cells of the devices that can be simulated.
pub fn simulated_cells() -> Vec<u32> {
    MODELS.iter().map(|model| model.cells).collect()
}

/// A simulated device. It is opened in its reset state.
pub struct Simulation {
    functions: &'static Functions,
    model: *mut Model,
    stall_seed: u64,
    clocks: u64,
    state: RawState,
    host: Option<LinkedHost>,
    memory: Option<MemoryLayout>,
}

impl Simulation {
    /// Opens a device of one cell whose host is always ready.
    pub fn open() -> Simulation {
        Simulation::of(&MODELS[0])
    }

    /// Opens a device of several cells whose host is always ready.
    ///
    /// # Errors
    /// [`OverlayError::NotSimulated`] if this program was built without a model of so many cells.
    pub fn open_with(cells: u32) -> Result<Simulation, OverlayError> {
        let functions = MODELS.iter().find(|model| model.cells == cells);
        let simulated = simulated_cells();
        functions.map(Simulation::of).ok_or(OverlayError::NotSimulated { cells, simulated })
    }

    fn of(functions: &'static Functions) -> Simulation {
        // SAFETY: makes a model that nothing else points to.
        let model = unsafe { (functions.open)() };
        Simulation {
            functions,
            model,
            stall_seed: 0,
            clocks: 0,
            state: RawState::default(),
            host: None,
            memory: None,
        }
    }

    /// Lets the host be slow at random, on each stream by itself; 0 is a host that is always ready.
    pub fn with_stalls(mut self, seed: u64) -> Simulation {
        self.stall_seed = seed;
        self
    }

    /// Puts a link between the device and its host, for one run that garbles the stream that `host` was made of.
    pub fn link_to(&mut self, host: LinkedHost) {
        self.host = Some(host);
    }

    /// The host after a run with a link; runs that follow have none.
    pub fn take_host(&mut self) -> Option<LinkedHost> {
        self.host.take()
    }

    /// Puts memory beside the device, from which all runs that follow take their words, and in which they store labels. If
    /// the host is slow at random, the memory is, too.
    pub fn put_memory(&mut self, image: &MemoryImage, timing: MemoryTiming) {
        assert_eq!(image.quads.len(), self.functions.cells as usize, "each cell has one");
        for (cell, quads) in (0..).zip(&image.quads) {
            let (base, words) = (image.layout.base, 2 * quads.len() as u64);
            // SAFETY: the model lives as long as `self`, and copies so many words of 32 bits from the slice.
            unsafe { (self.functions.store)(self.model, cell, base, quads.as_ptr(), words) }
        }
        // SAFETY: as above; it copies the numbers.
        unsafe { (self.functions.set_memory)(self.model, &timing, self.stall_seed) }
        self.memory = Some(image.layout);
    }

    /// States another layout than that of the memory that was put there.
    pub fn state_layout(&mut self, layout: MemoryLayout) {
        self.memory = Some(layout);
    }

    /// Bytes of the beats that were read and written.
    pub fn memory_bytes(&self) -> u64 {
        // SAFETY: the model lives as long as `self`.
        MEMORY_BEAT_BYTES * unsafe { (self.functions.beats_moved)(self.model) }
    }

    /// Clocks that runs took, with those in which the device waited.
    pub fn clocks(&self) -> u64 {
        self.clocks
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // SAFETY: the model was made by these functions, and this is its last use.
        unsafe { (self.functions.close)(self.model) }
    }
}

impl OverlayDevice for Simulation {
    fn read(&mut self, register: Register) -> u32 {
        // SAFETY: the model lives as long as `self`, which is borrowed exclusively.
        unsafe { (self.functions.read)(self.model, register.address.into()) }
    }

    fn write(&mut self, register: Register, number: u8, value: u32) {
        let address = u32::from(register.address + 4 * number);
        // SAFETY: as above.
        unsafe { (self.functions.write)(self.model, address, value) }
        if register == registers::CONTROL {
            self.state = RawState { random: self.stall_seed, ..RawState::default() };
        }
    }

    fn memory(&self) -> Option<MemoryLayout> {
        self.memory
    }

    fn transfer(&mut self, streams: Streams<'_>, moved: &mut Moved) -> Pause {
        assert_eq!(streams.labels.len(), streams.label_results.len(), "lengths agree");
        // SAFETY: returns a constant.
        let word_quads = unsafe { (self.functions.word_lanes)() } as usize / 2;
        let cells = self.functions.cells as usize;
        assert_eq!(streams.rows_in.len() % cells, 0, "a beat has a place for each cell");
        let mut raw = RawStreams {
            words: streams.quads.as_ptr(),
            word_count: (streams.quads.len() / word_quads) as u64,
            words_sent: moved.words,
            labels: streams.labels.as_ptr(),
            label_results: streams.label_results.as_ptr(),
            label_count: streams.labels.len() as u64,
            labels_sent: moved.labels,
            rows_in: streams.rows_in.as_ptr(),
            rows_in_count: (streams.rows_in.len() / cells) as u64,
            rows_in_sent: moved.rows_in,
            rows: streams.rows.as_mut_ptr(),
            rows_max: streams.rows.len() as u64,
            rows_received: 0,
            results: streams.results.as_mut_ptr(),
            results_max: streams.results.len() as u64,
            results_received: moved.results,
            quiet_clocks_max: QUIET_CLOCKS_MAX,
            clocks_max: SLICE_CLOCKS,
            clocks: 0,
            permitted: PERMIT_ALL,
        };
        let pause = match self.host.take() {
            None => self.run(&mut raw),
            Some(mut host) => {
                assert!(streams.rows_in.is_empty(), "a run with a link garbles");
                let pause = self.run_with_link(&mut raw, &mut host);
                self.host = Some(host);
                pause
            }
        };
        *moved = Moved {
            words: raw.words_sent,
            labels: raw.labels_sent,
            rows_in: raw.rows_in_sent,
            rows: moved.rows + raw.rows_received,
            results: raw.results_received,
        };
        pause
    }
}

impl Simulation {
    /// Runs until something pauses the run.
    fn run(&mut self, raw: &mut RawStreams) -> Pause {
        let before = raw.clocks;
        // SAFETY: `transfer` made all pointers of slices that live until it returns, with these lengths; labels and rows
        // are plain bytes of 16 and 32, and the machine is little-endian, as the check below says.
        let pause = unsafe { (self.functions.run)(self.model, raw, &mut self.state) };
        self.clocks += raw.clocks - before;
        match pause {
            0 => Pause::End,
            1 => Pause::Space,
            _ => Pause::Slice,
        }
    }

    /// As [`Simulation::run`], clock by clock, so that in each the host says what may move.
    fn run_with_link(&mut self, raw: &mut RawStreams, host: &mut LinkedHost) -> Pause {
        raw.quiet_clocks_max += host.quiet_cycles_max();
        for _ in 0..SLICE_CLOCKS {
            let Permits { word, label, space } = host.begin_cycle();
            let space = if space { PERMIT_OUT } else { 0 };
            raw.permitted = u64::from(word) | (u64::from(label) << 1) | space;
            raw.clocks_max = raw.clocks + 1;
            let before = (raw.words_sent, raw.labels_sent, raw.rows_received, raw.results_received);
            let clocks = raw.clocks;
            let pause = self.run(raw);
            if raw.clocks == clocks {
                return pause;
            }
            host.end_cycle(ItemsMoved {
                word: raw.words_sent > before.0,
                label: raw.labels_sent > before.1,
                rows: raw.rows_received - before.2,
                result: raw.results_received > before.3,
            });
        }
        Pause::Slice
    }
}

const _: () = assert!(cfg!(target_endian = "little"), "the model shares memory with the host");
