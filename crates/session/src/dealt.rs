//! Plans with correlated randomness that a dealer gives, whom everybody would have to trust: what
//! only makes correlated randomness costs nothing then.
//!
//! For measurements of what comes after it, as `run --fake-preprocessing` makes them; what `explain`
//! says of such a run is what the run measures. Nothing is protected.

use phineus_protocols::bmr::costs::{garbling_ns, totals as garbling};
use phineus_protocols::mixed::{HALF_GATES_SETUP_NS, totals};

use crate::failure::{Failure, Remedy, RunField};
use crate::planned::PlannedFile;
use crate::prediction::{garbling_ot_bytes, preprocessing_bytes};
use crate::protocol::{Protocol, ProtocolChoice};

impl PlannedFile {
    /// Returns the plan with the costs of a run whose correlated randomness comes from a trusted
    /// dealer.
    pub fn dealt(mut self) -> PlannedFile {
        let making = preprocessing_bytes(&self);
        // Tables are garbled all the same, but with oblivious transfers that are dealt.
        let garbling_ots = garbling_ot_bytes(&self);
        let plan = self.description.plan.as_mut().expect("it is planned");
        let costs = &mut plan.costs;
        let mut lower = |name: String, by: u64| {
            if let Some(total) = costs.get_mut(&name) {
                *total = total.checked_sub(by).expect("it is a part of what is stated");
            }
        };
        for (party, (sent, received)) in making.into_iter().enumerate() {
            lower(totals::made_sent_bytes(party), sent);
            lower(totals::made_received_bytes(party), received);
            lower(totals::sent_bytes(party), sent + garbling_ots);
            lower(totals::received_bytes(party), received + garbling_ots);
            lower(garbling::garbling_bytes(party), garbling_ots);
        }
        for party in 0..self.computing {
            costs.entry(totals::party_ots(party)).and_modify(|ots| *ots = 0);
        }
        let total = |name: &str| costs.get(name).copied().unwrap_or(0);
        let half_gates = costs.contains_key(totals::ENTERING_OTS);
        // Half gates are garbled in the run, with OTs that are not dealt.
        let (garbling_ns, setup_ns) = match half_gates {
            true => (0, HALF_GATES_SETUP_NS),
            false => (total(garbling::Y_AND_GATES) * garbling_ns(self.computing), 0),
        };
        let before_ns = total(totals::PREPROCESSING_NS);
        let saved_ns = before_ns - (garbling_ns + setup_ns).min(before_ns);
        let compute_ns = total(totals::COMPUTE_NS) - saved_ns;
        for (name, dealt) in [
            (totals::OTS, 0),
            (garbling::GARBLING_OTS, 0),
            (totals::PREPROCESSING_ROUNDS, 0),
            (totals::PREPROCESSING_NS, before_ns - saved_ns),
            (totals::SETUP_NS, setup_ns),
            (totals::COMPUTE_NS, compute_ns),
        ] {
            if let Some(total) = costs.get_mut(name) {
                *total = dealt;
            }
        }
        self
    }
}

/// Refuses correlated randomness from a trusted dealer for a protocol that takes none.
pub fn check_dealt(choice: ProtocolChoice) -> Result<(), Failure> {
    match choice.stated().is_some_and(|protocol| protocol.has_preprocessing()) {
        true => Ok(()),
        false => {
            let message = "fake preprocessing is for measurements of one protocol on shares";
            let takers = Protocol::names(|protocol| protocol.has_preprocessing());
            Err(Failure::usage(message)
                .remedy(Remedy::new("state ").field(RunField::Protocol).and(format!(": {takers}"))))
        }
    }
}
