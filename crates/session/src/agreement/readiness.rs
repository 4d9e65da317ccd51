//! Settings and costs of the plans, exchanged before anything secret is sent, and agreed numbers.

use std::collections::BTreeMap;

use phineus_bytecode::{PlanDescription, Settings};
use phineus_channels::FramedChannel;

use super::{Peers, exchange, parse};
use crate::failure::{Failure, Remedy, RunField, codes};

/// Items of a plan that all parties must state alike.
#[derive(Clone, Copy)]
pub struct AgreedPlan<'a> {
    /// Settings that the run follows.
    pub settings: &'a Settings,
    /// Costs of the run.
    pub costs: &'a BTreeMap<String, u64>,
    /// Hash of the ordered program. Nothing for clients, whose blocks have no hash together.
    pub program_hash: Option<&'a str>,
}

impl<'a> AgreedPlan<'a> {
    /// Of a plan.
    pub fn of_plan(plan: &'a PlanDescription) -> AgreedPlan<'a> {
        AgreedPlan {
            settings: &plan.settings,
            costs: &plan.costs,
            program_hash: Some(&plan.program_hash),
        }
    }
}

/// Statement of a peer: settings, costs, and the hash of the ordered program if it computes.
type StatedByPeer<'a> = (Settings, BTreeMap<&'a str, u64>, Option<&'a str>);

/// How [`exchange_windows`] calls what it adds to the costs.
const WINDOW_DOUBLINGS: &str = "window_doublings";

/// Waits until the peers are as far as we are: nothing secret is sent before.
///
/// # Errors
/// Exit 7 if the same program costs a peer something else: then its circuits are others.
pub fn exchange_ready<'a>(
    channels: impl IntoIterator<Item = &'a mut FramedChannel>,
    stated: AgreedPlan<'_>,
) -> Result<(), Failure> {
    exchange_windows(channels, stated, None).map(|_| ())
}

/// Exchanges readiness, and the number of times that all parties have memory to double the window
/// of preprocessing beside a run: the least of all numbers. A client makes no preprocessing and
/// states no number.
///
/// # Errors
/// As [`exchange_ready`].
pub fn exchange_windows<'a>(
    channels: impl IntoIterator<Item = &'a mut FramedChannel>,
    stated: AgreedPlan<'_>,
    doublings: Option<u32>,
) -> Result<u32, Failure> {
    let ours: BTreeMap<&str, u64> =
        stated.costs.iter().map(|(name, &value)| (name.as_str(), value)).collect();
    let mut costs = ours.clone();
    costs.extend(doublings.map(|doublings| (WINDOW_DOUBLINGS, doublings.into())));
    let message = serde_json::to_vec(&(stated.settings, &costs, stated.program_hash));
    let message = message.expect("names and numbers");
    let mut least = doublings.unwrap_or(0);
    for (peer, answer) in exchange(channels, &message)? {
        let (settings, mut theirs, hash): StatedByPeer<'_> = parse(&peer, &answer)?;
        if let Some(doublings) = theirs.remove(WINDOW_DOUBLINGS) {
            // Less than ours, so it is of their type.
            least = doublings.min(least.into()) as u32;
        }
        if *stated.settings != settings {
            let message = format!(
                "the plan of {peer} has other settings, such as the size of batches of triples"
            );
            return Err(Failure::new(codes::OTHER_BATCHES, message)
                .remedy(Remedy::new("plan it again, all with the same ").field(RunField::Memory)));
        }
        let is_other_order =
            stated.program_hash.zip(hash).is_some_and(|(ours, theirs)| ours != theirs);
        if ours != theirs || is_other_order {
            let message =
                format!("the program has other circuits at {peer} than here, though not by name");
            return Err(Failure::new(codes::OTHER_CIRCUITS, message)
                .remedy("run the same build of Phineus at all parties"));
        }
    }
    Ok(least)
}

/// Tells the others a number and learns theirs; the largest of all.
pub fn exchange_number(channels: &mut Peers, ours: u64) -> Result<u64, Failure> {
    let message = serde_json::to_vec(&ours).expect("a number");
    let mut largest = ours;
    for (peer, answer) in exchange(channels.iter_mut().flatten(), &message)? {
        largest = largest.max(parse(&peer, &answer)?);
    }
    Ok(largest)
}
