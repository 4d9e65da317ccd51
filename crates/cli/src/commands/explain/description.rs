//! Description of a program: its parties, their inputs, and who learns which outputs.

use phineus_bytecode::{Description, Encoding};
use phineus_session::failure::Failure;
use phineus_session::report::outputs;
use phineus_session::settings::{Choice, Protocol};
use phineus_session::traced::without_openings;
use phineus_tables::quantity;

use crate::output::Console;

/// Parties, inputs and what is revealed; `openings` are sentences about what is opened inside.
pub(super) fn describe(
    (description, computing): (&Description, usize),
    openings: &[String],
    console: &Console,
) -> Result<(), Failure> {
    let (parties, clients) = description.parties.split_at(computing);
    let clients = match clients {
        [] => String::new(),
        clients => format!("   clients {}", clients.join(", ")),
    };
    let parties = parties.join(", ");
    let name = &description.name;
    let protocol = description.plan.as_ref().map(|plan| plan.protocol.as_str());
    let protocol = protocol.and_then(Protocol::from_name);
    let adversary = protocol.map_or("unknown", |protocol| protocol.adversary_in_words());
    console.print(&format!("program   {name}   parties {parties}{clients}   {adversary}"))?;
    for (name, value) in &description.parameters {
        console.print(&format!("parameter {name}={value}"))?;
    }
    for port in &description.inputs {
        let owner = &description.parties[usize::from(port.party)];
        let columns: Vec<String> = port
            .columns
            .iter()
            .take(6)
            .map(|column| match column.encoding {
                Encoding::Float => format!("{}:f{}", column.name, column.element.width()),
                Encoding::Number | Encoding::Hex | Encoding::Text | Encoding::Fixed(_) => {
                    format!("{}:{}", column.name, column.element)
                }
            })
            .collect();
        let more = if port.columns.len() > 6 { ", ..." } else { "" };
        let (rows, columns) = (quantity::count(port.rows), columns.join(", "));
        console.print(&format!(
            "input     '{}' of {owner}: {rows} rows of {columns}{more}",
            port.name
        ))?;
    }
    for (index, port) in description.outputs.iter().enumerate() {
        if description.is_opened(index) {
            let (name, element) = (&port.name, port.columns[0].element);
            console.print(&format!(
                "opens     '{name}' ({element}) to all, each time it is decided on"
            ))?;
        }
    }
    for sentence in openings {
        console.print(&format!("opens     {sentence}"))?;
    }
    for output in outputs(&without_openings(description)) {
        let (rows, to) = (quantity::count(output.rows), output.parties.join(" and "));
        let columns = output.columns.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
        console.print(&format!("reveals   '{}' to {to}: {rows} rows of {columns}", output.name))?;
    }
    let learn = |party: u16| description.outputs.iter().any(|port| port.parties.contains(&party));
    for (index, name) in description.parties.iter().enumerate() {
        if !learn(index as u16) {
            let what = match openings.is_empty() {
                true => "nothing but the sizes above",
                false => "nothing but the sizes above and what is opened",
            };
            console.print(&format!("reveals   to {name}: {what}"))?;
        }
    }
    Ok(())
}
