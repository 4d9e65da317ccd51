//! `gale-shapley`: a stable matching of one party's proposers with another's reviewers.
//!
//! Gale, Shapley, "College Admissions and the Stability of Marriage", American Mathematical Monthly 1962. A proposer
//! proposes to the next reviewer of its list, who holds the better of its proposers. Whom a reviewer leaves goes on at
//! once; if the reviewer was free, the next proposer begins (McVitie, Wilson, "The Stable Marriage Problem",
//! Communications of the ACM 1971). The order of proposals does not change who gets whom.
//!
//! Tables have ranks, not lists, so every table of numbers is valid: where two ranks are equal, the smaller number is
//! better. The parties sort the proposers' lists together, each list alone.
//!
//! A row of a list is read once at most, so the lists are [`LinkedRows`] (Doerner, Evans, shelat, "Secure Stable Matching
//! at Scale", ACM CCS 2016); those authors have lists on both sides, and no array of who is held.
//!
//! Cost: for `n` pairs, a sort of `n` lists of `n` rows and links between `n^2 + n + 1` rows, then `n^2 - n + 1` iterations:
//! a row of a list, an access of `n` rows, and a pop of a [`Queue`] of `n` items; then `n` reads.
//! So many proposals are enough: as soon as the last reviewer has a proposal, everybody has a partner, and before that
//! nobody proposes to that reviewer, so each of `n` proposers makes at most `n - 1` proposals.
//! Iterations after the last proposal read what is left of the lists, proposer by proposer: each list has one more row
//! at its end, so that something is left.

use std::collections::VecDeque;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, ElementType, Encoding, Lane, Table};
use phineus_frontend::{
    Arguments, InputBuilder, LoopState, Parameter, Program, ProgramError, Records, Tracer, Value,
    column, lanes_for, receivers, rechunk, to_parameter,
};
use phineus_oblivious::{LinkedRows, Memory, MemoryMethod, Queue};

use super::choices::{memory_method, memory_parameter};
use super::graph::{bits_below, public_column};
use super::layers::numbered;
use super::{SITES, sites};

/// The most pairs: their lists have 4 million rows, each of which is an instruction or two when they are made.
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

    /// Rows of a list: one for each reviewer, and one behind them.
    fn list_rows(&self) -> u64 {
        self.pairs + 1
    }

    /// For each reviewer, and chunk by chunk of the proposers, one number: the rank that the reviewer gives, its own number,
    /// and the rank that it is given, from the lowest bit on.
    #[track_caller]
    fn ranked(&self, tracer: &Tracer, lanes: u32) -> Vec<Vec<Value>> {
        let own = self.input(tracer, SITES[0], "reviewer").lanes(lanes).read().into_columns();
        let given = self.input(tracer, SITES[1], "proposer").lanes(1).read().into_columns();
        let of_reviewer = |(reviewer, own): (usize, Vec<Value>)| {
            let number = tracer.constant(self.element(), Lane::from(reviewer as u64));
            let of_chunk = |(own, given): (Value, &[Vec<Value>])| {
                let given = given.iter().map(|proposer| proposer[reviewer].clone()).collect();
                let given = Value::joined(given).expect("a chunk has rows");
                given.bit_concat(&number.tile(own.lanes())).bit_concat(&own)
            };
            own.into_iter().zip(given.chunks(lanes as usize)).map(of_chunk).collect()
        };
        own.into_iter().enumerate().map(of_reviewer).collect()
    }

    /// Each proposer's reviewers in the order of its list, with the ranks that they give it, and a row at its end; behind
    /// all lists one more such row. A row has the proposer, the reviewer, the rank, and whether it is such a row.
    #[track_caller]
    fn lists(&self, tracer: &Tracer) -> LinkedRows {
        let (number, rank) = (self.element().width(), self.rank().width());
        let lanes = lanes_for(number + 2 * rank);
        let mut rows = self.ranked(tracer, lanes);
        for (better, worse) in exchanges(rows.len()) {
            for chunk in 0..rows[better].len() {
                let [a, b] = [better, worse].map(|place| rows[place][chunk].clone());
                let [own, other] = [&a, &b].map(|row| row.bit_slice(rank, number + rank));
                (rows[better][chunk], rows[worse][chunk]) = other.lt(&own).swap(&a, &b);
            }
        }
        let elements = [self.element(), self.element(), self.rank(), ElementType::BIT];
        let mut columns = vec![Vec::new(); elements.len()];
        for proposer in 0..self.pairs {
            let (chunk, lane) = (proposer / u64::from(lanes), proposer % u64::from(lanes));
            let list = rows.iter().map(|row| row[chunk as usize].lane_slice(lane as u32, 1));
            for row in rechunk(list, lanes) {
                columns[1].push(row.bit_slice(rank, number));
                columns[2].push(row.bit_slice(0, rank));
            }
            columns[1].push(tracer.constant(self.element(), Lane::ZERO));
            columns[2].push(tracer.constant(self.rank(), Lane::ZERO));
        }
        columns[1].push(tracer.constant(self.element(), Lane::ZERO));
        columns[2].push(tracer.constant(self.rank(), Lane::ZERO));
        let (of_list, all) = (self.list_rows(), self.pairs * self.list_rows() + 1);
        let proposers = (0..all).map(|row| Lane::from((row / of_list).min(self.pairs - 1)));
        columns[0] = public_column(tracer, self.element(), lanes, proposers);
        let is_end = (0..all).map(|row| Lane::from((row + 1) % of_list == 0 || row + 1 == all));
        columns[3] = public_column(tracer, ElementType::BIT, lanes, is_end);
        let rows = Records::from_pieces(tracer, lanes, &elements, columns);
        // A method for rows at any index is one for what else is accessed.
        let method = self.method.map(|method| match method {
            MemoryMethod::Scan => MemoryMethod::Scan,
            MemoryMethod::SquareRoot
            | MemoryMethod::SquareRootTable
            | MemoryMethod::Circuit
            | MemoryMethod::Dpf
            | MemoryMethod::GarbledTable
            | MemoryMethod::Linked => MemoryMethod::Linked,
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

/// Pairs of places that sort so many numbers: the larger one goes to the second place.
///
/// Knuth, "The Art of Computer Programming", volume 3, section 5.2.2, algorithm M (Batcher's merge exchange).
fn exchanges(count: usize) -> Vec<(usize, usize)> {
    let highest = count.next_power_of_two() / 2;
    let mut pairs = Vec::new();
    let mut p = highest;
    while p > 0 {
        let (mut q, mut r, mut distance) = (highest, 0, p);
        loop {
            let first = (0..count.saturating_sub(distance)).filter(|place| place & p == r);
            pairs.extend(first.map(|place| (place, place + distance)));
            if q == p {
                break;
            }
            (distance, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    pairs
}

/// The memories of a matching, and where it stands.
struct Matching {
    lists: LinkedRows,
    held: Memory,
    state: MatchingState,
}

/// Where a matching stands.
#[derive(Clone)]
struct MatchingState {
    /// Links to the lists of proposers that have not begun, and to the row behind all lists.
    waiting: Queue,
    /// The link to the next row to read.
    link: Value,
    /// Whether everybody has a partner.
    is_idle: Value,
    /// Whose list is read up when everybody has a partner: the one whom the reviewer of this number holds.
    finishing: Value,
}

impl LoopState for MatchingState {
    fn values(&self, values: &mut Vec<Value>) {
        self.waiting.values(values);
        for value in [&self.link, &self.is_idle, &self.finishing] {
            value.values(values);
        }
    }

    fn rebuilt(&self, values: &mut dyn Iterator<Item = Value>) -> MatchingState {
        MatchingState {
            waiting: self.waiting.rebuilt(values),
            link: self.link.rebuilt(values),
            is_idle: self.is_idle.rebuilt(values),
            finishing: self.finishing.rebuilt(values),
        }
    }
}

impl Matching {
    #[track_caller]
    fn new(tracer: &Tracer, sizes: &Sizes) -> Matching {
        let lists = sizes.lists(tracer);
        let link = lists.link(0);
        let mut waiting = Queue::new(tracer, &[link.integer()], sizes.pairs);
        for proposer in 1..=sizes.pairs {
            let always = tracer.constant(ElementType::BIT, Lane::ONE);
            waiting.push(&always, &[lists.link(proposer * sizes.list_rows())]);
        }
        let held = sizes.held(tracer, link.integer());
        let is_idle = tracer.constant(ElementType::BIT, Lane::ZERO);
        let finishing = tracer.constant(sizes.element(), Lane::ZERO);
        Matching { lists, held, state: MatchingState { waiting, link, is_idle, finishing } }
    }

    /// One proposal, if anybody has no partner.
    #[track_caller]
    fn propose(&mut self) {
        let MatchingState { waiting, link, is_idle, finishing } = &mut self.state;
        let (row, next) = self.lists.read(link);
        let [proposer, reviewer, rank, is_end] = &row[..] else { unreachable!("of four cells") };
        *is_idle = is_idle.or(is_end);
        let mut taken = None;
        let was = self.held.update(&is_idle.select(finishing, reviewer), |row| {
            let is_better = proposer.bit_concat(rank).lt(&row[0].bit_concat(&row[2]));
            let take = is_idle.not().and(&row[3].not().or(&is_better));
            let new = [proposer, &next, rank].into_iter().zip(row);
            let mut new: Vec<Value> = new.map(|(new, old)| take.select(new, old)).collect();
            new.push(row[3].or(&take));
            taken = Some(take);
            new
        });
        let taken = taken.expect("an access changes a row");
        let was_free = was[3].not();
        let (_, first) = waiting.pop(&was_free);
        // Whom the reviewer leaves goes on; behind the end of a list the next one is read up.
        let goes_on = is_idle.select(is_end, &taken).select(&was[1], &next);
        *link = was_free.select(&first[0], &goes_on);
        let ended = is_idle.and(is_end).cast(finishing.integer());
        *finishing = finishing.add(&ended);
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
        let period = matching.state.waiting.period();
        let (iterations, rest) = (sizes.proposals() / period, sizes.proposals() % period);
        let state = matching.state.clone();
        matching.state = tracer.repeat(iterations, state, |state| {
            matching.state = state;
            (0..period).for_each(|_| matching.propose());
            matching.state.clone()
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
