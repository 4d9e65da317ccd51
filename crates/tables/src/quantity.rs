//! Sizes, counts and durations: read strictly, written for people.

use std::time::Duration;

const UNITS: [(&str, u64); 11] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
    ("", 1),
];

/// Reads a size such as `48MiB`, `2GiB`, `1.5GB` or `33554432`.
///
/// # Errors
/// Says how a size is written.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("'{text}' is not a size; write for example 48MiB, 2GiB or 1.5GB");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit).ok_or_else(wrong);
    }
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = number * unit as f64;
    if bytes.is_finite() && bytes < 2f64.powi(63) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// Bytes as people read them: `48.0 MiB`.
pub fn bytes(bytes: u64) -> String {
    let scaled = |unit: u64| bytes as f64 / unit as f64;
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..0x10_0000 => format!("{:.1} KiB", scaled(1 << 10)),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", scaled(1 << 20)),
        0x4000_0000..0x100_0000_0000 => format!("{:.2} GiB", scaled(1 << 30)),
        _ => format!("{:.2} TiB", scaled(1 << 40)),
    }
}

/// A count with a comma between thousands: `1,234,567`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A duration as people read it: `12.3 s`, `4 min 05 s`.
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        s if s < 0.001 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), (s % 3600.0 / 60.0).floor()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_strictly() {
        for (text, expected) in [
            ("48MiB", 48 << 20),
            ("2GiB", 2 << 30),
            ("1.5GB", 1_500_000_000),
            ("32768", 32768),
            ("0B", 0),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for text in ["", "MiB", "48 MiB", "48mib", "-1", "1..2GB", "1e9", "99999999999TiB", "0x10"]
        {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(48 << 20), "48.0 MiB");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(duration(Duration::from_secs(245)), "4 min 05 s");
        assert_eq!(duration(Duration::from_millis(12)), "12 ms");
    }
}
