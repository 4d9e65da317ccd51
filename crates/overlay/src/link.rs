//! [`HostLink`]: the link between host and device, and memory beside the device, as stated numbers. Nothing of it is in
//! the RTL: host ([`LinkedHost`]) and memory of the simulation keep to them, and [`predict`] computes the same without RTL.
//!
//! Each direction carries bytes at its rate, one item after another. An item arrives a latency after its last byte
//! left. The shell of the device has a buffer for each direction: the host sends an item only if the buffer has space
//! for it, and is told of free space at once. Words and labels come in the order in which the device needs them. Rows
//! and results leave in the order in which the device gives them; the host always takes them. A label that the host
//! stored is sent after it has arrived there. If there is memory beside the device, it reads its words from
//! there itself, and stores labels there ([`MemoryTiming`]); the host sends labels of inputs only. Time is counted in cycles of the device, from the first in which the host may send.
//!
//! Not modelled: descriptors, interrupts and writes of registers; packets, whose headers the rates account for; refresh
//! of the memory.

mod host;
mod memory;
mod pipe;
mod prediction;

use std::str::FromStr;

pub use host::{ItemsMoved, LinkedHost, Permits};
pub use memory::MemoryTiming;
pub use prediction::{Bound, Prediction, Stalls, predict};

/// Rates and latency of a link, and of memory beside the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLink {
    /// As it was stated.
    pub name: String,
    /// From the host to the device, in millions of bytes a second.
    pub in_rate: u32,
    /// From the device to the host, in millions of bytes a second.
    pub out_rate: u32,
    /// Latency of each direction.
    pub latency_ns: u32,
    /// Size of the buffer that the shell of the device has for each direction.
    pub buffer_bytes: u32,
    /// Rate of the memory beside the device, which has words and stored labels, for all cells together, in millions of bytes a
    /// second; none if the host has them.
    pub memory_rate: Option<u32>,
}

/// Links with a name: rate of each direction, in millions of bytes a second.
///
/// PCIe Gen3 has 8 GT/s a lane and 128 bits of data in 130, so 8 lanes carry 7,877 MB/s. With headers of packets of 256
/// bytes, acknowledgements and flow control, about 6,500 are left, which measurements of such cards report. The others
/// are multiples of it.
pub const NAMED_LINKS: [(&str, u32); 5] = [
    ("gen3x8", GEN3_X8_RATE),
    ("gen3x16", 2 * GEN3_X8_RATE),
    ("gen4x8", 2 * GEN3_X8_RATE),
    ("gen4x16", 4 * GEN3_X8_RATE),
    ("gen5x16", 8 * GEN3_X8_RATE),
];

/// As [`NAMED_LINKS`].
const GEN3_X8_RATE: u32 = 6500;

/// Latency without another being stated: half of a round trip of a read over PCIe with DMA, 2 µs.
const LATENCY_NS: u32 = 1000;

/// Buffer without another being stated. It hides the latency: Gen5 x16 carries 52,000 bytes in it.
const BUFFER_BYTES: u32 = 64 << 10;

/// Rate of the memory without another being stated: four channels of DDR4-2400, as on an Alveo U200, have 76,800 MB/s;
/// reads in order get about 78 % of them.
pub const MEMORY_RATE: &str = "60gb";

/// Latency of the memory: a burst of DDR with its controller, less than the 180 ns that SIFO measured.
const MEMORY_LATENCY_NS: u32 = 180;

/// Smallest buffer: a word of 16 cells and a label, or a beat of their rows and a result.
const BUFFER_BYTES_MIN: u32 = 1 << 10;

/// Highest rate, in millions of bytes a second.
const RATE_MAX: u32 = 1_000_000;

impl HostLink {
    /// This link, with words in memory beside the device, which gives `rate` million bytes a second.
    pub fn with_memory(self, memory_rate: Option<u32>) -> HostLink {
        HostLink { memory_rate, ..self }
    }

    /// A link of one rate in both directions.
    fn named(name: &str, rate: u32) -> HostLink {
        HostLink {
            name: name.to_owned(),
            in_rate: rate,
            out_rate: rate,
            latency_ns: LATENCY_NS,
            buffer_bytes: BUFFER_BYTES,
            memory_rate: None,
        }
    }
}

impl Default for HostLink {
    /// PCIe Gen3 x8.
    fn default() -> HostLink {
        HostLink::named(NAMED_LINKS[0].0, NAMED_LINKS[0].1)
    }
}

impl FromStr for HostLink {
    type Err = String;

    /// Reads a name, settings such as `in=6.5gb,out=6.5gb,latency=1us,buffer=64kib`, or a name and settings after it.
    fn from_str(text: &str) -> Result<HostLink, String> {
        let (mut link, mut rates) = (HostLink::named(text, 0), [None; 2]);
        for (place, part) in text.split(',').enumerate() {
            let Some((name, value)) = part.split_once('=') else {
                let named = NAMED_LINKS.iter().find(|(name, _)| place == 0 && *name == part);
                let (_, rate) = named.ok_or_else(|| unknown(part))?;
                rates = [Some(*rate); 2];
                continue;
            };
            match name {
                "in" => rates[0] = Some(parse_rate(value)?),
                "out" => rates[1] = Some(parse_rate(value)?),
                "latency" => link.latency_ns = parse_latency(value)?,
                "buffer" => link.buffer_bytes = parse_buffer(value)?,
                _ => return Err(unknown(part)),
            }
        }
        let [Some(in_rate), Some(out_rate)] = rates else {
            return Err(format!("'{text}' does not state both rates: write in=6.5gb,out=6.5gb"));
        };
        Ok(HostLink { in_rate, out_rate, ..link })
    }
}

fn unknown(part: &str) -> String {
    let names: Vec<&str> = NAMED_LINKS.iter().map(|(name, _)| *name).collect();
    format!(
        "'{part}' is no link: write {}, or in=6.5gb,out=6.5gb,latency=1us,buffer=64kib",
        names.join(", ")
    )
}

/// Reads a rate a second, such as `6.5gb` or `800mb`; returns millions of bytes.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn parse_rate(text: &str) -> Result<u32, String> {
    let rate = parse_number(text, &[("gb", 1000), ("mb", 1)]);
    let rate = rate.filter(|rate| (1..=RATE_MAX).contains(rate));
    rate.ok_or_else(|| {
        format!("'{text}' is no rate in bytes a second from 1mb to 1000gb, such as 6.5gb")
    })
}

fn parse_latency(text: &str) -> Result<u32, String> {
    let latency = parse_number(text, &[("us", 1000), ("ns", 1)]).filter(|&ns| ns <= 1_000_000);
    latency.ok_or_else(|| format!("'{text}' is no latency from 0ns to 1000us, such as 1us"))
}

fn parse_buffer(text: &str) -> Result<u32, String> {
    let bytes = parse_number(text, &[("kib", 1 << 10), ("mib", 1 << 20)]);
    let bytes = bytes.filter(|bytes| (BUFFER_BYTES_MIN..=1 << 30).contains(bytes));
    bytes.ok_or_else(|| format!("'{text}' is no buffer from 1kib to 1024mib, such as 64kib"))
}

/// A number of at most three decimals with one of some units, in the smallest of them; none if it is no whole number of
/// it.
fn parse_number(text: &str, units: &[(&str, u32)]) -> Option<u32> {
    let lower = text.to_ascii_lowercase();
    let (digits, factor) =
        units.iter().find_map(|(unit, factor)| Some((lower.strip_suffix(unit)?, *factor)))?;
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 3 || !is_number(whole) || !is_number(decimals) {
        return None;
    }
    let thousandths: u64 = format!("{whole}{decimals:0<3}").parse().ok()?;
    let value = thousandths.checked_mul(factor.into())?;
    (value % 1000 == 0).then_some(value / 1000).and_then(|value| u32::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read() {
        let parse = |text: &str| text.parse::<HostLink>();
        assert_eq!(parse("gen3x8"), Ok(HostLink::default()));
        let own = parse("in=6.5gb,out=800mb,latency=2us,buffer=4kib").expect("it is right");
        let numbers = (own.in_rate, own.out_rate, own.latency_ns, own.buffer_bytes);
        assert_eq!(numbers, (6500, 800, 2000, 4096));
        let own = parse("gen4x16,latency=500ns,out=1gb").expect("it is right");
        assert_eq!((own.in_rate, own.out_rate, own.latency_ns), (26_000, 1000, 500));
        for wrong in [
            "",
            "gen9",
            "in=1gb",
            "in=1gb,out=1",
            "in=1.0005mb,out=1gb",
            "gen3x8,gen3x16",
            "gen3x8,latency=1s",
            "gen3x8,buffer=1",
            "gen3x8,in=0gb",
            "gen3x8,speed=1gb",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
