//! Registers of the device, by byte address. `hw/ip/overlay/rtl/ovl_pkg.sv` has the same numbers under the names in
//! [`REGISTERS`], and `docs/hardware.md` describes them; tests compare all three.

/// A register of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Byte address.
    pub address: u8,
    /// Name in the RTL.
    pub name: &'static str,
    /// Meaning.
    pub meaning: &'static str,
}

macro_rules! registers {
    ($($address:literal $name:ident $meaning:literal)*) => {
        $(
            #[doc = $meaning]
            pub const $name: Register =
                Register { address: $address, name: stringify!($name), meaning: $meaning };
        )*

        /// All registers.
        pub const REGISTERS: &[Register] = &[$($name,)*];
    };
}

registers! {
    0x00 ID "\"OVL1\"; read only"
    0x04 VERSION "version of stream and registers; read only"
    0x08 HASH_LOW "hash of the parameters, low half; read only"
    0x0c HASH_HIGH "its high half; read only"
    0x10 CONTROL "bit 0 starts a run, bit 1 chooses its role: 0 garbles, 1 evaluates; bit 2 takes the words from memory, bit 3 stores labels there; write only"
    0x14 STATUS "bit 0 busy, bit 1 done, bits 7 to 4 the error, bit 8 a collision in the wire memory (simulation only); read only"
    0x18 CYCLES_LOW "cycles in which the pipeline moved in this run, low half; read only"
    0x1c CYCLES_HIGH "its high half; read only"
    0x20 STALLS_LOW "cycles in which it waited for the host or the memory, low half; read only"
    0x24 STALLS_HIGH "its high half; read only"
    0x28 WORDS_LOW "words taken in this run, with the header, low half; read only"
    0x2c WORDS_HIGH "its high half; read only"
    0x30 CELLS "cells of the device; read only"
    0x34 WORD_COUNT "words in memory, with the header; write only"
    0x40 START "start value of the hash, four registers, lowest first; write only"
    0x50 DELTA "offset, four registers, lowest first; write only"
    0x60 FILL_OFFSET "beats of 64 bytes from WORD_BASE to the numbers of labels that are read again; write only"
    0x64 FILL_COUNT "those numbers; write only"
    0x68 LABEL_OFFSET "beats from WORD_BASE to the labels that are stored; write only"
    0x80 WORD_BASE "where the words of each cell begin in its memory, a multiple of 64 bytes; two registers a cell, lowest first; write only"
}

/// Value of [`CONTROL`]: start to garble.
pub const CONTROL_GARBLE: u32 = 1;
/// Value of [`CONTROL`]: start to evaluate.
pub const CONTROL_EVALUATE: u32 = 3;
/// Bits of [`CONTROL`], beside one of them: words come from memory, and labels are stored there.
pub const CONTROL_MEMORY: u32 = 12;

/// Bit of [`STATUS`]: a run is going on, or reads of one that stopped are.
pub const STATUS_BUSY: u32 = 1;
/// Bit of [`STATUS`]: the run ended, and all rows and results were taken.
pub const STATUS_DONE: u32 = 2;

/// Bit of [`STATUS`]: the stream was wrong, although its checks match.
const STATUS_COLLIDED: u32 = 1 << 8;

/// Meaning of the error field of [`STATUS`]; `None` if there is no error.
pub fn error_meaning(status: u32) -> Option<&'static str> {
    if status & STATUS_COLLIDED != 0 {
        return Some("two accesses of the wire memory collided");
    }
    match status >> 4 & 15 {
        0 => None,
        1 => Some("the header is not that of a stream"),
        2 => Some("the stream is for other parameters"),
        3 => Some("a check word does not match"),
        4 => Some("the memory answers with an error"),
        5 => Some("the words in memory end before the stream"),
        _ => Some("it reports an error that this program does not know"),
    }
}
