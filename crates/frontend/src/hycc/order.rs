//! The order in which gates and calls can be done: depth first from the outputs.
//!
//! A file has its gates in order, but for the results of calls, which are wires from the beginning
//! although the arguments are made by gates. What no output needs is left out.

use super::module::{Gate, HyccModule, ModuleStep};

/// The origin of a wire that is an input.
const NOBODY: u32 = u32::MAX;

/// The steps that the outputs need; the name of a call in a circle if there is one.
pub(super) fn order(module: &HyccModule) -> Result<Vec<ModuleStep>, String> {
    let gates = module.gates.len() as u32;
    let makers = makers(module);
    let mut marks = vec![VisitState::None; module.gates.len() + module.calls.len()];
    let mut order = Vec::new();
    let outputs = module.outputs.iter().flat_map(|output| &output.wires);
    let mut stack: Vec<(u32, bool)> = Vec::new();
    for &output in outputs {
        stack.push((makers[output as usize], false));
        while let Some((node, is_ready)) = stack.pop() {
            if node == NOBODY {
                continue;
            }
            if is_ready {
                marks[node as usize] = VisitState::Done;
                order.push(match node.checked_sub(gates) {
                    Some(call) => ModuleStep::Call(call),
                    None => ModuleStep::Gate(node),
                });
                continue;
            }
            if marks[node as usize] != VisitState::None {
                continue;
            }
            marks[node as usize] = VisitState::Open;
            stack.push((node, true));
            for_each_operand(module, node, |wire| {
                let maker = makers[wire as usize];
                // What is open is needed by this node, and needs it.
                if maker != NOBODY && marks[maker as usize] == VisitState::Open {
                    return Err(module.calls.first().map_or_else(String::new, |c| c.name.clone()));
                }
                stack.push((maker, false));
                Ok(())
            })?;
        }
    }
    Ok(order)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    None,
    Open,
    Done,
}

/// For each wire the gate that makes it, or the call, counted after the gates.
fn makers(module: &HyccModule) -> Vec<u32> {
    let mut makers = vec![NOBODY; module.widths.len()];
    for (index, gate) in module.gates.iter().enumerate() {
        let (first, count) = match gate {
            Gate::Split { operand, first } => (*first, module.widths[*operand as usize].into()),
            Gate::Compute { first, .. }
            | Gate::Constant { first, .. }
            | Gate::Combine { first, .. } => (*first, 1usize),
        };
        makers[first as usize..first as usize + count].fill(index as u32);
    }
    for (index, call) in module.calls.iter().enumerate() {
        for returned in &call.returns {
            let wires = returned.wires.start as usize..returned.wires.end as usize;
            makers[wires].fill((module.gates.len() + index) as u32);
        }
    }
    makers
}

fn for_each_operand(
    module: &HyccModule,
    node: u32,
    mut visit: impl FnMut(u32) -> Result<(), String>,
) -> Result<(), String> {
    match module.gates.get(node as usize) {
        Some(gate) => module.operands(gate).iter().try_for_each(|&wire| visit(wire)),
        None => {
            let call = &module.calls[node as usize - module.gates.len()];
            let mut wires = call.arguments.iter().flat_map(|argument| &argument.wires);
            wires.try_for_each(|&wire| visit(wire))
        }
    }
}
