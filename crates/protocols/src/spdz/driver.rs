//! [`SpdzDriver`]: one party's side of a run on authenticated shares.

use std::collections::VecDeque;
use std::ops::Range;

use phineus_bytecode::layout::element_count;
use phineus_bytecode::{Description, Instruction, Lane, Op, Phase, Shape, Sharing};
use phineus_channels::{Channel, Parties};
use phineus_correlated::authenticated::{AuthenticatedRandomness, Share};
use phineus_crypto::field::{Field, FieldName, MatrixProducts};
use phineus_crypto::{Block, Prg};
use phineus_engine::{Driver, Inputs, Outputs, OwnPermutations, bits};
use zerocopy::{FromBytes, IntoBytes};
use zeroize::Zeroizing;

use super::inputs::BroughtInputs;
use super::linear::{self, Movement};
use super::mat_mul::MatrixProductQueue;
use super::operations::{Method, SpdzRounds, matrix_size, method, repeats};
use super::run::{FlightContext, ScriptExecution, blank};
use super::{Masks, Opening};
use crate::ProtocolError;

mod activity;
mod ports;

pub use activity::{Activity, Watch};
use ports::lane as opened_lane;
pub(super) use ports::signed;

/// An instruction between its issue and its finish.
enum Flight<F: Field> {
    Script(Box<ScriptExecution<F>>),
    /// Where it will be among the products of its round.
    MatMul(Range<usize>),
    /// Where they will be among the inputs of their round.
    Brought(Range<usize>),
    /// Where they will be among what was opened; they must be zero, or input `port` is not in order.
    Zeros {
        at: Range<usize>,
        port: u64,
    },
    /// Where it will be among what was opened, and then what it is.
    Reveal {
        at: usize,
        value: F,
    },
}

/// One party of a computation on authenticated shares.
pub struct SpdzDriver<F: Field, C, M> {
    parties: Parties<C>,
    correlated: M,
    delta: Zeroizing<F>,
    opening: Opening<F>,
    description: Description,
    inputs: Inputs,
    outputs: Outputs,
    rounds_model: SpdzRounds,
    products: MatrixProductQueue<F>,
    brought: BroughtInputs<F>,
    in_flight: VecDeque<(Op, Flight<F>)>,
    done: VecDeque<(Op, Flight<F>)>,
    watch: Option<Watch>,
    /// Output instructions of this round, which are opened once everything before is checked.
    waiting: Vec<(Instruction, super::run::ShareBuffer<F>)>,
    /// Whether this round opens what hides behind a bounded integer, once everything before is checked.
    is_narrow: bool,
    /// Whether this round opens values into registers, once everything before is checked.
    reveals: bool,
    /// The own permutations, and what they are drawn from.
    permutations: OwnPermutations,
    draws: Option<Prg>,
    /// The first input that an opening showed not to be in order.
    unsorted: Option<u64>,
    rounds: u64,
}

impl<F: Field, C: Channel, M: AuthenticatedRandomness<F>> SpdzDriver<F, C, M> {
    /// A party with its correlated randomness and an opening that was set up with the others.
    pub fn new(
        parties: Parties<C>,
        correlated: M,
        opening: Opening<F>,
        description: &Description,
        inputs: Inputs,
        field: FieldName,
    ) -> SpdzDriver<F, C, M> {
        SpdzDriver {
            delta: Zeroizing::new(correlated.delta()),
            opening,
            rounds_model: SpdzRounds::new(field, parties.count())
                .with_masks(Masks::of(description)),
            outputs: Outputs::new(description, parties.me() as u16),
            description: description.clone(),
            parties,
            correlated,
            inputs,
            products: MatrixProductQueue::new(1),
            brought: BroughtInputs::new(),
            in_flight: VecDeque::new(),
            done: VecDeque::new(),
            watch: None,
            waiting: Vec::new(),
            is_narrow: false,
            reveals: false,
            permutations: OwnPermutations::new(description),
            draws: None,
            unsorted: None,
            rounds: 0,
        }
    }

    /// With so many threads for what a party does alone at the end of a round.
    pub fn with_threads(mut self, threads: usize) -> SpdzDriver<F, C, M> {
        self.products.set_threads(threads);
        self.opening.set_threads(threads);
        self
    }

    /// For a second-level cache of so many bytes, the least of all parties: what goes over the wire
    /// follows it.
    pub fn with_cache(mut self, bytes: usize) -> SpdzDriver<F, C, M> {
        self.products.set_cache(bytes);
        self
    }

    /// Has those products of matrices made there that it takes.
    pub fn with_device(
        mut self,
        device: Option<Box<dyn MatrixProducts<F>>>,
    ) -> SpdzDriver<F, C, M> {
        self.products.set_device(device);
        self
    }

    /// Draws this party's permutations from `draws`, if the program has any.
    pub fn with_draws(mut self, draws: Prg) -> SpdzDriver<F, C, M> {
        self.draws = Some(draws);
        self
    }

    /// Calls `watch` when the party turns to another activity, so that time can be told apart.
    pub fn with_watch(mut self, watch: Watch) -> SpdzDriver<F, C, M> {
        self.watch = Some(watch);
        self
    }

    fn turn_to(&mut self, activity: Activity) {
        if let Some(watch) = &mut self.watch {
            watch(activity);
        }
    }

    /// Rounds so far, those of checks not counted.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The channels.
    pub fn parties(&self) -> &Parties<C> {
        &self.parties
    }

    /// Channels, outputs and correlated randomness, after [`Driver::finish`].
    pub fn into_parts(self) -> (Parties<C>, Outputs, M) {
        (self.parties, self.outputs, self.correlated)
    }

    fn assert_done(&self) {
        let is_done = self.in_flight.is_empty() && self.waiting.is_empty();
        assert!(is_done, "an ordered program ends when everything is done");
    }

    /// Checks all that was opened, with a key that is still secret.
    fn check(&mut self) -> Result<(), ProtocolError> {
        self.turn_to(Activity::Checking);
        let SpdzDriver { parties, opening, correlated, .. } = self;
        opening.check_when(parties, || Ok(correlated.settle()?))?;
        self.turn_to(Activity::Computing);
        match self.unsorted {
            None => Ok(()),
            // Only now: before the check, a lie about an opening would put the blame on an honest owner.
            Some(port) => Err(self.unsorted_error(port)),
        }
    }

    fn unsorted_error(&self, port: u64) -> ProtocolError {
        let port = &self.description.inputs[port as usize];
        let party = self.description.parties[usize::from(port.party)].clone();
        ProtocolError::Unsorted { input: port.name.clone(), party }
    }

    /// Opens what waits, and goes on with what that lets.
    fn end_round(&mut self) -> Result<(), ProtocolError> {
        assert!(self.done.is_empty(), "the planner finishes what is done before the next round");
        let is_narrow = std::mem::take(&mut self.is_narrow);
        // What no mask hides at all.
        let is_open = std::mem::take(&mut self.reveals) || !self.waiting.is_empty();
        if is_open || is_narrow {
            // What no mask hides, or one that is not uniform, must follow from openings that were
            // right: a lie about a factor is a multiple of the other one, larger than any mask.
            self.check()?;
        }
        let outputs = self.push_outputs()?;
        self.flush_batches()?;
        let (told, opened) = (self.opening.waiting_told(), self.opening.waiting_opened());
        self.turn_to(Activity::Exchanging { told, opened });
        self.opening.exchange(&mut self.parties)?;
        self.turn_to(Activity::Computing);
        self.rounds += 1;
        let values: Vec<_> = outputs.iter().map(|output| self.opened_output(output)).collect();
        self.take_batches()?;
        // What goes on goes to the back, in the same order.
        for _ in 0..self.in_flight.len() {
            let (op, mut flight) = self.in_flight.pop_front().expect("as many as there were");
            let is_done = self.step(&mut flight)?;
            let queue = if is_done { &mut self.done } else { &mut self.in_flight };
            queue.push_back((op, flight));
        }
        if is_open {
            // No output is written and no row selected by what was not checked.
            self.check()?;
        }
        for (output, values) in outputs.iter().zip(&values).filter(|(output, _)| output.is_ours) {
            self.write_output(&output.instruction, values)?;
        }
        Ok(())
    }

    /// The error to tell: who closed a channel may have heard that making correlated randomness
    /// failed here.
    fn blamed(&mut self, error: ProtocolError) -> ProtocolError {
        match error {
            ProtocolError::Channel(_) => self.correlated.blame().map_or(error, ProtocolError::from),
            _ => error,
        }
    }

    fn context(&mut self) -> FlightContext<'_, F, M> {
        FlightContext {
            me: self.parties.me(),
            delta: *self.delta,
            opening: &mut self.opening,
            correlated: &mut self.correlated,
        }
    }

    /// Correlated randomness for what has waited for more of its kind.
    fn flush_batches(&mut self) -> Result<(), ProtocolError> {
        let SpdzDriver { parties, delta, opening, correlated, products, brought, .. } = self;
        let context = &mut FlightContext { me: parties.me(), delta: **delta, opening, correlated };
        products.flush(context)?;
        brought.flush(context)
    }

    /// Converts opened and told values to products and inputs.
    fn take_batches(&mut self) -> Result<(), ProtocolError> {
        self.turn_to(Activity::Sharing);
        let SpdzDriver { parties, delta, opening, correlated, brought, .. } = self;
        brought.take(&FlightContext { me: parties.me(), delta: **delta, opening, correlated })?;
        self.turn_to(Activity::Computing);
        let SpdzDriver { parties, delta, opening, correlated, products, .. } = self;
        products.take(&FlightContext { me: parties.me(), delta: **delta, opening, correlated });
        Ok(())
    }

    /// The rows of a script with its operands.
    fn script_run(
        &mut self,
        instruction: &Instruction,
        operands: &[&[Share<F>]],
    ) -> Result<ScriptExecution<F>, ProtocolError> {
        let (script, lanes) = self.rounds_model.scripts.of(instruction);
        let mut rows = blank(script.slot_count as usize * lanes);
        let mut at = 0;
        let inputs = script.input_count as usize * lanes;
        for (k, operand) in operands.iter().enumerate() {
            if at == inputs {
                // Both operands of a square are the same.
                break;
            }
            if repeats(instruction, k) {
                for share in *operand {
                    rows[at..at + lanes].fill(*share);
                    at += lanes;
                }
            } else {
                rows[at..at + operand.len()].copy_from_slice(operand);
                at += operand.len();
            }
        }
        ScriptExecution::new(script, lanes, rows, &mut self.context())
    }

    fn issue(
        &mut self,
        instruction: &Instruction,
        operands: &[&[Share<F>]],
    ) -> Result<Flight<F>, ProtocolError> {
        match method(instruction) {
            Method::Input if instruction.element.sharing() == Sharing::Arithmetic => {
                self.issue_integers(instruction)
            }
            Method::Input => self.issue_bits(instruction),
            Method::MatMul => {
                let SpdzDriver { parties, delta, opening, correlated, products, .. } = self;
                let context =
                    &mut FlightContext { me: parties.me(), delta: **delta, opening, correlated };
                let (size, operands) = (matrix_size(instruction), (operands[0], operands[1]));
                Ok(Flight::MatMul(products.issue(context, size, operands)?))
            }
            Method::Zeros => {
                let at = self.opening.push(operands[0]);
                let at = at..at + operands[0].len();
                Ok(Flight::Zeros { at, port: instruction.immediates[0] })
            }
            Method::Switches => self.issue_switches(instruction),
            Method::Reveal => {
                self.reveals = true;
                Ok(Flight::Reveal { at: self.opening.push(operands[0]), value: F::ZERO })
            }
            Method::Linear | Method::Movement | Method::Rows | Method::Script => {
                let mut run = self.script_run(instruction, operands)?;
                let issued = run.issue(&mut self.context())?;
                assert!(issued, "an instruction without rounds is not issued");
                self.is_narrow |= run.script.opens_narrowly();
                Ok(Flight::Script(Box::new(run)))
            }
        }
    }

    fn whole(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Share<F>]],
        operands: &[&[Share<F>]],
    ) -> Result<(), ProtocolError> {
        let (me, delta) = (self.parties.me(), *self.delta);
        match method(instruction) {
            Method::Linear => linear::execute(instruction, results, operands, me, delta),
            Method::Movement => {
                let mut moved = *instruction;
                if instruction.element.sharing() == Sharing::Arithmetic {
                    // An integer is one row, as a bit is.
                    moved.element = phineus_bytecode::ElementType::BIT;
                }
                let mut movement = Movement { me, delta };
                bits::execute(&mut movement, &moved, results, operands, &mut []);
            }
            _ => {
                let mut run = self.script_run(instruction, operands)?;
                let issued = run.issue(&mut self.context())?;
                assert!(!issued, "an instruction with rounds is issued and finished");
                write(&run, results);
            }
        }
        Ok(())
    }

    /// One step of what is in flight; whether it is done.
    fn step(&mut self, flight: &mut Flight<F>) -> Result<bool, ProtocolError> {
        match flight {
            Flight::MatMul(_) | Flight::Brought(_) => Ok(true),
            Flight::Zeros { at, port } => {
                let opened = self.opening.opened(at.start, at.len());
                if opened.iter().any(|&difference| difference != F::ZERO) {
                    self.unsorted.get_or_insert(*port);
                }
                Ok(true)
            }
            Flight::Reveal { at, value } => {
                *value = self.opening.opened(*at, 1)[0];
                Ok(true)
            }
            Flight::Script(run) => {
                let mut context = self.context();
                run.take(&mut context);
                Ok(!run.issue(&mut context)?)
            }
        }
    }

    /// The results of what is done next.
    fn finish_next(&mut self, instruction: &Instruction, results: &mut [&mut [Share<F>]]) {
        let (issued, flight) = self.done.pop_front().expect("the planner finishes what is done");
        assert_eq!(issued, instruction.op, "the planner finishes in the right order");
        match flight {
            Flight::Script(run) => write(&run, results),
            Flight::MatMul(at) => results[0].copy_from_slice(&self.products.done()[at]),
            Flight::Brought(at) => results[0].copy_from_slice(&self.brought.done()[at]),
            Flight::Zeros { .. } => {}
            Flight::Reveal { .. } => unreachable!("a register takes what was opened"),
        }
    }
}

/// The results of a script that is done.
fn write<F: Field>(run: &ScriptExecution<F>, results: &mut [&mut [Share<F>]]) {
    let mut output = 0;
    for result in results {
        for row in result.chunks_exact_mut(run.lanes) {
            row.copy_from_slice(run.output(output));
            output += 1;
        }
    }
}

/// A value as shares, without what fills up its last unit.
fn shares<F: Field>(units: &[Block], shape: Shape) -> &[Share<F>] {
    let bytes = element_count(shape) as usize * size_of::<Share<F>>();
    <[Share<F>]>::ref_from_bytes(&units.as_bytes()[..bytes]).expect("units are aligned")
}

fn shares_mut<F: Field>(units: &mut [Block], shape: Shape) -> &mut [Share<F>] {
    let bytes = element_count(shape) as usize * size_of::<Share<F>>();
    <[Share<F>]>::mut_from_bytes(&mut units.as_mut_bytes()[..bytes]).expect("units are aligned")
}

impl<F: Field, C: Channel, M: AuthenticatedRandomness<F>> Driver for SpdzDriver<F, C, M> {
    type Wire = Block;
    type Error = ProtocolError;

    fn input(
        &mut self,
        instruction: &Instruction,
        wires: &mut [Block],
    ) -> Result<(), ProtocolError> {
        self.compute(instruction, &mut [wires], &[])
    }

    fn output(&mut self, instruction: &Instruction, wires: &[Block]) -> Result<(), ProtocolError> {
        let values = Zeroizing::new(shares(wires, instruction.shape()).to_vec());
        self.waiting.push((*instruction, values));
        Ok(())
    }

    fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        if instruction.op == Op::Input {
            self.turn_to(Activity::Sharing);
        }
        let operands: Vec<&[Share<F>]> = operands
            .iter()
            .enumerate()
            .map(|(k, units)| shares(units, instruction.operand_shape(k)))
            .collect();
        let mut results: Vec<&mut [Share<F>]> = results
            .iter_mut()
            .enumerate()
            .map(|(k, units)| shares_mut(units, instruction.result_shape(k)))
            .collect();
        match instruction.phase {
            Phase::Issue => {
                let flight = self.issue(instruction, &operands)?;
                self.in_flight.push_back((instruction.op, flight));
            }
            Phase::Whole => self.whole(instruction, &mut results, &operands)?,
            Phase::Finish => self.finish_next(instruction, &mut results),
        }
        if instruction.op == Op::Input {
            self.turn_to(Activity::Computing);
        }
        Ok(())
    }

    fn reveal(&mut self, instruction: &Instruction, _: &[Block]) -> Result<Lane, ProtocolError> {
        match self.done.pop_front() {
            Some((Op::Reveal, Flight::Reveal { value, .. })) => {
                Ok(opened_lane(value, instruction.element.width()))
            }
            _ => unreachable!("the planner finishes in the right order what is done"),
        }
    }

    fn permute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        self.compute(instruction, results, operands)
    }

    fn round(&mut self) -> Result<(), ProtocolError> {
        let ended = self.end_round();
        ended.map_err(|error| self.blamed(error))
    }

    fn end_block(&mut self) -> Result<(), ProtocolError> {
        // What runs next follows from what was opened, so nothing unproven is left behind.
        let checked = self.check();
        checked.map_err(|error| self.blamed(error))?;
        self.assert_done();
        Ok(self.parties.flush()?)
    }

    fn opened(&self, port: u32) -> Result<Lane, ProtocolError> {
        Ok(self.outputs.opened(port))
    }

    fn finish(&mut self) -> Result<(), ProtocolError> {
        self.assert_done();
        self.correlated.settle()?;
        let confirmed = self.opening.confirm(&mut self.parties);
        confirmed.map_err(|error| self.blamed(error))?;
        Ok(self.parties.flush()?)
    }
}
