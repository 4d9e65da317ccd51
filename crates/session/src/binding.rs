//! Assigns tables to the inputs of the program.

use std::collections::BTreeMap;

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{Column, Description, ElementType, InputPort, Lane, Table};
use phineus_frontend::{Arguments, ColumnRange};
use phineus_tables::repeats::{self, leave_out};
use phineus_tables::row_order::arrange;
use phineus_tables::{Input, TextKey, check_columns, check_only_column, format_value};

use crate::failure::{Failure, Fault, Place, Remedy, RunField, codes};
use crate::inputs::{InputTable, TableFrom};
use crate::own_rows::RowOrders;
use crate::ports::{Files, candidates, is_subject, named};
use crate::reading::unknown_column;
use crate::settings::{Reading, RepeatKeys};

/// Values out of their range that are reported.
const RANGE_FAULTS_MAX: usize = 20;

/// Tables by the name of their port.
pub type BoundTables<'a> = BTreeMap<String, &'a TableFrom>;

/// The port of each table: by the port's name, by its party's name if that has one port only, or,
/// without a name, the first port that has no table yet.
///
/// `aliases` are other names of the parties; with `party`, only its ports count.
pub fn assign<'a>(
    description: &Description,
    inputs: &'a [InputTable],
    aliases: &[String],
    party: Option<u16>,
) -> Result<BoundTables<'a>, Failure> {
    let candidates = candidates(description, party);
    let mut assigned = BoundTables::new();
    for InputTable { input, from } in inputs {
        let port = match input {
            Some(name) => named(description, &candidates, aliases, name)?,
            None => candidates
                .iter()
                .find(|port| !assigned.contains_key(&port.name))
                .ok_or_else(|| too_many(&candidates, from))?,
        };
        if let Some(first) = assigned.insert(port.name.clone(), from) {
            let are = match (first, from) {
                (TableFrom::File(_), TableFrom::File(_)) => "files",
                _ => "tables",
            };
            let message = format!("input '{}' has two {are}, {first} and {from}", port.name);
            return Err(Failure::usage(message));
        }
    }
    Ok(assigned)
}

fn too_many(candidates: &[&InputPort], from: &TableFrom) -> Failure {
    let message = match candidates {
        [] => format!("no input is needed here, so what is {from} for?"),
        _ => format!("every input has a file already, so what is {from} for?"),
    };
    Failure::new(codes::INPUT_NOT_NEEDED, message)
}

/// Checks that every input of `party` (of all parties, if none) has a table.
pub fn require_all(
    description: &Description,
    assigned: &BoundTables<'_>,
    party: Option<u16>,
) -> Result<(), Failure> {
    let missing: Vec<String> = description
        .inputs
        .iter()
        .filter(|port| party.is_none_or(|party| port.party == party))
        .filter(|port| !assigned.contains_key(&port.name))
        .map(|port| {
            let columns: Vec<&str> = port.columns.iter().map(|c| c.name.as_str()).take(8).collect();
            let more = if port.columns.len() > 8 { ", ..." } else { "" };
            let (name, owner) = (&port.name, &description.parties[usize::from(port.party)]);
            let columns = columns.join(",");
            format!("input '{name}' of {owner} has no file (columns {columns}{more})")
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new(codes::INPUT_WITHOUT_FILE, missing.join("\n")).remedy(
        Remedy::new("give ")
            .field(RunField::Inputs)
            .and(" NAME=FILE for each")
            .at_command_line("; `phineus data` generates examples"),
    ))
}

/// Opens the tables and counts their rows, as `reading` says.
pub fn count_all(
    description: &Description,
    assigned: &BoundTables<'_>,
    reading: &Reading,
    parties: (&[String], Option<u16>),
) -> Result<Files, Failure> {
    if assigned.values().filter(|from| from.is_stdin()).count() > 1 {
        return Err(Failure::usage("only one input can come from stdin"));
    }
    let mut names = reading.names(description, parties)?;
    let ports = || description.inputs.iter().filter(|port| assigned.contains_key(&port.name));
    if reading.repeat_keys == RepeatKeys::CountOnce
        && !description.inputs.iter().any(|port| port.order.is_unique())
    {
        let message =
            "equal rows are to count once, and no input of this program wants each key once";
        return Err(Failure::usage(message).remedy("leave it out: repeated rows are no fault here"));
    }
    let mut counted = Files::new();
    for port in ports() {
        let source = assigned[&port.name].open()?;
        let names = names.remove(&port.name).unwrap_or_default();
        let file = Input { names, ..Input::count(source)? };
        let file = match reading.repeat_keys {
            RepeatKeys::Refuse => file,
            RepeatKeys::CountOnce => leave_out(file, port)?,
        };
        counted.insert(port.name.clone(), file);
    }
    Ok(counted)
}

/// Checks, before anybody is met, that the files have the columns that the program wants.
/// `description` may have been made for other sizes, so columns with numbers are not looked for yet.
pub fn check_headers(description: &Description, files: &Files) -> Result<(), Failure> {
    let is_fixed = |column: &&Column| !column.name.ends_with(|c: char| c.is_ascii_digit());
    for port in &description.inputs {
        let columns: Vec<Column> = port.columns.iter().filter(is_fixed).cloned().collect();
        if let Some(file) = files.get(&port.name) {
            check_columns(file, &columns)?;
        }
    }
    Ok(())
}

/// Tells `arguments` how many rows the files have.
pub fn set_rows(arguments: &mut Arguments, files: &Files) {
    for (port, counted) in files {
        arguments.set_rows(port, counted.rows);
    }
}

/// Checks that the files have the rows that a program of fixed size wants.
pub fn check_rows(description: &Description, files: &Files) -> Result<(), Failure> {
    for port in &description.inputs {
        if let Some(counted) = files.get(&port.name)
            && counted.rows != port.rows
        {
            let (file, found, wanted) = (counted.source.name(), counted.rows, port.rows);
            let message = format!("{file}: has {found} rows, the program was made for {wanted}");
            return Err(Failure::new(codes::OTHER_SIZE, message)
                .remedy("plan the program again for these sizes, or run it by its name"));
        }
    }
    Ok(())
}

/// The tables of a party, by input, and what their owner should know of them.
pub struct PartyTables {
    pub tables: Vec<Option<Table>>,
    pub notes: Vec<String>,
    pub arrangements: RowOrders,
}

/// Reads the files of all ports that have one, each in the order that its port wants.
pub fn read_inputs(
    description: &Description,
    files: &Files,
    ranges: &[ColumnRange],
    text_key: &TextKey,
) -> Result<PartyTables, Failure> {
    let (mut faults, mut notes) = (Vec::new(), Vec::new());
    let mut arrangements = Vec::new();
    let mut read = |port: &InputPort| -> Result<Option<Table>, Failure> {
        let Some(counted) = files.get(&port.name) else {
            arrangements.push(None);
            return Ok(None);
        };
        if let Some(wanted) =
            counted.names.keys().find(|name| port.columns.iter().all(|c| c.name != **name))
        {
            return Err(unknown_column(wanted, &[port]));
        }
        if let [column] = &port.columns[..] {
            let others = || description.inputs.iter().filter(|other| other.name != port.name);
            check_only_column(counted, column, |next| {
                others().any(|other| other.columns.iter().any(|column| column.name == next))
            })?;
        }
        let mut stated = vec![None; port.columns.len()];
        for range in ranges.iter().filter(|range| range.input == port.name) {
            let column = port.columns.get(range.column).zip(stated.get_mut(range.column));
            column.into_iter().for_each(|(column, stated)| *stated = Some(shown(range, column)));
        }
        let is_wanted = is_subject(description, arrangements.len());
        let read = match is_wanted {
            true => counted.read_shown(&port.columns, &stated, text_key)?,
            false => counted.read(&port.columns, &stated, text_key)?,
        };
        let (table, lines) = (read.table, read.lines);
        notes.extend(repeats::note(counted).into_iter().chain(read.notes));
        if counted.rows == 0 {
            notes.push(format!("{}: has no rows", counted.source.name()));
        }
        let own = ranges.iter().filter(|range| range.input == port.name);
        faults.extend(own.flat_map(|range| outside(range, &table, counted, &lines)));
        let (table, rows) = arrange(table, &port.order, counted, &lines)?;
        arrangements.push(rows.filter(|_| is_wanted));
        Ok(Some(table))
    };
    let tables: Vec<_> = description.inputs.iter().map(&mut read).collect::<Result<_, _>>()?;
    if faults.is_empty() {
        let arrangements = RowOrders::new(arrangements);
        return Ok(PartyTables { tables, notes, arrangements });
    }
    faults.truncate(RANGE_FAULTS_MAX);
    let failure = Failure::of_faults(codes::OUT_OF_RANGE, faults);
    Err(failure.remedy("correct the file and run again, or have the program state a wider range"))
}

/// The values of a column that a program states.
fn shown(range: &ColumnRange, column: &Column) -> String {
    let text = |value: i128| {
        let all = if value < 0 { Lane::MAX } else { Lane::ZERO };
        let low = Lane::from(value as u128) | all << 128;
        format_value(low & mask_of(column.element.width()), column)
    };
    format!("{} to {}", text(range.low), text(range.high))
}

/// The values of a table that are not in the range that a program states for a column; `lines` are
/// where the rows stand in the file.
fn outside(range: &ColumnRange, table: &Table, counted: &Input, lines: &[u32]) -> Vec<Fault> {
    let Some(column) = table.columns().get(range.column) else { return Vec::new() };
    let number = |row| signed(table.cell(row, range.column), column.element);
    let is_outside = |row: &u64| !(range.low..=range.high).contains(&number(*row));
    let fault = |row: u64| {
        let line = lines.get(row as usize).map_or(row + 1, |line| u64::from(*line));
        let value = format_value(table.cell(row, range.column), column);
        let place = Place {
            file: Some(counted.source.name()),
            line: Some(line),
            column: Some(counted.name_of(&column.name).to_owned()),
            ..Place::default()
        };
        Fault { place, what: format!("'{value}' is not within {}", shown(range, column)) }
    };
    (0..table.row_count()).filter(is_outside).take(RANGE_FAULTS_MAX).map(fault).collect()
}

/// A cell of at most 128 bits as a number.
fn signed(cell: Lane, element: ElementType) -> i128 {
    let limbs = cell.as_limbs();
    let low = u128::from(limbs[0]) | u128::from(limbs[1]) << 64;
    let unused = 128 - u32::from(element.width().clamp(1, 128));
    if element.is_signed() { ((low << unused) as i128) >> unused } else { low as i128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> Description {
        let port = |name: &str, party| InputPort {
            name: name.to_owned(),
            party,
            rows: 1,
            columns: Vec::new(),
            order: Default::default(),
        };
        Description {
            parties: vec!["a".to_owned(), "b".to_owned()],
            inputs: vec![port("key", 0), port("salt", 0), port("b", 1)].into(),
            ..Description::default()
        }
    }

    fn assigned(arguments: &[&str], party: Option<u16>) -> Result<Vec<(String, String)>, String> {
        let inputs: Vec<InputTable> = arguments.iter().map(|a| InputTable::parse(a)).collect();
        let aliases = ["left".to_owned(), "right".to_owned()];
        let files = assign(&description(), &inputs, &aliases, party).map_err(|f| f.message())?;
        Ok(files.into_iter().map(|(port, from)| (port, from.to_string())).collect())
    }

    #[test]
    fn files_find_their_inputs() {
        let pair = |port: &str, file: &str| (port.to_owned(), file.to_owned());
        let all = vec![pair("b", "3"), pair("key", "1"), pair("salt", "2")];
        assert_eq!(assigned(&["1", "2", "3"], None), Ok(all.clone()));
        assert_eq!(assigned(&["salt=2", "right=3", "1"], None), Ok(all));
        assert_eq!(assigned(&["x"], Some(1)), Ok(vec![pair("b", "x")]));
    }

    #[test]
    fn mistakes_are_explained() {
        for (arguments, party, part) in [
            (&["c=1"][..], None, "no input 'c' here; there are: key, salt, b"),
            (&["a=1"], None, "a brings several inputs, say which: key, salt"),
            (&["key=1", "key=2"], None, "two files, 1 and 2"),
            (&["key=1"], Some(1), "no input 'key' here; there are: b"),
            (&["key=1"], Some(2), "no input 'key' here; there is none at all"),
            (&["1", "2"], Some(1), "what is 2 for"),
        ] {
            let message = assigned(arguments, party).expect_err("a mistake");
            assert!(message.contains(part), "{message}");
        }
    }
}
