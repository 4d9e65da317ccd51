//! Switching networks that apply a permutation, and their control bits in constant time.
//!
//! A Waksman network of `n` items (A. Waksman, 1968, for powers of two; M. Chang, A. Melhem, 1997, for any number)
//! has `W(n) = n - 1 + W(floor(n / 2)) + W(ceil(n / 2))` switches. Its layers have the strides 1, 2, 4, ...,
//! `2^(w - 1)`, ..., 4, 2, 1 for `2^(w - 1) < n <= 2^w`. A switch of a layer with stride `s` exchanges the items at
//! positions `i` and `i + s` if its control bit is 1, where `i / s` is even. Up to the longest stride, a layer has one
//! for each such `i < n - s`; behind it, one for each such `i < n - 2s`. Switches are numbered by ascending `i`.
//!
//! So each layer is the beginning of a layer of a Benes network, and sub-networks stay interleaved: those of stride
//! `s` are the positions of equal remainders modulo `s`. In each, the last layer leaves out the last pair if the
//! number of items is even, and an odd item at the end has no switches in both.
//!
//! Source of the control bits: D. J. Bernstein, "Verified fast formulas for control bits for
//! permutation networks", 2020 (ePrint 2020/1493): the recursive decomposition and the minimum of
//! each cycle by pointer doubling. Deviations: `peel` takes the inverse of every doubled
//! permutation from a symmetry, and looks along each cycle in both directions, so that a level of
//! `2^v` items takes `v` sorts. And it takes the maximum of each cycle, by the mirror image of Bernstein's theorem.
//! Then the bits that are left out are always 0: the last item of a sub-network is the largest of its cycle, so it
//! stays. If the number of items is odd, a fixed item behind the last one completes its pair, and this item stays.
//!
//! Cost: level `v`, for `v` from 2 to `w`, sorts `n` items `v` times, in `n / 2^v` separate groups. Memory:
//! the bits (one byte each), and temporaries of 24 bytes for each item (32 beyond `2^21` items).
//!
//! Constant time: [`control_bits`], [`inverse`] and [`oblivious_sort`] move data only inside sorting
//! networks, and otherwise read and write each array from its first item to its last. Loop bounds and
//! indices depend on the number of items alone, comparisons are arithmetic, and nothing branches on
//! a value. So the sequence of memory accesses is the same for all permutations of equal size.
//! Temporaries are wiped.

#[cfg(test)]
mod tests;

use std::hint::black_box;

use zeroize::{Zeroize, Zeroizing};

/// Largest number of items of a network.
///
/// Its some `23 * 2^24` control bits fill 368 MiB as bytes. Indices fit in 24 bits, so that equal keys in
/// [`random_permutation`] are as rare as it promises.
pub const ITEMS_MAX: u64 = 1 << 24;

/// Returns how many switches a network of `items` items has: `W(items)`.
///
/// # Panics
/// If `items` is 0 or exceeds [`ITEMS_MAX`].
pub fn switch_count(items: u64) -> u64 {
    layers(items).map(|layer| layer.switches).sum()
}

/// A layer of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Distance of the two items of a switch.
    pub stride: u64,
    /// How many switches it has: the first ones of all pairs at this distance.
    pub switches: u64,
}

/// Returns the layers of a network of `items` items, in the order of application.
///
/// # Panics
/// If `items` is 0 or exceeds [`ITEMS_MAX`].
pub fn layers(items: u64) -> impl Iterator<Item = Layer> {
    let count = (2 * level_count(items)).saturating_sub(1);
    (0..count).map(move |layer| {
        let level = layer.min(count - 1 - layer);
        let (stride, is_first) = (1 << level, layer == level);
        let end = items.saturating_sub(if is_first { stride } else { 2 * stride });
        // Of the positions below the end, those with an even number of strides before them.
        let blocks = end / (2 * stride);
        Layer { stride, switches: blocks * stride + (end % (2 * stride)).min(stride) }
    })
}

/// How many strides the layers have: the base-2 logarithm of the number of items, rounded up.
fn level_count(items: u64) -> u32 {
    assert!(items > 0, "a network has items");
    assert!(items <= ITEMS_MAX, "a network has at most {ITEMS_MAX} items");
    items.next_power_of_two().trailing_zeros()
}

/// Returns the control bits of a network that moves the item at position `i` to position `image[i]`:
/// a byte of value 0 or 1 for each switch, layer after layer.
///
/// # Security
/// Time and memory accesses depend on the number of items only (see the module).
///
/// # Panics
/// If `image` is not a permutation of `0..n` for an `n` from 1 to [`ITEMS_MAX`].
pub fn control_bits(image: &[u32]) -> Vec<u8> {
    control_bits_with(image, 32)
}

/// Computes [`control_bits`] by sorting the narrowest words of at least `word_bits_min` bits that three
/// indices fit in.
fn control_bits_with(image: &[u32], word_bits_min: u32) -> Vec<u8> {
    let items = image.len();
    let mut bits = vec![0; switch_count(items as u64) as usize];
    let seen = image.iter().fold(0, |seen, &position| seen | position);
    let levels = level_count(items as u64);
    assert!(seen as usize >> levels == 0, "the image of an item is a position");
    let Some(middle) = levels.checked_sub(1) else { return bits };

    // Layers in reverse order apply the inverse. `peel` consumes the inverse of what it
    // decomposes, so it decomposes the inverse of `image` and is given the layers in reverse order.
    // All of the memory at once: what grew would leave a copy behind.
    let mut inverse = Zeroizing::new(Vec::with_capacity(items.next_power_of_two()));
    inverse.extend_from_slice(image);
    let counts: Vec<Layer> = layers(items as u64).collect();
    let mut rest: &mut [u8] = &mut bits;
    for level in 0..middle {
        // Items behind the last one stay where they are, and complete pairs.
        let padded = items.next_multiple_of(2 << level);
        let fixed = inverse.len()..padded;
        inverse.extend(fixed.map(|i| (i >> level) as u32));
        let behind = counts[counts.len() - 1 - level as usize].switches as usize;
        let (last, inner) = rest.split_at_mut(counts[level as usize].switches as usize);
        let (inner, first) = inner.split_at_mut(inner.len() - behind);
        rest = inner;
        let peel = match word_bits_min.max(3 * (levels - level)) {
            0..=32 => peel::<u32>,
            33..=64 => peel::<u64>,
            _ => peel::<u128>,
        };
        peel(&mut inverse, level, first, last);
    }
    // Permutations of two items are left: the middle layer exchanges where the first image is 1.
    for (bit, &position) in rest.iter_mut().zip(inverse.iter()) {
        *bit = position as u8;
    }
    bits
}

/// Computes the outermost two layers of `2^level` interleaved networks, and leaves in `inverse` what
/// the twice as many inner networks have to apply.
///
/// Item `r + (x << level)` of a slice belongs to position `x` of network `r`, and each network has an even number of
/// items; `inverse` holds the
/// inverse of the permutation `pi` of each network. The bits are those of `F` and `L` in
/// `pi = L M F`, where `F` and `L` exchange the neighbours `x` and `P(x) = x ^ 1`, and `M` keeps the
/// parity of each position. Sub-networks stay where they are: position `x` of `M` is position `x >> 1` of
/// the inner network of its parity. Bits beyond the ends of `first` and `last` are 0.
///
/// The parity of `F(x)` has to differ between the neighbours `x` and `P(x)`, and between `x` and `Q(x)`,
/// `Q = pi^-1 P pi`, whose images are neighbours. So it is constant on the cycles of `s = Q P`.
/// No cycle contains neighbours, and `P` maps the cycle of `x` onto that of `P(x)` in reverse order
/// (`P s P = s^-1`); hence the largest elements of the two cycles are neighbours (Bernstein's
/// theorem, which is about the smallest, for the positions in reverse order), and the parity of the largest element
/// serves. It is found from two-sided windows of
/// `s^-r(x), ..., s^r(x)`: `r` starts at 1 and doubles with each sort; a cycle has at most
/// `n / 2` elements, so `r = n / 4` is enough.
///
/// The last element of all is the largest of its cycle, so `F` does not exchange it. If it is also fixed by `pi`, then
/// its neighbour's image has the other parity, and neither does `L`.
fn peel<W: Word>(inverse: &mut [u32], level: u32, first: &mut [u8], last: &mut [u8]) {
    let (items, lanes) = (inverse.len(), 1 << level);
    let width = (items >> level).next_power_of_two().trailing_zeros();
    let mut words = Zeroizing::new(vec![W::pack([0; 3], width); items]);

    // Sorting by pi^-1(y) sends Q and pi to x = pi^-1(y).
    for (i, word) in words.iter_mut().enumerate() {
        *word = W::pack([inverse[i], inverse[i ^ lanes], (i >> level) as u32], width);
    }
    sort_lanes(&mut words, lanes);
    let blank = || Zeroizing::new(vec![0u32; items]);
    let (mut power, mut image, mut largest) = (blank(), blank(), blank());
    let mut wrong = 0;
    for (i, word) in words.iter().enumerate() {
        let [key, opposite, position] = word.unpack(width);
        wrong |= key ^ (i >> level) as u32;
        power[i ^ lanes] = opposite;
        image[i] = position;
    }
    assert!(wrong == 0, "the image of each item is another");

    // `power` is s^(2^step), `largest` the greatest element of each window.
    for (i, greatest) in largest.iter_mut().enumerate() {
        *greatest = max((i >> level) as u32, max(power[i], power[i ^ lanes] ^ 1));
    }
    for _ in 2..width {
        // Sorting by the inverse of the power, which is P power P, composes with the power.
        for (i, word) in words.iter_mut().enumerate() {
            *word = W::pack([power[i ^ lanes] ^ 1, power[i], largest[i]], width);
        }
        sort_lanes(&mut words, lanes);
        for (i, word) in words.iter().enumerate() {
            let [_, squared, ahead] = word.unpack(width);
            power[i] = squared;
            largest[i] = max(largest[i], ahead);
        }
        symmetrize(&mut largest, lanes);
    }

    // Sorting by pi(x) sends F(x) to y = pi(x), and F pi^-1 = M^-1 L.
    for (i, word) in words.iter_mut().enumerate() {
        let moved = (i >> level) as u32 & !1 | largest[i] & 1;
        *word = W::pack([image[i], moved, 0], width);
    }
    sort_lanes(&mut words, lanes);
    for (i, word) in words.iter().enumerate() {
        inverse[i] = word.unpack(width)[1];
    }
    let pairs = inverse.chunks_exact_mut(2 * lanes).zip(largest.chunks_exact(2 * lanes));
    for (block, (pair, largest)) in pairs.enumerate() {
        let (even, odd) = pair.split_at_mut(lanes);
        let rest_of = |bits: &mut [u8]| bits.len().saturating_sub(block * lanes).min(lanes);
        let (first_count, last_count) = (rest_of(first), rest_of(last));
        for lane in 0..lanes {
            let exchange = even[lane] & 1;
            if lane < first_count {
                first[block * lanes + lane] = (largest[lane] & 1) as u8;
            }
            if lane < last_count {
                last[block * lanes + lane] = exchange as u8;
            }
            // Opaque, as the compiler would otherwise make a choice of the mask.
            let mask = black_box(exchange.wrapping_neg());
            let difference = (even[lane] ^ odd[lane]) & mask;
            even[lane] = (even[lane] ^ difference) >> 1;
            odd[lane] = (odd[lane] ^ difference) >> 1;
        }
    }
}

/// Extends windows ahead of each element to windows on both sides: the window behind `x` is the
/// mirror image of the one ahead of its neighbour.
fn symmetrize(largest: &mut [u32], lanes: usize) {
    for pair in largest.chunks_exact_mut(2 * lanes) {
        let (even, odd) = pair.split_at_mut(lanes);
        for (even, odd) in even.iter_mut().zip(odd) {
            *even = max(*even, *odd ^ 1);
            *odd = *even ^ 1;
        }
    }
}

/// Returns the larger of two numbers below `2^31`, without a branch.
fn max(a: u32, b: u32) -> u32 {
    let difference = a.wrapping_sub(b);
    a.wrapping_sub(difference & ((difference as i32) >> 31) as u32)
}

/// Returns the inverse of a permutation of `0..n`, computed by one oblivious sort, or nothing if the images are not
/// those numbers.
///
/// # Security
/// Time and memory accesses depend on the number of items only, and on whether there is a result.
pub fn inverse(image: &[u32]) -> Option<Vec<u32>> {
    let pairs = image.iter().enumerate();
    let words: Vec<u64> = pairs.map(|(i, &key)| u64::from(key) << 32 | i as u64).collect();
    let mut words = Zeroizing::new(words);
    oblivious_sort(&mut words);
    let keys = words.iter().enumerate();
    let wrong = keys.fold(0, |wrong, (position, word)| wrong | (word >> 32) ^ position as u64);
    (wrong == 0).then(|| words.iter().map(|&word| word as u32).collect())
}

/// Returns a uniformly random permutation of `0..items`; `draw` fills a slice with random words.
///
/// Sorts the indices by random keys of 96 bits. If two keys are equal, which happens with probability
/// below `(2^24)^2 / 2 / 2^96 = 2^-49`, all keys are drawn again: so the result is exactly
/// uniform if the words are, and the event tells nothing about it.
///
/// # Security
/// Time and memory accesses depend on the number of items only, apart from the event above.
///
/// # Panics
/// If `items` exceeds [`ITEMS_MAX`].
pub fn random_permutation(items: usize, draw: &mut dyn FnMut(&mut [u64])) -> Vec<u32> {
    assert!(items as u64 <= ITEMS_MAX, "a permutation has at most {ITEMS_MAX} items");
    let mut random = Zeroizing::new(vec![0; 2 * items]);
    loop {
        draw(&mut random);
        let keys = random.chunks_exact(2).map(|key| u128::from(key[0]) << 64 | u128::from(key[1]));
        let words: Vec<u128> =
            keys.enumerate().map(|(i, key)| key >> 32 << 32 | i as u128).collect();
        let mut words = Zeroizing::new(words);
        sort_lanes(&mut words, 1);
        // No early exit: where the equal keys are stays secret.
        let neighbours = words.windows(2);
        let equal = neighbours.fold(false, |equal, pair| equal | ((pair[0] ^ pair[1]) >> 32 == 0));
        if !equal {
            return words.iter().map(|&word| word as u32).collect();
        }
    }
}

/// Sorts in ascending order with Batcher's odd-even merge sort (K. E. Batcher, "Sorting networks and
/// their applications", AFIPS 1968), for any number of values.
///
/// A number `n = 2^w` of values takes `(w^2 - w + 4) * n / 4 - 1` comparators.
///
/// # Security
/// Time and memory accesses depend on the number of values only.
pub fn oblivious_sort(values: &mut [u64]) {
    sort_lanes(values, 1);
}

/// Sorts each of `lanes` interleaved sequences of equal length.
///
/// Numbers of rows other than powers of two drop the comparators that reach beyond the end, as if
/// larger values stood there.
fn sort_lanes<W: Word>(values: &mut [W], lanes: usize) {
    let rows = values.len() / lanes;
    if rows < 2 {
        return;
    }
    let half = rows.next_power_of_two() / 2 * lanes;
    let (low, high) = values.split_at_mut(half);
    sort_lanes(low, lanes);
    sort_lanes(high, lanes);

    // Merge: rows at distance `half`, then odd runs with the even runs after them.
    let (low, high) = values.split_at_mut(half);
    exchange(low, high);
    let mut run = half / 2;
    while run >= lanes {
        match run {
            1 => exchange_runs::<W, 1>(&mut values[1..]),
            2 => exchange_runs::<W, 2>(&mut values[2..]),
            4 => exchange_runs::<W, 4>(&mut values[4..]),
            _ => {
                for pair in values[run..].chunks_mut(2 * run) {
                    let (low, high) = pair.split_at_mut(run.min(pair.len()));
                    exchange(low, high);
                }
            }
        }
        run /= 2;
    }
}

/// Compare-exchanges neighbouring runs of `RUN` values, as a loop of known length.
fn exchange_runs<W: Word, const RUN: usize>(values: &mut [W]) {
    let mut pairs = values.chunks_exact_mut(2 * RUN);
    for pair in &mut pairs {
        let (low, high) = pair.split_at_mut(RUN);
        for i in 0..RUN {
            W::exchange(&mut low[i], &mut high[i]);
        }
    }
    let rest = pairs.into_remainder();
    let (low, high) = rest.split_at_mut(RUN.min(rest.len()));
    exchange(low, high);
}

/// Compare-exchanges values at equal places; a rest without a partner stays.
fn exchange<W: Word>(low: &mut [W], high: &mut [W]) {
    for (low, high) in low.iter_mut().zip(high) {
        W::exchange(low, high);
    }
}

/// Unsigned integer that is compared as a whole and packs three fields, the first on top.
trait Word: Copy + Zeroize {
    /// Packs fields of `width` bits each.
    fn pack(fields: [u32; 3], width: u32) -> Self;

    fn unpack(self, width: u32) -> [u32; 3];

    /// Sorts two values, without a branch.
    fn exchange(low: &mut Self, high: &mut Self);
}

macro_rules! word {
    ($unsigned:ty, $signed:ty) => {
        impl Word for $unsigned {
            #[inline(always)]
            fn pack([top, middle, bottom]: [u32; 3], width: u32) -> Self {
                let [top, middle, bottom] = [top.into(), middle.into(), Self::from(bottom)];
                (top << width | middle) << width | bottom
            }

            #[inline(always)]
            fn unpack(self, width: u32) -> [u32; 3] {
                let mask = (1u32 << width) - 1;
                [(self >> (2 * width)) as u32, (self >> width) as u32 & mask, self as u32 & mask]
            }

            #[inline(always)]
            fn exchange(low: &mut Self, high: &mut Self) {
                let (a, b) = (*low, *high);
                // The top bit is the borrow of b - a: 1 if b < a.
                let both = a ^ b;
                let borrow = b ^ (both | (b.wrapping_sub(a) ^ a));
                let difference = both & (borrow as $signed >> (Self::BITS - 1)) as Self;
                *low = a ^ difference;
                *high = b ^ difference;
            }
        }
    };
}

word!(u32, i32);
word!(u64, i64);
word!(u128, i128);
