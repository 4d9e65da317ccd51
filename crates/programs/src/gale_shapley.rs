//! `gale-shapley`: a stable matching of one party's proposers with another's reviewers.
//!
//! Gale, Shapley, "College Admissions and the Stability of Marriage", American Mathematical Monthly 1962: proposers that
//! have no partner wait in a queue; the first one proposes to the next reviewer of its list, who holds the better of its
//! proposers. Zahur et al., "Revisiting Square-Root ORAM", IEEE S&P 2016, section V-E.
//!
//! Tables have ranks, not lists, so every table of numbers is valid: where two ranks are equal, the smaller number is
//! better. The parties sort the proposers' lists together.
//!
//! Cost: for `n` pairs, a sort of `n^2` rows, then `n^2 - n + 1` iterations: reads of `n^2` rows of `log n` bits for
//! the list and for the rank, an access of `n` rows, and a push and a pop of a [`Queue`] of `n` items; then `n` reads.
//! So many proposals are enough: as soon as the last reviewer has a proposal, everybody has a partner, and before that
//! nobody proposes to that reviewer, so each of `n` proposers makes at most `n - 1` proposals.

use std::collections::VecDeque;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, Parameter, Program, ProgramError, Records, Tracer, Value, column, lanes_for,
    receivers, rechunk, to_parameter,
};
use phineus_oblivious::{Memory, MemoryMethod, Queue, SortKey, sort};

use super::choices::{memory_method, memory_parameter};
use super::graph::{bits_below, public_column};
use super::layers::numbered;
use super::{SITES, sites};

/// The most pairs: their lists are sorted, by some 25 million instructions.
const PAIRS_MAX: u64 = 2048;

/// Matches proposers with reviewers.
pub(super) struct GaleShapley;

/// How many pairs there are, and how rows are found.
struct Sizes {
    pairs: u64,
    method: Option<MemoryMethod>,
}

impl Sizes {
    fn of(arguments: &Arguments) -> Result<Sizes, ProgramError> {
        let method = memory_method(arguments)?;
        let pairs = arguments.equal_rows(SITES, "n")?;
        if pairs == 0 {
            let what = "inputs 'site_a' and 'site_b' have no rows: each needs one for each pair";
            return Err(ProgramError::Rows(what.to_owned()));
        }
        if pairs > PAIRS_MAX {
            let what = format!("there are at most {PAIRS_MAX} pairs, not {pairs}: use fewer pairs");
            return Err(ProgramError::Refused(what));
        }
        Ok(Sizes { pairs, method })
    }

    fn proposals(&self) -> u64 {
        self.pairs * self.pairs - self.pairs + 1
    }

    /// Numbers of proposers and reviewers, and places in lists.
    fn element(&self) -> ElementType {
        ElementType::unsigned(bits_below(self.pairs))
    }

    /// Ranks: 1 to `n`, or 0 to `n - 1`, as the owner likes.
    fn rank(&self) -> ElementType {
        ElementType::unsigned(bits_below(self.pairs + 1))
    }

    fn columns(&self, other: &str) -> Vec<Column> {
        numbered(other, self.pairs, |_| self.rank())
    }

    fn result_columns(&self) -> Vec<Column> {
        let number = |name: &str| column(name, self.element(), Encoding::Number);
        vec![number("reviewer"), number("proposer")]
    }

    /// `first * n + second`: a row of the memories of all pairs.
    #[track_caller]
    fn pair(&self, first: &Value, second: &Value) -> Value {
        if self.pairs.is_power_of_two() && self.pairs > 1 {
            return second.bit_concat(first);
        }
        // Wide enough for the factor too, if there is one pair.
        let element = ElementType::unsigned(bits_below(self.pairs * self.pairs + 1));
        let pairs = first.tracer().constant(element, Lane::from(self.pairs));
        first.cast(element).mul(&pairs).add(&second.cast(element))
    }

    /// The ranks that a site gives, one column after the other.
    #[track_caller]
    fn read(&self, tracer: &Tracer, site: &str, other: &str) -> Vec<Value> {
        let mut input = tracer.input(site, self.pairs);
        for column in self.columns(other) {
            input = input.column(column);
        }
        input.read().into_columns().concat()
    }

    /// The reviewers by proposer and place in its list.
    #[track_caller]
    fn lists(&self, tracer: &Tracer) -> Memory {
        let ranks = self.read(tracer, SITES[0], "reviewer");
        let number = self.element().width();
        let lanes = lanes_for(2 * number + self.rank().width());
        let numbers = |number: &dyn Fn(u64) -> u64| {
            let rows = (0..self.pairs * self.pairs).map(|row| Lane::from(number(row)));
            public_column(tracer, self.element(), lanes, rows)
        };
        let proposers = numbers(&|row| row % self.pairs);
        let reviewers = numbers(&|row| row / self.pairs);
        let ranks = rechunk(ranks, lanes);
        // One number that has the key on top and is all of the row.
        let rows = reviewers.iter().zip(&ranks).zip(&proposers);
        let rows = rows.map(|((low, middle), high)| low.bit_concat(middle).bit_concat(high));
        let rows = Records::from_columns(tracer, lanes, vec![rows.collect()]);
        let sorted = sort(rows, &SortKey::column(0)).into_columns().swap_remove(0);
        let reviewers = sorted.iter().map(|row| row.bit_slice(0, number)).collect();
        self.memory(tracer, "lists", self.element(), reviewers)
    }

    /// The ranks by proposer and reviewer.
    #[track_caller]
    fn ranks(&self, tracer: &Tracer) -> Memory {
        let ranks = self.read(tracer, SITES[1], "proposer");
        self.memory(tracer, "ranks", self.rank(), ranks)
    }

    #[track_caller]
    fn memory(
        &self,
        tracer: &Tracer,
        name: &str,
        element: ElementType,
        column: Vec<Value>,
    ) -> Memory {
        let lanes = lanes_for(element.width());
        let rows = Records::from_pieces(tracer, lanes, &[element], vec![column]);
        Memory::named(name, rows, self.method)
    }

    /// By reviewer whom it holds: the proposer, the place in its list, its rank, and whether there is one.
    #[track_caller]
    fn held(&self, tracer: &Tracer) -> Memory {
        let elements = [self.element(), self.element(), self.rank(), ElementType::BIT];
        let lanes = lanes_for(self.rank().width());
        let zeros = |element: &ElementType| {
            let zeros = (0..self.pairs).map(|_| Lane::ZERO);
            public_column(tracer, *element, lanes, zeros)
        };
        let columns = elements.iter().map(zeros).collect();
        let rows = Records::from_pieces(tracer, lanes, &elements, columns);
        Memory::named("held", rows, self.method)
    }
}

/// The memories of a matching, and the proposers without partner.
struct Matching {
    lists: Memory,
    ranks: Memory,
    held: Memory,
    queue: Queue,
}

impl Matching {
    #[track_caller]
    fn new(tracer: &Tracer, sizes: &Sizes) -> Matching {
        let mut queue = Queue::new(tracer, &[sizes.element(); 2], sizes.pairs);
        let first = tracer.constant(sizes.element(), Lane::ZERO);
        for proposer in 0..sizes.pairs {
            let proposer = tracer.constant(sizes.element(), Lane::from(proposer));
            let always = tracer.constant(ElementType::BIT, Lane::ONE);
            queue.push(&always, &[proposer, first.clone()]);
        }
        let (lists, ranks) = (sizes.lists(tracer), sizes.ranks(tracer));
        Matching { lists, ranks, held: sizes.held(tracer), queue }
    }

    /// One proposal, if anybody has no partner.
    #[track_caller]
    fn propose(&mut self, sizes: &Sizes) {
        let always = self.queue.length().tracer().constant(ElementType::BIT, Lane::ONE);
        let (found, item) = self.queue.pop(&always);
        let (proposer, place) = (&item[0], &item[1]);
        let reviewer = self.lists.read(&sizes.pair(proposer, place)).swap_remove(0);
        let rank = self.ranks.read(&sizes.pair(proposer, &reviewer)).swap_remove(0);
        let mut taken = None;
        let was = self.held.update(&reviewer, |row| {
            let is_better = proposer.bit_concat(&rank).lt(&row[0].bit_concat(&row[2]));
            let take = found.and(&row[3].not().or(&is_better));
            let new = [proposer, place, &rank].into_iter().zip(row);
            let mut new: Vec<Value> = new.map(|(new, old)| take.select(new, old)).collect();
            new.push(row[3].or(&take));
            taken = Some(take);
            new
        });
        let taken = taken.expect("an access changes a row");
        // Who has no partner now: whom the reviewer held, or who proposed.
        let left = found.and(&taken.not().or(&was[3]));
        let next = [(&was[0], proposer), (&was[1], place)];
        let [proposer, place] = next.map(|(held, proposed)| taken.select(held, proposed));
        let one = place.tracer().constant(place.integer(), Lane::ONE);
        self.queue.push(&left, &[proposer, place.add(&one)]);
    }
}

/// Proposers' lists: reviewers by rank, then by number.
fn list(ranks: &Table, proposer: u64) -> Vec<u64> {
    let mut reviewers: Vec<u64> = (0..ranks.row_count()).collect();
    reviewers.sort_by_key(|&reviewer| (ranks.cell(proposer, reviewer as usize), reviewer));
    reviewers
}

impl Program for GaleShapley {
    fn name(&self) -> &str {
        "gale-shapley"
    }

    fn about(&self) -> &str {
        "a stable matching by the ranks that site_a's proposers and site_b's reviewers give each other"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("n", "4", "pairs, where no file says"),
            memory_parameter(),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let sizes = Sizes::of(arguments)?;
        let names = sites();
        let to = receivers(arguments, &names)?;
        let mut matching = Matching::new(tracer, &sizes);
        let period = matching.queue.period();
        let (iterations, rest) = (sizes.proposals() / period, sizes.proposals() % period);
        let queue = matching.queue.clone();
        matching.queue = tracer.repeat(iterations, queue, |queue| {
            matching.queue = queue;
            (0..period).for_each(|_| matching.propose(&sizes));
            matching.queue.clone()
        });
        (0..rest).for_each(|_| matching.propose(&sizes));
        let mut output = tracer.output("result", &to).rows(&sizes.result_columns(), sizes.pairs);
        for reviewer in 0..sizes.pairs {
            let reviewer = tracer.constant(sizes.element(), Lane::from(reviewer));
            let held = matching.held.read(&reviewer);
            output.push(&[&reviewer, &held[0]]);
        }
        output.finish();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(Sizes::of(arguments).map(|sizes| {
            let (lists, ranks) = (&inputs[0], &inputs[1]);
            let lists: Vec<Vec<u64>> = (0..sizes.pairs).map(|row| list(lists, row)).collect();
            let mut free: VecDeque<(u64, usize)> = (0..sizes.pairs).map(|row| (row, 0)).collect();
            let mut held: Vec<Option<(u64, usize)>> = vec![None; sizes.pairs as usize];
            while let Some((proposer, place)) = free.pop_front() {
                let reviewer = lists[proposer as usize][place];
                let rank = |proposer: u64| (ranks.cell(reviewer, proposer as usize), proposer);
                let holder = &mut held[reviewer as usize];
                let loser = match holder {
                    Some((other, _)) if rank(*other) < rank(proposer) => Some((proposer, place)),
                    _ => holder.replace((proposer, place)),
                };
                free.extend(loser.map(|(proposer, place)| (proposer, place + 1)));
            }
            let mut table = Table::new(sizes.result_columns());
            for (reviewer, held) in held.into_iter().enumerate() {
                let (proposer, _) = held.expect("everybody has a partner");
                table.push(&[Lane::from(reviewer), Lane::from(proposer)]);
            }
            vec![table]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let sizes = Sizes::of(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        // Ranks are lists of the numbers from 1 on, in random order.
        let mut table = |other: &str| {
            let mut table = Table::new(sizes.columns(other));
            for _ in 0..sizes.pairs {
                let mut ranks: Vec<u64> = (1..=sizes.pairs).collect();
                for last in (1..sizes.pairs).rev() {
                    ranks.swap(last as usize, random.below(last + 1) as usize);
                }
                table.push(&ranks.into_iter().map(Lane::from).collect::<Vec<_>>());
            }
            table
        };
        Some(vec![table("reviewer"), table("proposer")])
    }
}

#[cfg(test)]
mod tests;
