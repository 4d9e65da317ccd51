//! Shapes of operands and results, in terms of the instruction that they belong to.

use crate::instruction::{Instruction, Shape, Sharing};

/// The shape of one operand or result, in terms of the instruction's own width and lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `w` bits, `n` lanes.
    Same,
    /// 1 bit, `n` lanes.
    Bit,
    /// 1 bit, `n` lanes, in the sharing with the immediate's code, or that of the instruction if the code is 0.
    SwitchBit(usize),
    /// `w / 2` bits, `n` lanes.
    HalfWidth,
    /// `immediate` bits, `n` lanes.
    Width(usize),
    /// `w - immediate` bits, `n` lanes.
    RestWidth(usize),
    /// `w` bits, `immediate` lanes.
    Lanes(usize),
    /// `w` bits, `n - immediate` lanes.
    RestLanes(usize),
    /// `w` bits, `n / 2` lanes.
    HalfLanes,
    /// `w` bits, `2 n` lanes.
    DoubleLanes,
    /// First immediate bits, second immediate lanes.
    WidthLanes(usize, usize),
    /// `immediate` bits, as many lanes as give `w * n` wires.
    Reshaped(usize),
    /// `w` bits, a lane for each entry of a matrix of as many columns as the first immediate says,
    /// whose products with as many vectors as the second says have `n` lanes in all.
    MatrixLanes(usize, usize),
    /// `w` bits, as many lanes as the product of two immediates.
    LanesTimes(usize, usize),
    /// `w` bits, 11 lanes: the round keys of AES-128.
    RoundKeys,
    /// `w` bits, `n` lanes, in the sharing with the immediate's code.
    SharedAs(usize),
}

impl Role {
    /// The shape that this role has in `instruction`; may be invalid if the instruction is.
    #[inline]
    pub fn shape(self, instruction: &Instruction) -> Shape {
        let immediate = |index: usize| instruction.immediates[index];
        let width = instruction.element.width();
        let lanes = instruction.lanes;
        let narrow = |value: u64| u16::try_from(value).unwrap_or(u16::MAX);
        let short = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let mut sharing = instruction.element.sharing();
        let (width, lanes) = match self {
            Role::Same => (width, lanes),
            Role::Bit => (1, lanes),
            Role::SwitchBit(i) => {
                match Sharing::from_code(immediate(i)).unwrap_or_default() {
                    Sharing::Any => {}
                    stated => sharing = stated,
                }
                (1, lanes)
            }
            Role::HalfWidth => (width / 2, lanes),
            Role::Width(i) => (narrow(immediate(i)), lanes),
            Role::RestWidth(i) => (width.saturating_sub(narrow(immediate(i))), lanes),
            Role::Lanes(i) => (width, short(immediate(i))),
            Role::RestLanes(i) => (width, lanes.saturating_sub(short(immediate(i)))),
            Role::HalfLanes => (width, lanes / 2),
            Role::DoubleLanes => (width, lanes.saturating_mul(2)),
            Role::WidthLanes(w, n) => (narrow(immediate(w)), short(immediate(n))),
            Role::Reshaped(i) => {
                let wires = u64::from(width) * u64::from(lanes);
                (narrow(immediate(i)), short(wires / immediate(i).max(1)))
            }
            Role::MatrixLanes(columns, vectors) => {
                let rows = lanes / short(immediate(vectors)).max(1);
                (width, rows.saturating_mul(short(immediate(columns))))
            }
            Role::LanesTimes(i, j) => {
                (width, short(immediate(i)).saturating_mul(short(immediate(j))))
            }
            Role::RoundKeys => (width, 11),
            Role::SharedAs(i) => {
                sharing = Sharing::from_code(immediate(i)).unwrap_or_default();
                (width, lanes)
            }
        };
        Shape { width, lanes, sharing }
    }
}
