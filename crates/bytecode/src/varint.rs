//! Variable-length integers: 7 bits a byte, least significant first, high bit set but in the last.

/// Appends `value`.
#[inline]
pub fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes an integer off the front of `bytes`; `None` if it is cut off or longer than 64 bits.
#[inline]
pub fn read(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        *bytes = rest;
        return Some(u64::from(first));
    }
    read_long(bytes)
}

fn read_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for index in 0..10 {
        let byte = *bytes.get(index)?;
        let part = u64::from(byte & 0x7f);
        if index == 9 && part > 1 {
            return None;
        }
        value |= part << (7 * index);
        if byte < 0x80 {
            *bytes = &bytes[index + 1..];
            return Some(value);
        }
    }
    None
}

/// Maps small negative and positive differences to small integers.
#[inline]
pub fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(value: u64, tail: u8) {
            let mut bytes = Vec::new();
            super::write(&mut bytes, value);
            bytes.push(tail);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(super::read(&mut rest), Some(value));
            prop_assert_eq!(rest, &[tail]);
            prop_assert_eq!(super::unzigzag(super::zigzag(value)), value);
        }

        #[test]
        fn garbage_is_refused_or_read(bytes: Vec<u8>) {
            let mut rest = bytes.as_slice();
            let _ = super::read(&mut rest);
            prop_assert!(rest.len() <= bytes.len());
        }
    }
}
