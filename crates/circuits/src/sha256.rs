//! The SHA-256 compression function (FIPS 180-4, section 6.2.2).
//!
//! Ch and Maj cost one AND per bit. Sums of more than two words go through full adders, three
//! words to two, and ripple once. No carry is made for nothing: the empty lowest place of a carry
//! word takes bit 0 of the round constant, the carry into column 1 is bit 1, and the others join
//! as a word only at the first one among them. The ripples run in step: while `T1` (and the
//! schedule word 16 rounds ahead) is at column `k`, the sums that use it are one and two columns
//! behind. So a ripple step is up to five ANDs per lane.
//!
//! ANDs: [`SHA256_ANDS`]. Batches per round: one for Ch and Maj, three to five for the sums, 33
//! for the ripples.
//!
//! Words are 32 rows, least significant bit first; word `k` of a value is rows `32k..32k + 32`.

use crate::BitAlgebra;
use crate::rows::{copy_row, row, span, take};

/// ANDs of one compression per lane.
pub const SHA256_ANDS: u64 = 22_335;

/// Bits of the chaining value and of the result.
pub const STATE_BITS: usize = 256;

/// Bits of a message block.
pub const BLOCK_BITS: usize = 512;

pub(crate) const WORD: usize = 32;
const TOP: usize = WORD - 1;
pub(crate) const ROUNDS: usize = 64;

/// The constants `K` of FIPS 180-4, section 4.2.2: fractional parts of cube roots of primes.
#[rustfmt::skip]
pub(crate) const ROUND_CONSTANTS: [u32; ROUNDS] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

// Rows of the working file.
const STATE: usize = 0;
const SCHEDULE: usize = STATE + STATE_BITS;
const ZERO: usize = SCHEDULE + BLOCK_BITS;
/// The carry of each ripple that runs in a round; later those of the final additions.
const CARRIES: usize = ZERO + 1;
const UPPER_SIGMA_1: usize = CARRIES + 8;
const UPPER_SIGMA_0: usize = UPPER_SIGMA_1 + WORD;
const LOWER_SIGMA_1: usize = UPPER_SIGMA_0 + WORD;
const LOWER_SIGMA_0: usize = LOWER_SIGMA_1 + WORD;
/// Ch and Maj are the products of one batch.
const CHOICE: usize = LOWER_SIGMA_0 + WORD;
const MAJORITY: usize = CHOICE + WORD;
const LEFT_FACTORS: usize = MAJORITY + WORD;
const RIGHT_FACTORS: usize = LEFT_FACTORS + 2 * WORD;
const T1: usize = RIGHT_FACTORS + 2 * WORD;
/// Sum and carry words of `T1`, upper sigma 0 and Maj.
const SAVED_SUM: usize = T1 + WORD;
const SAVED_CARRY: usize = SAVED_SUM + WORD;
/// Pairs of a sum word and the carry word after it, for `T1` and for the schedule.
const T1_PAIRS: [usize; 2] = [SAVED_CARRY + WORD, SAVED_CARRY + 3 * WORD];
const AHEAD_PAIRS: [usize; 2] = [SAVED_CARRY + 5 * WORD, SAVED_CARRY + 7 * WORD];
/// A round constant as a word.
const CONSTANT: usize = SAVED_CARRY + 9 * WORD;
const FILE_ROWS: usize = CONSTANT + WORD;

/// Ripple steps that can run together.
const ADDERS: usize = 8;

/// Scratch wires that [`sha256_compress`] needs.
pub const fn scratch_wires(lanes: usize) -> usize {
    // The file; then the factors and the products of the full adders of one word.
    (FILE_ROWS + 3 * WORD) * lanes
}

/// `out` = the chaining value after `block`, from the chaining value `state`.
pub fn sha256_compress<A: BitAlgebra>(
    alg: &mut A,
    out: &mut [A::Wire],
    state: &[A::Wire],
    block: &[A::Wire],
    lanes: usize,
    scratch: &mut [A::Wire],
) {
    assert_eq!(state.len(), STATE_BITS * lanes, "the chaining value has 256 bits");
    assert_eq!(block.len(), BLOCK_BITS * lanes, "the block has 512 bits");
    let (rows, rest) = take(scratch, FILE_ROWS * lanes);
    rows[span(STATE..SCHEDULE, lanes)].copy_from_slice(state);
    rows[span(SCHEDULE..ZERO, lanes)].copy_from_slice(block);
    alg.constant(&mut rows[row(ZERO, lanes)], false);
    let mut file = WordRows { rows, lanes };
    for t in 0..ROUNDS {
        file.round(alg, t, rest);
    }
    // Add the first chaining value, in place of the schedule. After 64 rounds a is word 0 again.
    file.rows[span(SCHEDULE..SCHEDULE + STATE_BITS, lanes)].copy_from_slice(state);
    let mut sums: [RippleSum; 8] = std::array::from_fn(|i| {
        let word = STATE + WORD * i;
        RippleSum::new([word, SCHEDULE + WORD * i], 0, word, CARRIES + i)
    });
    let mut steps = FullAdders::new();
    for k in 0..WORD {
        steps.clear();
        for sum in &mut sums {
            sum.push(&mut steps, k);
        }
        file.add(alg, &steps, k == TOP, rest);
    }
    out.copy_from_slice(&file.rows[span(STATE..SCHEDULE, lanes)]);
}

/// One place of an addition, as a full adder: two or three rows in, their sum and their carry out; or
/// one row, which is only copied.
#[derive(Clone, Copy, Default)]
struct FullAdder {
    inputs: [usize; 3],
    count: usize,
    out: usize,
    carry: usize,
}

/// Full adders that run together.
struct FullAdders {
    steps: [FullAdder; ADDERS],
    count: usize,
}

impl FullAdders {
    fn new() -> Self {
        FullAdders { steps: [FullAdder::default(); ADDERS], count: 0 }
    }

    fn clear(&mut self) {
        self.count = 0;
    }

    /// The first `count` of `inputs` are added.
    fn push(&mut self, inputs: [usize; 3], count: usize, out: usize, carry: usize) {
        self.steps[self.count] = FullAdder { inputs, count, out, carry };
        self.count += 1;
    }

    fn as_slice(&self) -> &[FullAdder] {
        &self.steps[..self.count]
    }
}

/// A sum of two words that ripples.
struct RippleSum {
    /// The words; the second one joins at a column, below which it has no rows.
    words: [usize; 2],
    second_from: usize,
    /// A column from which on these words replace the first two.
    later: Option<(usize, [usize; 2])>,
    out: usize,
    carry: usize,
    has_carry: bool,
    /// Whether the carry row already holds a carry into column 1, where column 0 makes none.
    carry_enters: bool,
}

impl RippleSum {
    fn new(words: [usize; 2], second_from: usize, out: usize, carry: usize) -> Self {
        RippleSum {
            words,
            second_from,
            later: None,
            out,
            carry,
            has_carry: false,
            carry_enters: false,
        }
    }

    /// The sum of a sum word and the carry word after it.
    fn of_pair(pair: usize, out: usize, carry: usize) -> Self {
        RippleSum::new([pair, pair + WORD], 1, out, carry)
    }

    /// Adds column `k`, after all those below.
    fn push(&mut self, steps: &mut FullAdders, k: usize) {
        if let Some((column, words)) = self.later
            && k == column
        {
            (self.words, self.second_from) = (words, column + 1);
        }
        let [first, second] = self.words.map(|word| word + k);
        let (inputs, count) = match (k >= self.second_from, self.has_carry) {
            (true, true) => ([first, second, self.carry], 3),
            (true, false) => ([first, second, ZERO], 2),
            (false, true) => ([first, self.carry, ZERO], 2),
            (false, false) => ([first, ZERO, ZERO], 1),
        };
        steps.push(inputs, count, self.out + k, self.carry);
        self.has_carry = count > 1 || k == 0 && self.carry_enters;
    }
}

/// The rows that a compression works on.
struct WordRows<'s, W> {
    rows: &'s mut [W],
    lanes: usize,
}

impl<W: Copy + Default> WordRows<'_, W> {
    fn round<A: BitAlgebra<Wire = W>>(&mut self, alg: &mut A, t: usize, scratch: &mut [W]) {
        // The words a, b, ..., h move one place per round; here the places stay.
        let state = |word: usize| STATE + WORD * ((word + ROUNDS - t) % 8);
        let schedule = |t: usize| SCHEDULE + WORD * (t % 16);
        self.xor_rotations(alg, UPPER_SIGMA_1, state(4), [6, 11, 25], false);
        self.xor_rotations(alg, UPPER_SIGMA_0, state(0), [2, 13, 22], false);
        self.choice_and_majority(alg, state);

        let words = [state(7), UPPER_SIGMA_1, CHOICE, schedule(t)];
        let constant = ROUND_CONSTANTS[t];
        let mut t1 = self.sum_of_four(alg, T1_PAIRS, words, constant & 1 == 1, T1, scratch);
        self.add_constant(alg, &mut t1, constant, scratch);
        let mut ahead = None;
        if t + 16 < ROUNDS {
            self.xor_rotations(alg, LOWER_SIGMA_0, schedule(t + 1), [7, 18, 3], true);
            self.xor_rotations(alg, LOWER_SIGMA_1, schedule(t + 14), [17, 19, 10], true);
            let words = [schedule(t), LOWER_SIGMA_0, schedule(t + 9), LOWER_SIGMA_1];
            let out = schedule(t);
            ahead = Some(self.sum_of_four(alg, AHEAD_PAIRS, words, false, out, scratch));
        }
        // e = d + T1; a = T1 + upper sigma 0 + Maj, by way of a sum and a carry word.
        let mut e = RippleSum::new([state(3), T1], 0, state(3), CARRIES + 2);
        let mut a = RippleSum::new([SAVED_SUM, SAVED_CARRY], 1, state(7), CARRIES + 3);
        let (mut steps, mut top_steps) = (FullAdders::new(), FullAdders::new());
        for step in 0..WORD + 2 {
            steps.clear();
            if step < WORD {
                let steps = if step == TOP { &mut top_steps } else { &mut steps };
                t1.push(steps, step);
                if let Some(ahead) = &mut ahead {
                    ahead.push(steps, step);
                }
            }
            if let Some(k @ 0..=TOP) = step.checked_sub(1) {
                let steps = if k == TOP { &mut top_steps } else { &mut steps };
                e.push(steps, k);
                let inputs = [T1 + k, UPPER_SIGMA_0 + k, MAJORITY + k];
                steps.push(inputs, 3, SAVED_SUM + k, SAVED_CARRY + k + 1);
            }
            if let Some(k @ 0..=TOP) = step.checked_sub(2) {
                a.push(if k == TOP { &mut top_steps } else { &mut steps }, k);
            }
            self.add(alg, &steps, false, scratch);
            self.add(alg, &top_steps, true, scratch);
            top_steps.clear();
        }
    }

    /// Two full adders per column turn four words (and a one in column 0, if `one`) into two,
    /// whose sum will ripple to `out`.
    fn sum_of_four<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        pairs: [usize; 2],
        words: [usize; 4],
        one: bool,
        out: usize,
        scratch: &mut [W],
    ) -> RippleSum {
        let [x, y, z, last] = words;
        let [first, second] = pairs;
        self.carry_save(alg, first, [x, y, z], 0, scratch);
        alg.constant(&mut self.rows[row(first + WORD, self.lanes)], one);
        self.carry_save(alg, second, [first, last, first + WORD], 0, scratch);
        RippleSum::of_pair(second, out, if out == T1 { CARRIES } else { CARRIES + 1 })
    }

    /// Adds the bits of `constant` but the lowest to `t1`: bit 1 as the carry into column 1, the
    /// others as a word from their first one on.
    fn add_constant<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        t1: &mut RippleSum,
        constant: u32,
        scratch: &mut [W],
    ) {
        t1.carry_enters = constant >> 1 & 1 == 1;
        alg.constant(&mut self.rows[row(t1.carry, self.lanes)], true);
        let from = (constant & !3).trailing_zeros() as usize;
        for k in from..WORD {
            let bit = constant >> k & 1 == 1;
            alg.constant(&mut self.rows[row(CONSTANT + k, self.lanes)], bit);
        }
        let [sum, carries] = t1.words;
        let pair = T1_PAIRS[0];
        self.carry_save(alg, pair, [sum, CONSTANT, carries], from, scratch);
        t1.later = Some((from, [pair, pair + WORD]));
    }

    /// Full adders on columns `from..` of three words, into a pair of words; the carry word has
    /// rows from the column above.
    fn carry_save<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        pair: usize,
        [a, b, c]: [usize; 3],
        from: usize,
        scratch: &mut [W],
    ) {
        let columns = |word: usize, end: usize| span(word + from..word + end, self.lanes);
        let [sum, all_a, all_b, all_c] = [pair, a, b, c].map(|word| columns(word, WORD));
        let [below_b, below_c] = [b, c].map(|word| columns(word, TOP));
        let carry = span(pair + WORD + from + 1..pair + 2 * WORD, self.lanes);
        let (x, rest) = take(scratch, sum.len());
        let (y, rest) = take(rest, carry.len());
        let (product, _) = take(rest, carry.len());
        // sum = x ^ b, carry = c ^ (x & y)
        alg.xor(x, &self.rows[all_a], &self.rows[all_c]);
        let [sum, b] = self.disjoint([sum, all_b]);
        alg.xor(sum, x, b);
        if from < TOP {
            alg.xor(y, &self.rows[below_b], &self.rows[below_c.clone()]);
            alg.and(product, &x[..product.len()], y);
            let [carry, c] = self.disjoint([carry, below_c]);
            alg.xor(carry, c, product);
        }
    }

    /// `out` = the XOR of `x` rotated right by each amount; the last may be a shift.
    fn xor_rotations<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        out: usize,
        x: usize,
        amounts: [usize; 3],
        last_shifts: bool,
    ) {
        let spans = [span(out..out + WORD, self.lanes), span(x..x + WORD, self.lanes)];
        let [out, x] = self.rows.get_disjoint_mut(spans).expect("the words are different");
        let first = amounts[0] * self.lanes;
        let wires = x.len();
        out[..wires - first].copy_from_slice(&x[first..]);
        out[wires - first..].copy_from_slice(&x[..first]);
        for (i, amount) in amounts.into_iter().enumerate().skip(1) {
            let moved = amount * self.lanes;
            alg.xor_assign(&mut out[..wires - moved], &x[moved..]);
            if i == 1 || !last_shifts {
                alg.xor_assign(&mut out[wires - moved..], &x[..moved]);
            }
        }
    }

    /// Ch(e, f, g) = g ^ (e & (f ^ g)) and Maj(a, b, c) = b ^ ((a ^ b) & (b ^ c)).
    fn choice_and_majority<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        state: impl Fn(usize) -> usize,
    ) {
        let lanes = self.lanes;
        let word = |start: usize| span(start..start + WORD, lanes);
        let [a, b, c, e, f, g] = [0, 1, 2, 4, 5, 6].map(|i| word(state(i)));
        let factors = [word(LEFT_FACTORS), word(LEFT_FACTORS + WORD)];
        let others = [word(RIGHT_FACTORS), word(RIGHT_FACTORS + WORD)];
        let [left_ch, left_maj] = factors;
        let [right_ch, right_maj] = others;
        self.rows.copy_within(e, left_ch.start);
        for (out, x, y) in
            [(right_ch, f, g.clone()), (left_maj, a, b.clone()), (right_maj, b.clone(), c)]
        {
            let [out, x, y] = self.disjoint([out, x, y]);
            alg.xor(out, x, y);
        }
        let [out, x, y] = self.disjoint([
            span(CHOICE..CHOICE + 2 * WORD, lanes),
            span(LEFT_FACTORS..LEFT_FACTORS + 2 * WORD, lanes),
            span(RIGHT_FACTORS..RIGHT_FACTORS + 2 * WORD, lanes),
        ]);
        alg.and(out, x, y);
        for (out, x) in [(word(CHOICE), g), (word(MAJORITY), b)] {
            let [out, x] = self.disjoint([out, x]);
            alg.xor_assign(out, x);
        }
    }

    /// Runs `steps` together: one AND for each of two or three inputs. In the `top` column there
    /// are no carries, so no ANDs.
    fn add<A: BitAlgebra<Wire = W>>(
        &mut self,
        alg: &mut A,
        steps: &FullAdders,
        top: bool,
        scratch: &mut [W],
    ) {
        let lanes = self.lanes;
        let adding = || steps.as_slice().iter().filter(|step| step.count > 1);
        let wires = adding().count() * lanes;
        if steps.count == 0 {
            return;
        }
        let (a, rest) = take(scratch, wires);
        let (b, rest) = take(rest, wires);
        let (c, rest) = take(rest, wires);
        let (d, rest) = take(rest, wires);
        let (product, _) = take(rest, wires);
        for (i, step) in adding().enumerate() {
            let place = row(i, lanes);
            copy_row(&mut a[place.clone()], &self.rows[row(step.inputs[0], lanes)]);
            copy_row(&mut b[place.clone()], &self.rows[row(step.inputs[1], lanes)]);
            copy_row(&mut c[place], &self.rows[row(step.inputs[2], lanes)]);
        }
        // sum = a ^ b ^ c into b; carry = c ^ ((a ^ c) & (b ^ c)) into c.
        alg.xor_assign(a, c);
        if !top {
            alg.xor(d, b, c);
            alg.and(product, a, d);
            alg.xor_assign(c, product);
        }
        alg.xor_assign(b, a);
        for step in steps.as_slice().iter().filter(|step| step.count == 1) {
            self.rows.copy_within(row(step.inputs[0], lanes), step.out * lanes);
        }
        for (i, step) in adding().enumerate() {
            copy_row(&mut self.rows[row(step.out, lanes)], &b[row(i, lanes)]);
            if !top {
                copy_row(&mut self.rows[row(step.carry, lanes)], &c[row(i, lanes)]);
            }
        }
    }

    fn disjoint<const N: usize>(&mut self, rows: [std::ops::Range<usize>; N]) -> [&mut [W]; N] {
        self.rows.get_disjoint_mut(rows).expect("results and operands are different words")
    }
}
