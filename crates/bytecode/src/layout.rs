//! [`Layout`]: memory that a value takes.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::instruction::{Shape, Sharing};
use crate::limits::{COPIES_MAX, ELEMENT_BYTES_MAX, UNIT_BYTES_MAX, VALUE_UNITS_MAX};
use crate::limits::{VALUE_WIRES_MAX, WIDTH_MAX};

/// Layout of values in memory.
///
/// The planner counts memory in *units*. The protocol constructs the layout of its driver. Planner,
/// checker, verifier and engine use it only to find the number of units of a value.
///
/// In plans it is a text, such as
/// `unit=16 domain=ring arithmetic=ring*1 boolean=rows*1 garbled=wires*3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Layout {
    /// Bytes of a unit.
    pub unit_bytes: u16,
    /// Domain that arithmetic sharing computes in.
    pub domain: Domain,
    /// Size of a value in arithmetic sharing.
    pub arithmetic: ValueSize,
    /// Size of a value in Boolean sharing, or in none.
    pub boolean: ValueSize,
    /// Size of a value in garbled sharing.
    pub garbled: ValueSize,
}

/// Domain of integers in arithmetic sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// Integers modulo 2^w, for values of w bits. The only operations are sums, differences,
    /// products and movements of lanes.
    Ring,
    /// Elements of one field that is larger than the integers of the program. There are more
    /// operations, such as comparisons and conversions of width, and checks that a value is zero.
    Field,
}

/// Size of a value by its shape: `width` bits in each of `lanes` lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueSize {
    /// A fixed number of units for each wire.
    Wires {
        /// Units for a wire.
        units: u16,
    },
    /// For each bit a row of lanes, packed into whole bytes.
    Rows {
        /// Copies of all rows, one after another.
        copies: u16,
    },
    /// For each lane 1, 2, 4, 8, ... bytes, the least that hold the width.
    RingElements {
        /// Copies of all elements, one after another.
        copies: u16,
    },
    /// For each lane an element of a field.
    LaneElements {
        /// Bytes of an element.
        bytes: u16,
        /// Copies of each element.
        copies: u16,
    },
    /// For each wire an element of a field.
    WireElements {
        /// Bytes of an element.
        bytes: u16,
        /// Copies of each element.
        copies: u16,
    },
    /// A fixed number of units, whatever the shape of the value.
    Fixed {
        /// Units for a value.
        units: u32,
    },
}

impl Default for Layout {
    /// One byte for each wire, the layout of the clear driver.
    fn default() -> Layout {
        Layout::wires(1)
    }
}

impl Layout {
    /// One unit for each wire, whatever the sharing.
    pub const fn wires(unit_bytes: u16) -> Layout {
        let wires = ValueSize::Wires { units: 1 };
        Layout {
            unit_bytes,
            domain: Domain::Ring,
            arithmetic: wires,
            boolean: wires,
            garbled: wires,
        }
    }

    /// Units of a value of this shape; at most `u32::MAX`, which exceeds every page.
    #[inline]
    pub const fn units(self, shape: Shape) -> u32 {
        self.size(shape.sharing).units(shape, self.unit_bytes)
    }

    /// Size of values in `sharing`.
    pub const fn size(self, sharing: Sharing) -> ValueSize {
        match sharing {
            Sharing::Arithmetic => self.arithmetic,
            Sharing::Any | Sharing::Boolean => self.boolean,
            Sharing::Garbled => self.garbled,
        }
    }

    /// Units that hold the largest value of any sharing, of programs that state no larger ones.
    pub fn units_max(self) -> u64 {
        let sizes = [self.arithmetic, self.boolean, self.garbled];
        sizes.map(|size| size.units_max(self.unit_bytes)).into_iter().max().unwrap_or(0)
    }

    /// Returns whether arithmetic sharing computes in a field.
    pub fn is_in_field(self) -> bool {
        self.domain == Domain::Field
    }

    /// Returns whether no number of it is out of range.
    fn is_valid(self) -> bool {
        let sizes = [self.arithmetic, self.boolean, self.garbled];
        (1..=UNIT_BYTES_MAX).contains(&self.unit_bytes) && sizes.iter().all(|size| size.is_valid())
    }
}

impl ValueSize {
    /// Units of `unit_bytes` bytes that a value of this shape takes.
    #[inline]
    const fn units(self, shape: Shape, unit_bytes: u16) -> u32 {
        let (bytes, copies) = match self {
            ValueSize::Wires { units } => return shape.wires().saturating_mul(units as u32),
            ValueSize::Fixed { units } => return units,
            ValueSize::Rows { copies } => (row_bytes(shape) as u64, copies),
            ValueSize::RingElements { copies } => {
                (ring_bytes(shape.width) as u64 * shape.lanes as u64, copies)
            }
            ValueSize::LaneElements { bytes, copies } => {
                (shape.lanes as u64 * bytes as u64, copies)
            }
            ValueSize::WireElements { bytes, copies } => {
                (shape.wires() as u64 * bytes as u64, copies)
            }
        };
        let units = (bytes * copies as u64).div_ceil(unit_bytes as u64);
        if units > u32::MAX as u64 { u32::MAX } else { units as u32 }
    }

    /// Units of the largest value; a bound for rows, since no shape has all that they allow.
    fn units_max(self, unit_bytes: u16) -> u64 {
        let wires = u64::from(VALUE_WIRES_MAX);
        let (bytes, copies) = match self {
            ValueSize::Wires { units } => return wires * u64::from(units),
            ValueSize::Fixed { units } => return units.into(),
            // Each row has at most 7 unused bits.
            ValueSize::Rows { copies } => ((wires + 7 * u64::from(WIDTH_MAX)) / 8, copies),
            // A byte for each lane of at most 8 bits; wider lanes take less for each wire.
            ValueSize::RingElements { copies } => (wires, copies),
            ValueSize::LaneElements { bytes, copies }
            | ValueSize::WireElements { bytes, copies } => (wires * u64::from(bytes), copies),
        };
        (bytes * u64::from(copies)).div_ceil(unit_bytes.into())
    }

    fn is_valid(self) -> bool {
        let in_range = |copies| (1..=COPIES_MAX).contains(&copies);
        match self {
            ValueSize::Wires { units: copies }
            | ValueSize::Rows { copies }
            | ValueSize::RingElements { copies } => in_range(copies),
            ValueSize::LaneElements { bytes, copies }
            | ValueSize::WireElements { bytes, copies } => {
                (1..=ELEMENT_BYTES_MAX).contains(&bytes) && in_range(copies)
            }
            ValueSize::Fixed { units } => (1..=VALUE_UNITS_MAX).contains(&units),
        }
    }
}

impl Display for ValueSize {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ValueSize::Wires { units } => write!(f, "wires*{units}"),
            ValueSize::Rows { copies } => write!(f, "rows*{copies}"),
            ValueSize::RingElements { copies } => write!(f, "ring*{copies}"),
            ValueSize::LaneElements { bytes, copies } => write!(f, "lanes/{bytes}*{copies}"),
            ValueSize::WireElements { bytes, copies } => write!(f, "elements/{bytes}*{copies}"),
            ValueSize::Fixed { units } => write!(f, "fixed*{units}"),
        }
    }
}

impl FromStr for ValueSize {
    type Err = ();

    fn from_str(text: &str) -> Result<ValueSize, ()> {
        let (kind, count) = text.split_once('*').ok_or(())?;
        let copies = || count.parse().map_err(|_| ());
        let (kind, bytes) = kind.split_once('/').unwrap_or((kind, ""));
        let bytes = || bytes.parse().map_err(|_| ());
        Ok(match kind {
            "wires" => ValueSize::Wires { units: copies()? },
            "rows" => ValueSize::Rows { copies: copies()? },
            "ring" => ValueSize::RingElements { copies: copies()? },
            "lanes" => ValueSize::LaneElements { bytes: bytes()?, copies: copies()? },
            "elements" => ValueSize::WireElements { bytes: bytes()?, copies: copies()? },
            "fixed" => ValueSize::Fixed { units: count.parse().map_err(|_| ())? },
            _ => return Err(()),
        })
    }
}

impl Display for Layout {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Layout { unit_bytes, domain, arithmetic, boolean, garbled } = self;
        let domain = match domain {
            Domain::Ring => "ring",
            Domain::Field => "field",
        };
        write!(f, "unit={unit_bytes} domain={domain} ")?;
        write!(f, "arithmetic={arithmetic} boolean={boolean} garbled={garbled}")
    }
}

impl From<Layout> for String {
    fn from(layout: Layout) -> String {
        layout.to_string()
    }
}

impl TryFrom<String> for Layout {
    type Error = String;

    fn try_from(text: String) -> Result<Layout, String> {
        // Reading accepts nothing that writing does not produce.
        read(&text).filter(|layout| layout.is_valid() && layout.to_string() == text).ok_or_else(
            || format!("'{text}' is no layout of values of this version: plan the program again"),
        )
    }
}

fn read(text: &str) -> Option<Layout> {
    let mut words = text.split(' ');
    let mut word = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
    Some(Layout {
        unit_bytes: word("unit")?.parse().ok()?,
        domain: match word("domain")? {
            "ring" => Domain::Ring,
            "field" => Domain::Field,
            _ => return None,
        },
        arithmetic: word("arithmetic")?.parse().ok()?,
        boolean: word("boolean")?.parse().ok()?,
        garbled: word("garbled")?.parse().ok()?,
    })
}

/// Bytes of a unit in which protocols on shares count.
pub const SHARE_UNIT_BYTES: usize = 16;

/// Elements of a field that a value has: one for each lane in arithmetic sharing, and one for each
/// wire otherwise.
pub const fn element_count(shape: Shape) -> u32 {
    match shape.sharing {
        Sharing::Arithmetic => shape.lanes,
        Sharing::Any | Sharing::Boolean | Sharing::Garbled => shape.wires(),
    }
}

/// Bytes of an integer of `width` bits in a ring.
pub const fn ring_bytes(width: u16) -> usize {
    (width as usize).div_ceil(8).next_power_of_two()
}

/// Bytes of one copy of a value: in arithmetic sharing as elements of a ring, and otherwise as rows.
pub const fn share_bytes(shape: Shape) -> usize {
    match shape.sharing {
        Sharing::Arithmetic => ring_bytes(shape.width) * shape.lanes as usize,
        Sharing::Any | Sharing::Boolean | Sharing::Garbled => row_bytes(shape),
    }
}

/// Bytes of a value as rows of bits.
const fn row_bytes(shape: Shape) -> usize {
    shape.width as usize * (shape.lanes as usize).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(parties: u16) -> Layout {
        Layout {
            unit_bytes: 16,
            domain: Domain::Ring,
            arithmetic: ValueSize::RingElements { copies: 1 },
            boolean: ValueSize::Rows { copies: 1 },
            garbled: ValueSize::Wires { units: parties },
        }
    }

    fn replicated() -> Layout {
        Layout {
            arithmetic: ValueSize::RingElements { copies: 2 },
            boolean: ValueSize::Rows { copies: 2 },
            ..shared(1)
        }
    }

    fn in_field(bytes: u16) -> Layout {
        let elements = ValueSize::WireElements { bytes, copies: 2 };
        Layout {
            unit_bytes: 16,
            domain: Domain::Field,
            arithmetic: ValueSize::LaneElements { bytes, copies: 2 },
            boolean: elements,
            garbled: elements,
        }
    }

    fn encrypted() -> Layout {
        Layout { arithmetic: ValueSize::Fixed { units: 1 << 16 }, ..Layout::wires(16) }
    }

    #[test]
    fn units_by_hand() {
        let shape = |width, lanes, sharing| Shape { width, lanes, sharing };
        assert_eq!(Layout::wires(1).units(Shape::new(32, 5)), 160);
        let shared = shared(3);
        assert_eq!(shared.units(shape(32, 9, Sharing::Boolean)), 4);
        assert_eq!(shared.units(shape(1, 1, Sharing::Boolean)), 1);
        assert_eq!(shared.units(shape(17, 5, Sharing::Arithmetic)), 2);
        assert_eq!(shared.units(shape(17, 5, Sharing::Garbled)), 255);
        assert_eq!(shared.units_max(), 3 * 4096);
        assert_eq!(replicated().units(shape(17, 5, Sharing::Arithmetic)), 3);
        assert_eq!(replicated().units(shape(1, 9, Sharing::Boolean)), 1);
        assert_eq!(replicated().units(shape(32, 9, Sharing::Boolean)), 8);
        let elements = in_field(4);
        assert_eq!(elements.units(shape(17, 5, Sharing::Arithmetic)), 3);
        assert_eq!(elements.units(shape(17, 5, Sharing::Boolean)), 43);
        assert_eq!(elements.units_max(), 2048);
        assert_eq!(encrypted().units(shape(17, 5, Sharing::Arithmetic)), 1 << 16);
        assert_eq!(encrypted().units_max(), 1 << 16);
    }

    #[test]
    fn no_value_takes_more_than_the_largest() {
        for layout in [Layout::wires(1), shared(3), replicated(), in_field(8), encrypted()] {
            for width in 1..=WIDTH_MAX {
                let lanes_max = VALUE_WIRES_MAX / u32::from(width);
                for lanes in (1..=lanes_max).filter(|n| n % 8 < 2 || *n == lanes_max) {
                    for sharing in [Sharing::Any, Sharing::Arithmetic, Sharing::Garbled] {
                        let units = layout.units(Shape { width, lanes, sharing });
                        assert!(u64::from(units) <= layout.units_max(), "{layout} {width}x{lanes}");
                    }
                }
            }
        }
    }

    #[test]
    fn text_form() {
        for layout in [Layout::wires(1), shared(16), replicated(), in_field(8), encrypted()] {
            assert_eq!(Layout::try_from(String::from(layout)), Ok(layout));
        }
        let right =
            "unit=16 domain=field arithmetic=lanes/8*2 boolean=elements/8*2 garbled=wires*1";
        assert!(Layout::try_from(right.to_owned()).is_ok());
        for (part, wrong) in [
            (right, ""),
            (right, "wires"),
            ("unit=16", "unit=0"),
            ("unit=16", "unit=65535"),
            ("domain=field", "domain=none"),
            ("lanes/8*2", "lanes/8*0"),
            ("lanes/8*2", "lanes/0*2"),
            ("lanes/8*2", "lanes/65535*2"),
            ("lanes/8*2", "lanes*2"),
            ("lanes/8*2", "fixed*0"),
            ("lanes/8*2", "fixed*4294967295"),
            ("wires*1", "wires/4*1"),
            ("wires*1", "wires*65535"),
            ("wires*1", "wires*1 "),
            ("wires*1", "wires*+1"),
        ] {
            let text = right.replace(part, wrong);
            assert!(Layout::try_from(text.clone()).is_err(), "{text}");
        }
    }
}
