//! Addresses that differ between paths and iterations at run time: one of a few that are known when
//! the program is planned, carried as its number among them.
//!
//! Where it is taken up again it is an address that is chosen (`evaluate/addresses.rs`), by whether
//! the number is this one. LLVM makes such addresses itself: of `for (...) a = *p` the one that is
//! read last.
//!
//! Cost: a register, or 8 bits of a secret; of `n` addresses a read takes `n - 1` choices.

use std::rc::Rc;

use crate::access::MemoryModel;
use crate::access::indexed::gcd;
use crate::carried::nature::{Addresses, Carrier, Nature};
use crate::data::{Data, Indexed, mask};
use crate::evaluate::report::Stop;
use crate::ir::{Binary, Compare, Unary};

/// Addresses that one may be of.
const ADDRESSES_MAX: usize = 64;

/// Bits of a secret number of one.
const NUMBER_BITS: u16 = 8;

/// As wide as a register.
pub(crate) const REGISTER_BITS: u16 = phineus_bytecode::limits::REGISTER_BITS;

/// Whether all parties know it when the program runs.
pub(crate) fn is_public(data: &Data) -> bool {
    matches!(data, Data::Opened(_) | Data::Public(_))
}

const _: () = assert!(ADDRESSES_MAX <= 1 << NUMBER_BITS);

impl MemoryModel {
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

    /// Returns an address with an index as a choice between known places.
    fn spelt_out(&mut self, data: &Data) -> Result<Data, Stop> {
        match data {
            Data::Indexed(indexed) => {
                let size = self.memory.object(indexed.object).size;
                let bits = 64 - size.leading_zeros() as u16;
                let (places, number) = (self.places(indexed), self.values.number(data)?);
                let (Some(places), Some((_, number))) = (places, number) else {
                    return Ok(data.clone());
                };
                let low = self.values.unary(Unary::Truncate, 64, bits, &number)?;
                let mut choices = Vec::with_capacity(places.len());
                for place in places {
                    let Data::Pointer(_, at) = place else { continue };
                    let at = Data::Public(at as u128 & mask(bits));
                    choices.push((self.values.compare(Compare::Eq, bits, &low, &at)?, place));
                }
                Ok(Data::Chosen(choices.into()))
            }
            Data::Chosen(choices) => {
                let mut all = Vec::with_capacity(choices.len());
                for (bit, place) in choices.iter() {
                    match self.spelt_out(place)? {
                        Data::Chosen(inner) => {
                            for (own, place) in inner.iter() {
                                all.push((
                                    self.values.binary(Binary::And, 1, bit, own)?,
                                    place.clone(),
                                ));
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

    /// Gives a carrier, new or known, the number of what one path leaves.
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
            true => Carrier::Variable(self.values.emit.bring_variable(&[number], width, known)),
            false => Carrier::Register(self.values.emit.bring_register(&number, known)),
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
            let own = self.values.select(bit, &position(place), &Data::Public(0), width)?;
            number = self.values.binary(Binary::Or, width, &number, &own)?;
        }
        Ok(number)
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
                (Data::Secret(Rc::new(self.values.emit.tracer.get(variable))), NUMBER_BITS)
            }
            Carrier::Address(..) => unreachable!("a number is no address"),
        };
        let mut choices = Vec::with_capacity(addresses.len());
        for (address, at) in addresses.iter().zip(0..) {
            let bit = self.values.compare(Compare::Eq, width, &number, &Data::Public(at))?;
            choices.push((bit, address.clone()));
        }
        Ok(Data::Chosen(choices.into()))
    }
}
