//! [`BitAlgebra`]: the operations that circuits are written over.

/// XOR, NOT and AND on batches of wires.
///
/// A *wire* is whatever the implementation computes on: a `bool` in the clear, a label in garbled
/// circuits, the name of a recorded value, a depth. Slices are batches of independent gates; all
/// lengths must agree unless stated. A value of `w` bits and `n` lanes is a slice of `w * n` wires,
/// bit-major: wire `i * n + j` is bit `i` of lane `j`.
pub trait BitAlgebra {
    /// One wire.
    type Wire: Copy + Default;

    /// `out[i] = a[i] ^ b[i]`
    fn xor(&mut self, out: &mut [Self::Wire], a: &[Self::Wire], b: &[Self::Wire]);

    /// `out[i] ^= a[i]`
    fn xor_assign(&mut self, out: &mut [Self::Wire], a: &[Self::Wire]);

    /// `out[i] = !a[i]`
    fn not(&mut self, out: &mut [Self::Wire], a: &[Self::Wire]);

    /// `out[i] = a[i] & b[i % b.len()]`; `b.len()` divides `a.len()`.
    ///
    /// One call is one batch: its gates are independent, so one call with many wires is much
    /// cheaper than many calls with few. No batch of a circuit of this crate is empty.
    fn and(&mut self, out: &mut [Self::Wire], a: &[Self::Wire], b: &[Self::Wire]);

    /// A chain of dependent gates: row `i + 1` of `x` becomes `x[i + 1] ^ (a[i] & x[i])`, row
    /// after row; `x` has one row more than `a`, and a row the length of `product`.
    ///
    /// The heart of adders and comparisons. An algebra that pays for each batch can do better
    /// than this one batch per row; what `product` holds afterwards is not specified.
    fn and_chain(&mut self, x: &mut [Self::Wire], a: &[Self::Wire], product: &mut [Self::Wire]) {
        let lanes = product.len();
        for (i, a) in a.chunks_exact(lanes).enumerate() {
            let (below, above) = x.split_at_mut((i + 1) * lanes);
            self.and(product, a, &below[i * lanes..]);
            self.xor_assign(&mut above[..lanes], product);
        }
    }

    /// Every wire of `out` becomes the public constant `value`; costs nothing.
    fn constant(&mut self, out: &mut [Self::Wire], value: bool);
}
