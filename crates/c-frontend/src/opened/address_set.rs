//! Addresses that differ between ways and turns of the run time: one of a few that are known when
//! the program is planned, and carried as its number among them.
//!
//! Where it is taken up again it is an address that is chosen (`chosen.rs`), by whether the number
//! is this one. LLVM makes such addresses itself: of `for (...) a = *p` the one that is read last.
//!
//! Cost: a register, or 8 bits of a secret; of `n` addresses a read takes `n - 1` choices.

use std::rc::Rc;

use crate::access::chosen::is_address;
use crate::access::indexed::gcd;
use crate::data::{Data, Indexed, mask};
use crate::interpreter::{Machine, Stop};
use crate::ir::{Binary, Compare, Unary};
use crate::memory::Log;
use crate::opened::merge::{Carrier, Nature};

/// Addresses that one may be of.
const ADDRESSES_MAX: usize = 64;

/// Bits of a secret number of one.
const NUMBER_BITS: u16 = 8;
const _: () = assert!(ADDRESSES_MAX <= 1 << NUMBER_BITS);

/// As wide as a register.
const REGISTER_BITS: u16 = phineus_bytecode::limits::REGISTER_BITS;

/// The remedy where a function is not known.
pub(crate) const CALL_BY_NAME: &str =
    "call each by its name in a branch: `if (c) f(x); else g(x);`, or `switch`";

/// Whether it is in memory whole or not at all.
fn stays_whole(data: &Data) -> bool {
    is_address(data) || matches!(data, Data::Function(_))
}

/// Whether all parties know it when the program runs.
fn is_public(data: &Data) -> bool {
    matches!(data, Data::Opened(_) | Data::Public(_))
}

/// Places in objects, and the null pointer, each once.
pub(crate) type Addresses = Rc<[Data]>;

impl Machine<'_> {
    /// The addresses that this may be, and whether a secret says which.
    pub(crate) fn addresses(&self, data: &Data) -> Option<(Addresses, bool)> {
        match data {
            Data::Pointer(..) | Data::Public(0) => Some((Rc::new([data.clone()]), false)),
            Data::Indexed(indexed) => {
                let is_secret = !indexed.terms.iter().all(|term| is_public(&term.index));
                Some((self.places(indexed)?.into(), is_secret))
            }
            Data::Chosen(choices) => {
                let mut is_secret = !choices.iter().all(|(bit, _)| is_public(bit));
                let mut meant: Vec<Data> = Vec::new();
                for (_, place) in choices.iter().filter(|(_, place)| self.may_be_meant(place)) {
                    let (own, also) = self.addresses(place)?;
                    is_secret |= also;
                    let new =
                        own.iter().filter(|one| !meant.iter().any(|known| known.is_same(one)));
                    let new: Vec<Data> = new.cloned().collect();
                    meant.extend(new);
                }
                (!meant.is_empty()).then(|| (meant.into(), is_secret))
            }
            _ => None,
        }
    }

    /// All places in an object that indices can mean, and just behind it, if they are few.
    fn places(&self, indexed: &Indexed) -> Option<Vec<Data>> {
        let strides = indexed.terms.iter().map(|term| term.stride.unsigned_abs());
        let stride = strides.fold(0, gcd).max(1) as i64;
        let size = self.memory.object(indexed.object).size as i64;
        let (first, count) = match indexed.terms.as_slice() {
            [term] if term.bound.is_some() && term.stride > 0 => {
                (indexed.offset, term.bound.unwrap_or_default() as i64)
            }
            _ => {
                let first = indexed.offset.rem_euclid(stride);
                (first, (size - first).div_euclid(stride) + 1)
            }
        };
        let place = |k: i64| Data::Pointer(indexed.object, first + k * stride);
        (1..=ADDRESSES_MAX as i64).contains(&count).then(|| (0..count).map(place).collect())
    }

    /// The same address as a choice between places that are known, where it is one at an index.
    fn spelt_out(&mut self, data: &Data) -> Result<Data, Stop> {
        match data {
            Data::Indexed(indexed) => {
                let size = self.memory.object(indexed.object).size;
                let bits = 64 - size.leading_zeros() as u16;
                let (places, number) = (self.places(indexed), self.number(data)?);
                let (Some(places), Some((_, number))) = (places, number) else {
                    return Ok(data.clone());
                };
                let low = self.unary(Unary::Truncate, 64, bits, &number)?;
                let mut choices = Vec::with_capacity(places.len());
                for place in places {
                    let Data::Pointer(_, at) = place else { continue };
                    let at = Data::Public(at as u128 & mask(bits));
                    choices.push((self.compare(Compare::Eq, bits, &low, &at)?, place));
                }
                Ok(Data::Chosen(choices.into()))
            }
            Data::Chosen(choices) => {
                let mut all = Vec::with_capacity(choices.len());
                for (bit, place) in choices.iter() {
                    match self.spelt_out(place)? {
                        Data::Chosen(inner) => {
                            for (own, place) in inner.iter() {
                                all.push((self.binary(Binary::And, 1, bit, own)?, place.clone()));
                            }
                        }
                        place => all.push((bit.clone(), place)),
                    }
                }
                Ok(Data::Chosen(all.into()))
            }
            data => Ok(data.clone()),
        }
    }

    /// Whether a program may have this address: inside an object, or just behind it.
    fn may_be_meant(&self, place: &Data) -> bool {
        match place {
            Data::Pointer(object, at) => self.memory.check(*object, *at, 0).is_ok(),
            _ => true,
        }
    }

    /// One of the addresses of both.
    pub(crate) fn either_address(&self, a: &Nature, b: &Nature) -> Option<Nature> {
        let of = |nature: &Nature| match nature {
            Nature::Address(addresses, is_secret) => Some((addresses.clone(), *is_secret)),
            Nature::Known(data) => self.addresses(data),
            Nature::Opened | Nature::Secret => None,
        };
        let ((a, is_secret), (b, also)) = (of(a)?, of(b)?);
        let mut all = a.to_vec();
        for address in b.iter() {
            if !all.iter().any(|known| known.is_same(address)) {
                all.push(address.clone());
            }
        }
        let is_new = all.len() > a.len();
        let all = if is_new { all.into() } else { a };
        (all.len() <= ADDRESSES_MAX).then_some(Nature::Address(all, is_secret || also))
    }

    /// Gives a carrier, new or known, the number of what one way leaves.
    pub(crate) fn bring_address(
        &mut self,
        addresses: &Addresses,
        is_secret: bool,
        data: &Data,
        known: Option<&Carrier>,
    ) -> Result<Carrier, Stop> {
        let known = match known {
            Some(Carrier::Address(_, known)) => Some(known.as_ref()),
            _ => None,
        };
        let width = if is_secret { NUMBER_BITS } else { REGISTER_BITS };
        let number = self.number_among(addresses, data, width)?;
        let carrier = match is_secret {
            true => Carrier::Variable(self.bring_variable(&[number], width, known)),
            false => Carrier::Register(self.bring_register(&number, known)),
        };
        Ok(Carrier::Address(addresses.clone(), Box::new(carrier)))
    }

    /// Which of the addresses it is; the first where it is none, which no program means.
    pub(crate) fn number_among(
        &mut self,
        addresses: &Addresses,
        data: &Data,
        width: u16,
    ) -> Result<Data, Stop> {
        let position = |place: &Data| {
            let found = addresses.iter().position(|known| known.is_same(place));
            Data::Public(found.unwrap_or(0) as u128)
        };
        let Data::Chosen(choices) = self.spelt_out(data)? else { return Ok(position(data)) };
        let mut number = Data::Public(0);
        for (bit, place) in choices.iter() {
            let own = self.select(bit, &position(place), &Data::Public(0), width)?;
            number = self.binary(Binary::Or, width, &number, &own)?;
        }
        Ok(number)
    }

    /// Refuses what differs between ways and cannot be carried as an address's number.
    pub(crate) fn address_differs(&mut self, ways: &[Data]) -> Result<Data, Stop> {
        let has = |is: fn(&Data) -> bool| ways.iter().any(is);
        if has(|data| matches!(data, Data::Function(_))) {
            return self.error(
                "which function this is depends on what is opened when the program runs",
                CALL_BY_NAME,
            );
        }
        if has(Data::is_secret) {
            return self.error(
                "what is opened when the program runs decides whether this is an address",
                "keep addresses and integers in variables or fields of their own",
            );
        }
        self.error(
            "which address this is depends on what is opened when the program runs, and there are \
             too many",
            "use an index into one array instead of addresses, of which there may be 64",
        )
    }

    /// What begins in a cell in each of two logs; beside an address smaller values, such as the zeros
    /// of a structure that was cleared, are taken as one.
    pub(crate) fn entries(
        &mut self,
        logs: [&Log; 2],
        object: u32,
        index: u32,
    ) -> Result<[Option<(Data, u32)>; 2], Stop> {
        let mut found = logs.map(|log| self.memory.entry(log, object, index));
        for (one, other) in [(0, 1), (1, 0)] {
            let cells = match (&found[one], &found[other]) {
                (Some((data, n)), Some((_, m))) if n > m && stays_whole(data) => *n,
                _ => continue,
            };
            if let Some(data) = self.as_one(logs[other], object, (index, cells))? {
                found[other] = Some((data, cells));
            }
        }
        Ok(found)
    }

    /// The values in so many cells as one; `None` where one lies across their end.
    fn as_one(
        &mut self,
        log: &Log,
        object: u32,
        (first, cells): (u32, u32),
    ) -> Result<Option<Data>, Stop> {
        let granule = self.memory.object(object).granule;
        let (mut parts, mut at) = (Vec::new(), first);
        while at < first + cells {
            let Some((data, own)) = self.memory.entry(log, object, at) else { return Ok(None) };
            parts.push((data, (u64::from(at) * granule) as i64, (u64::from(own) * granule) as u8));
            at += own;
        }
        if at > first + cells {
            return Ok(None);
        }
        let (offset, bytes) = (u64::from(first) * granule, u64::from(cells) * granule);
        self.join(parts, offset, bytes as u8).map(Some)
    }

    /// The cells of an address that begins in a cell in one of the logs.
    pub(crate) fn address_cells(&self, logs: &[&Log], object: u32, index: u32) -> Option<u32> {
        let entries = logs.iter().filter_map(|log| self.memory.entry(log, object, index));
        entries.filter(|(data, _)| stays_whole(data)).map(|(_, cells)| cells).max()
    }

    /// The address of that number.
    pub(crate) fn address_among(
        &mut self,
        addresses: &Addresses,
        carrier: &Carrier,
    ) -> Result<Data, Stop> {
        let (number, width) = match carrier {
            Carrier::Register(register) => (Data::Opened(*register), REGISTER_BITS),
            Carrier::Variable(variable) => {
                (Data::Secret(Rc::new(self.tracer.get(variable))), NUMBER_BITS)
            }
            Carrier::Address(..) => unreachable!("a number is no address"),
        };
        let mut choices = Vec::with_capacity(addresses.len());
        for (address, at) in addresses.iter().zip(0..) {
            let bit = self.compare(Compare::Eq, width, &number, &Data::Public(at))?;
            choices.push((bit, address.clone()));
        }
        Ok(Data::Chosen(choices.into()))
    }
}
