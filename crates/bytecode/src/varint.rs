//! Variable-length integers: 7 bits a byte, least significant first, high bit set but in the last.

/// The high bit of each byte.
const CONTINUES: u64 = 0x8080_8080_8080_8080;

/// Appends `value`.
#[inline]
pub fn write(bytes: &mut Vec<u8>, value: u64) {
    if value < 0x80 {
        bytes.push(value as u8);
    } else if value < 1 << 56 {
        // Spreads 8 groups of 7 bits over 8 bytes: halves, quarters, eighths.
        let mut spread = (value & 0x0fff_ffff) | (value & 0xff_ffff_f000_0000) << 4;
        spread = (spread & 0x0000_3fff_0000_3fff) | (spread & 0x0fff_c000_0fff_c000) << 2;
        spread = (spread & 0x007f_007f_007f_007f) | (spread & 0x3f80_3f80_3f80_3f80) << 1;
        let length = (63 - value.leading_zeros() as usize) / 7 + 1;
        spread |= CONTINUES & ((1 << (8 * (length - 1))) - 1);
        // Eight bytes at once and then cut: a copy of fixed length is one store.
        bytes.extend_from_slice(&spread.to_le_bytes());
        bytes.truncate(bytes.len() - 8 + length);
    } else {
        write_long(bytes, value);
    }
}

#[cold]
fn write_long(bytes: &mut Vec<u8>, mut value: u64) {
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
    let Some(&eight) = bytes.first_chunk::<8>() else {
        return read_long(bytes);
    };
    let word = u64::from_le_bytes(eight);
    let last = !word & CONTINUES;
    if last == 0 {
        return read_long(bytes);
    }
    // `last ^ (last - 1)` keeps the bytes up to the first without a high bit; then their 7 bits
    // each are joined to 14, 28 and 56.
    let mut value = word & (last ^ (last - 1)) & !CONTINUES;
    value = (value & 0x007f_007f_007f_007f) | (value & 0x7f00_7f00_7f00_7f00) >> 1;
    value = (value & 0x0000_3fff_0000_3fff) | (value & 0x3fff_0000_3fff_0000) >> 2;
    value = (value & 0x0fff_ffff) | (value & 0x0fff_ffff_0000_0000) >> 4;
    *bytes = &bytes[last.trailing_zeros() as usize / 8 + 1..];
    Some(value)
}

#[cold]
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
        /// All lengths equally often, read with and without bytes after it, against a plain loop.
        #[test]
        fn round_trip(
            random: u64,
            bits in 0..65u32,
            tail in prop::collection::vec(any::<u8>(), 0..12),
        ) {
            let value = random.checked_shr(64 - bits).unwrap_or(0);
            let (mut bytes, mut plain) = (vec![9], vec![9]);
            super::write(&mut bytes, value);
            super::write_long(&mut plain, value);
            prop_assert_eq!(&bytes, &plain);
            bytes.extend(&tail);
            let (mut rest, mut plain) = (&bytes[1..], &bytes[1..]);
            prop_assert_eq!(super::read(&mut rest), Some(value));
            prop_assert_eq!(super::read_long(&mut plain), Some(value));
            prop_assert_eq!(rest, tail.as_slice());
            prop_assert_eq!(rest, plain);
            prop_assert_eq!(super::unzigzag(super::zigzag(value)), value);
        }

        #[test]
        fn garbage_is_refused_or_read(bytes: Vec<u8>) {
            let (mut rest, mut plain) = (bytes.as_slice(), bytes.as_slice());
            prop_assert_eq!(super::read(&mut rest), super::read_long(&mut plain));
            prop_assert_eq!(rest, plain);
        }
    }
}
