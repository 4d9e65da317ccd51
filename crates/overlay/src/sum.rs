//! [`Sum`]: a XOR of values, as an operation of the cell can have it.

/// XOR of at most three values, and possibly the constant 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    length: u8,
    is_not: bool,
    values: [u32; 3],
}

impl Sum {
    /// The sum of at most three different values.
    pub(crate) fn of(values: &[u32], is_not: bool) -> Sum {
        let mut sum = Sum { length: values.len() as u8, is_not, values: [0; 3] };
        sum.values[..values.len()].copy_from_slice(values);
        sum
    }

    pub(crate) fn one(value: u32) -> Sum {
        Sum { length: 1, is_not: false, values: [value, 0, 0] }
    }

    /// The values.
    pub fn values(&self) -> &[u32] {
        &self.values[..usize::from(self.length)]
    }

    /// Whether the sum is complemented.
    pub fn is_not(&self) -> bool {
        self.is_not
    }

    pub(crate) fn not_if(mut self, is_not: bool) -> Sum {
        self.is_not ^= is_not;
        self
    }

    /// `self ^ other`, if at most three values are left.
    pub(crate) fn plus(mut self, other: &Sum) -> Option<Sum> {
        for &value in other.values() {
            // A full sum may yet shrink, but that is too rare to look for.
            self.length = toggle(&mut self.values, self.length.into(), value)? as u8;
        }
        self.is_not ^= other.is_not;
        Some(self)
    }
}

/// Adds a value to the first `count`, or takes it out if it is there; returns how many there are, if there is space.
fn toggle(values: &mut [u32], count: usize, value: u32) -> Option<usize> {
    match values[..count].iter().position(|&own| own == value) {
        Some(place) => {
            values[place] = values[count - 1];
            Some(count - 1)
        }
        None => {
            *values.get_mut(count)? = value;
            Some(count + 1)
        }
    }
}

/// A XOR of two sums, which may be too long for one.
pub(crate) struct Terms {
    count: usize,
    is_not: bool,
    values: [u32; 6],
}

impl Terms {
    pub(crate) fn of(x: &Sum, y: &Sum) -> Terms {
        let mut terms = Terms { count: 0, is_not: false, values: [0; 6] };
        terms.add(x);
        terms.add(y);
        terms
    }

    pub(crate) fn values(&self) -> &[u32] {
        &self.values[..self.count]
    }

    /// Adds a sum whose values are among these, or with which at most six are left. A value cancels itself.
    pub(crate) fn add(&mut self, sum: &Sum) {
        self.is_not ^= sum.is_not;
        for &value in sum.values() {
            self.count = toggle(&mut self.values, self.count, value).expect("at most six are left");
        }
    }

    /// The sum, if at most three values are left.
    pub(crate) fn into_sum(self) -> Option<Sum> {
        let mut values = [0; 3];
        values.get_mut(..self.count)?.copy_from_slice(self.values());
        Some(Sum { length: self.count as u8, is_not: self.is_not, values })
    }
}
