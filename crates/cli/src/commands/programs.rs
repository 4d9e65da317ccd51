//! `programs` and `data`: lists built-in programs, and generates inputs for them.

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, Description, Encoding, Lane, Table};
use phineus_frontend::{Parameter, Program};
use phineus_session::failure::Failure;
use phineus_session::memory_budget::default_limit;
use phineus_session::outputs::write_file;
use phineus_session::registry::Registry;
use phineus_session::resolve::shape;
use phineus_session::resolve::{arguments_of, resolve};
use phineus_session::scratch::scratch_within;
use phineus_session::sizing::stated_rows;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::arguments::{DataArguments, ProgramsArguments};
use crate::leftovers::leftovers;
use crate::output::Console;

/// Lists the programs.
pub(crate) fn list(
    registry: &Registry,
    programs: &ProgramsArguments,
    console: &Console,
) -> Result<(), Failure> {
    let found;
    let chosen: Vec<&dyn Program> = match &programs.name {
        None => registry.iter().collect(),
        Some(name) => {
            found = resolve(registry, Some(name), &scratch_within(default_limit()), leftovers())?;
            let program = found.program().ok_or_else(|| {
                Failure::usage(format!("{name} is a file of fixed size, without parameters"))
                    .remedy(format!("`phineus show {name}` prints it"))
            })?;
            vec![program]
        }
    };
    if console.is_json {
        let list: Vec<_> = chosen.iter().map(|program| to_json(*program)).collect();
        console.document(json!(list));
        return Ok(());
    }
    for program in chosen {
        console.print(&format!("{:<16} {}", program.name(), program.about()))?;
        for Parameter { name, default, help } in program.parameters() {
            let default = default.map_or_else(|| "required".to_owned(), |d| format!("default {d}"));
            console.print(&format!("    {name:<12} {help} ({default})"))?;
        }
        // One asked for by name is shown with its tables.
        if programs.name.is_some() {
            print_tables(program, &programs.parameters, console)?;
        }
    }
    Ok(())
}

/// The tables that a program takes and gives, for sizes that need not be right.
fn print_tables(
    program: &dyn Program,
    parameters: &[(String, String)],
    console: &Console,
) -> Result<(), Failure> {
    let arguments = arguments_of(program, parameters)?;
    let description = phineus_session::resolve::probe(program, &arguments)?;
    let name = |party: u16| description.parties[usize::from(party)].as_str();
    let columns = |columns: &[Column]| {
        let each = columns.iter().map(|c| format!("{} ({})", c.name, kind_of(c)));
        each.collect::<Vec<_>>().join(", ")
    };
    for port in &description.inputs {
        let (owner, columns) = (name(port.party), columns(&port.columns));
        console.print(&format!("    input '{}' of {owner}: {columns}", port.name))?;
    }
    for port in &description.outputs {
        let learners: Vec<&str> = port.parties.iter().map(|&party| name(party)).collect();
        let (learners, columns) = (learners.join(" and "), columns(&port.columns));
        console.print(&format!("    output '{}' to {learners}: {columns}", port.name))?;
    }
    Ok(())
}

/// Description of a column's type.
fn kind_of(column: &Column) -> String {
    match column.encoding {
        Encoding::Number => column.element.to_string(),
        Encoding::Hex => format!("{} in hexadecimal", column.element),
        Encoding::Text => "any text".to_owned(),
        Encoding::Fixed(fraction) => {
            format!("{} with {fraction} bits behind the point", column.element)
        }
        Encoding::Float => format!("a floating-point number of {} bits", column.element.width()),
    }
}

fn to_json(program: &dyn Program) -> serde_json::Value {
    let parameters: Vec<_> = program
        .parameters()
        .into_iter()
        .map(|p| json!({ "name": p.name, "default": p.default, "help": p.help }))
        .collect();
    json!({
        "name": program.name(),
        "about": program.about(),
        "parties": program.parties(),
        "parameters": parameters,
    })
}

/// Generates input files.
pub(crate) fn data(
    registry: &Registry,
    data: &DataArguments,
    console: &Console,
) -> Result<(), Failure> {
    let resolved = resolve(
        registry,
        data.choice.program.as_deref(),
        &scratch_within(default_limit()),
        leftovers(),
    )?;
    let (mut arguments, probed) = shape(&resolved, &data.choice.parameters)?;
    for (port, rows) in stated_rows(&probed, &data.rows)? {
        if let Some(arguments) = &mut arguments {
            arguments.set_rows(&port, rows);
        }
    }
    let (description, tables) = match (resolved.program(), &arguments) {
        (Some(program), Some(arguments)) => {
            let description = phineus_session::resolve::probe(program, arguments)?;
            let tables = program.generate(arguments, data.seed);
            let tables = tables.unwrap_or_else(|| random_tables(&description, data.seed));
            (description, tables)
        }
        _ => {
            let tables = random_tables(&probed, data.seed);
            (probed, tables)
        }
    };
    std::fs::create_dir_all(&data.out_dir).map_err(|error| Failure::file(&data.out_dir, &error))?;
    let mut files = Vec::new();
    for (port, table) in description.inputs.iter().zip(&tables) {
        let extension = &data.format;
        let name = port.name.replace('/', "_");
        let path = data.out_dir.join(format!("{name}.{extension}"));
        write_file(&path, table, leftovers())?;
        let owner = &description.parties[usize::from(port.party)];
        let rows = table.row_count();
        console.say(&format!(
            "{}: {rows} rows for input '{}' of {owner}",
            path.display(),
            port.name
        ));
        files.push(json!({ "file": path, "input": port.name, "party": owner, "rows": rows }));
    }
    if console.is_json {
        console.document(json!(files));
    }
    Ok(())
}

/// Uniform values for programs that generate none themselves. Not for secrets.
pub(super) fn random_tables(description: &Description, seed: u64) -> Vec<Table> {
    let mut counter = 0u64;
    let mut next = || {
        counter += 1;
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        hash.update(counter.to_le_bytes());
        Lane::from_le_bytes::<32>(hash.finalize().into())
    };
    description
        .inputs
        .iter()
        .map(|port| {
            let mut table = Table::zeros(port.columns.clone(), port.rows);
            for row in 0..port.rows {
                for (place, column) in port.columns.iter().enumerate() {
                    table.set_cell(row, place, next() & mask_of(column.element.width()));
                }
            }
            table
        })
        .collect()
}
