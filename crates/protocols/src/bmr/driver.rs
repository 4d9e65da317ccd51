//! [`GarblingDriver`]: the garbling pass, as a protocol that the engine runs.
//!
//! A wire is this party's zero-key with its share of the mask bit in the select bit. XORs are free,
//! complements and constants are the first party's to make in its mask bits, and ANDs have new keys
//! and masks and go to the [`TableGarbler`]. Nothing here depends on inputs, but for which blocks
//! of a program of several are garbled: what their evaluation opens is told, to all parties the
//! same.

use std::sync::mpsc::Receiver;

use phineus_bytecode::{Instruction, Lane, Phase, Sharing};
use phineus_channels::Channel;
use phineus_circuits::record::Level;
use phineus_correlated::StoreError;
use phineus_crypto::Block;
use phineus_engine::bits::Family;
use phineus_engine::{Driver, packed};
use zeroize::Zeroizing;

use super::fresh::FreshWires;
use super::garbler::TableGarbler;
use super::masked;
use super::program::SUMS;
use super::rows::{LevelGates, TemplateRows, grow, linear};
use crate::ProtocolError;
use crate::templates::{Templates, sum_of_shares};

impl<C: Channel> LevelGates for TableGarbler<C> {
    type Error = ProtocolError;

    fn ands(
        &mut self,
        level: &Level,
        rows: &TemplateRows,
        products: &mut [Block],
    ) -> Result<(), ProtocolError> {
        for (and, products) in level.ands.iter().zip(products.chunks_exact_mut(rows.lanes)) {
            self.push(rows.row(and.a), rows.row(and.b), products)?;
        }
        Ok(())
    }
}

/// One party's garbling pass.
pub(super) struct GarblingDriver<C> {
    pub(super) garbler: TableGarbler<C>,
    templates: Templates,
    fresh: FreshWires,
    rows: TemplateRows,
    scratch: Zeroizing<Vec<Block>>,
    me: usize,
    parties: usize,
    flipped: Option<usize>,
    /// Values that blocks of a program of several blocks open.
    opened: Option<Receiver<Lane>>,
}

impl<C: Channel> GarblingDriver<C> {
    /// Of `parties` parties, of which this is number `me`; of a program of several blocks, what
    /// they open comes through `opened`.
    pub(super) fn new(
        garbler: TableGarbler<C>,
        fresh: Block,
        (me, parties): (usize, usize),
        opened: Option<Receiver<Lane>>,
    ) -> GarblingDriver<C> {
        let flipped = (me == 0).then_some(0);
        GarblingDriver {
            garbler,
            templates: Templates::new(Family::FewestAnds),
            fresh: FreshWires::new(fresh),
            rows: TemplateRows::new(1, flipped),
            scratch: Zeroizing::default(),
            me,
            parties,
            flipped,
            opened,
        }
    }
}

impl<C: Channel> Driver for GarblingDriver<C> {
    type Wire = Block;
    type Error = ProtocolError;

    fn input(
        &mut self,
        instruction: &Instruction,
        wires: &mut [Block],
    ) -> Result<(), ProtocolError> {
        if instruction.immediates[0] != SUMS {
            self.fresh.fill(wires);
            return Ok(());
        }
        let (template, _) = self.templates.of(&sum_of_shares(instruction, self.parties));
        let lanes = instruction.lanes as usize;
        self.rows.reset(&template, lanes);
        grow(&mut self.scratch, wires.len());
        let fresh = &mut self.scratch[..wires.len()];
        for owner in 0..self.parties {
            self.fresh.fill(fresh);
            for (bit, wires) in fresh.chunks_exact(lanes).enumerate() {
                self.rows.plane_mut(bit * self.parties + owner, 0).copy_from_slice(wires);
            }
        }
        self.rows.run(&template, &mut self.garbler)?;
        self.rows.store(&mut template.outputs.iter(), wires);
        Ok(())
    }

    fn output(&mut self, instruction: &Instruction, wires: &[Block]) -> Result<(), ProtocolError> {
        let (template, _) = self.templates.of(&sum_of_shares(instruction, self.parties));
        let lanes = instruction.lanes as usize;
        self.rows.reset(&template, lanes);
        let mut masks = Zeroizing::new(vec![0; if self.me == 0 { 0 } else { lanes }]);
        self.fresh.fill_masks(&mut masks);
        masked::load(&mut self.rows, (self.me, self.parties), wires, &masks);
        self.rows.run(&template, &mut self.garbler)?;
        grow(&mut self.scratch, wires.len());
        let sums = &mut self.scratch[..wires.len()];
        self.rows.store(&mut template.outputs.iter(), sums);
        self.garbler.decode(sums);
        Ok(())
    }

    fn compute(
        &mut self,
        instruction: &Instruction,
        results: &mut [&mut [Block]],
        operands: &[&[Block]],
    ) -> Result<(), ProtocolError> {
        assert_eq!(instruction.phase, Phase::Whole, "garbling takes no rounds of the plan");
        if instruction.element.sharing() != Sharing::Garbled {
            // A carried value of another sharing becomes a public one.
            return Ok(());
        }
        if is_linear(instruction) {
            linear(instruction, 1, self.flipped, results, operands, &mut self.scratch);
            return Ok(());
        }
        let (template, lanes) = self.templates.of(instruction);
        for part in TemplateRows::parts(&template, self.parties, lanes) {
            self.rows.reset_part(&template, part, lanes);
            self.rows.load_all(instruction, operands);
            self.rows.run(&template, &mut self.garbler)?;
            let mut outputs = template.outputs.iter();
            results.iter_mut().for_each(|result| self.rows.store(&mut outputs, result));
        }
        Ok(())
    }

    fn opened(&self, _: u32) -> Result<Lane, ProtocolError> {
        let opened = self.opened.as_ref().expect("only a program of several blocks opens values");
        // Nobody evaluates any more.
        opened.recv().map_err(|_| StoreError::Failed.into())
    }

    fn finish(&mut self) -> Result<(), ProtocolError> {
        self.garbler.finish()
    }
}

/// Whether an instruction on garbled values has no ANDs: then it needs no template either.
pub(crate) fn is_linear(instruction: &Instruction) -> bool {
    packed::is_local(instruction) || instruction.op == phineus_bytecode::Op::Convert
}
