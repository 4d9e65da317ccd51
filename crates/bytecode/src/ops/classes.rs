//! Properties that groups of operations have in common.

use super::Op;

impl Op {
    /// Returns whether it carries a value from one block to another; protocols take no part in
    /// that.
    #[inline]
    pub fn is_carrying(self) -> bool {
        matches!(self, Op::Load | Op::Store)
    }

    /// Returns whether it brings a value into the program, from a party or from another block.
    #[inline]
    pub fn is_input_or_load(self) -> bool {
        matches!(self, Op::Input | Op::Load)
    }

    /// Returns whether it takes a value out of the program, to parties or to other blocks.
    #[inline]
    pub fn is_output_or_store(self) -> bool {
        matches!(self, Op::Output | Op::Store)
    }

    /// Returns whether it reads or changes registers, regions or permutations. The planner keeps the order of such
    /// operations.
    #[inline]
    pub fn is_stateful(self) -> bool {
        // What switches do to rows depends on their bits alone.
        let uses_permutation = self.is_of_permutation() && self != Op::SwapKnown;
        self.is_region() || uses_permutation || self.is_of_memory() || self.opens_inside()
    }

    /// Returns whether it is about a table that all parties know, or one. Rows of a table are set before it is looked up.
    #[inline]
    pub fn is_of_table(self) -> bool {
        self.fills_table() || self == Op::TableLookUp || self.is_of_shared_table()
    }

    /// Returns whether it is about a table whose rows are shared and may change. What hides its rows
    /// stays in order with all others, changes with changes, and lookups with lookups.
    #[inline]
    pub fn is_of_shared_table(self) -> bool {
        matches!(self, Op::SharedSet | Op::SharedHide | Op::SharedLookUp | Op::SharedAdd)
    }

    /// Returns whether it sets rows of a table.
    #[inline]
    pub fn fills_table(self) -> bool {
        matches!(self, Op::TableSet | Op::TableOpen | Op::TableTell)
    }

    /// Returns whether it brings in a key of one party, or what is made with it.
    #[inline]
    pub fn is_of_party_key(self) -> bool {
        matches!(self, Op::PartyKey | Op::PartyPad)
    }

    /// Returns whether it depends on more than its operands, changes more than its results, or is about what one party
    /// knows: it has no meaning by itself.
    #[inline]
    pub fn is_about_state(self) -> bool {
        self.is_stateful()
            || self.is_of_permutation()
            || self.is_of_table()
            || self.is_of_party_key()
    }

    /// Returns whether a stateful operation may take a round of the plan: what it brings or opens goes with all else that
    /// is exchanged then.
    #[inline]
    pub fn may_take_rounds(self) -> bool {
        matches!(self, Op::Switches | Op::Reveal)
    }

    /// Returns whether it opens a value into a register.
    #[inline]
    pub fn opens_inside(self) -> bool {
        matches!(self, Op::Reveal | Op::Locate)
    }

    /// Returns whether it is about a memory that is accessed at secret indices. Such operations are replaced by others
    /// before a program is planned.
    #[inline]
    pub fn is_of_memory(self) -> bool {
        matches!(
            self,
            Op::MemorySet
                | Op::MemoryOpen
                | Op::MemoryCell
                | Op::MemoryChange
                | Op::MemoryLink
                | Op::MemoryFollow
                | Op::MemoryNext
        )
    }

    /// Returns whether it moves rows between values and regions. The engine does that without the driver.
    #[inline]
    pub fn is_region(self) -> bool {
        matches!(self, Op::RegionLoad | Op::RegionStore | Op::RegionLoadAt | Op::RegionStoreAt)
    }

    /// Returns whether it uses a permutation that one party knows.
    #[inline]
    pub fn is_of_permutation(self) -> bool {
        matches!(self, Op::Switches | Op::Origins | Op::Tell | Op::SwapKnown)
    }

    /// Returns whether it brings in values that one party alone knows, or may take some that a party draws.
    #[inline]
    pub fn is_private(self) -> bool {
        matches!(self, Op::Input | Op::Switches | Op::Origins | Op::TableLookUp)
    }

    /// Returns whether each lane of a result is a lane of an operand: the operation moves lanes and computes nothing.
    #[inline]
    pub fn is_lane_movement(self) -> bool {
        matches!(
            self,
            Op::LaneSlice
                | Op::LaneConcat
                | Op::LaneReverse
                | Op::LaneTile
                | Op::LaneRepeat
                | Op::LaneDeinterleave
                | Op::LaneInterleave
        )
    }

    /// Returns whether each bit of a result is 0 or a bit of an operand at a fixed position: there are no gates.
    #[inline]
    pub fn is_movement(self) -> bool {
        matches!(
            self,
            Op::ShiftLeft
                | Op::ShiftRight
                | Op::RotateLeft
                | Op::Cast
                | Op::BitSlice
                | Op::BitConcat
                | Op::Reshape
                | Op::ReversePieces
        ) || self.is_lane_movement()
    }

    /// Returns whether only the planner emits it.
    #[inline]
    pub fn is_directive(self) -> bool {
        self as u8 >= Op::IssueSwapIn as u8
    }

    /// Returns whether it computes on arithmetic shares; the others need a conversion first.
    pub fn is_arithmetic(self) -> bool {
        matches!(
            self,
            Op::Input
                | Op::Output
                | Op::Constant
                | Op::Load
                | Op::Store
                | Op::Convert
                | Op::Add
                | Op::Sub
                | Op::Neg
                | Op::Mul
                | Op::LaneSum
                | Op::MatMul
        ) || self.is_lane_movement()
    }

    /// Returns whether it computes on integers in a field, besides those on arithmetic shares.
    pub fn is_arithmetic_in_field(self) -> bool {
        matches!(
            self,
            Op::And
                | Op::Or
                | Op::Xor
                | Op::Not
                | Op::Abs
                | Op::Eq
                | Op::Ne
                | Op::Lt
                | Op::Le
                | Op::Mux
                | Op::CondSwap
                | Op::Mask
                | Op::ShiftLeft
                | Op::ShiftRight
                | Op::Cast
                | Op::Reduce
                | Op::RequireZero
                | Op::Switches
                | Op::Reveal
                | Op::RegionLoad
                | Op::RegionStore
                | Op::RegionLoadAt
                | Op::RegionStoreAt
        )
    }
}
