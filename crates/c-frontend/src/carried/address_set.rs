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
use crate::carried::nature::{Addresses, CarriedForm, ValueKind};
use crate::data::{CellValue, Indexed, mask};
use crate::evaluate::report::ExecutionStop;
use crate::ir::{Binary, Compare, Unary};

/// Addresses that one may be of.
const ADDRESSES_MAX: usize = 64;

/// Bits of a secret number of one.
const NUMBER_BITS: u16 = 8;

/// As wide as a register.
pub(crate) const REGISTER_BITS: u16 = phineus_bytecode::limits::REGISTER_BITS;

/// Whether all parties know it when the program runs.
pub(crate) fn is_public(data: &CellValue) -> bool {
    matches!(data, CellValue::Opened(_) | CellValue::Public(_))
}

const _: () = assert!(ADDRESSES_MAX <= 1 << NUMBER_BITS);

impl MemoryModel {
    /// The addresses that this may be, and whether a secret says which.
    pub(crate) fn addresses(&self, data: &CellValue) -> Option<(Addresses, bool)> {
        match data {
            CellValue::Pointer(..) | CellValue::Public(0) => Some((Rc::new([data.clone()]), false)),
            CellValue::Indexed(indexed) => {
                let is_secret = !indexed.terms.iter().all(|term| is_public(&term.index));
                Some((self.places(indexed)?.into(), is_secret))
            }
            CellValue::Chosen(choices) => {
                let mut is_secret = !choices.iter().all(|(bit, _)| is_public(bit));
                let mut meant: Vec<CellValue> = Vec::new();
                for (_, place) in choices.iter().filter(|(_, place)| self.may_be_meant(place)) {
                    let (own, also) = self.addresses(place)?;
                    is_secret |= also;
                    let new =
                        own.iter().filter(|one| !meant.iter().any(|known| known.is_same(one)));
                    let new: Vec<CellValue> = new.cloned().collect();
                    meant.extend(new);
                }
                (!meant.is_empty()).then(|| (meant.into(), is_secret))
            }
            _ => None,
        }
    }

    /// All places in an object that indices can mean, and just behind it, if they are few.
    fn places(&self, indexed: &Indexed) -> Option<Vec<CellValue>> {
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
        let place = |k: i64| CellValue::Pointer(indexed.object, first + k * stride);
        (1..=ADDRESSES_MAX as i64).contains(&count).then(|| (0..count).map(place).collect())
    }

    /// Returns an address with an index as a choice between known places.
    fn spelt_out(&mut self, data: &CellValue) -> Result<CellValue, ExecutionStop> {
        match data {
            CellValue::Indexed(indexed) => {
                let size = self.memory.object(indexed.object).size;
                let bits = 64 - size.leading_zeros() as u16;
                let (places, number) = (self.places(indexed), self.values.number(data)?);
                let (Some(places), Some((_, number))) = (places, number) else {
                    return Ok(data.clone());
                };
                let low = self.values.unary(Unary::Truncate, 64, bits, &number)?;
                let mut choices = Vec::with_capacity(places.len());
                for place in places {
                    let CellValue::Pointer(_, at) = place else { continue };
                    let at = CellValue::Public(at as u128 & mask(bits));
                    choices.push((self.values.compare(Compare::Eq, bits, &low, &at)?, place));
                }
                Ok(CellValue::Chosen(choices.into()))
            }
            CellValue::Chosen(choices) => {
                let mut all = Vec::with_capacity(choices.len());
                for (bit, place) in choices.iter() {
                    match self.spelt_out(place)? {
                        CellValue::Chosen(inner) => {
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
                Ok(CellValue::Chosen(all.into()))
            }
            data => Ok(data.clone()),
        }
    }

    /// Whether a program may have this address: inside an object, or just behind it.
    fn may_be_meant(&self, place: &CellValue) -> bool {
        match place {
            CellValue::Pointer(object, at) => self.memory.check(*object, *at, 0).is_ok(),
            _ => true,
        }
    }

    /// One of the addresses of both.
    pub(crate) fn either_address(&self, a: &ValueKind, b: &ValueKind) -> Option<ValueKind> {
        let of = |nature: &ValueKind| match nature {
            ValueKind::Address(addresses, is_secret) => Some((addresses.clone(), *is_secret)),
            ValueKind::Known(data) => self.addresses(data),
            ValueKind::Opened | ValueKind::Secret => None,
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
        (all.len() <= ADDRESSES_MAX).then_some(ValueKind::Address(all, is_secret || also))
    }

    /// Gives a carrier, new or known, the number of what one path leaves.
    pub(crate) fn bring_address(
        &mut self,
        addresses: &Addresses,
        is_secret: bool,
        data: &CellValue,
        known: Option<&CarriedForm>,
    ) -> Result<CarriedForm, ExecutionStop> {
        let known = match known {
            Some(CarriedForm::Address(_, known)) => Some(known.as_ref()),
            _ => None,
        };
        let width = if is_secret { NUMBER_BITS } else { REGISTER_BITS };
        let number = self.number_among(addresses, data, width)?;
        let carrier = match is_secret {
            true => CarriedForm::Variable(self.values.emit.bring_variable(&[number], width, known)),
            false => CarriedForm::Register(self.values.emit.bring_register(&number, known)),
        };
        Ok(CarriedForm::Address(addresses.clone(), Box::new(carrier)))
    }

    /// Which of the addresses it is; the first where it is none, which no program means.
    pub(crate) fn number_among(
        &mut self,
        addresses: &Addresses,
        data: &CellValue,
        width: u16,
    ) -> Result<CellValue, ExecutionStop> {
        let position = |place: &CellValue| {
            let found = addresses.iter().position(|known| known.is_same(place));
            CellValue::Public(found.unwrap_or(0) as u128)
        };
        let CellValue::Chosen(choices) = self.spelt_out(data)? else { return Ok(position(data)) };
        let mut number = CellValue::Public(0);
        for (bit, place) in choices.iter() {
            let own = self.values.select(bit, &position(place), &CellValue::Public(0), width)?;
            number = self.values.binary(Binary::Or, width, &number, &own)?;
        }
        Ok(number)
    }

    /// The address of that number.
    pub(crate) fn address_among(
        &mut self,
        addresses: &Addresses,
        carrier: &CarriedForm,
    ) -> Result<CellValue, ExecutionStop> {
        let (number, width) = match carrier {
            CarriedForm::Register(register) => (CellValue::Opened(*register), REGISTER_BITS),
            CarriedForm::Variable(variable) => {
                (CellValue::Secret(Rc::new(self.values.emit.tracer.get(variable))), NUMBER_BITS)
            }
            CarriedForm::Address(..) => unreachable!("a number is no address"),
        };
        let mut choices = Vec::with_capacity(addresses.len());
        for (address, at) in addresses.iter().zip(0..) {
            let bit = self.values.compare(Compare::Eq, width, &number, &CellValue::Public(at))?;
            choices.push((bit, address.clone()));
        }
        Ok(CellValue::Chosen(choices.into()))
    }
}
