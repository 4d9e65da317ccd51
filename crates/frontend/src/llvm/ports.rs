//! What the parameters of the computation are: tables that come in and go out.

use phineus_bytecode::{Column, ElementType, Encoding};

use super::diagnostic::{Diagnostic, Spot};
use super::memory::Leaf;
use super::scan::{Annotations, Marked};
use super::types::CType;
use crate::port::column;

/// Rows of equal bytes, with a column for each scalar in a row.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub(super) rows: u64,
    pub(super) row_bytes: u64,
    pub(super) leaves: Vec<Leaf>,
}

impl Rows {
    pub(super) fn size_bytes(&self) -> u64 {
        self.rows * self.row_bytes
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        self.leaves.iter().map(|leaf| column(&leaf.name, leaf.element, Encoding::Number)).collect()
    }
}

/// A parameter, or what is returned.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) is_pointer: bool,
    /// Who brings it.
    pub(super) input: Option<String>,
    /// Who learns it.
    pub(super) outputs: Vec<String>,
    pub(super) rows: Rows,
    /// The values that may come in, where that is said.
    pub(super) range: Option<(i128, i128)>,
}

/// A table that a party brings: parameters by index.
#[derive(Clone, Debug)]
pub(super) struct InputTable {
    pub(super) name: String,
    pub(super) party: String,
    pub(super) rows: u64,
    pub(super) columns: Vec<Column>,
    /// The parameters in it, each with its first column.
    pub(super) parameters: Vec<(usize, usize)>,
}

/// The whole signature.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) function: String,
    pub(super) parameters: Vec<Port>,
    pub(super) result: Option<Port>,
}

/// The parties in the order in which they are named.
pub(super) fn parties(annotations: &Annotations) -> Vec<String> {
    let mut parties: Vec<String> = Vec::new();
    let all = annotations.parameters.iter().chain([&annotations.result]);
    let named = all.flat_map(|marked| marked.input.iter().chain(&marked.outputs));
    for party in named {
        if !parties.contains(party) {
            parties.push(party.clone());
        }
    }
    parties
}

/// The expressions whose values the signature needs: dimensions and ranges.
pub(super) fn expressions(annotations: &Annotations) -> Vec<String> {
    let of = |marked: &Marked| {
        let range = marked.range.iter().flat_map(|(low, high)| [low.clone(), high.clone()]);
        marked.rows.iter().cloned().chain(range).collect::<Vec<_>>()
    };
    annotations.parameters.iter().flat_map(of).collect()
}

impl Signature {
    /// From the annotations, the types and the values of [`expressions`].
    pub(super) fn new(
        file: &str,
        annotations: &Annotations,
        result: &CType,
        types: &[(String, CType)],
        values: &[u64],
    ) -> Result<Signature, Vec<Diagnostic>> {
        let mut values = values.iter().copied();
        let mut faults = Vec::new();
        let wrong = |faults: &mut Vec<Diagnostic>, line: u32, what: String, remedy: &str| {
            let spot = Spot { file: file.to_owned(), line, column: 0 };
            faults.push(Diagnostic::error(spot, what, remedy));
        };
        let mut parameters = Vec::new();
        for (marked, (name, typ)) in annotations.parameters.iter().zip(types) {
            let rows = marked.rows.as_ref().map(|_| values.next().unwrap_or_default());
            let range = marked.range.as_ref().map(|_| {
                let mut next = || i128::from(values.next().unwrap_or_default() as i64);
                (next(), next())
            });
            match port(marked, name, typ, rows, range) {
                Ok(port) => parameters.push(port),
                Err((what, remedy)) => wrong(&mut faults, marked.line, what, remedy),
            }
        }
        let (function, line) = annotations.main.clone().unwrap_or_default();
        let marked = Marked { line, ..annotations.result.clone() };
        let result = match result {
            CType::Void => None,
            typ if marked.outputs.is_empty() => {
                let _ = typ;
                let what = format!("nobody learns what '{function}' returns");
                wrong(
                    &mut faults,
                    line,
                    what,
                    "write PH_OUT(party) before its type, or return void",
                );
                None
            }
            typ => match port(&marked, "result", typ, None, None) {
                Ok(port) => Some(port),
                Err((what, remedy)) => {
                    wrong(&mut faults, line, what, remedy);
                    None
                }
            },
        };
        if faults.is_empty()
            && result.is_none()
            && parameters.iter().all(|port| port.outputs.is_empty())
        {
            wrong(
                &mut faults,
                line,
                "nobody learns anything".to_owned(),
                "mark a result with PH_OUT(party)",
            );
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(Signature { function, parameters, result })
    }

    /// The tables that come in: one for each array, one for all scalars of a party.
    pub(super) fn inputs(&self) -> Vec<InputTable> {
        let mut tables: Vec<InputTable> = Vec::new();
        for (index, port) in self.parameters.iter().enumerate() {
            let Some(party) = &port.input else { continue };
            let name = if port.is_pointer { &port.name } else { party };
            let columns = port.rows.columns();
            match tables.iter_mut().find(|table| !port.is_pointer && table.name == *name) {
                Some(table) => {
                    table.parameters.push((index, table.columns.len()));
                    table.columns.extend(columns);
                }
                None => tables.push(InputTable {
                    name: name.clone(),
                    party: party.clone(),
                    rows: port.rows.rows,
                    columns,
                    parameters: vec![(index, 0)],
                }),
            }
        }
        tables
    }

    /// What goes out, in order, the result last.
    pub(super) fn outputs(&self) -> impl Iterator<Item = &Port> {
        self.parameters.iter().chain(&self.result).filter(|port| !port.outputs.is_empty())
    }
}

type Wrong = (String, &'static str);

fn port(
    marked: &Marked,
    name: &str,
    typ: &CType,
    rows: Option<u64>,
    range: Option<(i128, i128)>,
) -> Result<Port, Wrong> {
    if marked.input.is_none() && marked.outputs.is_empty() {
        let remedy = "write PH_IN(party) or PH_OUT(party) before it";
        return Err((format!("who brings or learns '{name}'?"), remedy));
    }
    let (is_pointer, mut row) = match typ {
        CType::Pointer(inner) => (true, (**inner).clone()),
        other => (false, other.clone()),
    };
    if !is_pointer && !marked.outputs.is_empty() && name != "result" {
        let remedy = "make it a pointer or an array";
        return Err((format!("'{name}' is a copy, which nobody learns"), remedy));
    }
    if !is_pointer && !matches!(row, CType::Integer { .. }) {
        let remedy = "pass a pointer to it";
        return Err((format!("'{name}' is neither an integer nor an array"), remedy));
    }
    let mut count = rows.unwrap_or(1);
    while let CType::Array(inner, length, _) = &row {
        if !matches!(**inner, CType::Array(..) | CType::Struct(..)) {
            break;
        }
        count *= length;
        row = (**inner).clone();
    }
    if count == 0 {
        return Err((format!("'{name}' has no elements"), "give it a size of at least 1"));
    }
    let mut leaves = Vec::new();
    collect(name, "", 0, &row, &mut leaves)?;
    if let Some(range) = range {
        narrow(name, &mut leaves, range)?;
    }
    let row_bytes = row.size_bytes();
    Ok(Port {
        name: name.to_owned(),
        line: marked.line,
        is_pointer,
        input: marked.input.clone(),
        outputs: marked.outputs.clone(),
        rows: Rows { rows: count, row_bytes, leaves },
        range,
    })
}

/// The scalars of a row, named by their fields and indices.
fn collect(
    parameter: &str,
    path: &str,
    offset: u64,
    typ: &CType,
    leaves: &mut Vec<Leaf>,
) -> Result<(), Wrong> {
    match typ {
        CType::Integer { bytes, signed, is_bool } => {
            let name = if path.is_empty() { parameter } else { path };
            let width = if *is_bool { 1 } else { *bytes as u16 * 8 };
            let element = ElementType::integer(width, *signed);
            leaves.push(Leaf { name: name.to_owned(), offset, bytes: *bytes, element });
            Ok(())
        }
        CType::Array(inner, count, _) => {
            let name = if path.is_empty() { parameter } else { path };
            for index in 0..*count {
                let at = offset + index * inner.size_bytes();
                collect(parameter, &format!("{name}{index}"), at, inner, leaves)?;
            }
            Ok(())
        }
        CType::Struct(fields, _) => {
            for (field, at, inner) in fields {
                let name = if path.is_empty() { field.clone() } else { format!("{path}_{field}") };
                collect(parameter, &name, offset + at, inner, leaves)?;
            }
            Ok(())
        }
        CType::Unsupported(what) if what.contains("float") || what.contains("double") => {
            let remedy = "use integers, with a fixed number of bits for the fraction";
            Err((format!("'{parameter}' is floating point"), remedy))
        }
        CType::Unsupported(what) => {
            Err((format!("'{parameter}' has {what}"), "use integers, arrays and structures"))
        }
        CType::Pointer(_) => {
            Err((format!("'{parameter}' has a pointer in it"), "use an array, or an index"))
        }
        CType::Void => Err((format!("'{parameter}' points to nothing known"), "give it a type")),
    }
}

/// Makes the columns as narrow as the range allows.
fn narrow(name: &str, leaves: &mut [Leaf], (low, high): (i128, i128)) -> Result<(), Wrong> {
    if low > high {
        return Err((format!("the range of '{name}' is empty"), "write the smaller bound first"));
    }
    let bits = |value: i128| 128 - value.max(!value).leading_zeros() as u16;
    for leaf in leaves {
        let element = match low < 0 {
            true => ElementType::signed(bits(low).max(bits(high)) + 1),
            false => ElementType::unsigned(bits(high).max(1)),
        };
        let room = leaf.element.width() - u16::from(leaf.element.is_signed() && low >= 0);
        if element.width() > room || (low < 0 && !leaf.element.is_signed()) {
            let what = format!("the range of '{name}' does not fit its type, {}", leaf.element);
            return Err((what, "give a smaller range or a wider type"));
        }
        leaf.element = element;
    }
    Ok(())
}
