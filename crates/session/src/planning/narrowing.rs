//! The first stage of planning: programs are narrowed, unless the parties want them as they are.

use std::cell::RefCell;
use std::collections::HashMap;

use phineus_bytecode::{ElementType, Instruction, Op, Optimisation, Sharing, SharingRule};
use phineus_engine::bits::{Family, record};
use phineus_frontend::LineRun;
use phineus_plan::{
    Assignment, NarrowClaim, NarrowOptions, Narrowed, Rewritten, Scratch, StateClaim, StateFacts,
    assign, check_narrow, check_state, find_state, may_narrow, narrow, rewrite,
};

use crate::choices::ProtocolVariant;
use crate::failure::Failure;
use crate::protocol::{Protocol, Representation};
use crate::traced::{TracedBlocks, TracedFile};

/// How programs are narrowed under a protocol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All values: they are bits where the program does not say otherwise.
    Everything,
    /// Values that this assignment leaves in bits: the program is assigned first. A narrower sum of elements of a ring is
    /// not a cheaper one.
    Bits(Assignment),
    /// Nothing: ranges of elements of a field are another stage's.
    Nothing,
}

impl Scope {
    fn of(representation: Representation) -> Scope {
        match representation {
            Representation::AsWritten | Representation::GarbledBesideRows => Scope::Everything,
            Representation::Sharings(assignment) => match assignment {
                Assignment::GarbledBesideRows => Scope::Everything,
                Assignment::Arithmetic | Assignment::ArithmeticProducts => Scope::Bits(assignment),
                Assignment::Uniform(sharing) | Assignment::Stated(sharing) => match sharing {
                    Sharing::Boolean | Sharing::Garbled => Scope::Everything,
                    Sharing::Any | Sharing::Arithmetic => Scope::Nothing,
                },
            },
            Representation::Field(_) => Scope::Nothing,
        }
    }

    /// The program that is narrowed, if it is not `traced` itself.
    fn assigned(
        self,
        traced: &TracedFile,
        planner_memory_bytes: u64,
        scratch: &Scratch,
    ) -> Result<Option<TracedFile>, Failure> {
        let Scope::Bits(assignment) = self else { return Ok(None) };
        let (program, output, notes) = (&mut traced.file.reader()?, scratch.file(), scratch.file());
        let (file, written) = assign(program, output, notes, assignment, planner_memory_bytes)?;
        Ok(Some(traced.rewritten(file, written.hash)))
    }
}

/// The assignment for a program that was narrowed: what [`Scope::Bits`] assigned stays.
pub(super) fn assignment_of_narrowed(assignment: Assignment) -> Assignment {
    match assignment {
        // It does not ask what the program says.
        Assignment::Arithmetic => Assignment::Stated(Sharing::Boolean),
        Assignment::ArithmeticProducts
        | Assignment::Uniform(_)
        | Assignment::Stated(_)
        | Assignment::GarbledBesideRows => assignment,
    }
}

/// Returns whether ANDs one after another cost rounds: on shares. Of garbled values the fewest are the best.
fn takes_rounds(representation: Representation, variant: ProtocolVariant) -> bool {
    if variant.sharings.is_some_and(|setting| setting.rule == SharingRule::Garbled) {
        return false;
    }
    match representation {
        Representation::Sharings(Assignment::Uniform(sharing)) => sharing != Sharing::Garbled,
        Representation::Sharings(Assignment::GarbledBesideRows) => false,
        Representation::Sharings(
            Assignment::Stated(_) | Assignment::Arithmetic | Assignment::ArithmeticProducts,
        )
        | Representation::Field(_) => true,
        Representation::AsWritten | Representation::GarbledBesideRows => false,
    }
}

/// The circuits of a protocol that computes on bits, or `None` of another one.
pub fn family_of(traced: &TracedFile, variant: (Protocol, ProtocolVariant)) -> Option<Family> {
    let representation = variant.0.representation_of(&traced.description);
    let computes_on_bits = Scope::of(representation) == Scope::Everything;
    computes_on_bits.then(|| family(takes_rounds(representation, variant.1)))
}

/// The circuits of a protocol.
fn family(has_rounds: bool) -> Family {
    if has_rounds { Family::LeastDepth } else { Family::FewestAnds }
}

/// `traced`, a program of one block or a block, in the least widths; nothing if no operation takes fewer bits than in
/// the program itself.
pub fn narrowed(
    traced: &TracedFile,
    optimised: (Protocol, ProtocolVariant),
    planner_memory_bytes: u64,
    scratch: &Scratch,
) -> Result<Option<TracedFile>, Failure> {
    let Some(options) = Narrows::that_may(traced, optimised, planner_memory_bytes, scratch)? else {
        return Ok(None);
    };
    let assigned = options.scope.assigned(traced, planner_memory_bytes, scratch)?;
    let traced = assigned.as_ref().unwrap_or(traced);
    let rewritten = rewritten(traced, planner_memory_bytes, scratch, |_| ())?;
    let program = rewritten.as_ref().unwrap_or(traced);
    let narrowed = narrow_with(program, (options, &|_| ()), planner_memory_bytes, scratch, |_| {})?;
    Ok(narrowed.or(rewritten))
}

/// As [`narrowed`], with the source lines of the instructions.
pub fn narrowed_with_lines(
    traced: &TracedFile,
    optimised: (Protocol, ProtocolVariant),
    lines: &[LineRun],
    planner_memory_bytes: u64,
    scratch: &Scratch,
) -> Result<(TracedFile, Vec<LineRun>), Failure> {
    let Some(options) = Narrows::that_may(traced, optimised, planner_memory_bytes, scratch)? else {
        return Ok((traced.clone(), lines.to_vec()));
    };
    let mut of_stage = LinesOfStage::new(lines);
    let after = |written| of_stage.written(written);
    let rewritten = rewritten(traced, planner_memory_bytes, scratch, after)?;
    let lines = match rewritten {
        Some(_) => of_stage.made,
        None => lines.to_vec(),
    };
    let program = rewritten.as_ref().unwrap_or(traced);
    let of_stage = RefCell::new(LinesOfStage::new(&lines));
    let after = |written| of_stage.borrow_mut().written(written);
    let narrowed = narrow_with(program, (options, &after), planner_memory_bytes, scratch, |_| {})?;
    Ok(match narrowed {
        Some(narrowed) => (narrowed, of_stage.into_inner().made),
        None => (program.clone(), lines),
    })
}

/// Lines of the instructions that a stage writes, from those of what it reads.
struct LinesOfStage<'a> {
    lines: &'a [LineRun],
    /// Instructions of the first run that were read.
    read: u64,
    written: u64,
    made: Vec<LineRun>,
}

impl LinesOfStage<'_> {
    fn new(lines: &[LineRun]) -> LinesOfStage<'_> {
        LinesOfStage { lines, read: 0, written: 0, made: Vec::new() }
    }

    /// After the next instruction that was read so many are written.
    fn written(&mut self, written: u64) {
        let Some(run) = self.lines.first() else { return };
        let count = written - std::mem::replace(&mut self.written, written);
        match self.made.last_mut() {
            Some(last) if last.line == run.line => last.count += count,
            _ => self.made.push(LineRun { count, ..*run }),
        }
        self.read += 1;
        if self.read == run.count {
            (self.lines, self.read) = (&self.lines[1..], 0);
        }
    }
}

/// `blocks` with what is known of what they hand on, if they are narrowed.
pub fn blocks_with_state(
    blocks: &TracedBlocks,
    optimised: (Protocol, ProtocolVariant),
    planner_memory_bytes: u64,
    scratch: &Scratch,
) -> Result<TracedBlocks, Failure> {
    let is_narrowed = Narrows::of(&blocks.parts[0], optimised).is_some();
    let state = match is_narrowed {
        true => {
            let readers = blocks.parts.iter().map(|part| part.file.reader());
            let mut readers = readers.collect::<Result<Vec<_>, Failure>>()?;
            find_state(&mut readers, &blocks.flow, scratch, planner_memory_bytes)?
        }
        false => StateFacts::default(),
    };
    Ok(blocks.with_state(state))
}

/// Claims about what `blocks` hand on that cannot be proven.
pub fn unproven_state(blocks: &TracedBlocks) -> Result<Vec<String>, Failure> {
    let Some(state) = &blocks.parts[0].state else { return Ok(Vec::new()) };
    let claims: Vec<StateClaim> = state.claims().collect();
    let readers = blocks.parts.iter().map(|part| part.file.reader());
    let mut readers = readers.collect::<Result<Vec<_>, Failure>>()?;
    Ok(check_state(&mut readers, &blocks.flow, &claims)?)
}

/// Claims about values, made in narrowing `traced`, that cannot be proven.
pub fn unproven_facts(
    traced: &TracedFile,
    optimised: (Protocol, ProtocolVariant),
    planner_memory_bytes: u64,
    scratch: &Scratch,
) -> Result<Vec<String>, Failure> {
    let Some(options) = Narrows::that_may(traced, optimised, planner_memory_bytes, scratch)? else {
        return Ok(Vec::new());
    };
    let mut claims = Vec::new();
    let claim = |claim: &NarrowClaim| claims.push(*claim);
    let assigned = options.scope.assigned(traced, planner_memory_bytes, scratch)?;
    let traced = assigned.as_ref().unwrap_or(traced);
    let rewritten = rewritten(traced, planner_memory_bytes, scratch, |_| ())?;
    let program = rewritten.as_ref().unwrap_or(traced);
    narrow_with(program, (options, &|_| ()), planner_memory_bytes, scratch, claim)?;
    let state: Option<Vec<StateClaim>> =
        program.state.as_ref().map(|state| state.claims().collect());
    Ok(check_narrow(&mut program.file.reader()?, &claims, state.as_deref())?)
}

/// As [`narrowed`], without rewriting: `claim` hears what is relied on about each value of `traced`.
pub(super) fn claims_of_narrowing(
    traced: &TracedFile,
    optimised: (Protocol, ProtocolVariant),
    planner_memory_bytes: u64,
    scratch: &Scratch,
    claim: impl FnMut(&NarrowClaim),
) -> Result<(), Failure> {
    let Some(options) = Narrows::of(traced, optimised) else { return Ok(()) };
    // A gathered sum has no place of its own, and each value needs its own narrowed width here.
    let options = Narrows { gathers_sums: false, ..options };
    narrow_with(traced, (options, &|_| ()), planner_memory_bytes, scratch, claim).map(|_| ())
}

/// `traced` by the rules of rewriting; nothing if none applies.
fn rewritten(
    traced: &TracedFile,
    planner_memory_bytes: u64,
    scratch: &Scratch,
    written_after_each: impl FnMut(u64),
) -> Result<Option<TracedFile>, Failure> {
    let (reader, output) = (&mut traced.file.reader()?, || scratch.file());
    let made = rewrite(reader, output, scratch, planner_memory_bytes, written_after_each)?;
    Ok(made.map(|Rewritten { output: file, written }| traced.rewritten(file, written.hash)))
}

/// The key of the number of ANDs of an operation: with its width and immediates, whether it is a square.
type PricedOperation = (Op, ElementType, [u64; 2], bool);

/// How a program is narrowed.
#[derive(Clone, Copy)]
struct Narrows {
    scope: Scope,
    has_rounds: bool,
    gathers_sums: bool,
}

impl Narrows {
    /// As [`Narrows::of`], and `None` also if nothing would change.
    fn that_may(
        traced: &TracedFile,
        optimised: (Protocol, ProtocolVariant),
        planner_memory_bytes: u64,
        scratch: &Scratch,
    ) -> Result<Option<Narrows>, Failure> {
        let Some(narrows) = Narrows::of(traced, optimised) else { return Ok(None) };
        let is_known = traced.state.as_ref().is_some_and(|state| state.is_anything_known());
        let may =
            is_known || may_narrow(&mut traced.file.reader()?, scratch, planner_memory_bytes)?;
        Ok(may.then_some(narrows))
    }

    /// `None` if it is planned as it is.
    fn of(
        traced: &TracedFile,
        (protocol, variant): (Protocol, ProtocolVariant),
    ) -> Option<Narrows> {
        let representation = protocol.representation_of(&traced.description);
        let scope = Scope::of(representation);
        let is_narrowed = variant.optimisation != Optimisation::Off && scope != Scope::Nothing;
        let has_rounds = takes_rounds(representation, variant);
        is_narrowed.then_some(Narrows { scope, has_rounds, gathers_sums: true })
    }
}

/// `program` in the least widths; nothing if no operation takes fewer bits.
fn narrow_with(
    program: &TracedFile,
    (Narrows { has_rounds, gathers_sums, .. }, written_after_each): (Narrows, &dyn Fn(u64)),
    planner_memory_bytes: u64,
    scratch: &Scratch,
    claim: impl FnMut(&NarrowClaim),
) -> Result<Option<TracedFile>, Failure> {
    let known: RefCell<HashMap<PricedOperation, u64>> = RefCell::default();
    let family = family(has_rounds);
    let and_gates = |i: &Instruction| {
        let count = || record(i, family).and_count() as u64;
        let [first, second, ..] = i.immediates;
        let key = (i.op, i.element, [first, second], i.is_square());
        *known.borrow_mut().entry(key).or_insert_with(count)
    };
    let and_gates = &and_gates;
    let options = NarrowOptions {
        and_gates,
        has_rounds,
        gathers_sums,
        planner_memory_bytes,
        state: program.state.as_deref(),
        written_after_each,
    };
    let (reader, output) = (&mut program.file.reader()?, scratch.file());
    let Narrowed { output: file, written, is_narrower } =
        narrow(reader, output, scratch, options, claim)?;
    Ok(is_narrower.then(|| program.rewritten(file, written.hash)))
}

#[cfg(test)]
mod tests;
