//! `hw simulate`: garbles a program with the simulated RTL.

use phineus_session::failure::Failure;
use phineus_session::registry::Registry;

use crate::arguments::SimulateArguments;
use crate::output::Console;

/// Without the simulator.
#[cfg(not(feature = "verilator"))]
pub(super) fn simulate(
    _: &Registry,
    arguments: &SimulateArguments,
    _: &Console,
) -> Result<(), Failure> {
    phineus_session::overlay::check_build(arguments.program.cells.unwrap_or(1))
}

/// Compares rows, outputs and cycles, and evaluates the rows on random inputs, in the same RTL and in software.
#[cfg(feature = "verilator")]
pub(super) fn simulate(
    registry: &Registry,
    arguments: &SimulateArguments,
    console: &Console,
) -> Result<(), Failure> {
    use phineus_crypto::SecretBit;
    use phineus_crypto::{Block, Delta, Prg};
    use phineus_overlay::device::{evaluate, garble};
    use phineus_overlay::link::{HostLink, LinkedHost, MemoryTiming, predict};
    use phineus_overlay::memory_image::MemoryImage;
    use phineus_overlay::simulation::Simulation;
    use phineus_overlay::software::{compute_in_clear, evaluate_in_software, garble_in_software};
    use phineus_session::failure::codes;
    use phineus_tables::quantity;
    use serde_json::json;
    use std::time::Instant;

    use phineus_session::overlay::{check_build, failure};

    use super::compiled::{compile, recorded};

    check_build(arguments.program.cells.unwrap_or(1))?;
    let (stream, _) = compile(registry, &arguments.program)?;
    let netlist = recorded(registry, &arguments.program)?;
    let mut prg = Prg::from_os().map_err(|error| {
        Failure::new(codes::NO_RANDOMNESS, format!("cannot draw random labels: {error}"))
    })?;
    let (start, delta) = (prg.next_block(), Delta::random(&mut prg));
    let mut inputs = vec![Block::ZERO; netlist.inputs.len()];
    prg.fill_blocks(&mut inputs);
    let cells = stream.parameters.cells;
    let device = Simulation::open_with(cells).map_err(failure)?;
    let mut device = device.with_stalls(arguments.stalls.unwrap_or(0));
    let memory_rate = arguments.memory.words_in_memory;
    let is_random = arguments.stalls.is_some();
    let has_link = arguments.link.is_some() || memory_rate.is_some() && !is_random;
    let link: HostLink = arguments.link.clone().unwrap_or_default().with_memory(memory_rate);
    let clock_mhz = arguments.clock.clock;
    if has_link {
        device.link_to(LinkedHost::new(&stream, &link, clock_mhz));
    }
    if let Some(rate) = memory_rate {
        let timing = MemoryTiming::new(rate, cells, clock_mhz);
        device.put_memory(&MemoryImage::new(&stream, 0), timing);
    }
    let began = Instant::now();
    let secrets = (start, &delta);
    let garbled = garble(&mut device, &stream, secrets, &inputs).map_err(failure)?;
    let seconds = began.elapsed();
    let memory_bytes = device.memory_bytes();
    let ended = device.take_host().map(|host| (garbled.stalls, host.last_arrival()));
    let expected = ended.map(|_| predict(&stream, &link, clock_mhz));
    let expected = expected.map(|linked| (linked.stalls.total(), linked.total_cycles));
    let (rows, outputs) = garble_in_software(&netlist, secrets, &inputs);
    let bits = |labels: &[Block]| labels.iter().map(|label| label.to_bits()).collect::<Vec<_>>();
    let predicted = stream.cycles();
    let mut random = vec![0; inputs.len()];
    prg.fill_bytes(&mut random);
    let values: Vec<bool> = random.iter().map(|byte| byte & 1 == 1).collect();
    let active = inputs.iter().zip(&values);
    let active = active
        .map(|(&label, &value)| label ^ delta.block().and_bit(SecretBit::lowest(value.into())));
    let active: Vec<Block> = active.collect();
    let software = evaluate_in_software(&netlist, start, &active, &garbled.rows);
    let evaluated = evaluate(&mut device, &stream, start, &active, &garbled.rows);
    let evaluated = evaluated.map_err(failure)?.outputs;
    let decoded = evaluated.iter().zip(&garbled.outputs);
    let decoded = decoded.map(|(active, label)| (*active ^ *label).select_u64() == 1);
    let is_right = decoded.eq(compute_in_clear(&netlist, &values));
    let fault = if bits(&evaluated) != bits(&software) {
        Some("the overlay evaluates to other labels than the software".to_owned())
    } else if garbled.rows != rows {
        Some("the rows of the overlay differ from those of the software".to_owned())
    } else if bits(&garbled.outputs) != bits(&outputs) {
        Some("the output labels of the overlay differ from those of the software".to_owned())
    } else if garbled.cycles != predicted {
        Some(format!("the overlay took {} cycles, and not {predicted}", garbled.cycles))
    } else if ended != expected {
        let (found, expected) = (ended.unwrap_or_default(), expected.unwrap_or_default());
        Some(format!(
            "with the link the overlay waited in {} cycles of {}, and not in {} of {}",
            found.0, found.1, expected.0, expected.1
        ))
    } else if !is_right {
        Some("evaluating the rows gives another result than computing in the clear".to_owned())
    } else {
        None
    };
    if let Some(fault) = fault {
        return Err(Failure::new(codes::OVERLAY_DIFFERS, fault));
    }
    if console.is_json {
        console.document(json!({
            "cells": cells,
            "memory_bytes": memory_bytes,
            "and_gates": stream.and_count(),
            "row_bytes": rows.len(),
            "cycles": garbled.cycles,
            "stalls": garbled.stalls,
            "total_cycles": ended.map(|(_, total_cycles)| total_cycles),
            "clocks": device.clocks(),
            "simulation_seconds": seconds.as_secs_f64(),
        }));
        return Ok(());
    }
    let link = ended.map(|(stalls, total_cycles)| {
        format!(
            "\nlink {}: {} waiting cycles and {} cycles in all, both as predicted",
            link.name,
            quantity::count(stalls),
            quantity::count(total_cycles)
        )
    });
    console.print(&format!(
        "equal: {} of rows and {} output labels are those of the software garbler\n\
         evaluated on random inputs, by overlay and software: the results of the program\n\
         cycles: {} as predicted, and {} in which the overlay waited for the host; simulated in {}{}",
        quantity::bytes(rows.len() as u64),
        quantity::count(outputs.len() as u64),
        quantity::count(garbled.cycles),
        quantity::count(garbled.stalls),
        quantity::duration(seconds),
        link.unwrap_or_default()
    ))
}
