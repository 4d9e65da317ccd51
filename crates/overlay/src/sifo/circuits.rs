//! [`Circuit`]: builds netlists with the circuits of FlexSC, gate for gate.
//!
//! Source: the algorithms of FlexSC (Wang, Nayak, 2014), class `IntegerLib`, told by the counts of Tables 1, 3 and 4.
//! FlexSC would fold gates with public constants; the netlists of SIFO have them all. Each adder takes a carry-in wire of
//! its own, and everything else shares the constant 0.
//!
//! Cost of `w` bits: adder `w` AND and `4w` XOR; choice `w` and `2w`; full product `2w² - w` and `6w² - 4w`.

use super::netlist::{Gate, GateKind, Netlist, WireId};

/// A netlist that is being built. Integers are slices of wires, lowest bit first.
pub struct Circuit {
    netlist: Netlist,
}

impl Default for Circuit {
    fn default() -> Circuit {
        Circuit { netlist: Netlist { wires_end: 1, ..Netlist::default() } }
    }
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
    pub fn subtract(&mut self, x: &[WireId], y: &[WireId], one: WireId) -> Vec<WireId> {
        let not_y: Vec<WireId> = y.iter().map(|&bit| self.xor(bit, one)).collect();
        self.add_full(x, &not_y, true)
    }

    /// `x / y`, unsigned, by restoring division; all ones if `y` is 0.
    pub fn divide(&mut self, x: &[WireId], y: &[WireId], one: WireId) -> Vec<WireId> {
        let width = x.len();
        let mut divisor = y.to_vec();
        divisor.push(WireId::ZERO);
        let mut rest = vec![WireId::ZERO; width + 1];
        let mut quotient = vec![WireId::ZERO; width];
        for place in (0..width).rev() {
            rest.rotate_right(1);
            rest[0] = x[place];
            let mut difference = self.subtract(&rest, &divisor, one);
            let fits = difference.pop().expect("a difference has a carry");
            rest = self.choose(&rest, &difference, fits);
            quotient[place] = fits;
        }
        quotient
    }

    /// Exchanges `x` and `y` if they are out of order: the smaller one first, or last if not `is_ascending`.
    fn compare_and_swap(
        &mut self,
        keys: &mut [Vec<WireId>],
        places: (usize, usize),
        up: bool,
        one: WireId,
    ) {
        let (x, y) = (keys[places.0].clone(), keys[places.1].clone());
        let (left, right) = if up { (&y, &x) } else { (&x, &y) };
        let in_order = *self.subtract(left, right, one).last().expect("a difference has a carry");
        let swaps = self.xor(in_order, one);
        let chosen = self.choose(&y, &x, swaps);
        let change = self.xor_all(&chosen, &x);
        keys[places.0] = self.xor_all(&y, &change);
        keys[places.1] = self.xor_all(&x, &change);
    }

    /// Sorts unsigned keys in ascending order by Batcher's bitonic network of any length, which FlexSC has.
    pub fn sort(&mut self, keys: &mut [Vec<WireId>]) {
        let one = self.constant(true);
        self.bitonic_sort(keys, true, one);
    }

    fn bitonic_sort(&mut self, keys: &mut [Vec<WireId>], up: bool, one: WireId) {
        if keys.len() > 1 {
            let (low, high) = keys.split_at_mut(keys.len() / 2);
            self.bitonic_sort(low, !up, one);
            self.bitonic_sort(high, up, one);
            self.bitonic_merge(keys, up, one);
        }
    }

    fn bitonic_merge(&mut self, keys: &mut [Vec<WireId>], up: bool, one: WireId) {
        let length = keys.len();
        if length > 1 {
            // The largest power of two below the length.
            let half = 1 << (length - 1).ilog2();
            for place in 0..length - half {
                self.compare_and_swap(keys, (place, place + half), up, one);
            }
            let (low, high) = keys.split_at_mut(half);
            self.bitonic_merge(low, up, one);
            self.bitonic_merge(high, up, one);
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
