//! [`SpdzDriver`]: one party's side of a run on authenticated shares.

use std::collections::VecDeque;

use phineus_bytecode::layout::element_count;
use phineus_bytecode::{Description, Instruction, Lane, Op, Phase, Shape, Sharing};
use phineus_channels::Channel;
use phineus_crypto::Block;
use phineus_crypto::field::{Field, FieldName};
use phineus_engine::{Driver, Inputs, Outputs, bits};
use zerocopy::{FromBytes, IntoBytes};
use zeroize::Zeroizing;

use super::linear::{self, Movement};
use super::mat_vec::MatVec;
use super::operations::{SpdzRounds, Way, repeats, way};
use super::run::{Context, Run, blank};
use super::{Material, Opening, Share};
use crate::{Parties, ProtocolError};

mod ports;

pub(super) use ports::signed;

/// An instruction between its issue and its finish.
enum Flight<F: Field> {
    Script(Box<Run<F>>),
    MatVec(Box<MatVec<F>>),
    /// Shares of the owner's masks, and where what it tells will be; then, for bits, the script
    /// that shows that they are bits.
    Input {
        shares: super::run::Shares<F>,
        owner: usize,
        at: usize,
        check: Option<Box<Run<F>>>,
    },
}

impl<F: Field> Flight<F> {
    /// Whether the next exchange shows that an input is made of bits.
    fn proves_bits(&self) -> bool {
        matches!(self, Flight::Input { check: Some(run), .. } if run.opens())
    }
}

/// One party of a computation on authenticated shares.
pub struct SpdzDriver<F: Field, C, M> {
    parties: Parties<C>,
    material: M,
    delta: Zeroizing<F>,
    opening: Opening<F>,
    description: Description,
    inputs: Inputs,
    outputs: Outputs,
    rounds_model: SpdzRounds,
    in_flight: VecDeque<(Instruction, Flight<F>)>,
    done: VecDeque<(Instruction, Flight<F>)>,
    /// Output instructions of this round, which are opened once everything before is checked.
    waiting: Vec<(Instruction, super::run::Shares<F>)>,
    rounds: u64,
}

impl<F: Field, C: Channel, M: Material<F>> SpdzDriver<F, C, M> {
    /// A party with its material and an opening that was set up with the others.
    pub fn new(
        parties: Parties<C>,
        material: M,
        opening: Opening<F>,
        description: &Description,
        inputs: Inputs,
        field: FieldName,
    ) -> SpdzDriver<F, C, M> {
        SpdzDriver {
            delta: Zeroizing::new(material.delta()),
            opening,
            rounds_model: SpdzRounds::new(parties.count(), field),
            outputs: Outputs::new(description, parties.me() as u16),
            description: description.clone(),
            parties,
            material,
            inputs,
            in_flight: VecDeque::new(),
            done: VecDeque::new(),
            waiting: Vec::new(),
            rounds: 0,
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

    /// Channels, outputs and material, after [`Driver::finish`].
    pub fn into_parts(self) -> (Parties<C>, Outputs, M) {
        (self.parties, self.outputs, self.material)
    }

    fn assert_done(&self) {
        let is_done = self.in_flight.is_empty() && self.waiting.is_empty();
        assert!(is_done, "an ordered program ends when everything is done");
    }

    /// Checks all that was opened, with a key that is still secret.
    fn check(&mut self) -> Result<(), ProtocolError> {
        let SpdzDriver { parties, opening, material, .. } = self;
        opening.check_when(parties, || material.settle())
    }

    fn context(&mut self) -> Context<'_, F, M> {
        Context {
            me: self.parties.me(),
            delta: *self.delta,
            opening: &mut self.opening,
            material: &mut self.material,
        }
    }

    /// The rows of a script with its operands.
    fn script_run(
        &mut self,
        instruction: &Instruction,
        operands: &[&[Share<F>]],
    ) -> Result<Run<F>, ProtocolError> {
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
        Run::new(script, lanes, rows, &mut self.context())
    }

    fn issue(
        &mut self,
        instruction: &Instruction,
        operands: &[&[Share<F>]],
    ) -> Result<Flight<F>, ProtocolError> {
        match way(instruction) {
            Way::Input => self.issue_input(instruction),
            Way::MatVec => {
                let product =
                    MatVec::issue(&mut self.context(), instruction, operands[0], operands[1])?;
                Ok(Flight::MatVec(Box::new(product)))
            }
            _ => {
                let mut run = self.script_run(instruction, operands)?;
                let issued = run.issue(&mut self.context())?;
                assert!(issued, "an instruction without rounds is not issued");
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
        match way(instruction) {
            Way::Linear => linear::execute(instruction, results, operands, me, delta),
            Way::Movement => {
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

    /// One step of an instruction in flight; whether it is done.
    fn step(
        &mut self,
        instruction: &Instruction,
        flight: &mut Flight<F>,
    ) -> Result<bool, ProtocolError> {
        let is_bits = instruction.element.sharing() != Sharing::Arithmetic;
        let script = (instruction.op == Op::Input && is_bits)
            .then(|| self.rounds_model.scripts.of_bits(instruction));
        let mut context = self.context();
        match flight {
            Flight::Script(run) => {
                run.take(&context);
                Ok(!run.issue(&mut context)?)
            }
            Flight::MatVec(product) => {
                product.take(&context);
                Ok(true)
            }
            Flight::Input { check: Some(run), .. } => {
                run.take(&context);
                if run.issue(&mut context)? {
                    return Ok(false);
                }
                let zeros = run.publics.iter().all(|&opened| opened == F::ZERO);
                let during = "the proof that an input is made of bits";
                if zeros { Ok(true) } else { Err(ProtocolError::Cheated { during }) }
            }
            Flight::Input { shares, owner, at, check } => {
                let told = context.opening.told(*owner, *at, shares.len());
                let public = |value: F| Share::public(value, context.me, context.delta);
                for (share, &value) in shares.iter_mut().zip(told) {
                    *share = share.add(public(value));
                }
                let Some(script) = script else { return Ok(true) };
                let lanes = instruction.lanes as usize;
                let mut rows = blank(script.slot_count as usize * lanes);
                rows[..shares.len()].copy_from_slice(shares);
                let mut run = Run::new(script, lanes, rows, &mut context)?;
                run.issue(&mut context)?;
                *check = Some(Box::new(run));
                Ok(false)
            }
        }
    }
}

/// The results of a script that is done.
fn write<F: Field>(run: &Run<F>, results: &mut [&mut [Share<F>]]) {
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

impl<F: Field, C: Channel, M: Material<F>> Driver for SpdzDriver<F, C, M> {
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
                self.in_flight.push_back((*instruction, flight));
            }
            Phase::Whole => self.whole(instruction, &mut results, &operands)?,
            Phase::Finish => {
                let (issued, flight) =
                    self.done.pop_front().expect("the planner finishes what is done");
                assert_eq!(issued.op, instruction.op, "the planner finishes in the right order");
                match flight {
                    Flight::Script(run) => write(&run, &mut results),
                    Flight::MatVec(product) => results[0].copy_from_slice(product.result()),
                    Flight::Input { shares, .. } => results[0].copy_from_slice(&shares),
                }
            }
        }
        Ok(())
    }

    fn round(&mut self) -> Result<(), ProtocolError> {
        assert!(self.done.is_empty(), "the planner finishes what is done before the next round");
        let has_outputs = !self.waiting.is_empty();
        if has_outputs || self.in_flight.iter().any(|(_, flight)| flight.proves_bits()) {
            // What no mask hides must follow from openings that were right: `b^2 - b` is zero only
            // if the square is, and says what `b` is otherwise.
            self.check()?;
        }
        let outputs = self.push_outputs()?;
        self.opening.exchange(&mut self.parties)?;
        self.rounds += 1;
        let values: Vec<_> = outputs.iter().map(|output| self.opened_output(output)).collect();
        for (instruction, mut flight) in std::mem::take(&mut self.in_flight) {
            if self.step(&instruction, &mut flight)? {
                self.done.push_back((instruction, flight));
            } else {
                self.in_flight.push_back((instruction, flight));
            }
        }
        if has_outputs {
            self.check()?;
        }
        for (output, values) in outputs.iter().zip(&values).filter(|(output, _)| output.is_ours) {
            self.write_output(&output.instruction, values)?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), ProtocolError> {
        // What runs next follows from what was opened, so nothing unproven is left behind.
        self.check()?;
        self.assert_done();
        self.parties.flush()
    }

    fn opened(&self, port: u32) -> Lane {
        self.outputs.opened(port)
    }

    fn finish(&mut self) -> Result<(), ProtocolError> {
        self.assert_done();
        self.material.settle()?;
        self.opening.confirm(&mut self.parties)?;
        self.parties.flush()
    }
}
