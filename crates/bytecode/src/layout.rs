//! [`Layout`]: how much memory a value takes.

use serde::{Deserialize, Serialize};

use crate::instruction::{Shape, Sharing};
use crate::limits::{PARTIES_MAX, VALUE_WIRES_MAX};

/// How values lie in memory.
///
/// The planner counts memory in *units*, whose bytes the protocol states. What a unit holds is the
/// protocol's matter; how many units a value takes is decided here, for planner, checker, verifier
/// and engine alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Layout {
    /// A unit is a wire: one bit of one lane.
    #[default]
    Wires,
    /// A unit is 16 bytes of shares.
    ///
    /// XOR shares: a row for each bit, the lanes packed into whole bytes. Additive shares: 1, 2, 4
    /// or 8 bytes a lane, the least that holds the width. Garbled sharing: for each wire one key of
    /// 16 bytes of every party.
    Shares {
        /// How many parties share.
        parties: u16,
    },
    /// A unit is 16 bytes of authenticated shares.
    ///
    /// Arithmetic sharing: an element for each lane. Otherwise: an element for each bit of each
    /// lane, bit-major. For each element a share of it and one of its MAC.
    Authenticated {
        /// Bytes of an element of the field: 4, 8 or 16.
        element_bytes: u16,
    },
}

impl From<Layout> for String {
    fn from(layout: Layout) -> String {
        match layout {
            Layout::Wires => "wires".to_owned(),
            Layout::Shares { parties } => format!("shares/{parties}"),
            Layout::Authenticated { element_bytes } => format!("authenticated/{element_bytes}"),
        }
    }
}

impl TryFrom<String> for Layout {
    type Error = String;

    fn try_from(text: String) -> Result<Layout, String> {
        if text == "wires" {
            return Ok(Layout::Wires);
        }
        let bytes = text.strip_prefix("authenticated/").and_then(|bytes| bytes.parse().ok());
        if let Some(element_bytes @ (4 | 8 | 16)) = bytes {
            return Ok(Layout::Authenticated { element_bytes });
        }
        let parties = text.strip_prefix("shares/").and_then(|parties| parties.parse().ok());
        match parties {
            Some(parties) if parties > 0 && usize::from(parties) <= PARTIES_MAX => {
                Ok(Layout::Shares { parties })
            }
            _ => Err(format!(
                "'{text}' is no layout: wires, shares/N for N parties, or authenticated/4, /8 or /16"
            )),
        }
    }
}

/// Bytes of a unit of shares.
pub const SHARE_UNIT_BYTES: usize = 16;

impl Layout {
    /// Units that a value of this shape takes.
    #[inline]
    pub fn units(self, shape: Shape) -> u32 {
        let unit = SHARE_UNIT_BYTES as u32;
        match self {
            Layout::Wires => shape.wires(),
            Layout::Shares { parties } => match shape.sharing {
                Sharing::Garbled => shape.wires() * u32::from(parties),
                _ => (share_bytes(shape) as u32).div_ceil(unit),
            },
            Layout::Authenticated { element_bytes } => {
                (element_count(shape) * 2 * u32::from(element_bytes)).div_ceil(unit)
            }
        }
    }

    /// Units of the largest value that there is.
    pub fn units_max(self) -> u64 {
        match self {
            Layout::Wires => u64::from(VALUE_WIRES_MAX),
            Layout::Shares { parties } => u64::from(VALUE_WIRES_MAX) * u64::from(parties),
            Layout::Authenticated { element_bytes } => {
                let bytes = u64::from(VALUE_WIRES_MAX) * 2 * u64::from(element_bytes);
                bytes / SHARE_UNIT_BYTES as u64
            }
        }
    }
}

/// Elements of a field that a value in authenticated shares has.
pub const fn element_count(shape: Shape) -> u32 {
    match shape.sharing {
        Sharing::Arithmetic => shape.lanes,
        _ => shape.wires(),
    }
}

/// Bytes of one lane of `width` bits in arithmetic sharing.
pub const fn ring_bytes(width: u16) -> usize {
    (width as usize).div_ceil(8).next_power_of_two()
}

/// Bytes of a value in arithmetic or Boolean sharing, its last unit not filled up.
pub const fn share_bytes(shape: Shape) -> usize {
    match shape.sharing {
        Sharing::Arithmetic => ring_bytes(shape.width) * shape.lanes as usize,
        _ => shape.width as usize * (shape.lanes as usize).div_ceil(8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_by_hand() {
        let shares = Layout::Shares { parties: 3 };
        let shape = |width, lanes, sharing| Shape { width, lanes, sharing };
        assert_eq!(Layout::Wires.units(Shape::new(32, 5)), 160);
        assert_eq!(shares.units(shape(32, 9, Sharing::Boolean)), 4);
        assert_eq!(shares.units(shape(1, 1, Sharing::Boolean)), 1);
        assert_eq!(shares.units(shape(17, 5, Sharing::Arithmetic)), 2);
        assert_eq!(shares.units(shape(17, 5, Sharing::Garbled)), 255);
        assert_eq!(shares.units_max(), 3 * 4096);
        let authenticated = Layout::Authenticated { element_bytes: 4 };
        assert_eq!(authenticated.units(shape(17, 5, Sharing::Arithmetic)), 3);
        assert_eq!(authenticated.units(shape(17, 5, Sharing::Boolean)), 43);
        assert_eq!(authenticated.units_max(), 2048);
    }

    #[test]
    fn text_form() {
        let authenticated = Layout::Authenticated { element_bytes: 8 };
        for layout in [Layout::Wires, Layout::Shares { parties: 16 }, authenticated] {
            assert_eq!(Layout::try_from(String::from(layout)), Ok(layout));
        }
        for wrong in ["", "shares", "shares/0", "shares/99", "wires/2", "authenticated/5"] {
            assert!(Layout::try_from(wrong.to_owned()).is_err());
        }
    }
}
