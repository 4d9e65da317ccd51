//! [`Circuit`]: builds netlists with the circuits of FlexSC, gate for gate.
//!
//! Source: the algorithms of FlexSC (Wang, Nayak, 2014), class `IntegerLib`, told by the counts of Tables 1, 3 and 4.
//! FlexSC would fold gates with public constants; the netlists of SIFO have them all. Each adder takes a carry-in wire of
//! its own, and everything else shares the constants 0 and 1.
//!
//! Cost of `w` bits: adder `w` AND and `4w` XOR; choice `w` and `2w`; full product `2w² - w` and `6w² - 4w`.

use super::netlist::{Gate, GateKind, Netlist, WireId};

/// The order that a part of a sorting network makes.
#[derive(Clone, Copy)]
struct Direction {
    wire: WireId,
    is_up: bool,
}

/// A netlist that is being built. Integers are slices of wires, lowest bit first.
#[derive(Default)]
pub struct Circuit {
    netlist: Netlist,
}

impl Circuit {
    /// A new input of `width` bits.
    pub fn input(&mut self, width: usize) -> Vec<WireId> {
        let wires: Vec<WireId> = (0..width).map(|_| self.wire()).collect();
        self.netlist.inputs.extend(&wires);
        wires
    }

    /// A new wire with a public value.
    pub fn constant(&mut self, value: bool) -> WireId {
        let wire = self.wire();
        self.netlist.constants.push((wire, value));
        wire
    }

    /// Adds results.
    pub fn output(&mut self, wires: &[WireId]) {
        self.netlist.outputs.extend(wires);
    }

    /// The netlist that was built.
    pub fn finish(self) -> Netlist {
        self.netlist
    }

    /// `a ^ b`
    pub fn xor(&mut self, a: WireId, b: WireId) -> WireId {
        self.gate(GateKind::Xor, a, b)
    }

    /// `a & b`
    pub fn and(&mut self, a: WireId, b: WireId) -> WireId {
        self.gate(GateKind::And, a, b)
    }

    /// The complement of `a`.
    pub fn not(&mut self, a: WireId) -> WireId {
        self.xor(a, WireId::ONE)
    }

    /// XOR bit by bit, of two integers of one width.
    pub fn xor_all(&mut self, x: &[WireId], y: &[WireId]) -> Vec<WireId> {
        assert_eq!(x.len(), y.len(), "widths agree");
        x.iter().zip(y).map(|(&x, &y)| self.xor(x, y)).collect()
    }

    /// `x + y + carry_in` with its carry: one bit more than `x`.
    pub fn add_full(&mut self, x: &[WireId], y: &[WireId], carry_in: bool) -> Vec<WireId> {
        assert_eq!(x.len(), y.len(), "widths agree");
        let mut carry = self.constant(carry_in);
        let mut sum = Vec::with_capacity(x.len() + 1);
        for (&x, &y) in x.iter().zip(y) {
            let x_differs = self.xor(x, carry);
            let y_differs = self.xor(y, carry);
            sum.push(self.xor(x, y_differs));
            let both = self.and(x_differs, y_differs);
            carry = self.xor(carry, both);
        }
        sum.push(carry);
        sum
    }

    /// `x + y` in the width of both.
    pub fn add(&mut self, x: &[WireId], y: &[WireId]) -> Vec<WireId> {
        let mut sum = self.add_full(x, y, false);
        sum.truncate(x.len());
        sum
    }

    /// `b` if `choice`, else `a`.
    pub fn choose(&mut self, a: &[WireId], b: &[WireId], choice: WireId) -> Vec<WireId> {
        assert_eq!(a.len(), b.len(), "widths agree");
        let mut chosen = Vec::with_capacity(a.len());
        for (&a, &b) in a.iter().zip(b) {
            let differs = self.xor(a, b);
            let flips = self.and(differs, choice);
            chosen.push(self.xor(flips, a));
        }
        chosen
    }

    /// `x * y`, unsigned, in twice the width: partial products by [`Circuit::choose`], added one after the other.
    pub fn multiply_full(&mut self, x: &[WireId], y: &[WireId]) -> Vec<WireId> {
        let width = x.len();
        let zeros = vec![WireId::ZERO; width];
        let mut product = vec![WireId::ZERO; 2 * width];
        for (shift, &bit) in y.iter().enumerate() {
            let partial = self.choose(&zeros, x, bit);
            if shift == 0 {
                product[..width].copy_from_slice(&partial);
                continue;
            }
            let upper = product[shift..shift + width].to_vec();
            let sum = self.add_full(&upper, &partial, false);
            product[shift..=shift + width].copy_from_slice(&sum);
        }
        product
    }

    /// Number of bits that are 1. As in FlexSC, a remainder of length 0 is added too.
    pub fn count_ones(&mut self, bits: &[WireId]) -> Vec<WireId> {
        match bits {
            [] => return vec![WireId::ZERO],
            [bit] => return vec![*bit],
            _ => {}
        }
        // The largest power of two that is not above the length, and two bits more than its exponent.
        let exponent = bits.len().ilog2() as usize;
        let (head, rest) = bits.split_at(1 << exponent);
        let padded = |mut value: Vec<WireId>| {
            value.resize(exponent + 2, WireId::ZERO);
            value
        };
        let head = padded(self.count_ones_of_power(head));
        let rest = padded(self.count_ones(rest));
        self.add(&head, &rest)
    }

    fn count_ones_of_power(&mut self, bits: &[WireId]) -> Vec<WireId> {
        if bits.len() == 1 {
            return bits.to_vec();
        }
        let (low, high) = bits.split_at(bits.len() / 2);
        let low = self.count_ones_of_power(low);
        let high = self.count_ones_of_power(high);
        self.add_full(&low, &high, false)
    }

    /// `x - y` and its carry, which is 1 if `x >= y`, unsigned.
    pub fn subtract(&mut self, x: &[WireId], y: &[WireId]) -> Vec<WireId> {
        let not_y: Vec<WireId> = y.iter().map(|&bit| self.not(bit)).collect();
        self.add_full(x, &not_y, true)
    }

    /// `x / y`, unsigned, by restoring division; all ones if `y` is 0.
    pub fn divide(&mut self, x: &[WireId], y: &[WireId]) -> Vec<WireId> {
        let width = x.len();
        let mut divisor = y.to_vec();
        divisor.push(WireId::ZERO);
        let mut rest = vec![WireId::ZERO; width + 1];
        let mut quotient = vec![WireId::ZERO; width];
        for place in (0..width).rev() {
            rest.rotate_right(1);
            rest[0] = x[place];
            let mut difference = self.subtract(&rest, &divisor);
            let fits = difference.pop().expect("a difference has a carry");
            rest = self.choose(&rest, &difference, fits);
            quotient[place] = fits;
        }
        quotient
    }

    /// Whether `x <= y`: the sign of the difference, which must not overflow.
    fn is_at_most(&mut self, x: &[WireId], y: &[WireId]) -> WireId {
        let difference = self.subtract(y, x);
        self.not(difference[x.len() - 1])
    }

    /// Exchanges two keys if they are out of order.
    fn compare_and_swap(
        &mut self,
        keys: &mut [Vec<WireId>],
        (i, j): (usize, usize),
        up: Direction,
    ) {
        let (x, y) = (keys[i].clone(), keys[j].clone());
        let is_at_most = self.is_at_most(&x, &y);
        let is_greater = self.not(is_at_most);
        let differs = self.xor(is_greater, up.wire);
        let swaps = self.not(differs);
        let chosen = self.choose(&y, &x, swaps);
        let change = self.xor_all(&chosen, &x);
        keys[i] = self.xor_all(&y, &change);
        keys[j] = self.xor_all(&x, &change);
    }

    /// Sorts keys in ascending order by Batcher's bitonic network for any length (FlexSC, `BitonicSortLib`). Differences of
    /// keys must not overflow, as numbers with a sign. Each complement of a direction is a constant wire of its own.
    pub fn sort(&mut self, keys: &mut [Vec<WireId>]) {
        self.bitonic_sort(keys, Direction { wire: WireId::ONE, is_up: true });
    }

    fn bitonic_sort(&mut self, keys: &mut [Vec<WireId>], up: Direction) {
        if keys.len() > 1 {
            let (low, high) = keys.split_at_mut(keys.len() / 2);
            let down = Direction { wire: self.constant(!up.is_up), is_up: !up.is_up };
            self.bitonic_sort(low, down);
            self.bitonic_sort(high, up);
            self.bitonic_merge(keys, up);
        }
    }

    fn bitonic_merge(&mut self, keys: &mut [Vec<WireId>], up: Direction) {
        let length = keys.len();
        if length > 1 {
            // The largest power of two below the length.
            let half = 1 << (length - 1).ilog2();
            for place in 0..length - half {
                self.compare_and_swap(keys, (place, place + half), up);
            }
            let (low, high) = keys.split_at_mut(half);
            self.bitonic_merge(low, up);
            self.bitonic_merge(high, up);
        }
    }

    fn wire(&mut self) -> WireId {
        let wire = WireId(self.netlist.wires_end);
        self.netlist.wires_end += 1;
        wire
    }

    fn gate(&mut self, kind: GateKind, a: WireId, b: WireId) -> WireId {
        let out = self.wire();
        self.netlist.gates.push(Gate { kind, a, b, out });
        out
    }
}
