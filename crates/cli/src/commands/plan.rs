//! `plan`, `show` and `check`: programs as files.

use std::io::{BufWriter, Write};
use std::path::Path;

use phineus_bytecode::{Description, FileKind, verify, write_text};
use phineus_correlated::demand::BatchScale;
use phineus_plan::limits::PLANNER_MEMORY_BYTES;
use phineus_plan::{Scratch, check, check_order};
use phineus_protocols::mixed;
use phineus_session::candidates::candidates;
use phineus_session::failure::{Failure, codes};
use phineus_session::memories;
use phineus_session::memory_budget::default_limit;
use phineus_session::output_file::check_writable;
use phineus_session::planned::GarblingPlan;
use phineus_session::planning;
use phineus_session::protocol::CostTerms;
use phineus_session::registry::Registry;
use phineus_session::resolve::{arguments_of, is_c, trace};
use phineus_session::roles::described;
use phineus_session::scratch::{scratch_of, scratch_within};
use phineus_session::settings::{
    Choice, NarrowMasks, ProgramChoice, Protocol, ProtocolVariant, Sizes, protocols,
};
use phineus_session::sizing::{self, PlanParameters};
use phineus_session::traced::TracedBlocks;
use phineus_session::traced::TracedFile;
use phineus_tables::quantity;
use serde_json::json;

use crate::arguments::{CheckArguments, PlanArguments, ShowArguments};
use crate::commands::check_c;
use crate::leftovers::leftovers;
use crate::output::Console;

/// Plans a program into a file.
pub(crate) fn plan(
    registry: &Registry,
    plan: &PlanArguments,
    console: &Console,
) -> Result<(), Failure> {
    let scratch = scratch_of(&plan.resources.settings())?;
    check_writable(&plan.out)?;
    let (choice, sizes) = (plan.choice.settings(), plan.sizes.settings());
    let clients = plan.outsourcing.clone().settings();
    let (traced, _) =
        sizing::traced_for(registry, &choice, &clients, &sizes, &scratch, leftovers())?;
    if traced.kind == FileKind::Planned {
        return Err(Failure::new(codes::PLANNED_ALREADY, "this file is planned already"));
    }
    if let Some(path) = &plan.program_out {
        traced.file.save(path, leftovers())?;
    }
    let limit = plan.resources.limit().bytes();
    let variants = plan.variants.choices().variants(&[plan.ot]);
    let terms =
        PlanParameters { limit_bytes: limit, net: None, is_dealt: false, is_compared: false };
    let candidate = candidates(&traced, (&[plan.protocol], &variants), terms, &scratch).pop();
    let (planned, _) = candidate.expect("one protocol was asked for").outcome?;
    planned.save(&plan.out, leftovers())?;
    let figures = planned.plan();
    if console.is_json {
        console.document(json!({
            "file": plan.out,
            "hash": planned.hash.to_string(),
            "peak_memory_bytes": planned.budget.total(),
            "planning_seconds": planned.planning.as_secs_f64(),
            "scratch_peak_bytes": scratch.disk_peak_bytes(),
            "plan": figures,
        }));
        return Ok(());
    }
    console.say(&format!(
        "{}: {} instructions in {}, {} pages in and {} out, at most {} of {}; planned in {}",
        plan.out.display(),
        quantity::count(figures.instruction_count),
        quantity::bytes(planned.length_bytes()?),
        quantity::count(figures.swap_in_count),
        quantity::count(figures.swap_out_count),
        quantity::bytes(planned.budget.total()),
        quantity::bytes(limit),
        quantity::duration(planned.planning)
    ));
    Ok(())
}

/// Prints a program as text.
pub(crate) fn show(
    registry: &Registry,
    show: &ShowArguments,
    console: &Console,
) -> Result<(), Failure> {
    let traced = sizing::traced(
        registry,
        &show.choice.settings(),
        &Sizes::default(),
        &scratch_within(default_limit()),
        leftovers(),
    )?;
    if console.is_json || show.description {
        let hash = traced.hash.to_string();
        let document = json!({ "hash": hash, "description": traced.description });
        if !console.is_json {
            return console.print(&format!("{document:#}"));
        }
        console.document(document);
        return Ok(());
    }
    let mut stdout = BufWriter::new(std::io::stdout().lock());
    match &traced.blocks {
        None => {
            show_block(&traced, &mut stdout)?;
        }
        Some(blocks) => {
            for (number, (part, end)) in blocks.parts.iter().zip(&blocks.flow.blocks).enumerate() {
                writeln!(stdout, "# block {number}")?;
                show_block(part, &mut stdout)?;
                let text = serde_json::to_string(end).expect("names and numbers");
                writeln!(stdout, "# block {number} ends with {text}")?;
            }
        }
    }
    Ok(stdout.flush()?)
}

/// Prints a program of one block, and what is garbled beside it.
fn show_block(traced: &TracedFile, stdout: &mut impl Write) -> Result<(), Failure> {
    write_text(&mut traced.file.reader()?, &mut *stdout)?;
    if let Some(garbling) = traced.file.garbling() {
        writeln!(stdout, "# what is garbled beside it:")?;
        write_text(&mut garbling.reader()?, CommentWriter { output: stdout, is_at_start: true })?;
    }
    Ok(())
}

/// Makes every line a comment.
struct CommentWriter<W> {
    output: W,
    is_at_start: bool,
}

impl<W: Write> Write for CommentWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.is_at_start {
                self.output.write_all(b"# ")?;
            }
            self.output.write_all(line)?;
            self.is_at_start = line.ends_with(b"\n");
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.output.flush()
    }
}

/// Proves a program or a plan right, or says all that is wrong.
pub(crate) fn check_file(
    registry: &Registry,
    arguments: &CheckArguments,
    console: &Console,
) -> Result<(), Failure> {
    let path = arguments.choice.program.as_deref().map(Path::new);
    if let Some(path) = path.filter(|path| path.is_file() && is_c(path)) {
        return check_c::check(registry, path, &arguments.choice, console);
    }
    let scratch = scratch_within(default_limit());
    let traced = sizing::traced(
        registry,
        &arguments.choice.settings(),
        &Sizes::default(),
        &scratch,
        leftovers(),
    )?;
    let mut proven = "every instruction is well formed".to_owned();
    let mut faults = Vec::new();
    if let Some(blocks) = &traced.blocks {
        // It was verified when it was opened.
        if traced.kind == FileKind::Planned {
            faults = check_blocks(registry, arguments, (&traced, blocks), &scratch)?;
            proven += ", and every block computes on the values that its program means";
        }
        return say_checked(&traced, &faults, &proven, console);
    }
    let mut reader = traced.file.reader()?;
    let named = |error: phineus_bytecode::Error| {
        let failure = Failure::from(error);
        let file = arguments.choice.program.as_deref().unwrap_or("the program");
        failure.in_file(file.as_ref())
    };
    reader.verify_hash().map_err(named)?;
    let violations = verify(&mut reader).map_err(named)?;
    faults.extend(violations.iter().map(|violation| violation.to_string()));
    if traced.kind == FileKind::Planned && faults.is_empty() {
        let source = source_of(registry, arguments, &traced)?;
        let plan = traced.description.plan.as_ref();
        let wanted = plan.map(|plan| plan.program_hash.clone()).unwrap_or_default();
        let (source, clients) = owned_as(source, &traced, &scratch)?;
        let (source, unproven) = memories::expanded_as(source, &traced.description, &scratch)?;
        faults.extend(unproven);
        let source = shared_as(source, &traced.description, &scratch)?;
        let (source, misordered) = in_rounds(source, &traced.description, &scratch)?;
        faults.extend(misordered);
        let found = source.hash.to_string();
        if wanted != found {
            faults.push(format!(
                "the plan was made from program {wanted}, and this program is {found}"
            ));
        } else {
            faults.extend(check(&mut source.file.reader()?, &mut reader)?);
            faults.extend(check_garbling(&source, &traced, &scratch)?);
            proven = "every instruction is well formed and computes on the values that its \
                      program means; no frame is used while its page moves"
                .to_owned()
                + ranges_proven(&traced.description)
                + &clients;
        }
    }
    say_checked(&traced, &faults, &proven, console)
}

/// Checks what is garbled beside a plan, if its protocol garbles beside.
fn check_garbling(
    ordered: &TracedFile,
    planned: &TracedFile,
    scratch: &Scratch,
) -> Result<Vec<String>, Failure> {
    let protocol = planned.description.plan.as_ref().and_then(Protocol::of_plan);
    match protocol.is_some_and(|protocol| protocol.garbles_beside(planned.computing)) {
        true => GarblingPlan::check(ordered, planned, scratch),
        false => Ok(Vec::new()),
    }
}

/// Words about the ranges that [`in_rounds`] proves, for protocols over a field.
fn ranges_proven(description: &Description) -> &'static str {
    let protocol = description.plan.as_ref().and_then(|plan| Protocol::from_name(&plan.protocol));
    match protocol.and_then(Protocol::field) {
        Some(_) => "; every number is in the range that the planner relies on",
        None => "",
    }
}

/// Says what was proven, or what is wrong.
fn say_checked(
    traced: &TracedFile,
    faults: &[String],
    proven: &str,
    console: &Console,
) -> Result<(), Failure> {
    let hash = traced.hash.to_string();
    if console.is_json {
        console.document(json!({ "hash": hash, "right": faults.is_empty(), "faults": faults }));
    }
    if faults.is_empty() {
        console.say(&format!("right: {proven}\nhash {hash}"));
        return Ok(());
    }
    Err(Failure::new(codes::NOT_RIGHT, faults.join("\n")))
}

/// Finds faults in the plans of blocks.
fn check_blocks(
    registry: &Registry,
    arguments: &CheckArguments,
    (planned, blocks): (&TracedFile, &TracedBlocks),
    scratch: &Scratch,
) -> Result<Vec<String>, Failure> {
    let (source, _) = owned_as(source_of(registry, arguments, planned)?, planned, scratch)?;
    let (source, unproven) = memories::expanded_as(source, &planned.description, scratch)?;
    let source = shared_as(source, &planned.description, scratch)?;
    let Some(meant) = source.blocks.as_ref().filter(|meant| meant.flow == blocks.flow) else {
        return Ok(vec!["the plan's blocks follow each other in another order".to_owned()]);
    };
    let mut faults = unproven;
    let described = |description: &Description| Description {
        plan: None,
        // Planning chooses the sharing of what is carried, and of what lies in regions.
        slots: Default::default(),
        regions: Default::default(),
        ..description.clone()
    };
    if described(&source.description) != described(&planned.description) {
        let what = "the plan's parties, tables or receivers are others than the program's";
        faults.push(what.to_owned());
    }
    let plan = planned.description.plan.as_ref();
    let protocol = plan.map_or(protocols::CLEAR, Protocol::of_verified_plan);
    let optimised = (protocol, plan.map_or_else(Default::default, ProtocolVariant::stated));
    let meant = planning::blocks_with_state(meant, optimised, PLANNER_MEMORY_BYTES, scratch)?;
    faults.extend(planning::unproven_state(&meant)?);
    for (number, (source, part)) in meant.parts.iter().zip(&blocks.parts).enumerate() {
        let (source, found) = in_rounds(source.clone(), &planned.description, scratch)?;
        faults.extend(found);
        let wanted = part.description.plan.as_ref().map(|plan| plan.program_hash.as_str());
        if wanted != Some(&source.hash.to_string()) {
            faults.push(format!("block {number} was made from another program"));
        } else {
            faults.extend(check(&mut source.file.reader()?, &mut part.file.reader()?)?);
            faults.extend(check_garbling(&source, part, scratch)?);
        }
    }
    Ok(faults)
}

/// `source` with the parties of the plan, and words about those that are not the program's own.
fn owned_as(
    source: TracedFile,
    planned: &TracedFile,
    scratch: &Scratch,
) -> Result<(TracedFile, String), Failure> {
    let (own, plans) = (&source.description, &planned.description);
    let is_comparable =
        own.inputs.len() == plans.inputs.len() && own.outputs.len() == plans.outputs.len();
    if own.parties == plans.parties || !is_comparable || source.kind == FileKind::Planned {
        return Ok((source, String::new()));
    }
    let mut description = Description { parties: plans.parties.clone(), ..own.clone() };
    let mut words = format!("\ncomputed by {}", plans.parties[..planned.computing].join(", "));
    let name = |party: u16| plans.parties[usize::from(party)].as_str();
    for (port, planned) in description.inputs.iter_mut().zip(&plans.inputs) {
        port.party = planned.party;
        words.push_str(&format!("; '{}' from {}", port.name, name(port.party)));
    }
    for (port, planned) in description.outputs.iter_mut().zip(&plans.outputs) {
        port.parties.clone_from(&planned.parties);
        let names: Vec<&str> = port.parties.iter().map(|&party| name(party)).collect();
        words.push_str(&format!("; '{}' to {}", port.name, names.join(" and ")));
    }
    let source = TracedFile { computing: planned.computing, ..source };
    Ok((described(&source, description, scratch)?, words))
}

/// `source` with the sharings that a plan states to have chosen.
fn shared_as(
    source: TracedFile,
    description: &Description,
    scratch: &Scratch,
) -> Result<TracedFile, Failure> {
    match &description.plan {
        Some(plan) if source.kind == FileKind::Program => {
            let of_plan = (Protocol::of_verified_plan(plan), ProtocolVariant::stated(plan));
            planning::with_stated_sharings(source, of_plan, (PLANNER_MEMORY_BYTES, scratch))
        }
        Some(_) | None => Ok(source),
    }
}

/// `source` as the plan's protocol orders it, if it does, and what is wrong with that order.
fn in_rounds(
    source: TracedFile,
    description: &Description,
    scratch: &Scratch,
) -> Result<(TracedFile, Vec<String>), Failure> {
    let protocol = description.plan.as_ref().map_or(protocols::CLEAR, Protocol::of_verified_plan);
    let parties = description.computing();
    let limit = description.plan.as_ref().map_or(0, |plan| plan.memory_limit_bytes);
    let bounds = planning::OrderingBounds {
        least_limit_bytes: limit,
        slice_bytes: None,
        is_far: false,
        planner_memory_bytes: PLANNER_MEMORY_BYTES,
        prove_inputs: true,
        y2a: description
            .plan
            .as_ref()
            .map_or_else(Default::default, |plan| mixed::MixedSettings::stated(plan).y2a),
        masks: description
            .plan
            .as_ref()
            .map_or(NarrowMasks::Auto, |plan| ProtocolVariant::stated(plan).masks),
        scale: BatchScale::FULL,
    };
    let variant = description.plan.as_ref().map_or_else(Default::default, ProtocolVariant::stated);
    let optimised = (protocol, variant);
    let memory = PLANNER_MEMORY_BYTES;
    let mut faults = planning::unproven_facts(&source, optimised, memory, scratch)?;
    let narrowed = planning::narrowed(&source, optimised, memory, scratch)?;
    let is_narrowed = narrowed.is_some();
    let source = narrowed.unwrap_or(source);
    match planning::ordered((&source, is_narrowed), protocol, parties, bounds, scratch)? {
        None => Ok((source, faults)),
        Some(ordered) => {
            let variant = ProtocolVariant { y2a: bounds.y2a, ..ProtocolVariant::default() };
            let terms = CostTerms { parties, scale: bounds.scale, variant, masks: ordered.masks };
            let (assigned, ordered) = (ordered.assigned, ordered.ordered);
            let Some(mut model) = protocol.rounds(&terms) else {
                return Ok((ordered, faults));
            };
            let (before, after) = (&mut assigned.reader()?, &mut ordered.file.reader()?);
            faults.extend(check_order(before, after, &mut model)?);
            if let Some(field) = protocol.field() {
                faults.extend(planning::unproven_ranges(&source, field, bounds, scratch)?);
            }
            Ok((ordered, faults))
        }
    }
}

/// The program that a plan was made from: as given, or by the plan's own name and sizes.
fn source_of(
    registry: &Registry,
    arguments: &CheckArguments,
    planned: &TracedFile,
) -> Result<TracedFile, Failure> {
    let scratch = scratch_within(default_limit());
    let description = &planned.description;
    let name = arguments.source.as_deref().unwrap_or(&description.name);
    let parameters: Vec<(String, String)> =
        description.parameters.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    if let Some(program) = registry.find(name) {
        if name != description.name {
            let message = format!("the plan is of '{}', not of '{name}'", description.name);
            return Err(Failure::new(codes::PLAN_OF_ANOTHER, message));
        }
        let mut program_arguments = arguments_of(program, &parameters)?;
        for port in &description.inputs {
            program_arguments.set_rows(&port.name, port.rows);
        }
        return trace(program, &program_arguments, &scratch);
    }
    let is_open = arguments.source.is_some();
    if !is_open {
        let message = format!("the plan is of '{name}', which is not known here by name");
        return Err(Failure::usage(message).remedy("name its program with --program FILE"));
    }
    let rows: Vec<(String, String)> =
        description.inputs.iter().map(|port| (port.name.clone(), port.rows.to_string())).collect();
    let choice = |parameters| ProgramChoice {
        program: Some(name.to_owned()),
        parameters,
        notes_sources: false,
        levels: None,
    };
    // A circuit has sizes to be stated, a traced file has its own.
    sizing::traced(registry, &choice(Vec::new()), &Sizes::default(), &scratch, leftovers())
        .and_then(|traced| {
            if traced.hash.to_string() == description.plan.as_ref().map_or("", |p| &p.program_hash)
            {
                return Ok(traced);
            }
            sizing::traced(
                registry,
                &choice(parameters),
                &Sizes { rows, ..Sizes::default() },
                &scratch,
                leftovers(),
            )
            .or(Ok(traced))
        })
}
