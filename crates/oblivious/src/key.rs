//! [`SortKey`]: the key by which records are compared.

use phineus_frontend::Value;

/// The parts of a record by which it is compared, the most significant first.
#[derive(Clone, Debug)]
pub struct SortKey {
    parts: Vec<SortKeyColumn>,
}

#[derive(Clone, Copy, Debug)]
struct SortKeyColumn {
    column: usize,
    bits: Option<(u16, u16)>,
}

impl SortKey {
    /// Compares by a whole column, signed if its type is.
    pub fn column(column: usize) -> SortKey {
        SortKey { parts: vec![SortKeyColumn { column, bits: None }] }
    }

    /// Compares by the `width` bits from bit `start` of a column, unsigned.
    pub fn bits(column: usize, start: u16, width: u16) -> SortKey {
        SortKey { parts: vec![SortKeyColumn { column, bits: Some((start, width)) }] }
    }

    /// Where this key is equal, compares by `next`.
    pub fn then(mut self, next: SortKey) -> SortKey {
        self.parts.extend(next.parts);
        self
    }

    #[track_caller]
    fn part(part: &SortKeyColumn, record: &[Value]) -> Value {
        let value = &record[part.column];
        match part.bits {
            Some((start, width)) => value.bit_slice(start, width),
            None => value.clone(),
        }
    }

    /// Whether the key of `a` is less than that of `b`, lane by lane.
    ///
    /// One comparison of all parts joined where they fit 256 bits, so `w` ANDs for `w` bits.
    #[track_caller]
    pub fn lt(&self, a: &[Value], b: &[Value]) -> Value {
        let (first, rest) = self.parts.split_first().expect("a key has a part");
        let (high_a, high_b) = (SortKey::part(first, a), SortKey::part(first, b));
        if rest.is_empty() {
            return high_a.lt(&high_b);
        }
        let rest = SortKey { parts: rest.to_vec() };
        if let (Some(all_a), Some(all_b)) = (self.joined(a), self.joined(b)) {
            return all_a.lt(&all_b);
        }
        let (less, equal) = (high_a.lt(&high_b), high_a.eq(&high_b));
        // At most one of the two is 1.
        less.xor(&equal.and(&rest.lt(a, b)))
    }

    /// All parts in one unsigned value, if they fit.
    #[track_caller]
    fn joined(&self, record: &[Value]) -> Option<Value> {
        let parts: Vec<Value> = self.parts.iter().map(|p| SortKey::part(p, record)).collect();
        let width: u32 = parts.iter().map(|part| u32::from(part.width())).sum();
        let signed = parts.iter().any(|part| part.element().is_signed());
        if width > 256 || signed {
            return None;
        }
        parts.into_iter().reduce(|high, low| low.bit_concat(&high))
    }

    /// Whether the keys are equal, lane by lane.
    #[track_caller]
    pub fn eq(&self, a: &[Value], b: &[Value]) -> Value {
        let equal =
            self.parts.iter().map(|part| SortKey::part(part, a).eq(&SortKey::part(part, b)));
        equal.reduce(|all, one| all.and(&one)).expect("a key has a part")
    }
}
