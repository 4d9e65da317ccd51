//! Every limit of the bytecode, in one place.

/// The widest integer, in bits.
pub const WIDTH_MAX: u16 = 256;

/// The most bits behind the point of a column of fixed-point numbers, and the widest such number.
pub const FRACTION_BITS_MAX: u8 = 63;
/// See [`FRACTION_BITS_MAX`].
pub const FIXED_WIDTH_MAX: u16 = 128;

/// The widest integer in arithmetic sharing, in bits: one machine word.
pub const RING_WIDTH_MAX: u16 = 64;

/// The most wires (bits times lanes) in one value, unless the program states more.
///
/// 4096 labels of 16 bytes are one 64 KiB page, the smallest transfer at which the disks we
/// measured reach their bandwidth.
pub const VALUE_WIRES_MAX: u32 = 4096;

/// The most wires in one value that a program can state.
///
/// A ciphertext of homomorphic encryption packs up to 2^15 numbers of 32 bits.
pub const LARGE_VALUE_WIRES_MAX: u32 = 1 << 20;

/// The most bytes of a unit of memory: a layout counts the memory of values in units.
pub const UNIT_BYTES_MAX: u16 = 4096;

/// The most units of a value whose size does not depend on its shape.
///
/// With units of 16 bytes they are 64 MiB, the largest page of the engine; a ciphertext of homomorphic
/// encryption takes a few MiB.
pub const VALUE_UNITS_MAX: u32 = 1 << 22;

/// The most copies of elements or rows, and the most units for each wire, in a value.
///
/// Keys of [`PARTIES_MAX`] parties are 64 units for each wire.
pub const COPIES_MAX: u16 = 256;

/// The most bytes of an element of a field.
pub const ELEMENT_BYTES_MAX: u16 = 64;

/// The most results of one instruction.
pub const RESULTS_MAX: usize = 2;

/// The most operands of one instruction.
pub const OPERANDS_MAX: usize = 3;

/// The most immediates of one instruction.
pub const IMMEDIATES_MAX: usize = 4;

/// Instructions in one frame of a program file: the unit of compression and of reading backwards.
pub const FRAME_INSTRUCTIONS: usize = 4096;

/// The most bytes that a frame may hold before compression.
///
/// An instruction takes at most 2 bytes to name a template, 1 + 2 + 5 + 4 * 10 to define it and
/// 5 * 10 for its places, so 100 bytes; 4096 of them are 400 KiB.
pub const FRAME_BYTES_MAX: usize = 512 * 1024;
const _: () = assert!(FRAME_INSTRUCTIONS * 100 <= FRAME_BYTES_MAX);

/// The most bytes of the description (names, ports, totals) of a program.
pub const DESCRIPTION_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The most parties of one program.
pub const PARTIES_MAX: usize = 64;

/// The most faults that the verifier or the text parser reports of one program.
pub const FAULTS_MAX: usize = 100;

/// The most bytes of one line of text: a line holds at most one string of a description, in
/// the same escaped form as there.
pub const LINE_BYTES_MAX: usize = DESCRIPTION_BYTES_MAX + 4096;

/// Bits of a public register.
pub const REGISTER_BITS: u16 = 64;

/// The most blocks of a program: some 10 KiB each when it runs.
pub const BLOCKS_MAX: usize = 1 << 14;

/// The most public registers of a program.
pub const REGISTERS_MAX: u32 = 1 << 16;

/// The most rows of a region.
pub const REGION_ROWS_MAX: u64 = 1 << 40;

/// The most bits of all regions of a program together.
pub const REGION_BITS_MAX: u128 = 1 << 44;

/// The most memories that are accessed at secret indices.
pub const MEMORIES_MAX: usize = 1 << 12;

/// The most columns of such a memory.
pub const MEMORY_COLUMNS_MAX: usize = 1 << 10;

/// The most bits of all memories of a program together. Planning holds some 100 bytes for each 4096 of them.
pub const MEMORY_BITS_MAX: u128 = 1 << 32;

/// The most items that a permutation moves.
pub const PERMUTATION_ITEMS_MAX: u32 = 1 << 24;

/// The most rows of a table that all parties know: its lookups take functions of as many points.
pub const TABLE_ROWS_MAX: u64 = 1 << 22;

/// The most rows of a table that is shared: a change of one takes a function with a leaf for each.
pub const SHARED_ROWS_MAX: u64 = 1 << 20;

/// The most bits of a row of such a table.
pub const TABLE_ROW_BITS_MAX: u16 = 128;

/// The most such tables of a program.
pub const TABLES_MAX: usize = 1 << 12;

/// The most bits of all such tables of a program together; a run holds them in memory.
pub const TABLE_BITS_MAX: u128 = 1 << 36;

/// How often a block may be repeated in a row.
pub const ITERATIONS_MAX: u64 = 1 << 32;

/// The most instructions that a run may have where their number is stated: they take some days, and no figure of a
/// plan passes 2^64.
pub const INSTRUCTIONS_RUN_MAX: u64 = 1 << 36;

/// The most values that blocks carry; they are part of the description, with some 30 bytes each.
pub const SLOTS_MAX: usize = 1 << 16;

/// The most bytes of the directory of a program of several blocks: its description, and how its
/// blocks end.
pub const DIRECTORY_BYTES_MAX: usize = 2 * DESCRIPTION_BYTES_MAX;
