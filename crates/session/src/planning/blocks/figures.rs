//! The figures of programs of several blocks: of a run in which each block runs so many times.

use std::collections::BTreeMap;

use phineus_bytecode::{BlockEnd, Description, Hash, PlanDescription, RegisterStep, Successor};
use phineus_protocols::bmr::costs::totals::Y_AND_GATES;
use phineus_protocols::garbled::totals;
use phineus_protocols::mixed;
use phineus_tables::quantity;
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::planned::{PlannedBlocks, PlannedFile};
use crate::program_file::ProgramFile;
use crate::protocol::{BlockRuns, CostTerms, Protocol, Totals};

impl PlannedBlocks {
    /// The figures of a run in which blocks run so many times.
    pub(super) fn plan(
        &self,
        description: &Description,
        times: &[u64],
        parties: usize,
    ) -> Result<PlanDescription, Failure> {
        let first = self.parts[0].plan();
        let mut plan = PlanDescription {
            costs: self.costs(description, times, parties)?,
            program_hash: self.program_hash(description),
            swap_in_count: 0,
            swap_out_count: 0,
            instruction_count: 0,
            ..first.clone()
        };
        for (part, times) in self.parts.iter().map(PlannedFile::plan).zip(times) {
            for (most, own) in [
                (&mut plan.frame_count, part.frame_count),
                (&mut plan.region_frames, part.region_frames),
                (&mut plan.spill_slot_count, part.spill_slot_count),
                (&mut plan.unbounded_page_count, part.unbounded_page_count),
                (&mut plan.peak_wire_count, part.peak_wire_count),
                (&mut plan.planner_bytes, part.planner_bytes),
            ] {
                *most = (*most).max(own);
            }
            plan.swap_in_count += part.swap_in_count * times;
            plan.swap_out_count += part.swap_out_count * times;
            plan.instruction_count += part.instruction_count * times;
        }
        Ok(plan)
    }

    /// Hash of the program that the plans were made from: its description, its blocks as ordered into
    /// rounds, and the control flow between them.
    fn program_hash(&self, description: &Description) -> String {
        let description = Description { plan: None, ..description.clone() };
        let description = serde_json::to_vec(&description).expect("a description is text");
        let description: [u8; 32] = Sha256::digest(description).into();
        let mut hash =
            Sha256::new().chain_update(b"phineus planned blocks 2").chain_update(description);
        for part in &self.parts {
            hash.update(&part.plan().program_hash);
        }
        let flow = serde_json::to_vec(&self.flow).expect("a flow is names and numbers");
        Hash(hash.chain_update(flow).finalize().into()).to_string()
    }

    /// The exact totals of a run in which blocks run so many times.
    fn costs(
        &self,
        description: &Description,
        times: &[u64],
        parties: usize,
    ) -> Result<BTreeMap<String, u64>, Failure> {
        let turns = times.iter().copied().enumerate().collect();
        let mut totals =
            self.totals(description, (&[turns], self.flow.times().is_some()), parties)?;
        Ok(totals.pop().expect("one run was asked for"))
    }

    /// Adds up the totals of several runs.
    fn totals(
        &self,
        description: &Description,
        (runs, are_stated): (&[Vec<(usize, u64)>], bool),
        parties: usize,
    ) -> Result<Vec<Totals>, Failure> {
        let plan = self.parts[0].plan();
        let files: Vec<&ProgramFile> = self.parts.iter().map(|part| &part.file).collect();
        let protocol = Protocol::of_verified_plan(plan);
        let blocks = BlockRuns { files: &files, description, runs, are_stated };
        protocol.block_totals(&CostTerms::stated(plan, parties), &blocks)
    }

    /// Totals of one run of each block: of the first one with what the run begins with, and of the others what one run
    /// more adds.
    fn each(
        &self,
        description: &Description,
        parties: usize,
    ) -> Result<Vec<BTreeMap<String, u64>>, Failure> {
        let count = self.parts.len();
        let some = |times: u64| (0..count).map(move |block| vec![(block, times)]);
        let runs: Vec<Vec<(usize, u64)>> = some(1).chain(some(2)).collect();
        let mut once = self.totals(description, (&runs, false), parties)?;
        let twice = once.split_off(count);
        for (costs, twice) in once.iter_mut().zip(&twice).skip(1) {
            for (name, total) in costs {
                *total = twice.get(name).copied().unwrap_or(0).saturating_sub(*total);
            }
        }
        Ok(once)
    }

    /// A line for each block: what a run of it costs, and what runs then. Where correlated
    /// randomness is dealt, without what making it sends.
    pub fn lines(
        &self,
        description: &Description,
        parties: usize,
        is_dealt: bool,
    ) -> Result<Vec<String>, Failure> {
        let times = self.flow.times();
        let line = |(block, costs): (usize, BTreeMap<String, u64>)| {
            let total = |name: &str| costs.get(name).copied().unwrap_or(0);
            let name = match is_dealt {
                true => mixed::totals::online_bytes,
                false => mixed::totals::sent_bytes,
            };
            let sent = (0..parties).map(|party| total(&name(party))).max();
            let mut gates = format!("{} AND gates", quantity::count(total(totals::AND_GATES)));
            if let garbled @ 1.. = total(Y_AND_GATES) {
                gates += &format!(", {} garbled AND gates", quantity::count(garbled));
            }
            let iterations = match times.as_ref().map(|times| times[block]) {
                _ if block == 0 => "once".to_owned(),
                None => "each time".to_owned(),
                Some(1) => "once".to_owned(),
                Some(times) => format!("each of {} times", quantity::count(times)),
            };
            format!(
                "{block} {iterations}: {}, {} rounds, {} sent at most; {}",
                gates,
                total(totals::ROUNDS),
                quantity::bytes(sent.unwrap_or(0)),
                self.then(description, block)
            )
        };
        Ok(self.each(description, parties)?.into_iter().enumerate().map(line).collect())
    }

    /// Description of the block's successor.
    fn then(&self, description: &Description, block: usize) -> String {
        let BlockEnd { steps, next } = &self.flow.blocks[block];
        match *next {
            Successor::End => "the end".to_owned(),
            Successor::Jump { block } => format!("then block {block}"),
            Successor::Repeat { iterations, then, .. } => {
                let times = quantity::count(iterations);
                format!("{times} times in a row, then block {then}")
            }
            Successor::Branch { register, nonzero, zero } => {
                let last = steps.iter().rev().find(|step| step.writes() == Some(register));
                let what = match last {
                    Some(RegisterStep::Open { port, .. }) => {
                        format!("'{}'", description.outputs[*port as usize].name)
                    }
                    _ => format!("register {register}"),
                };
                format!("then block {zero} if {what} is 0, else block {nonzero}")
            }
        }
    }
}
