//! The table of operations: the only list of them anywhere.
//!
//! Name, code, signature, immediates, constraints and meaning of every operation stand here once;
//! the binary and text forms, the verifier, the clear driver and the tests of every protocol
//! derive from it. To add an operation, add an entry, its meaning in `meaning.rs`, and its circuit.
//!
//! Signatures speak of the instruction's own element type `T` (width `w`) and lanes `n`.

mod classes;
mod roles;
mod rules;

use crate::instruction::Instruction;
use crate::limits::VALUE_WIRES_MAX;
use crate::meaning::{self, Meaning};

use Role::{
    Bit, DoubleLanes, HalfLanes, HalfWidth, Lanes, LanesTimes, MatrixLanes, Reshaped, RestLanes,
    RestWidth, RoundKeys, Same, SharedAs, SwitchBit, Width, WidthLanes,
};
pub use roles::Role;
use rules::{
    any, bit_slice_fits, bits_of_register, bits_only, constant_fits, convertible,
    deinterleave_fits, even_width, interleave_fits, lane_slice_fits, lanes_multiple, matrices_fit,
    of_a_block, one_block, one_lane, one_word, pieces_fit, reshape_fits, round_keys, round_type,
    signed_flag, single_lane, switch_sharing, table_row_fits, two_blocks, width_128, width_256,
};

/// A named immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Immediate {
    /// Its name in the text form.
    pub name: &'static str,
    /// How many 64-bit words it takes, least significant first.
    pub words: usize,
}

const fn imm(name: &'static str) -> Immediate {
    Immediate { name, words: 1 }
}

/// Everything there is to know about an operation.
pub struct OpInfo {
    /// The operation.
    pub op: Op,
    /// Its name in the text form.
    pub name: &'static str,
    /// Description in words.
    pub doc: &'static str,
    /// Shapes of the operands.
    pub operands: &'static [Role],
    /// Shapes of the results.
    pub results: &'static [Role],
    /// Public parameters.
    pub immediates: &'static [Immediate],
    /// Further constraint; the message says what is wrong, not where.
    pub rule: fn(&Instruction) -> Result<(), &'static str>,
    /// Function that computes it; `None` for input, output and directives.
    pub meaning: Option<Meaning>,
}

macro_rules! ops {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:literal $name:literal
        ($($operand:expr),*) -> ($($result:expr),*) [$($immediate:expr),*]
        $rule:expr, $meaning:expr;)+) => {
        /// An operation; its discriminant is its code in the binary form.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Op { $($(#[doc = $doc])+ $variant = $code,)+ }

        /// The table, in the order of the codes.
        pub static OPS: &[OpInfo] = &[$(OpInfo {
            op: Op::$variant,
            name: $name,
            doc: concat!($($doc),+),
            operands: &[$($operand),*],
            results: &[$($result),*],
            immediates: &[$($immediate),*],
            rule: $rule,
            meaning: $meaning,
        }),+];

        impl Op {
            /// The operation with this code.
            pub fn from_code(code: u8) -> Option<Op> {
                match code { $($code => Some(Op::$variant),)+ _ => None }
            }
        }
    };
}

ops! {
    /// Brings `n` rows of a column of an input port, from `row` on, into the computation.
    Input = 1 "input" () -> (Same) [imm("port"), imm("column"), imm("row")] any, None;
    /// Gives `n` rows of a column of an output port, from `row` on, to the port's parties.
    Output = 2 "output" (Same) -> () [imm("port"), imm("column"), imm("row")] any, None;
    /// The public constant `value` in every lane.
    Constant = 3 "constant" () -> (Same) [Immediate { name: "value", words: 4 }]
        constant_fits, Some(meaning::constant);
    /// The carried value `slot`, as it was when the block began.
    Load = 4 "load" () -> (Same) [imm("slot")] any, None;
    /// Carries a value on to later blocks, as `slot`, from the end of the block on.
    Store = 5 "store" (Same) -> () [imm("slot")] any, None;
    /// Opens differences that are all 0 if the rows of input `port` are in order, and ends the run if one is
    /// not. Only in plans on authenticated shares.
    RequireZero = 6 "require_zero" (Same) -> () [imm("port")] any, None;

    /// Bitwise and.
    And = 10 "and" (Same, Same) -> (Same) [] any, Some(meaning::and);
    /// Bitwise or.
    Or = 11 "or" (Same, Same) -> (Same) [] any, Some(meaning::or);
    /// Bitwise exclusive or.
    Xor = 12 "xor" (Same, Same) -> (Same) [] any, Some(meaning::xor);
    /// Bitwise complement.
    Not = 13 "not" (Same) -> (Same) [] any, Some(meaning::not);

    /// Sum, wrapping.
    Add = 20 "add" (Same, Same) -> (Same) [] any, Some(meaning::add);
    /// Difference, wrapping.
    Sub = 21 "sub" (Same, Same) -> (Same) [] any, Some(meaning::sub);
    /// Negation, wrapping.
    Neg = 22 "neg" (Same) -> (Same) [] any, Some(meaning::neg);
    /// Product, low half.
    Mul = 23 "mul" (Same, Same) -> (Same) [] any, Some(meaning::mul);
    /// Product of two `w / 2` bit integers, all `w` bits.
    MulFull = 24 "mul_full" (HalfWidth, HalfWidth) -> (Same) [] even_width, Some(meaning::mul_full);
    /// Quotient, rounded towards zero; by zero: all ones. The smallest integer by -1: itself.
    Div = 25 "div" (Same, Same) -> (Same) [] any, Some(meaning::div);
    /// Remainder with the sign of the dividend; by zero: the dividend.
    Rem = 26 "rem" (Same, Same) -> (Same) [] any, Some(meaning::rem);
    /// Quotient and remainder, as `div` and `rem`.
    DivRem = 27 "div_rem" (Same, Same) -> (Same, Same) [] any, Some(meaning::div_rem);
    /// Absolute value of a signed integer, wrapping; the identity on unsigned ones.
    Abs = 28 "abs" (Same) -> (Same) [] any, Some(meaning::abs);
    /// The smaller.
    Min = 29 "min" (Same, Same) -> (Same) [] any, Some(meaning::min);
    /// The larger.
    Max = 30 "max" (Same, Same) -> (Same) [] any, Some(meaning::max);

    /// Whether equal.
    Eq = 40 "eq" (Same, Same) -> (Bit) [] any, Some(meaning::eq);
    /// Whether different.
    Ne = 41 "ne" (Same, Same) -> (Bit) [] any, Some(meaning::ne);
    /// Whether the first is less.
    Lt = 42 "lt" (Same, Same) -> (Bit) [] any, Some(meaning::lt);
    /// Whether the first is less or equal.
    Le = 43 "le" (Same, Same) -> (Bit) [] any, Some(meaning::le);

    /// The second operand where the first is 1, else the third.
    Mux = 50 "mux" (Bit, Same, Same) -> (Same) [] any, Some(meaning::mux);
    /// The second and third operand, exchanged where the first is 1.
    CondSwap = 51 "cond_swap" (Bit, Same, Same) -> (Same, Same) [] any, Some(meaning::cond_swap);
    /// The second operand where the first is 1, else 0.
    Mask = 52 "mask" (Bit, Same) -> (Same) [] any, Some(meaning::mask);

    /// Shift left by the public `amount`.
    ShiftLeft = 60 "shift_left" (Same) -> (Same) [imm("amount")] any, Some(meaning::shift_left);
    /// Shift right by the public `amount`, copying the sign of signed integers.
    ShiftRight = 61 "shift_right" (Same) -> (Same) [imm("amount")] any, Some(meaning::shift_right);
    /// Rotate left by the public `amount`.
    RotateLeft = 62 "rotate_left" (Same) -> (Same) [imm("amount")] any, Some(meaning::rotate_left);
    /// Shift left by a secret unsigned amount of `amount_width` bits.
    ShiftLeftBy = 63 "shift_left_by" (Same, Width(0)) -> (Same) [imm("amount_width")]
        any, Some(meaning::shift_left_by);
    /// Shift right by a secret unsigned amount of `amount_width` bits, copying the sign of signed
    /// integers.
    ShiftRightBy = 64 "shift_right_by" (Same, Width(0)) -> (Same) [imm("amount_width")]
        any, Some(meaning::shift_right_by);
    /// Rotate left by a secret unsigned amount of `amount_width` bits.
    RotateLeftBy = 65 "rotate_left_by" (Same, Width(0)) -> (Same) [imm("amount_width")]
        any, Some(meaning::rotate_left_by);

    /// How many of the operand's `from_width` bits are 1, modulo 2^w.
    Popcount = 70 "popcount" (Width(0)) -> (Same) [imm("from_width")] any, Some(meaning::popcount);
    /// How many of the operand's `from_width` bits are 0 before the highest 1, modulo 2^w.
    LeadingZeros = 71 "leading_zeros" (Width(0)) -> (Same) [imm("from_width")]
        any, Some(meaning::leading_zeros);
    /// Whether all bits are 1.
    AllBits = 72 "all_bits" (Same) -> (Bit) [] any, Some(meaning::all_bits);
    /// Whether any bit is 1.
    AnyBit = 73 "any_bit" (Same) -> (Bit) [] any, Some(meaning::any_bit);
    /// The exclusive or of all bits.
    Parity = 74 "parity" (Same) -> (Bit) [] any, Some(meaning::parity);

    /// Cut or extended from `from_width` bits; `from_signed` 1 copies the sign.
    Cast = 80 "cast" (Width(0)) -> (Same) [imm("from_width"), imm("from_signed")]
        signed_flag, Some(meaning::cast);
    /// The `w` bits from bit `start` of an operand of `from_width` bits.
    BitSlice = 81 "bit_slice" (Width(1)) -> (Same) [imm("start"), imm("from_width")]
        bit_slice_fits, Some(meaning::bit_slice);
    /// The first operand's `low_width` bits below the second's.
    BitConcat = 82 "bit_concat" (Width(0), RestWidth(0)) -> (Same) [imm("low_width")]
        any, Some(meaning::bit_concat);
    /// The same wires in the same order, seen as another width and number of lanes.
    Reshape = 83 "reshape" (Reshaped(0)) -> (Same) [imm("from_width")]
        reshape_fits, Some(meaning::reshape);
    /// The same integers in this element type's sharing, from the sharing with the code `from`.
    Convert = 84 "convert" (SharedAs(0)) -> (Same) [imm("from")] convertible, Some(meaning::convert);

    /// Reduces the element that holds the integer into the range of its type, as protocols over a
    /// field need before they look at its size. The integer modulo 2^w stays the same.
    Reduce = 85 "reduce" (Same) -> (Same) [] any, Some(meaning::reduce);
    /// The pieces of `piece_width` bits of each lane in reverse order: bytes are swapped if it is 8.
    ReversePieces = 86 "reverse_pieces" (Same) -> (Same) [imm("piece_width")]
        pieces_fit, Some(meaning::reverse_pieces);

    /// The `n` lanes from lane `start` of an operand of `from_lanes`.
    LaneSlice = 90 "lane_slice" (Lanes(1)) -> (Same) [imm("start"), imm("from_lanes")]
        lane_slice_fits, Some(meaning::lane_slice);
    /// The first operand's `low_lanes` lanes, then the second's.
    LaneConcat = 91 "lane_concat" (Lanes(0), RestLanes(0)) -> (Same) [imm("low_lanes")]
        any, Some(meaning::lane_concat);
    /// The lanes in reverse order.
    LaneReverse = 92 "lane_reverse" (Same) -> (Same) [] any, Some(meaning::lane_reverse);
    /// Lane `j` is the operand's lane `j mod from_lanes`.
    LaneTile = 93 "lane_tile" (Lanes(0)) -> (Same) [imm("from_lanes")]
        lanes_multiple, Some(meaning::lane_tile);
    /// Lane `j` is the operand's lane `j / (n / from_lanes)`.
    LaneRepeat = 94 "lane_repeat" (Lanes(0)) -> (Same) [imm("from_lanes")]
        lanes_multiple, Some(meaning::lane_repeat);
    /// The even and the odd blocks of `block` lanes.
    LaneDeinterleave = 95 "lane_deinterleave" (DoubleLanes) -> (Same, Same) [imm("block")]
        deinterleave_fits, Some(meaning::lane_deinterleave);
    /// Blocks of `block` lanes, in turn from the first and the second operand.
    LaneInterleave = 96 "lane_interleave" (HalfLanes, HalfLanes) -> (Same) [imm("block")]
        interleave_fits, Some(meaning::lane_interleave);
    /// The sum of `from_lanes` lanes of `from_width` bits, extended by sign if signed, modulo 2^w.
    LaneSum = 97 "lane_sum" (WidthLanes(0, 1)) -> (Same) [imm("from_width"), imm("from_lanes")]
        one_lane, Some(meaning::lane_sum);
    /// Bitwise and of all lanes.
    LaneAnd = 98 "lane_and" (Lanes(0)) -> (Same) [imm("from_lanes")]
        one_lane, Some(meaning::lane_and);
    /// Bitwise or of all lanes.
    LaneOr = 99 "lane_or" (Lanes(0)) -> (Same) [imm("from_lanes")]
        one_lane, Some(meaning::lane_or);
    /// Bitwise exclusive or of all lanes.
    LaneXor = 100 "lane_xor" (Lanes(0)) -> (Same) [imm("from_lanes")]
        one_lane, Some(meaning::lane_xor);
    /// Product of a matrix of `n / vectors` rows and `columns` columns and one of `columns` rows
    /// and `vectors` columns, all column after column in their lanes, wrapping.
    MatMul = 101 "mat_mul" (MatrixLanes(0, 1), LanesTimes(0, 1)) -> (Same)
        [imm("columns"), imm("vectors")] matrices_fit, Some(meaning::mat_mul);

    /// AES-128 of each block under its own key (first operand); bit `i` is bit `i mod 8` of byte
    /// `i / 8`.
    Aes128 = 110 "aes128" (Same, Same) -> (Same) [] width_128, Some(meaning::aes128);
    /// The 11 round keys of one AES-128 key, one a lane.
    Aes128KeySchedule = 111 "aes128_key_schedule" (Lanes(0)) -> (Same) [imm("from_lanes")]
        round_keys, Some(meaning::aes128_key_schedule);
    /// AES-128 of each block under the round keys in the first operand.
    Aes128RoundKeys = 112 "aes128_round_keys" (RoundKeys, Same) -> (Same) []
        width_128, Some(meaning::aes128_round_keys);
    /// SHA-256 compression of a state and the low and high half of a block; word `k` is at bit
    /// `32 k`.
    Sha256Compress = 113 "sha256_compress" (Same, Same, Same) -> (Same) []
        width_256, Some(meaning::sha256_compress);

    /// Sends what was issued since the last round and waits for the same of all other parties.
    Round = 200 "round" () -> () [] round_type, None;

    /// Opens a value of one lane to all parties, into public register `register`, before what follows.
    Reveal = 201 "reveal" (Same) -> () [imm("register")] one_word, None;
    /// The rows of region `region` from `row` on; of a block that is repeated, from `row` + iteration ×
    /// `stride` on. Behind the last row comes the first.
    RegionLoad = 210 "region_load" () -> (Same) [imm("region"), imm("row"), imm("stride")]
        any, None;
    /// Makes the lanes the rows of region `region` from `row` on; of a block that is repeated, from
    /// `row` + iteration × `stride` on. Behind the last row comes the first.
    RegionStore = 211 "region_store" (Same) -> () [imm("region"), imm("row"), imm("stride")]
        any, None;
    /// The group of `n` rows of region `region` whose number is in register `register`, in its lowest
    /// `bits` bits, or in all of them if `bits` is 0.
    RegionLoadAt = 212 "region_load_at" () -> (Same)
        [imm("region"), imm("register"), imm("bits")] bits_of_register, None;
    /// Makes the lanes the group of `n` rows of region `region` whose number is in register `register`,
    /// in its lowest `bits` bits, or in all of them if `bits` is 0.
    RegionStoreAt = 213 "region_store_at" (Same) -> ()
        [imm("region"), imm("register"), imm("bits")] bits_of_register, None;
    /// Control bits of the switching network of a party's permutation, from switch `switch` on.
    Switches = 214 "switches" () -> (Same) [imm("permutation"), imm("switch")]
        bits_only, None;
    /// Which rows a party's permutation moves to the rows from `row` on.
    Origins = 215 "origins" () -> (Same) [imm("permutation"), imm("row")] any, None;
    /// Tells a party, and nobody else, where its permutation moves the rows from `row` on.
    Tell = 216 "tell" (Same) -> () [imm("permutation"), imm("row")] any, None;

    /// As `cond_swap`; the selecting bits are switches of a permutation of party `party`, in the sharing with the code
    /// `switches`, or if that is 0 in that of the rows.
    SwapKnown = 217 "swap_known" (SwitchBit(1), Same, Same) -> (Same, Same)
        [imm("party"), imm("switches")] switch_sharing, None;
    /// Opens, into register `register`, where an item of permutation `told` comes from under permutation `hiding`.
    Locate = 218 "locate" (Same) -> ()
        [imm("register"), imm("told"), imm("hiding"), imm("last")] one_word, None;

    /// Makes the lanes cells of column `column` of memory `memory`, from row `row` on, before any
    /// access; of a block that is repeated, from `row` + iteration × `stride` on.
    MemorySet = 220 "memory_set" (Same) -> ()
        [imm("memory"), imm("column"), imm("row"), imm("stride")] any, None;
    /// Begins an access to the row of memory `memory` at a secret index; the one before is complete.
    MemoryOpen = 221 "memory_open" (Same) -> () [imm("memory")] one_word, None;
    /// The cell of column `column` in the row that was accessed last: zeros beyond the last row.
    /// It is read before the row is changed.
    MemoryCell = 222 "memory_cell" () -> (Same) [imm("memory"), imm("column")]
        single_lane, None;
    /// Replaces that cell; beyond the last row, nothing.
    MemoryChange = 223 "memory_change" (Same) -> () [imm("memory"), imm("column")]
        single_lane, None;

    /// The link to row `row` of the linked memory `memory`.
    MemoryLink = 224 "memory_link" () -> (Same) [imm("memory"), imm("row")] single_lane, None;
    /// As `memory_open`, for the row that a link leads to.
    MemoryFollow = 225 "memory_follow" (Same) -> () [imm("memory")] one_word, None;
    /// The link to the row behind the one that was accessed last; behind the last row is the first.
    MemoryNext = 226 "memory_next" () -> (Same) [imm("memory")] single_lane, None;

    /// Makes `value` the rows of table `table` from `row` on, as many as lanes, before any of them is looked up.
    TableSet = 230 "table_set" () -> ()
        [imm("table"), imm("row"), Immediate { name: "value", words: 2 }] table_row_fits, None;
    /// The rows of table `table` at secret indices of `index_width` bits: zeros beyond the last row.
    TableLookUp = 231 "table_look_up" (Width(1)) -> (Same) [imm("table"), imm("index_width")]
        any, None;
    /// Tells the one party that knows table `table`, and nobody else, its rows from `row` on; rows come in order, all of them
    /// before any is looked up.
    TableTell = 236 "table_tell" (Same) -> () [imm("table"), imm("row")] any, None;

    /// Opens the lanes to all parties, as the rows of table `table` from `row` on, before any of them is looked up.
    TableOpen = 232 "table_open" (Same) -> () [imm("table"), imm("row")] any, None;
    /// The AES-128 key `key` of party `party`, which the party draws.
    PartyKey = 233 "party_key" () -> (Same) [imm("party"), imm("key")] one_block, None;
    /// The lowest bits of the blocks from `block` + 2^64 × `piece` on under the AES-128 key `key` of party `party`.
    PartyPad = 234 "party_pad" () -> (Same)
        [imm("party"), imm("key"), imm("block"), imm("piece")] of_a_block, None;

    /// Makes the lanes the rows of shared table `table` from `row` on.
    SharedSet = 235 "shared_set" (Same) -> () [imm("table"), imm("row")] any, None;
    /// Opens to all parties the rows of shared table `table`, each hidden by pads under a fresh AES-128 key of each of the
    /// first two parties; the keys, in a lane each.
    SharedHide = 237 "shared_hide" () -> (Same) [imm("table")] two_blocks, None;
    /// The rows of shared table `table` at secret indices of `index_width` bits, as they were hidden last: zeros beyond the
    /// last row.
    SharedLookUp = 238 "shared_look_up" (Width(1)) -> (Same) [imm("table"), imm("index_width")]
        any, None;
    /// Makes the row of shared table `table` at a secret index of `index_width` bits its exclusive or with the operand;
    /// beyond the last row, nothing.
    SharedAdd = 239 "shared_add" (Width(1), Same) -> () [imm("table"), imm("index_width")]
        single_lane, None;

    /// Directive: starts reading a spill slot into a frame.
    IssueSwapIn = 240 "issue_swap_in" () -> () [imm("frame"), imm("slot")] any, None;
    /// Directive: waits until the frame's page has arrived.
    FinishSwapIn = 241 "finish_swap_in" () -> () [imm("frame"), imm("slot")] any, None;
    /// Directive: starts writing a frame to a spill slot.
    IssueSwapOut = 242 "issue_swap_out" () -> () [imm("frame"), imm("slot")] any, None;
    /// Directive: waits until the frame's page is written, so that the frame can be used again.
    FinishSwapOut = 243 "finish_swap_out" () -> () [imm("frame"), imm("slot")] any, None;
}

static INDEX: [u8; 256] = {
    let mut index = [u8::MAX; 256];
    let mut i = 0;
    while i < OPS.len() {
        index[OPS[i].op as usize] = i as u8;
        i += 1;
    }
    index
};

impl Op {
    /// The entry of the table.
    #[inline]
    pub fn info(self) -> &'static OpInfo {
        &OPS[INDEX[self as usize] as usize]
    }

    /// The operation with this name in the text form.
    pub fn from_name(name: &str) -> Option<Op> {
        OPS.iter().find(|info| info.name == name).map(|info| info.op)
    }
}

const _: () = assert!(VALUE_WIRES_MAX >= 11 * 128, "round keys must fit into one value");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_unique_and_found() {
        for info in OPS {
            assert_eq!(Op::from_code(info.op as u8), Some(info.op));
            assert_eq!(Op::from_name(info.name), Some(info.op));
            assert_eq!(info.op.info().name, info.name);
            assert!(info.immediates.iter().map(|i| i.words).sum::<usize>() <= 4);
            assert!(info.results.len() <= 2 && info.operands.len() <= 3);
        }
        assert_eq!(Op::from_code(0), None);
    }

    /// The list of held movements in `near.rs` has space for no larger ones.
    #[test]
    fn movements_are_small() {
        for info in OPS.iter().filter(|info| info.op.is_movement()) {
            let words = info.immediates.iter().map(|i| i.words).sum::<usize>();
            assert!((1..=2).contains(&info.operands.len()) && words <= 2);
            assert!(!info.results.is_empty() && info.meaning.is_some());
        }
        let ports = |info: &&OpInfo| info.op.is_input_or_load() || info.op.is_output_or_store();
        for info in OPS.iter().filter(ports) {
            assert!(info.operands.len() + info.results.len() == 1 && info.immediates.len() <= 3);
        }
    }
}
