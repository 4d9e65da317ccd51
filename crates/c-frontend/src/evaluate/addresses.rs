//! Addresses of which a secret chooses one: several places, each with a bit of whether it is meant.
//!
//! Of the bits exactly one is set. An address is moved and indexed by doing so with each place, a
//! read chooses between what lies at all of them, and a write keeps the old value at those that
//! are not meant (`access/chosen.rs`). LLVM makes such addresses itself, of `c ? x[2] : z[3]`.
//!
//! Cost: an address that is itself a choice between two, which have `m` places, takes `m` ANDs of a
//! bit.
//!
//! Invariant: no place is there twice, so that `if (c) p++` in a loop has a place for each
//! iteration, not two for each one before. A place that is not readable is never meant by a correct
//! program.

use crate::data::{CellValue, Choices, has_place, is_address, moved};
use crate::evaluate::OperationEvaluator;
use crate::evaluate::report::ExecutionStop;
use crate::ir::{Binary, Compare, Unary};

/// The remedy where a function is not known.
pub(crate) const CALL_BY_NAME: &str =
    "call each by its name in a branch: `if (c) f(x); else g(x);`, or `switch`";

impl OperationEvaluator {
    /// Selects among the results of `what` for each place, by a tree of choices.
    pub(super) fn of_each(
        &mut self,
        choices: &Choices,
        width: u16,
        mut what: impl FnMut(&mut Self, &CellValue) -> Result<CellValue, ExecutionStop>,
    ) -> Result<CellValue, ExecutionStop> {
        let mut all = Vec::with_capacity(choices.len());
        for (bit, place) in choices.iter() {
            all.push((bit.clone(), what(self, place)?));
        }
        self.choose(all, width)
    }

    /// The one whose bit is set, by a tree of choices.
    pub(crate) fn choose(
        &mut self,
        mut all: Vec<(CellValue, CellValue)>,
        width: u16,
    ) -> Result<CellValue, ExecutionStop> {
        while all.len() > 1 {
            let mut half = Vec::with_capacity(all.len().div_ceil(2));
            let is_last = all.len() == 2;
            for pair in all.chunks(2) {
                half.push(match pair {
                    [(bit, a), (other, b)] => {
                        let chosen = self.select(bit, a, b, width)?;
                        let either = match is_last {
                            true => CellValue::bit(true),
                            false => self.binary(Binary::Xor, 1, bit, other)?,
                        };
                        (either, chosen)
                    }
                    _ => pair[0].clone(),
                });
            }
            all = half;
        }
        Ok(all.pop().expect("an address means a place").1)
    }
}

impl OperationEvaluator {
    /// The address with something done to each place.
    pub(crate) fn each_place(
        &mut self,
        choices: &Choices,
        mut with: impl FnMut(&mut Self, CellValue) -> Result<CellValue, ExecutionStop>,
    ) -> Result<CellValue, ExecutionStop> {
        let mut all = Vec::with_capacity(choices.len());
        for (bit, place) in choices.iter() {
            let place = match place {
                CellValue::Public(_) => place.clone(),
                place => with(self, place.clone())?,
            };
            all.push((bit.clone(), place));
        }
        Ok(CellValue::Chosen(all.into()))
    }

    /// A comparison of which one side is a chosen address.
    pub(crate) fn compare_chosen(
        &mut self,
        op: Compare,
        a: &CellValue,
        b: &CellValue,
    ) -> Option<Result<CellValue, ExecutionStop>> {
        Some(match (a, b) {
            (CellValue::Chosen(choices), b) => {
                self.of_each(choices, 1, |evaluator, place| evaluator.compare(op, 64, place, b))
            }
            (a, CellValue::Chosen(choices)) => {
                self.of_each(choices, 1, |evaluator, place| evaluator.compare(op, 64, a, place))
            }
            (CellValue::Indexed(_), _) | (_, CellValue::Indexed(_)) => match self.numbers(a, b) {
                Ok(Some((x, y))) => self.compare(op, 64, &x, &y),
                // Places in different objects, or no place.
                Ok(None) if has_place(a) && has_place(b) && op == Compare::Eq => {
                    Ok(CellValue::bit(false))
                }
                Ok(None) if has_place(a) && has_place(b) && op == Compare::Ne => {
                    Ok(CellValue::bit(true))
                }
                Ok(None) => return None,
                Err(stop) => Err(stop),
            },
            _ => return None,
        })
    }

    /// Where two addresses are, if that is in the same object.
    fn numbers(
        &mut self,
        a: &CellValue,
        b: &CellValue,
    ) -> Result<Option<(CellValue, CellValue)>, ExecutionStop> {
        Ok(match (self.number(a)?, self.number(b)?) {
            (Some((object, x)), Some((other, y))) if object == other => Some((x, y)),
            _ => None,
        })
    }

    /// The object of an address, and where in it that is, as an integer of 64 bits.
    pub(crate) fn number(
        &mut self,
        place: &CellValue,
    ) -> Result<Option<(u32, CellValue)>, ExecutionStop> {
        let indexed = match place {
            CellValue::Pointer(object, at) => {
                return Ok(Some((*object, CellValue::Public(*at as u64 as u128))));
            }
            CellValue::Places(object, places) => {
                let numbers = places.iter().map(|at| *at as u64 as u128).collect();
                return Ok(Some((*object, CellValue::Spread(numbers))));
            }
            CellValue::Indexed(indexed) => indexed.clone(),
            _ => return Ok(None),
        };
        let mut all = CellValue::Public(indexed.offset as u64 as u128);
        for term in &indexed.terms {
            let resized = if term.width > 64 { Unary::Truncate } else { Unary::SignExtend };
            let wide = self.unary(resized, term.width, 64, &term.index)?;
            let stride = CellValue::Public(term.stride as u64 as u128);
            let bytes = self.binary(Binary::Mul, 64, &wide, &stride)?;
            all = self.binary(Binary::Add, 64, &all, &bytes)?;
        }
        Ok(Some((indexed.object, all)))
    }

    /// The difference of addresses of which one is chosen, or such an address and an integer.
    pub(crate) fn binary_chosen(
        &mut self,
        op: Binary,
        width: u16,
        a: &CellValue,
        b: &CellValue,
    ) -> Option<Result<CellValue, ExecutionStop>> {
        Some(match (op, a, b) {
            (Binary::Add, CellValue::Chosen(choices), CellValue::Public(steps)) => {
                let steps = *steps as i64;
                self.each_place(choices, |_, place| Ok(moved(place, steps)))
            }
            (Binary::Sub, CellValue::Chosen(choices), b) if is_address(b) => {
                self.of_each(choices, width, |evaluator, place| {
                    evaluator.binary(op, width, place, b)
                })
            }
            (Binary::Sub, a, CellValue::Chosen(choices)) if is_address(a) => {
                self.of_each(choices, width, |evaluator, place| {
                    evaluator.binary(op, width, a, place)
                })
            }
            (Binary::Sub, a, b) if is_address(a) && is_address(b) => match self.numbers(a, b) {
                Ok(Some((x, y))) => {
                    let difference = self.binary(op, 64, &x, &y);
                    difference.and_then(|all| self.unary(Unary::Truncate, 64, width, &all))
                }
                Ok(None) => return None,
                Err(stop) => Err(stop),
            },
            _ => return None,
        })
    }

    /// Refuses what differs between paths and cannot be carried as an address's number.
    pub(crate) fn address_differs(
        &mut self,
        paths: &[CellValue],
    ) -> Result<CellValue, ExecutionStop> {
        let has = |is: fn(&CellValue) -> bool| paths.iter().any(is);
        if has(|data| matches!(data, CellValue::Function(_))) {
            return self.error(
                "which function this is depends on what is opened when the program runs",
                CALL_BY_NAME,
            );
        }
        if has(CellValue::is_secret) {
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
}
