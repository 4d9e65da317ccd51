//! `explain`: states what a run will cost and reveal, before it runs.

mod comparison;
mod description;
mod lines;
mod variants;

use std::time::Duration;

use phineus_bytecode::{Description, Op, Phase, PlanDescription, RoundModel};
use phineus_correlated::mascot::Kind;
use phineus_crypto::field::FieldName;
use phineus_engine::{REGION_PAGE_BYTES, Regions};
use phineus_protocols::bmr::costs::{kept_bytes, totals as garbling};
use phineus_protocols::garbled::totals;
use phineus_protocols::mixed;
use phineus_protocols::spdz::costs::{stated_demand, totals as authenticated};
use phineus_session::accelerator::{Accelerator, planned_entries};
use phineus_session::candidates::candidates;
use phineus_session::dealt::check_dealt;
use phineus_session::failure::Failure;
use phineus_session::level_order::LevelOrder;
use phineus_session::memory_choice::{MemoryChoice, MemoryPrice};
use phineus_session::planned::PlannedFile;
use phineus_session::prediction::{
    PredictedTimes, SetupTimes, correlated, predict, preprocessing_bytes, sent_bytes,
};
use phineus_session::protocol::CostTerms;
use phineus_session::registry::Registry;
use phineus_session::report::outputs;
use phineus_session::scratch::scratch_of;
use phineus_session::settings::{
    Choice, GpuChoice, PreprocessingMode, Protocol, ProtocolChoice, ProtocolVariant,
};
use phineus_session::sharing_choice::{SharedPart, SharingChoice};
use phineus_session::sizing::{self, PlanParameters, traced_for};
use phineus_session::source_costs::costliest_lines;
use phineus_session::traced::{TracedFile, without_openings};
use phineus_session::{distance, slices};
use phineus_tables::quantity;
use serde_json::json;

use crate::arguments::ExplainArguments;
use crate::leftovers::leftovers;
use crate::output::Console;

use description::describe;
use variants::{alternatives, variant_line, variant_to_json};

/// A limit under which everything fits.
const UNBOUNDED_BYTES: u64 = 1 << 40;

/// Prints what the program would cost.
pub(crate) fn run(
    registry: &Registry,
    explain: &ExplainArguments,
    console: &Console,
) -> Result<(), Failure> {
    let protocols = match &explain.protocols[..] {
        [] => &[explain.protocol][..],
        several => several,
    };
    if explain.fake_preprocessing {
        protocols.iter().try_for_each(|&one| check_dealt(ProtocolChoice::This(one)))?;
    }
    let scratch = scratch_of(&explain.resources.settings())?;
    let (mut choice, sizes) = (explain.choice.settings(), explain.sizes.settings());
    choice.notes_sources = explain.why;
    let is_far = explain.net.is_some_and(|net| slices::is_far(net.rtt));
    choice.levels = LevelOrder::of(protocols, is_far, explain.resources.limit().bytes());
    let clients = explain.outsourcing.clone().settings();
    let (traced, learns) = traced_for(registry, &choice, &clients, &sizes, &scratch, leftovers())?;
    let limit = explain.resources.limit().bytes();
    let is_dealt = explain.fake_preprocessing;
    let net = explain.net;
    let terms = PlanParameters { limit_bytes: limit, net, is_dealt, is_compared: false };
    if !explain.protocols.is_empty() {
        return comparison::run(&traced, explain, terms, &scratch, console);
    }
    let description = traced.description.clone();
    let variants = explain.variants.choices().variants(explain.ot.extensions());
    let choices = (protocols, &variants[..]);
    let candidate = candidates(&traced, choices, terms, &scratch).pop();
    let candidate = candidate.expect("one protocol was asked for");
    let planned = match candidate.outcome {
        Ok((planned, _)) => planned,
        Err(failure) => {
            if !console.is_json {
                describe((&description, traced.computing), &traced.openings()?, console)?;
                return Err(failure);
            }
            let choice = (candidate.protocol, candidate.variant);
            return Err(tell_what_does_not_fit((&traced, choice), explain, failure, console));
        }
    };
    let time = predict(&planned, explain.net).whole;
    let compared = PlanParameters { is_compared: true, ..terms };
    let plan = |variant| {
        (sizing::planned(&traced, (explain.protocol, variant), compared, &scratch), variant)
    };
    let others = alternatives(candidate.variant, &planned).into_iter().map(plan);
    let others = others.filter_map(|(planned, variant)| Some((variant, planned.ok()?)));
    let all: Vec<(ProtocolVariant, PlannedFile)> =
        std::iter::once((candidate.variant, planned)).chain(others).collect();
    let planned = &all[0].1;
    let lines = match explain.why {
        true => {
            let optimised = (explain.protocol, candidate.variant);
            Some(costliest_lines(&traced, optimised, &scratch)?)
        }
        false => None,
    };
    let accelerator = explained_accelerator(planned, explain.resources.gpu, limit);
    if console.is_json {
        let mut document = to_json(planned, limit, &time);
        match explain.fake_preprocessing {
            true => document["preprocessing"] = PreprocessingMode::Fake.name().into(),
            false => document["statistical_distance"] = distance::distance_json(planned, false),
        }
        document["learns"] = json!(learns);
        document["openings"] = json!(planned.openings()?);
        document["rounds_before_batching"] = json!(rounds_alone(planned)?);
        if field_of(planned.plan()).is_some() {
            document["multiplications"] = json!(multiplications(planned.plan()));
        }
        if let Some(accelerator) = accelerator {
            document["gpu"] = accelerator.to_json();
        }
        if let Some(lines) = &lines {
            document["lines"] = lines::to_json(lines);
        }
        document["variants"] =
            all.iter().map(|(variant, plan)| variant_to_json(*variant, plan, explain)).collect();
        console.document(document);
        return Ok(());
    }
    let openings = planned.openings()?;
    describe((&planned.description, planned.computing), &openings, console)?;
    if let Some(sentence) = learns {
        console.print(&format!("{:<9} {sentence}", "learns"))?;
    }
    print_costs(planned, limit, &time, explain, console)?;
    if all.len() > 1 {
        all.iter().try_for_each(|(variant, plan)| {
            console.print(&variant_line(*variant, plan, explain))
        })?;
    }
    if let Some(accelerator) = accelerator {
        console.print(&format!("{:<9} {}", "gpu", accelerator.sentence()))?;
    }
    lines.map_or(Ok(()), |lines| lines::print(&lines, console))
}

/// Gives the document of a program that does not fit: the figures of a plan without a memory limit.
/// Returns the failure that the document ends with.
fn tell_what_does_not_fit(
    (traced, choice): (&TracedFile, (Protocol, ProtocolVariant)),
    explain: &ExplainArguments,
    failure: Failure,
    console: &Console,
) -> Failure {
    let Ok(scratch) = scratch_of(&explain.resources.settings()) else { return failure };
    let limit = explain.resources.limit().bytes();
    // Of another failure than that of memory there are no figures.
    let is_dealt = explain.fake_preprocessing;
    let limit_bytes = UNBOUNDED_BYTES;
    let terms = PlanParameters { limit_bytes, net: None, is_dealt, is_compared: true };
    let Ok(planned) = sizing::planned(traced, choice, terms, &scratch) else {
        return failure;
    };
    let mut document = to_json(&planned, limit, &predict(&planned, explain.net).whole);
    document["fits"] = false.into();
    console.document(document);
    failure
}

/// Where products of matrices would be computed, if the plan has any.
fn explained_accelerator(
    planned: &PlannedFile,
    choice: GpuChoice,
    limit: u64,
) -> Option<Accelerator> {
    let field = field_of(planned.plan());
    let entries = planned_entries(planned);
    (entries > 0).then(|| Accelerator::find(choice, field, entries, (limit, 1)))
}

/// The field that a plan computes in, if it is one for authenticated shares.
fn field_of(plan: &PlanDescription) -> Option<FieldName> {
    Protocol::of_plan(plan).and_then(Protocol::field)
}

/// Counts of a plan in one line.
fn cost_line(plan: &PlanDescription) -> String {
    let total = |name: &str| plan.costs.get(name).copied().unwrap_or(0);
    let (rounds, instructions) = (total(totals::ROUNDS), quantity::count(plan.instruction_count));
    if field_of(plan).is_some() {
        let checks = total(authenticated::CHECK_ROUNDS);
        let opened = quantity::count(total(authenticated::OPENED));
        let products = quantity::count(multiplications(plan));
        return format!(
            "{products} multiplications, {opened} elements opened, {rounds} rounds and {checks} of \
             checks, {instructions} instructions"
        );
    }
    let ands = quantity::count(total(totals::AND_GATES));
    let garbled = match total(garbling::Y_AND_GATES) {
        0 => String::new(),
        gates => format!("{} garbled AND gates, ", quantity::count(gates)),
    };
    let ots = total(totals::EVALUATOR_INPUT_BITS) + total(mixed::totals::OTS);
    let garbling_ots = total(garbling::GARBLING_OTS) + total(mixed::totals::ENTERING_OTS);
    let ots = quantity::count(ots + garbling_ots);
    format!(
        "{ands} AND gates, {garbled}{ots} oblivious transfers, {rounds} rounds, {instructions} instructions"
    )
}

/// Products of two secret elements, those inside comparisons and other operations included.
fn multiplications(plan: &PlanDescription) -> u64 {
    let demand = stated_demand(plan);
    let products = demand.kinds().map(|(kind, count)| {
        count as u64
            * match kind {
                Kind::Triple | Kind::Square => 1,
                Kind::Matrix(size) => size.multiplications() as u64,
                Kind::Bit | Kind::Mask { .. } | Kind::BitMask { .. } | Kind::Bounded => 0,
            }
    });
    products.sum()
}

/// Rounds if no instruction began before the one before it was done: what batching saves.
fn rounds_alone(planned: &PlannedFile) -> Result<Option<u64>, Failure> {
    let plan = planned.plan();
    let terms = CostTerms::stated(plan, planned.computing);
    let model = Protocol::of_plan(plan).and_then(|protocol| protocol.rounds(&terms));
    let (Some(mut model), None) = (model, &planned.blocks) else { return Ok(None) };
    let mut rounds = 0;
    planned.file.reader()?.for_each::<Failure>(|instruction| {
        let begins = !instruction.op.is_directive() && instruction.phase != Phase::Finish;
        rounds += u64::from(match instruction.op {
            Op::Reveal | Op::Locate => u32::from(begins),
            // All rows that a party is told take one round.
            Op::Tell => u32::from(instruction.immediates[1] == 0),
            op if op.is_stateful() || !begins => 0,
            _ => model.interaction(&instruction.part(Phase::Whole)).rounds,
        });
        Ok(())
    })?;
    Ok(Some(rounds))
}

/// Prints the cost of making authenticated correlated randomness: what it takes besides the bytes
/// of the online phase.
fn print_making(planned: &PlannedFile, console: &Console) -> Result<(), Failure> {
    let plan = planned.plan();
    if field_of(plan).is_none() {
        return Ok(());
    }
    let total = |name: &str| plan.costs.get(name).copied().unwrap_or(0);
    let ots = quantity::count(total(mixed::totals::OTS));
    let rounds = total(mixed::totals::PREPROCESSING_ROUNDS);
    let with = format!("with {ots} oblivious transfers between each two, in {rounds} rounds");
    console.print(&format!("{:<9} {with}", ""))?;
    let made = preprocessing_bytes(planned).into_iter().zip(&planned.description.parties);
    for (party, ((making, _), name)) in made.enumerate() {
        let online = quantity::count(total(&mixed::totals::online_bytes(party)));
        let making = quantity::count(making);
        let bytes = format!("{name} sends {making} to make that, {online} online");
        console.print(&format!("{:<9} {bytes}", "bytes"))?;
    }
    Ok(())
}

/// Prints the bytes that each party sends, and those between clients and computing parties.
fn print_links(planned: &PlannedFile, console: &Console) -> Result<(), Failure> {
    let total = |name: &str| planned.plan().costs.get(name).copied().unwrap_or(0);
    let line = |name: &str, text: String| console.print(&format!("{name:<9} {text}"));
    for (party, bytes) in planned.description.parties.iter().zip(sent_bytes(planned)) {
        let exact = quantity::count(bytes);
        line("sends", format!("{party} {} ({exact} bytes)", quantity::bytes(bytes)))?;
    }
    for client in planned.computing..planned.description.parties.len() {
        let name = &planned.description.parties[client];
        let last = &planned.description.parties[planned.computing - 1];
        let inputs = quantity::count(total(&mixed::totals::client_input_bytes(client)));
        let outputs = quantity::count(total(&mixed::totals::client_output_bytes(client)));
        line(
            "links",
            format!("{name} sends {last} {inputs} bytes, each party sends {name} {outputs} bytes"),
        )?;
    }
    Ok(())
}

fn print_costs(
    planned: &PlannedFile,
    limit: u64,
    time: &PredictedTimes,
    explain: &ExplainArguments,
    console: &Console,
) -> Result<(), Failure> {
    let plan = planned.plan();
    let total = |name: &str| plan.costs.get(name).copied().unwrap_or(0);
    let page_bytes = plan.page_bytes();
    let line = |name: &str, text: String| console.print(&format!("{name:<9} {text}"));
    line("cost", cost_line(plan))?;
    planned.memories.iter().try_for_each(|memory| line("rows", memory.sentence()))?;
    if let Some(choice) = &planned.sharings {
        line("sharings", choice.sentence())?;
        choice.lines().into_iter().try_for_each(|text| line("", text))?;
    }
    if explain.fake_preprocessing {
        let dealer =
            "correlated randomness from a dealer whom everybody would have to trust: NO SECURITY";
        line("insecure", dealer.to_owned())?;
    }
    if let Some(alone) = rounds_alone(planned)? {
        let (alone, rounds) = (quantity::count(alone), quantity::count(total(totals::ROUNDS)));
        let text = format!("{alone} rounds one instruction after the other, {rounds} as planned");
        line("batching", text)?;
    }
    print_blocks(planned, explain.fake_preprocessing, console)?;
    if mixed::MixedSettings::stated(plan).ot.is_silent() {
        line("ot", "silent".to_owned())?;
    }
    let takes = if explain.fake_preprocessing { "takes" } else { "makes" };
    for (what, count) in correlated(plan) {
        line(takes, format!("{} {what}", quantity::count(count)))?;
    }
    if !explain.fake_preprocessing {
        print_making(planned, console)?;
    }
    let stored_gates = if planned.is_garbled() { total(garbling::Y_AND_GATES) } else { 0 };
    if let (gates @ 1.., None) = (stored_gates, &planned.blocks) {
        let each = kept_bytes(planned.computing);
        let bytes = quantity::bytes(gates * each);
        line("stores", format!("{bytes} of garbled tables a party if made before, {each} a gate"))?;
    }
    let protocol = Protocol::from_name(&plan.protocol);
    let entries = planned_entries(planned);
    if let Some(slice) =
        protocol.and_then(|protocol| slices::sentence(protocol, limit, explain.net, entries))
    {
        line("slice", slice)?;
    }
    if !explain.fake_preprocessing {
        for (number, text) in distance::distance_lines(planned).into_iter().enumerate() {
            line(if number == 0 { "distance" } else { "" }, text)?;
        }
    }
    print_links(planned, console)?;
    let need = quantity::bytes(planned.budget.total());
    let unbounded = quantity::bytes(
        (planned.budget.running() - planned.budget.frames + plan.unbounded_page_count * page_bytes)
            .max(planned.budget.planning),
    );
    line(
        "memory",
        format!(
            "fits into {}: at most {need} (to swap nothing: {unbounded})",
            quantity::bytes(limit)
        ),
    )?;
    if console.is_verbose {
        for (name, bytes) in sizing::budget_lines(&planned.budget) {
            line("", format!("  {name:<15} {:>12}", quantity::bytes(bytes)))?;
        }
    }
    line(
        "scratch",
        format!(
            "{} of swap file, {} pages in and {} out, {} of plan",
            quantity::bytes(plan.spill_slot_count * page_bytes + region_file_bytes(planned)),
            quantity::count(plan.swap_in_count),
            quantity::count(plan.swap_out_count),
            quantity::bytes(planned.length_bytes()?)
        ),
    )?;
    if plan.region_frames > 0 {
        let pages = Regions::pages(&planned.description, plan.layout);
        let bytes = |pages: u64| quantity::bytes(pages * u64::from(REGION_PAGE_BYTES));
        line(
            "regions",
            format!(
                "{} of {} in memory, the rest paged on demand: at most {} pages in and as many out",
                bytes(plan.region_frames),
                bytes(pages),
                quantity::count(planned.region_touches()?)
            ),
        )?;
    }
    let seconds = |s: f64| quantity::duration(Duration::from_secs_f64(s));
    let network = match explain.net {
        Some(_) => "on that network",
        None => "on one machine (say --net rtt=20ms,bw=1gbit for another network)",
    };
    line("time", format!("about {} {network}, limited by {}", seconds(time.total()), time.bound()))
}

/// The swap file of regions, if not all of them are in memory.
fn region_file_bytes(planned: &PlannedFile) -> u64 {
    let plan = planned.plan();
    match plan.region_frames {
        0 => 0,
        _ => Regions::pages(&planned.description, plan.layout) * u64::from(REGION_PAGE_BYTES),
    }
}

/// A line for each block, if there are several.
fn print_blocks(planned: &PlannedFile, is_dealt: bool, console: &Console) -> Result<(), Failure> {
    let Some(blocks) = &planned.blocks else { return Ok(()) };
    if blocks.flow.times().is_none() {
        console.print(
            "          if each block runs once; how often each does is decided by what is opened",
        )?;
    }
    for block in blocks.lines(&planned.description, planned.computing, is_dealt)? {
        console.print(&format!("{:<9} {block}", "block"))?;
    }
    Ok(())
}

/// How sharings were chosen.
fn sharings_to_json(choice: &SharingChoice) -> serde_json::Value {
    let candidates = choice.candidates.iter();
    let part = |part: &SharedPart| {
        json!({
            "operation": part.op.info().name,
            "width": part.width,
            "instructions": part.instructions,
            "sharing": part.sharing_name(),
        })
    };
    json!({
        "rule": choice.setting.rule.to_string(),
        "network": choice.network(),
        "is_network_assumed": choice.is_assumed,
        "candidates": candidates
            .map(|(rule, seconds)| json!({ "rule": rule.to_string(), "seconds": seconds }))
            .collect::<Vec<_>>(),
        "parts": choice.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

fn to_json(planned: &PlannedFile, limit: u64, time: &PredictedTimes) -> serde_json::Value {
    let budget: serde_json::Map<String, serde_json::Value> = sizing::budget_lines(&planned.budget)
        .into_iter()
        .map(|(name, bytes)| (name.replace(' ', "_"), bytes.into()))
        .collect();
    json!({
        "program": planned.description.name,
        "parties": planned.description.parties,
        "computing": planned.computing,
        "parameters": planned.description.parameters,
        "inputs": planned.description.inputs,
        "outputs": outputs(&without_openings(&planned.description)),
        "opened": opened(&planned.description),
        "fits": true,
        "memory_limit_bytes": limit,
        "peak_memory_bytes": planned.budget.total(),
        "memory_bytes": budget,
        "memories": planned.memories.iter().map(memory_to_json).collect::<Vec<_>>(),
        "sharings": planned.sharings.as_deref().map(sharings_to_json),
        "plan": planned.plan(),
        "starting": SetupTimes::of(planned.plan()),
        "seconds": {
            "compute": time.compute,
            "network": time.network,
            "storage": time.storage,
            "latency": time.all_latency(),
            "start": time.start,
            "total": time.total(),
        },
    })
}

/// How a memory is accessed, and what that costs, the cheapest method first.
fn memory_to_json(memory: &MemoryChoice) -> serde_json::Value {
    let price = |price: &MemoryPrice| {
        json!({
            "method": price.method.name(),
            "seconds": price.seconds,
            "sent_bytes": price.sent_bytes,
        })
    };
    json!({
        "name": memory.shape.name,
        "rows": memory.shape.rows,
        "row_bits": memory.shape.row_bits(),
        "reads": memory.usage.reads,
        "changes": memory.usage.changes,
        "method": memory.method.name(),
        "prices": memory.prices.iter().map(price).collect::<Vec<_>>(),
    })
}

/// Names of the values that are opened to all parties during the run.
fn opened(description: &Description) -> Vec<&str> {
    let name = |&port: &u32| description.outputs[port as usize].name.as_str();
    description.opened.iter().map(name).collect()
}
