//! Addresses that differ between ways and turns of the run time: one of a few that are known when
//! the program is planned, and carried as its number among them.
//!
//! Where it is taken up again it is an address that is chosen (`chosen.rs`), by whether the number
//! is this one. LLVM makes such addresses itself: of `for (...) a = *p` the one that is read last.
//!
//! Cost: a register, or 8 bits of a secret; of `n` addresses a read takes `n - 1` choices.

use std::rc::Rc;

use super::data::Data;
use super::ir::{Binary, Compare};
use super::machine::{Machine, Stop};
use super::merge::{Carrier, Nature};

/// Addresses that one may be of.
const ADDRESSES_MAX: usize = 64;

/// Bits of a secret number of one.
const NUMBER_BITS: u16 = 8;
const _: () = assert!(ADDRESSES_MAX <= 1 << NUMBER_BITS);

/// As wide as a register.
const REGISTER_BITS: u16 = phineus_bytecode::limits::REGISTER_BITS;

/// Places in objects, and the null pointer, each once.
pub(super) type Addresses = Rc<[Data]>;

impl Machine<'_> {
    /// The addresses that this may be, and whether a secret says which.
    pub(super) fn addresses(&self, data: &Data) -> Option<(Addresses, bool)> {
        match data {
            Data::Pointer(..) | Data::Public(0) => Some((Rc::new([data.clone()]), false)),
            Data::Chosen(choices) => {
                let is_one = |place: &Data| matches!(place, Data::Pointer(..) | Data::Public(0));
                let is_public = |bit: &Data| matches!(bit, Data::Opened(_) | Data::Public(_));
                let is_secret = !choices.iter().all(|(bit, _)| is_public(bit));
                let meant = choices.iter().map(|(_, place)| place);
                let meant = meant.filter(|place| self.may_be_meant(place));
                let meant: Addresses = meant.cloned().collect();
                let is_known = !meant.is_empty() && meant.iter().all(is_one);
                is_known.then_some((meant, is_secret))
            }
            _ => None,
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
    pub(super) fn either_address(&self, a: &Nature, b: &Nature) -> Option<Nature> {
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
    pub(super) fn bring_address(
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
    pub(super) fn number_among(
        &mut self,
        addresses: &Addresses,
        data: &Data,
        width: u16,
    ) -> Result<Data, Stop> {
        let position = |place: &Data| {
            let found = addresses.iter().position(|known| known.is_same(place));
            Data::Public(found.unwrap_or(0) as u128)
        };
        let Data::Chosen(choices) = data else { return Ok(position(data)) };
        let mut number = Data::Public(0);
        for (bit, place) in choices.iter() {
            let own = self.select(bit, &position(place), &Data::Public(0), width)?;
            number = self.binary(Binary::Or, width, &number, &own)?;
        }
        Ok(number)
    }

    /// The address of that number.
    pub(super) fn address_among(
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
