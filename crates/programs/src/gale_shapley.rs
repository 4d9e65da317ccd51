//! `gale-shapley`: a stable matching of one party's proposers with another's reviewers.
//!
//! Gale, Shapley, "College Admissions and the Stability of Marriage", American Mathematical Monthly 1962: proposers that
//! have no partner wait in a queue; the first one proposes to the next reviewer of its list, who holds the better of its
//! proposers. Zahur et al., "Revisiting Square-Root ORAM", IEEE S&P 2016, section V-E.
//!
//! Tables have ranks, not lists, so every table of numbers is valid: where two ranks are equal, the smaller number is
//! better. The parties sort the proposers' lists together.
//!
//! A row of a list is read once at most, so the lists are [`LinkedRows`] (Doerner, Evans, shelat, "Secure Stable Matching
//! at Scale", ACM CCS 2016); those authors have lists on both sides, and no array of who is held.
//!
//! Cost: for `n` pairs, a sort of `n^2` rows and links between `2 n^2 - 2 n + 1` rows, then `n^2 - n + 1` iterations: a
//! row of a list, an access of `n` rows, and a push and a pop of a [`Queue`] of `n` items; then `n` reads.
//! So many proposals are enough: as soon as the last reviewer has a proposal, everybody has a partner, and before that
//! nobody proposes to that reviewer, so each of `n` proposers makes at most `n - 1` proposals.

use std::collections::VecDeque;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, InputBuilder, Parameter, Program, ProgramError, Records, Tracer, Value, column,
    lanes_for, receivers, rechunk, to_parameter,
};
use phineus_oblivious::{LinkedRows, Memory, MemoryMethod, Queue, SortKey, sort};

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

    #[track_caller]
    fn input(&self, tracer: &Tracer, site: &str, other: &str) -> InputBuilder {
        let columns = self.columns(other).into_iter();
        columns.fold(tracer.input(site, self.pairs), InputBuilder::column)
    }

    /// How often nobody may propose.
    fn idle(&self) -> u64 {
        self.proposals() - self.pairs
    }

    /// Each proposer's reviewers in the order of its list, with the ranks that they give it; and behind them rows for
    /// iterations in which nobody proposes.
    #[track_caller]
    fn lists(&self, tracer: &Tracer) -> LinkedRows {
        let number = self.element().width();
        let lanes = lanes_for(2 * number + self.rank().width());
        let numbers = |number: &dyn Fn(u64) -> u64| {
            let rows = (0..self.pairs * self.pairs).map(|row| Lane::from(number(row)));
            public_column(tracer, self.element(), lanes, rows)
        };
        // Row by row of the reviewers, and in each all proposers.
        let reviewers = numbers(&|row| row / self.pairs);
        let proposers = numbers(&|row| row % self.pairs);
        let ranks = self.input(tracer, SITES[0], "reviewer").read().into_columns().concat();
        let ranks = rechunk(ranks, lanes);
        // One number that is the key.
        let keys = reviewers.iter().zip(&ranks).zip(&proposers);
        let keys = keys.map(|((low, middle), high)| low.bit_concat(middle).bit_concat(high));
        let given = self.input(tracer, SITES[1], "proposer").lanes(1).read().into_columns();
        let given: Vec<Value> = (0..self.pairs as usize)
            .flat_map(|reviewer| given.iter().map(move |column| column[reviewer].clone()))
            .collect();
        let given = given
            .chunks(lanes as usize)
            .map(|chunk| Value::joined(chunk.to_vec()).expect("there are pairs"));
        let rows = vec![keys.collect(), given.collect()];
        let rows = Records::from_columns(tracer, lanes, rows);
        let mut sorted = sort(rows, &SortKey::column(0)).into_columns();
        let mut ranks = sorted.swap_remove(1);
        let mut reviewers: Vec<Value> =
            sorted[0].iter().map(|row| row.bit_slice(0, number)).collect();
        for (column, element) in [(&mut reviewers, self.element()), (&mut ranks, self.rank())] {
            let zeros = (0..self.idle()).map(|_| Lane::ZERO);
            column.extend(public_column(tracer, element, lanes, zeros));
        }
        let elements = [self.element(), self.rank()];
        let rows = Records::from_pieces(tracer, lanes, &elements, vec![reviewers, ranks]);
        // A method for rows at any index is one for what else is accessed.
        let method = self.method.map(|method| match method {
            MemoryMethod::Scan => MemoryMethod::Scan,
            MemoryMethod::SquareRoot | MemoryMethod::SquareRootTable | MemoryMethod::Linked => {
                MemoryMethod::Linked
            }
        });
        LinkedRows::named("lists", rows, method)
    }

    /// By reviewer whom it holds: the proposer, the link to what is behind it in its list, its rank, and whether there
    /// is one.
    #[track_caller]
    fn held(&self, tracer: &Tracer, link: ElementType) -> Memory {
        let elements = [self.element(), link, self.rank(), ElementType::BIT];
        let lanes = lanes_for(link.width().max(self.rank().width()));
        let zeros = |element: &ElementType| {
            let zeros = (0..self.pairs).map(|_| Lane::ZERO);
            public_column(tracer, *element, lanes, zeros)
        };
        let columns = elements.iter().map(zeros).collect();
        let rows = Records::from_pieces(tracer, lanes, &elements, columns);
        Memory::named("held", rows, self.method)
    }
}

/// The memories of a matching, the proposers without partner, and the link to the next row for nobody.
struct Matching {
    lists: LinkedRows,
    held: Memory,
    queue: Queue,
    idle: Value,
}

impl Matching {
    #[track_caller]
    fn new(tracer: &Tracer, sizes: &Sizes) -> Matching {
        let lists = sizes.lists(tracer);
        let first = |proposer: u64| lists.link(proposer * sizes.pairs);
        // If all iterations have a proposer, it is not used.
        let idle = first(if sizes.idle() > 0 { sizes.pairs } else { 0 });
        let link = idle.integer();
        let mut queue = Queue::new(tracer, &[sizes.element(), link], sizes.pairs);
        for proposer in 0..sizes.pairs {
            let number = tracer.constant(sizes.element(), Lane::from(proposer));
            let always = tracer.constant(ElementType::BIT, Lane::ONE);
            queue.push(&always, &[number, first(proposer)]);
        }
        Matching { lists, held: sizes.held(tracer, link), queue, idle }
    }

    /// One proposal, if anybody has no partner.
    #[track_caller]
    fn propose(&mut self) {
        let always = self.queue.length().tracer().constant(ElementType::BIT, Lane::ONE);
        let (found, item) = self.queue.pop(&always);
        let proposer = &item[0];
        let (row, next) = self.lists.read(&found.select(&item[1], &self.idle));
        self.idle = found.select(&self.idle, &next);
        let (reviewer, rank) = (&row[0], &row[1]);
        let mut taken = None;
        let was = self.held.update(reviewer, |row| {
            let is_better = proposer.bit_concat(rank).lt(&row[0].bit_concat(&row[2]));
            let take = found.and(&row[3].not().or(&is_better));
            let new = [proposer, &next, rank].into_iter().zip(row);
            let mut new: Vec<Value> = new.map(|(new, old)| take.select(new, old)).collect();
            new.push(row[3].or(&take));
            taken = Some(take);
            new
        });
        let taken = taken.expect("an access changes a row");
        // Who has no partner now: whom the reviewer held, or who proposed.
        let left = found.and(&taken.not().or(&was[3]));
        let free = [(&was[0], proposer), (&was[1], &next)];
        let free = free.map(|(held, proposed)| taken.select(held, proposed));
        self.queue.push(&left, &free);
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
        let state = (matching.queue.clone(), matching.idle.clone());
        (matching.queue, matching.idle) = tracer.repeat(iterations, state, |(queue, idle)| {
            (matching.queue, matching.idle) = (queue, idle);
            (0..period).for_each(|_| matching.propose());
            (matching.queue.clone(), matching.idle.clone())
        });
        (0..rest).for_each(|_| matching.propose());
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
