//! The AES S-box on planes; see `aes` for the source.
//!
//! The layout serves the batches: the right factors of the first nine products, then their left
//! factors, are the 18 factors of the last products, in order; the nine shared factors of those
//! repeat. Planes of values no longer needed are used again.

use crate::BitAlgebra;
use crate::rows::{row, span, take};

/// Planes in use: the 18 factors, 18 last products, 9 shared factors, 9 first products, 7 more.
pub(crate) const PLANES: usize = 18 + 18 + 9 + 9 + 7;

/// An XOR of two planes: result, operands.
type Xor = (usize, usize, usize);

// Right factors of the first products; x7 is one of them.
const Y15: usize = 0;
const Y6: usize = 1;
const X7: usize = 2;
const Y16: usize = 3;
const Y1: usize = 4;
const Y7: usize = 5;
const Y11: usize = 6;
const Y17: usize = 7;
const Y10: usize = 8;
// Left factors of the first products.
const Y12: usize = 9;
const Y3: usize = 10;
const Y4: usize = 11;
const Y13: usize = 12;
const Y5: usize = 13;
const Y2: usize = 14;
const Y9: usize = 15;
const Y14: usize = 16;
const Y8: usize = 17;
// Until the last products take these planes: the other inputs and linear parts.
const X0: usize = 18;
const X1: usize = 19;
const X2: usize = 20;
const X3: usize = 21;
const X4: usize = 22;
const X5: usize = 23;
const X6: usize = 24;
const T0: usize = 25;
const T1: usize = 26;
const Y18: usize = 27;
const Y19: usize = 28;
const Y20: usize = 29;
const Y21: usize = 30;
// The last products.
const Z0: usize = 18;
const Z1: usize = 19;
const Z2: usize = 20;
const Z3: usize = 21;
const Z4: usize = 22;
const Z5: usize = 23;
const Z6: usize = 24;
const Z7: usize = 25;
const Z8: usize = 26;
const Z9: usize = 27;
const Z10: usize = 28;
const Z11: usize = 29;
const Z12: usize = 30;
const Z13: usize = 31;
const Z14: usize = 32;
const Z15: usize = 33;
const Z16: usize = 34;
const Z17: usize = 35;
// The shared factors of the last products, in their order.
const T44: usize = 36;
const T37: usize = 37;
const T33: usize = 38;
const T43: usize = 39;
const T40: usize = 40;
const T29: usize = 41;
const T42: usize = 42;
const T45: usize = 43;
const T41: usize = 44;
// The first products.
const T2: usize = 45;
const T3: usize = 46;
const T5: usize = 47;
const T7: usize = 48;
const T8: usize = 49;
const T10: usize = 50;
const T12: usize = 51;
const T13: usize = 52;
const T15: usize = 53;
// Values of the middle that replace first products.
const T4: usize = T3;
const T6: usize = T5;
const T9: usize = T8;
const T11: usize = T10;
const T14: usize = T13;
const T16: usize = T15;
const T17: usize = T3;
const T18: usize = T5;
const T19: usize = T8;
const T20: usize = T10;
const T21: usize = T3;
const T22: usize = T5;
const T23: usize = T8;
const T24: usize = T10;
const T34: usize = T2;
const T35: usize = T7;
const T36: usize = T12;
const T38: usize = T13;
const T39: usize = T15;
// The rest of the middle; t25, t31 and t27, t30 are factors, t28, t32 products of one batch.
const T26: usize = 54;
const T25: usize = 55;
const T31: usize = 56;
const T27: usize = 57;
const T30: usize = 58;
const T28: usize = 59;
const T32: usize = 60;
// The bottom, over the shared factors and the middle.
const T46: usize = 36;
const T47: usize = 37;
const T48: usize = 38;
const T49: usize = 39;
const T50: usize = 40;
const T51: usize = 41;
const T52: usize = 42;
const T53: usize = 43;
const T54: usize = 44;
const T55: usize = 45;
const T56: usize = 46;
const T57: usize = 47;
const T58: usize = 48;
const T59: usize = 49;
const T60: usize = 50;
const T61: usize = 51;
const T62: usize = 52;
const T63: usize = 53;
const T64: usize = 54;
const T65: usize = 55;
const T66: usize = 56;
const T67: usize = 57;
// The result, lowest bit first, over the factors; n are complements of s.
const S7: usize = 0;
const S6: usize = 1;
const S5: usize = 2;
const S4: usize = 3;
const S3: usize = 4;
const S2: usize = 5;
const S1: usize = 6;
const S0: usize = 7;
const N1: usize = 8;
const N2: usize = 9;
const N6: usize = 10;
const N7: usize = 11;

/// The top linear part.
const TOP: [Xor; 23] = [
    (Y14, X3, X5),
    (Y13, X0, X6),
    (Y9, X0, X3),
    (Y8, X0, X5),
    (T0, X1, X2),
    (Y1, T0, X7),
    (Y4, Y1, X3),
    (Y12, Y13, Y14),
    (Y2, Y1, X0),
    (Y5, Y1, X6),
    (Y3, Y5, Y8),
    (T1, X4, Y12),
    (Y15, T1, X5),
    (Y20, T1, X1),
    (Y6, Y15, X7),
    (Y10, Y15, T0),
    (Y11, Y20, Y9),
    (Y7, X7, Y11),
    (Y17, Y10, Y11),
    (Y19, Y10, Y8),
    (Y16, T0, Y11),
    (Y21, Y13, Y16),
    (Y18, X0, Y16),
];

/// The linear part below the first products.
const MIDDLE: [Xor; 16] = [
    (T4, T3, T2),
    (T6, T5, T2),
    (T9, T8, T7),
    (T11, T10, T7),
    (T14, T13, T12),
    (T16, T15, T12),
    (T17, T4, T14),
    (T18, T6, T16),
    (T19, T9, T14),
    (T20, T11, T16),
    (T21, T17, Y20),
    (T22, T18, Y19),
    (T23, T19, Y21),
    (T24, T20, Y18),
    (T25, T21, T22),
    (T30, T23, T24),
];

/// The linear part that ends the inversion in GF(16): the shared factors.
const SHARED: [Xor; 5] =
    [(T41, T40, T37), (T42, T29, T33), (T43, T29, T40), (T44, T33, T37), (T45, T42, T41)];

/// The bottom linear part.
const BOTTOM: [Xor; 30] = [
    (T46, Z15, Z16),
    (T47, Z10, Z11),
    (T48, Z5, Z13),
    (T49, Z9, Z10),
    (T50, Z2, Z12),
    (T51, Z2, Z5),
    (T52, Z7, Z8),
    (T53, Z0, Z3),
    (T54, Z6, Z7),
    (T55, Z16, Z17),
    (T56, Z12, T48),
    (T57, T50, T53),
    (T58, Z4, T46),
    (T59, Z3, T54),
    (T60, T46, T57),
    (T61, Z14, T57),
    (T62, T52, T58),
    (T63, T49, T58),
    (T64, Z4, T59),
    (T65, T61, T62),
    (T66, Z1, T63),
    (S0, T59, T63),
    (N6, T56, T62),
    (N7, T48, T60),
    (T67, T64, T65),
    (S3, T53, T66),
    (S4, T51, T66),
    (S5, T47, T65),
    (N1, T64, S3),
    (N2, T55, T67),
];

/// The S-box of as many bytes as a plane has wires.
pub(crate) struct Planes<'s, W> {
    wires: &'s mut [W],
    size: usize,
}

impl<'s, W: Copy + Default> Planes<'s, W> {
    /// Planes of `size` wires at the start of `scratch`.
    pub(crate) fn new(scratch: &'s mut [W], size: usize) -> Self {
        let (wires, _) = take(scratch, PLANES * size);
        Planes { wires, size }
    }

    /// Where bit `bit` of the input bytes goes, bit 0 the lowest; x0 is the highest.
    pub(crate) fn input(&mut self, bit: usize) -> &mut [W] {
        let plane = [X7, X6, X5, X4, X3, X2, X1, X0][bit];
        &mut self.wires[row(plane, self.size)]
    }

    /// Bit `bit` of the S-boxes after [`substitute`](Self::substitute).
    pub(crate) fn output(&self, bit: usize) -> &[W] {
        &self.wires[row(bit, self.size)]
    }

    /// Computes the S-boxes: 32 planes of ANDs, depth 6.
    pub(crate) fn substitute<A: BitAlgebra<Wire = W>>(&mut self, alg: &mut A) {
        self.enter_field(alg);
        // Inversion in GF(16).
        self.and(alg, (T26, 1), T21, (T23, 1));
        self.xors(alg, &[(T27, T24, T26), (T31, T22, T26)]);
        self.and(alg, (T28, 2), T25, (T27, 2));
        self.xors(alg, &[(T29, T28, T22), (T33, T32, T24), (T34, T23, T33), (T35, T27, T33)]);
        self.and(alg, (T36, 1), T24, (T35, 1));
        self.xors(alg, &[(T37, T36, T34), (T38, T27, T36)]);
        self.and(alg, (T39, 1), T29, (T38, 1));
        self.xors(alg, &[(T40, T25, T39)]);
        self.leave_field(alg);
    }

    /// Computes the S-boxes: 34 planes of ANDs, depth 4.
    ///
    /// The numbers of Boyar, Peralta, "A depth-16 circuit for the AES S-box", ePrint 2011/332.
    /// Only the inversion in GF(16) differs: with `t26 = t21 t23`, the values that depend on
    /// others of its second half are
    /// `t37 = t23 + t24 + t26 + t22 t23 (t24 + 1)` and `t40 = t21 + t22 + t26 + t21 t24 (t22 + 1)`.
    pub(crate) fn substitute_shallow<A: BitAlgebra<Wire = W>>(&mut self, alg: &mut A) {
        self.enter_field(alg);
        let [products, complements] = [[T34, T35], [T36, T38]];
        self.and(alg, (T26, 1), T21, (T23, 1));
        self.and(alg, (products[0], 1), T22, (T23, 1));
        self.and(alg, (products[1], 1), T21, (T24, 1));
        self.xors(alg, &[(T27, T24, T26), (T31, T22, T26)]);
        for (complement, plane) in complements.into_iter().zip([T24, T22]) {
            let [out, a] = self.disjoint([row(complement, self.size), row(plane, self.size)]);
            alg.not(out, a);
        }
        self.and(alg, (T28, 2), T25, (T27, 2));
        self.and(alg, (T37, 1), products[0], (complements[0], 1));
        self.and(alg, (T40, 1), products[1], (complements[1], 1));
        self.xors(alg, &[(T29, T28, T22), (T33, T32, T24)]);
        self.xors(alg, &[(T37, T37, T30), (T37, T37, T26), (T40, T40, T25), (T40, T40, T26)]);
        self.leave_field(alg);
    }

    /// From the input to the four values that are inverted in GF(16), `t21` to `t24`.
    fn enter_field<A: BitAlgebra<Wire = W>>(&mut self, alg: &mut A) {
        self.xors(alg, &TOP);
        self.and(alg, (T2, 9), Y12, (Y15, 9));
        self.xors(alg, &MIDDLE);
    }

    /// From the inverse, `t29`, `t33`, `t37` and `t40`, to the output.
    fn leave_field<A: BitAlgebra<Wire = W>>(&mut self, alg: &mut A) {
        self.xors(alg, &SHARED);
        self.and(alg, (Z0, 18), Y15, (T44, 9));
        self.xors(alg, &BOTTOM);
        for (s, n) in [(S1, N1), (S2, N2), (S6, N6), (S7, N7)] {
            let [out, a] = self.disjoint([row(s, self.size), row(n, self.size)]);
            alg.not(out, a);
        }
    }

    fn xors<A: BitAlgebra<Wire = W>>(&mut self, alg: &mut A, xors: &[Xor]) {
        for &(out, a, b) in xors {
            if out == a {
                let [out, b] = self.disjoint([row(out, self.size), row(b, self.size)]);
                alg.xor_assign(out, b);
            } else {
                let rows = [row(out, self.size), row(a, self.size), row(b, self.size)];
                let [out, a, b] = self.disjoint(rows);
                alg.xor(out, a, b);
            }
        }
    }

    /// Planes `out.0..` = planes `a..` AND planes `b.0..`, `out.1` of them; the `b.1` repeat.
    fn and<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        out: (usize, usize),
        a: usize,
        b: (usize, usize),
    ) {
        let size = self.size;
        let [out, a, b] = self.disjoint([
            span(out.0..out.0 + out.1, size),
            span(a..a + out.1, size),
            span(b.0..b.0 + b.1, size),
        ]);
        alg.and(out, a, b);
    }

    fn disjoint<const N: usize>(&mut self, rows: [std::ops::Range<usize>; N]) -> [&mut [W]; N] {
        self.wires.get_disjoint_mut(rows).expect("the straight-line program reuses no live plane")
    }
}
