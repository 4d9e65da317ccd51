//! The lines before the instructions: the description of a program.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::description::{
    Column, Description, Encoding, InputPort, OutputPort, PlanDescription, RowOrder,
};
use crate::rows_of::RowsOf;
use crate::text::line::{LineCursor, LineError, Parsed};
use crate::text::state_lines;

const ENCODINGS: [(Encoding, &str); 4] = [
    (Encoding::Number, "number"),
    (Encoding::Hex, "hex"),
    (Encoding::Text, "text"),
    (Encoding::Float, "float"),
];

/// Before the bits behind the point.
const FIXED: &str = "fixed";

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Appends the lines of `description`.
pub(super) fn write(text: &mut String, description: &Description) {
    let mut line = |content: String| {
        text.push_str(&content);
        text.push('\n');
    };
    line(format!("name {}", quoted(&description.name)));
    for party in &description.parties {
        line(format!("party {}", quoted(party)));
    }
    if let Some(wires) = description.value_wires_max {
        line(format!("value_wires_max {wires}"));
    }
    for (name, value) in &description.parameters {
        line(format!("parameter {} {}", quoted(name), quoted(value)));
    }
    for port in &description.inputs {
        let name = quoted(&port.name);
        let mut content = format!("input_port {name} party={} rows={}", port.party, port.rows);
        if let RowOrder::Sorted { columns, descending, unique, repeats_max } = port.order {
            let (descending, unique) = (u8::from(descending), u8::from(unique));
            write!(content, " sort_columns={columns} descending={descending} unique={unique}")
                .expect("writing to a string cannot fail");
            if let Some(most) = repeats_max {
                write!(content, " repeats_max={most}").expect("writing to a string cannot fail");
            }
        }
        line(content);
        port.columns.iter().for_each(|column| line(column_line(column)));
    }
    for port in &description.outputs {
        let parties: Vec<String> = port.parties.iter().map(u16::to_string).collect();
        let (name, parties) = (quoted(&port.name), parties.join(","));
        let mut content = format!("output_port {name} parties={parties} rows={}", port.rows);
        if let Some(rows_of) = port.rows_of {
            write!(content, " rows_of={}", rows_of.input).expect("writing to a string cannot fail");
            if let Some(found) = rows_of.found {
                let all = u8::from(rows_of.all);
                write!(content, " found={found} all={all}")
                    .expect("writing to a string cannot fail");
                if rows_of.groups != 1 {
                    write!(content, " groups={}", rows_of.groups)
                        .expect("writing to a string cannot fail");
                }
            }
        }
        line(content);
        port.columns.iter().for_each(|column| line(column_line(column)));
    }
    state_lines::write(description, &mut line);
    if let Some(plan) = &description.plan {
        write_plan(plan, &mut line);
    }
}

fn column_line(column: &Column) -> String {
    let encoding = match column.encoding {
        Encoding::Fixed(fraction) => format!("{FIXED}{fraction}"),
        encoding => {
            let named = ENCODINGS.iter().find(|(known, _)| *known == encoding);
            named.expect("every other encoding has a name").1.to_owned()
        }
    };
    format!("  column {} {} {encoding}", quoted(&column.name), column.element)
}

/// The figures by the names of the description's fields, so that a new one needs no change here.
fn write_plan(plan: &PlanDescription, line: &mut impl FnMut(String)) {
    let Ok(Value::Object(fields)) = serde_json::to_value(plan) else {
        unreachable!("a plan's figures are an object of numbers, strings and one map")
    };
    for (name, value) in
        fields.iter().filter(|(name, _)| !["costs", "settings"].contains(&name.as_str()))
    {
        line(format!("plan {name} {value}"));
    }
    for (name, setting) in plan.settings.iter() {
        let value = serde_json::to_value(setting).expect("a setting is a number or a word");
        line(format!("setting {} {value}", quoted(name)));
    }
    for (name, value) in &plan.costs {
        line(format!("cost {} {value}", quoted(name)));
    }
}

/// Reads the lines of a description one after another.
#[derive(Default)]
pub(super) struct HeaderParser {
    description: Description,
    named: bool,
    plan: Option<Map<String, Value>>,
    settings: Map<String, Value>,
    costs: Map<String, Value>,
    /// Which port the next column belongs to.
    port: PortLine,
}

#[derive(Default, PartialEq)]
enum PortLine {
    #[default]
    None,
    Input,
    Output,
}

impl HeaderParser {
    /// Whether a line that begins with `word` belongs to the description.
    pub(super) fn is_header(word: &str) -> bool {
        let words = ["name", "party", "parameter", "input_port", "output_port", "column"];
        words.contains(&word)
            || state_lines::WORDS.contains(&word)
            || ["plan", "setting", "cost", "value_wires_max"].contains(&word)
    }

    /// Reads a line of the description; `word` is its first word, already taken.
    pub(super) fn read(&mut self, word: &str, line: &mut LineCursor) -> Parsed<()> {
        let at = line.place();
        let description = &mut self.description;
        match word {
            "name" if self.named => {
                return Err(LineError { at, what: "a program has one name".to_owned() });
            }
            "name" => {
                self.named = true;
                description.name = line.string("the name")?;
            }
            "party" => description.parties.push(line.string("the party's name")?),
            "value_wires_max" => {
                let wires = u32::try_from(line.number("the most wires of a value")?).ok();
                let what = "value_wires_max is a number below 2^32, stated once".to_owned();
                let is_first = description.value_wires_max.is_none();
                let wires = wires.filter(|_| is_first).ok_or(LineError { at, what })?;
                description.value_wires_max = Some(wires);
            }
            "parameter" => {
                let name = line.string("the parameter's name")?;
                let value = line.string("the parameter's value")?;
                let what = format!("parameter '{name}' stands twice");
                if description.parameters.insert(name, value).is_some() {
                    return Err(LineError { at, what });
                }
            }
            "input_port" => {
                self.port = PortLine::Input;
                description.inputs.push(input_port(line)?);
            }
            "output_port" => {
                self.port = PortLine::Output;
                description.outputs.push(output_port(line)?);
            }
            "column" => self.column(at, line)?,
            word if state_lines::WORDS.contains(&word) => {
                state_lines::read(word, line, description)?;
            }
            "plan" => self.plan_figure(at, line)?,
            "setting" => {
                let name = line.string("the setting's name")?;
                let value = figure(line)?;
                let what = format!("setting '{name}' stands twice");
                if self.settings.insert(name, value).is_some() {
                    return Err(LineError { at, what });
                }
            }
            _ => {
                let name = line.string("the cost's name")?;
                let amount = line.number("the amount")?;
                self.costs.insert(name, Value::from(amount));
            }
        }
        line.end()
    }

    fn column(&mut self, at: usize, line: &mut LineCursor) -> Parsed<()> {
        let name = line.string("the column's name")?;
        let element = line.element()?;
        let encoding_at = line.place();
        let word = line.word("an encoding")?;
        let named = ENCODINGS.iter().find(|(_, name)| *name == word).map(|(known, _)| *known);
        let fraction = word.strip_prefix(FIXED).and_then(|bits| bits.parse().ok());
        let encoding = named.or(fraction.map(Encoding::Fixed)).ok_or_else(|| LineError {
            at: encoding_at,
            what: format!("'{word}' is not an encoding: write number, hex, text, float or fixed16"),
        })?;
        let column = Column { name, element, encoding };
        let description = &mut self.description;
        let columns = match self.port {
            PortLine::Input => description.inputs.last_mut().map(|port| &mut port.columns),
            PortLine::Output => description.outputs.last_mut().map(|port| &mut port.columns),
            PortLine::None => None,
        };
        let what = "a column belongs below an input_port or an output_port".to_owned();
        columns.ok_or(LineError { at, what })?.push(column);
        Ok(())
    }

    fn plan_figure(&mut self, at: usize, line: &mut LineCursor) -> Parsed<()> {
        let name = line.word("the figure's name")?;
        let value = figure(line)?;
        let plan = self.plan.get_or_insert_default();
        match plan.insert(name.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(LineError { at, what: format!("plan figure {name} stands twice") }),
        }
    }

    /// The description, and a sentence for each thing that is wrong with it as a whole.
    pub(super) fn finish(mut self) -> (Description, Vec<String>) {
        let mut faults = Vec::new();
        if !self.named {
            faults.push("the program has no name: write a line such as: name \"sum\"".to_owned());
        }
        if let Some(mut plan) = self.plan {
            plan.insert("settings".to_owned(), Value::Object(self.settings));
            plan.insert("costs".to_owned(), Value::Object(self.costs));
            match serde_json::from_value(Value::Object(plan)) {
                Ok(plan) => self.description.plan = Some(plan),
                Err(error) => faults.push(format!("the plan's figures: {error}")),
            }
        } else if !self.costs.is_empty() || !self.settings.is_empty() {
            let what = "costs and settings belong to a plan, and there are no plan lines";
            faults.push(what.to_owned());
        }
        faults.extend(self.description.faults());
        (self.description, faults)
    }
}

/// A number or a string.
fn figure(line: &mut LineCursor) -> Parsed<Value> {
    Ok(match line.peek() {
        Some('"') => Value::from(line.string("the figure")?),
        _ => Value::from(line.number("the figure")?),
    })
}

/// A number below 2^16.
fn short(line: &mut LineCursor, name: &str) -> Parsed<u16> {
    let at = line.place();
    let number = line.number(name)?;
    u16::try_from(number).map_err(|_| LineError { at, what: format!("{name} is not below 65536") })
}

fn input_port(line: &mut LineCursor) -> Parsed<InputPort> {
    let name = line.string("the port's name")?;
    line.key("party")?;
    let party = short(line, "party")?;
    let rows = line.attribute("rows")?;
    let order = if line.is_empty() {
        RowOrder::Given
    } else {
        line.key("sort_columns")?;
        let columns = short(line, "sort_columns")?;
        let (descending, unique) = (line.flag("descending")?, line.flag("unique")?);
        let repeats_max = if line.is_empty() {
            None
        } else {
            let at = line.place();
            let most = u32::try_from(line.attribute("repeats_max")?);
            Some(most.map_err(|_| LineError { at, what: "repeats_max is not below 2^32".into() })?)
        };
        RowOrder::Sorted { columns, descending, unique, repeats_max }
    };
    Ok(InputPort { name, party, rows, columns: Vec::new(), order })
}

fn output_port(line: &mut LineCursor) -> Parsed<OutputPort> {
    let name = line.string("the port's name")?;
    line.key("parties")?;
    let mut parties = vec![short(line, "a party")?];
    while line.take(',') {
        parties.push(short(line, "a party")?);
    }
    let rows = line.attribute("rows")?;
    let rows_of = if line.is_empty() { None } else { Some(rows_of(line)?) };
    Ok(OutputPort { name, parties, rows, columns: Vec::new(), rows_of })
}

fn rows_of(line: &mut LineCursor) -> Parsed<RowsOf> {
    let at = line.place();
    let input = u32::try_from(line.attribute("rows_of")?)
        .map_err(|_| LineError { at, what: "rows_of is not below 2^32".to_owned() })?;
    if line.is_empty() {
        return Ok(RowsOf { input, found: None, all: true, groups: 1 });
    }
    line.key("found")?;
    let found = Some(short(line, "found")?);
    let all = line.flag("all")?;
    let groups = if line.is_empty() {
        1
    } else {
        line.key("groups")?;
        short(line, "groups")?
    };
    Ok(RowsOf { input, found, all, groups })
}
