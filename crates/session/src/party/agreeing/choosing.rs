//! Choice of the protocol and its variant, the same at all parties.

use super::super::preparation::Preparation;
use super::{is_voice, least_limit};
use crate::agreement::Proposal;
use crate::candidates::{candidates, cheapest, reason};
use crate::connecting::check_parties;
use crate::failure::{Failure, codes};
use crate::progress::Progress;
use crate::protocol::Protocol;
use crate::settings::{Choice, PreprocessingMode, ProtocolChoice, ProtocolVariant, Run};
use crate::sizing::PlanParameters;
use crate::traced::TracedFile;

/// The protocol and its variant: as stated, or the one that takes the least time on the stated network
/// with the least of all memory limits, which is the same one at all parties.
pub(super) fn chosen(
    run: &Run,
    prepared: &Preparation<'_>,
    proposals: &[Proposal],
    traced: &TracedFile,
    progress: &Progress,
) -> Result<(Protocol, ProtocolVariant), Failure> {
    let variants = run.together.variants.variants(&[run.together.ot]);
    if let (ProtocolChoice::This(protocol), [variant]) = (run.together.protocol, &variants[..]) {
        return Ok((protocol, *variant));
    }
    if let Some(plan) = &traced.description.plan {
        return Ok((of_plan(&plan.protocol, run.together.protocol)?, variants[0]));
    }
    let cast = &prepared.cast;
    let possible: Vec<Protocol> = run
        .together
        .protocol
        .candidates()
        .into_iter()
        .filter(|&protocol| check_parties(protocol, cast.computing, cast.members.len()).is_ok())
        .collect();
    progress.stage("choosing the protocol");
    let choices = (&possible[..], &variants[..]);
    let is_dealt = run.preprocessing == PreprocessingMode::Fake;
    let limit_bytes = least_limit(proposals);
    let terms = PlanParameters { limit_bytes, net: run.network(), is_dealt, is_compared: true };
    let compared = candidates(traced, choices, terms, &prepared.scratch);
    let candidates = match compared.iter().all(|candidate| candidate.outcome.is_err()) {
        false => compared,
        // What would be enough is looked for only now: it takes more memory than there is.
        true => {
            let stated = PlanParameters { is_compared: false, ..terms };
            candidates(traced, choices, stated, &prepared.scratch)
        }
    };
    let best = cheapest(&candidates)?;
    if is_voice(run, prepared) {
        progress.note(&format!("protocol: {}", reason(&candidates, best)));
    }
    Ok((best.protocol, best.variant))
}

/// The protocol that a plan names, if `choice` may come to it: who makes a plan does not choose what
/// others assume.
fn of_plan(name: &str, choice: ProtocolChoice) -> Result<Protocol, Failure> {
    let protocol = Protocol::from_name(name).ok_or_else(|| {
        let message = format!("the plan is for a protocol '{name}', unknown here");
        Failure::new(codes::PLAN_FOR_ANOTHER_PROTOCOL, message)
    })?;
    if choice.candidates().contains(&protocol) {
        return Ok(protocol);
    }
    let choice = choice.name();
    let message = format!("the plan is for protocol '{name}', which '{choice}' never chooses");
    Err(Failure::new(codes::PLAN_FOR_ANOTHER_PROTOCOL, message)
        .remedy(format!("run it with --protocol {name}, if you accept what that protocol assumes")))
}
