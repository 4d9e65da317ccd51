//! Planning for this process as it is: connected, with its inputs read.

use std::time::Duration;

use phineus_bytecode::{Description, FileKind, PlanDescription};
use phineus_channels::Transport;
use phineus_protocols::garbled::totals::AND_GATES;
use phineus_protocols::mixed::MixedSettings;

use super::super::preparation::Preparation;
use super::least_limit;
use crate::agreement::{self, Proposal};
use crate::client::ClientPass;
use crate::distance;
use crate::failure::{Failure, Remedy, RunField, codes};
use crate::heap;
use crate::memory_budget::{BudgetParameters, GROWTH_BYTES, connected_process_bytes};
use crate::memory_pool::MemoryLimit;
use crate::overlay::{CompilePlace, CompiledOverlay};
use crate::planned::PlannedFile;
use crate::planning::{plan_within, with_least};
use crate::process_memory::CODE_BYTES;
use crate::progress::Progress;
use crate::protocol::Protocol;
use crate::settings::{
    Choice, GarblerChoice, OtExtension, PreprocessingMode, ProtocolVariant, Run, protocols,
};
use crate::traced::{TracedFile, table_bytes};

/// Part of a client in the run.
pub(super) fn client_walk(
    run: &Run,
    (protocol, variant): (Protocol, ProtocolVariant),
    prepared: &Preparation<'_>,
    traced: &TracedFile,
    proposals: &[Proposal],
) -> Result<ClientPass, Failure> {
    let tables_bytes = table_bytes(&traced.description, prepared.party);
    let situation = BudgetParameters {
        // Batches are those of all who compute.
        least_limit_bytes: least_limit(proposals),
        protocol,
        parties: traced.computing,
        variant,
        is_far: agreement::is_far(proposals),
        ..situation(prepared, tables_bytes, false, run)?
    };
    let scratch = &prepared.scratch;
    ClientPass::new(traced, protocol, &situation, scratch)
        .map_err(|failure| with_least(failure, (traced, protocol), &situation, scratch))
}

/// The plan; with it the command stream of the overlay, if that garbles.
pub(super) fn plan_for_process(
    (run, progress): (&Run, &Progress),
    (protocol, variant): (Protocol, ProtocolVariant),
    prepared: &Preparation<'_>,
    traced: TracedFile,
    (proposals, slice_bytes): (&[Proposal], Option<u64>),
) -> Result<(PlannedFile, Option<CompiledOverlay>), Failure> {
    let tables_bytes = table_bytes(&traced.description, prepared.party);
    let situation = BudgetParameters {
        least_limit_bytes: least_limit(proposals),
        slice_bytes,
        round_trip: agreement::longest_round_trip(proposals),
        is_far: agreement::is_far(proposals),
        protocol,
        variant,
        transport: prepared.route.transport(),
        parties: traced.computing,
        // What is made for a later run with clients is made within what that run may take.
        clients: prepared.cast.clients(),
        ..situation(prepared, tables_bytes, traced.kind == FileKind::Planned, run)?
    };
    if traced.kind == FileKind::Planned {
        check_protocol(&traced.description, protocol, run.together.ot)?;
        let planned = PlannedFile::open(traced.clone(), &situation)?;
        distance::check_planned(&planned, run.together.variants.narrow_masks)?;
        return with_garbler((run, progress), prepared, planned, &situation, |situation| {
            PlannedFile::open(traced, situation)
        });
    }
    let planned = plan_within(&traced, protocol, &situation, &prepared.scratch)?;
    with_garbler((run, progress), prepared, planned, &situation, |situation| {
        plan_within(&traced, protocol, situation, &prepared.scratch)
    })
}

/// Compiles the plan for the overlay, if that garbles, and plans again if a run of both does not fit into the limit.
fn with_garbler(
    (run, progress): (&Run, &Progress),
    prepared: &Preparation<'_>,
    planned: PlannedFile,
    situation: &BudgetParameters,
    plan: impl FnOnce(&BudgetParameters) -> Result<PlannedFile, Failure>,
) -> Result<(PlannedFile, Option<CompiledOverlay>), Failure> {
    if run.garbler == GarblerChoice::Software {
        return Ok((planned, None));
    }
    progress.stage("compiling for the overlay");
    let place = CompilePlace {
        scratch: &prepared.scratch,
        backend: run.resources.storage,
        limit_bytes: situation.limit_bytes,
        process_bytes: situation.process_bytes + situation.tables_bytes,
    };
    let overlay = CompiledOverlay::new(&planned, (run.garbler, run.garbler_cells), place)?;
    let (run_bytes, mut planned) = (overlay.run_bytes(), planned);
    if planned.budget.running() + run_bytes <= situation.limit_bytes {
        planned.budget.driver += run_bytes;
    } else {
        let gates = planned.plan().costs.get(AND_GATES).copied();
        let process_bytes = situation.process_bytes + run_bytes;
        planned = plan(&BudgetParameters { process_bytes, ..*situation })?;
        let found = planned.plan().costs.get(AND_GATES).copied();
        assert_eq!(found, gates, "the gates of a program do not depend on memory");
    }
    planned.budget.planning = planned.budget.planning.max(overlay.peak_bytes());
    Ok((planned, Some(overlay)))
}

/// Refuses a plan that was made for another protocol or OT extension.
fn check_protocol(
    description: &Description,
    protocol: Protocol,
    ot: OtExtension,
) -> Result<(), Failure> {
    let silent = |plan: &PlanDescription| MixedSettings::stated(plan).ot.is_silent();
    match &description.plan {
        Some(plan) if plan.protocol == protocol.name() && silent(plan) != ot.is_silent() => {
            let planned = if silent(plan) { OtExtension::Silent } else { OtExtension::Softspoken };
            let message = format!("the plan is for {} OT, not {}", planned.name(), ot.name());
            Err(Failure::new(codes::PLAN_FOR_OTHER_OT, message).remedy(
                Remedy::new("run it with ")
                    .field(RunField::Ot)
                    .and(format!(" {}, or plan it again", planned.name())),
            ))
        }
        Some(plan) if plan.protocol != protocol.name() => {
            let (planned, asked) = (&plan.protocol, protocol.name());
            let message = format!("the plan is for protocol '{planned}', not {asked}");
            Err(Failure::new(codes::PLAN_FOR_ANOTHER_PROTOCOL, message).remedy(
                Remedy::new("run it with ")
                    .field(RunField::Protocol)
                    .and(format!(" {planned}, or plan it again")),
            ))
        }
        _ => Ok(()),
    }
}

/// This process as it is now, connected and with its inputs read.
fn situation(
    prepared: &Preparation<'_>,
    tables_bytes: u64,
    is_planned: bool,
    run: &Run,
) -> Result<BudgetParameters, Failure> {
    heap::trim();
    // What has been compiled, traced and agreed on needs no code any more.
    phineus_engine::release_code();
    let resident = phineus_engine::resident_bytes().unwrap_or(0);
    // The traced program goes when it is planned.
    let passing = prepared.scratch.held_bytes();
    let measured = (resident + CODE_BYTES).saturating_sub(tables_bytes + passing);
    let limit_bytes = prepared.limit_bytes;
    let members = prepared.cast.members.len();
    let expected = connected_process_bytes(members - 1, prepared.route.transport());
    // A plan made before cannot shrink: the allowance for growth must do, if it has to.
    let growth = if is_planned { 0 } else { GROWTH_BYTES };
    Ok(BudgetParameters {
        limit_bytes,
        // The caller knows this, the next one, and what follows the tables.
        least_limit_bytes: limit_bytes,
        slice_bytes: None,
        // Where there is no security anyhow, measurements are of what the literature measures.
        prove_inputs: run.preprocessing != PreprocessingMode::Fake,
        // What is expected counts growth, too, and `explain` states limits for it.
        process_bytes: match prepared.memory {
            // What else the process takes is no part of this session's share.
            MemoryLimit::Reserved(_) => expected,
            _ if measured > expected => measured + growth,
            _ => expected,
        },
        tables_bytes,
        client_tables_bytes: None,
        // The caller knows.
        protocol: protocols::GARBLED,
        parties: 2,
        clients: 0,
        // The caller knows.
        variant: ProtocolVariant {
            ot: run.together.ot,
            optimisation: run.together.variants.optimisation,
            ..ProtocolVariant::default()
        },
        round_trip: Duration::ZERO,
        is_far: false,
        transport: Transport::Tcp,
        network: run.together.simulate,
    })
}
