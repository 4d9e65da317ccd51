//! What the parameters of the computation are: tables that come in and go out.

pub(crate) mod collisions;

use phineus_bytecode::limits::FRACTION_BITS_MAX;
use phineus_bytecode::{Column, ElementType, Encoding};
use phineus_frontend::{ColumnRange, column};

use crate::annotations::tokens::Line;
use crate::annotations::{Annotations, Marked};
use crate::compiler::debug_types::CType;
use crate::diagnostic::Diagnostic;
use crate::memory::object::OBJECT_BYTES_MAX;
use crate::memory::table::Leaf;
use crate::signature::collisions::{RENAME, collisions};

/// Rows of equal bytes, with a column for each scalar in a row.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
    pub(crate) leaves: Vec<Leaf>,
}

impl Rows {
    pub(crate) fn size_bytes(&self) -> u64 {
        self.rows * self.row_bytes
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        self.leaves.iter().map(|leaf| column(&leaf.name, leaf.element, leaf.encoding)).collect()
    }
}

/// A parameter or what is returned, or an array in a structure of which there is one.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) name: String,
    /// The parameter that it is in, the result being the last one, and its first byte there.
    pub(crate) parameter: usize,
    pub(crate) offset: u64,
    pub(crate) line: Line,
    /// Passed by value and no structure: a column in the table of all such of its party.
    pub(crate) is_scalar: bool,
    /// Who brings it.
    pub(crate) input: Option<String>,
    /// Who learns it.
    pub(crate) outputs: Vec<String>,
    pub(crate) rows: Rows,
    /// Rows for each element of the first dimension.
    pub(crate) rows_each: u64,
    /// The values that may come in, where that is said.
    pub(crate) range: Option<(i128, i128)>,
}

/// A table that a party brings: ports by index.
#[derive(Clone, Debug)]
pub(crate) struct InputTable {
    pub(crate) name: String,
    pub(crate) party: String,
    pub(crate) rows: u64,
    pub(crate) columns: Vec<Column>,
    /// The ports in it, each with its first column.
    pub(crate) ports: Vec<(usize, usize)>,
}

/// The whole signature.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signature {
    /// By parameter, those of the result last.
    pub(crate) ports: Vec<Port>,
    /// Bytes of what each parameter points to, and of the result.
    pub(crate) sizes: Vec<u64>,
}

/// The parties in the order in which they are named.
pub(crate) fn parties(annotations: &Annotations) -> Vec<String> {
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
pub(crate) fn expressions(annotations: &Annotations) -> Vec<String> {
    let of = |marked: &Marked| {
        let range = marked.range.iter().flat_map(|(low, high)| [low.clone(), high.clone()]);
        marked.rows.iter().cloned().chain(range).collect::<Vec<_>>()
    };
    annotations.parameters.iter().flat_map(of).collect()
}

impl Signature {
    /// From the annotations, the types and the values of [`expressions`].
    pub(crate) fn new(
        file: &str,
        annotations: &Annotations,
        result: &CType,
        types: &[(String, CType)],
        values: &[i128],
    ) -> Result<Signature, Vec<Diagnostic>> {
        let mut values = values.iter().copied();
        let mut faults = Vec::new();
        let wrong =
            |faults: &mut Vec<Diagnostic>, at: (&Line, &str), what: String, remedy: &str| {
                let spot = at.0.spot_of(file, at.1);
                faults.push(Diagnostic::error(spot, what, remedy));
            };
        let mut signature = Signature::default();
        for (marked, (name, typ)) in annotations.parameters.iter().zip(types) {
            let mut next = || values.next().unwrap_or_default();
            let rows = marked.rows.as_ref().map(|_| next() as u64);
            let range = marked.range.as_ref().map(|_| (next(), next()));
            if let Err((what, remedy)) = signature.add(marked, name, typ, rows, range) {
                wrong(&mut faults, (&marked.line, &marked.name), what, remedy);
            }
        }
        let (function, line) = annotations.main.clone().unwrap_or_default();
        let marked = Marked { line: line.clone(), ..annotations.result.clone() };
        match result {
            CType::Void => {}
            _ if marked.outputs.is_empty() => {
                let what = format!("nobody learns what '{function}' returns");
                wrong(
                    &mut faults,
                    (&line, &function),
                    what,
                    "write PH_OUT(party) before its type, or return void",
                );
            }
            typ => {
                if let Err((what, remedy)) = signature.add(&marked, RESULT, typ, None, None) {
                    wrong(&mut faults, (&line, &function), what, remedy);
                }
            }
        }
        if faults.is_empty() && signature.ports.iter().all(|port| port.outputs.is_empty()) {
            wrong(
                &mut faults,
                (&line, &function),
                "nobody learns anything".to_owned(),
                "mark a result with PH_OUT(party)",
            );
        }
        for (line, name, what) in collisions(&signature) {
            wrong(&mut faults, (&line, &name), what, RENAME);
        }
        match faults.is_empty() {
            true => Ok(signature),
            false => Err(faults),
        }
    }

    /// Adds a parameter, or the result.
    fn add(
        &mut self,
        marked: &Marked,
        name: &str,
        typ: &CType,
        rows: Option<u64>,
        range: Option<(i128, i128)>,
    ) -> Result<(), Wrong> {
        let parameter = self.sizes.len();
        let (row, is_scalar) = pointee(marked, name, typ)?;
        let size = row.size_bytes().saturating_mul(rows.unwrap_or(1));
        let values = row.scalars().saturating_mul(rows.unwrap_or(1));
        if values > VALUES_MAX || u128::from(size) > OBJECT_BYTES_MAX {
            let what = format!("'{name}' has {values} values, and 2^28 are the most");
            return Err((what, "give a smaller size, or work on parts of it in several runs"));
        }
        self.sizes.push(size);
        let tables = match rows {
            Some(_) => vec![(name.to_owned(), String::new(), 0, row)],
            None => tables(name, row),
        };
        for (name, path, offset, row) in tables {
            let first = rows.unwrap_or(1);
            let rows = rows_of(&name, &path, row, rows, range)?;
            let port = Port {
                name,
                parameter,
                offset,
                line: marked.line.clone(),
                is_scalar,
                input: marked.input.clone(),
                outputs: marked.outputs.clone(),
                rows_each: rows.rows / first,
                rows,
                range,
            };
            self.ports.push(port);
        }
        Ok(())
    }

    /// The tables that come in: one for each array, one for all scalars of a party.
    pub(crate) fn inputs(&self) -> Vec<InputTable> {
        let mut tables: Vec<InputTable> = Vec::new();
        for (index, port) in self.ports.iter().enumerate() {
            let Some(party) = &port.input else { continue };
            let name = if port.is_scalar { party } else { &port.name };
            let columns = port.rows.columns();
            match tables.iter_mut().find(|table| port.is_scalar && table.name == *name) {
                Some(table) => {
                    table.ports.push((index, table.columns.len()));
                    table.columns.extend(columns);
                }
                None => tables.push(InputTable {
                    name: name.clone(),
                    party: party.clone(),
                    rows: port.rows.rows,
                    columns,
                    ports: vec![(index, 0)],
                }),
            }
        }
        tables
    }

    /// Rows of a parameter's table for each element of its first dimension.
    pub(crate) fn rows_each(&self, parameter: usize) -> u64 {
        let mut ports = self.ports.iter();
        ports.find(|port| port.parameter == parameter).map_or(1, |port| port.rows_each)
    }

    /// The ranges that are stated, by column of what comes in.
    pub(crate) fn ranges(&self) -> Vec<ColumnRange> {
        let mut all = Vec::new();
        for table in self.inputs() {
            for (index, first) in &table.ports {
                let port = &self.ports[*index];
                let Some((low, high)) = port.range else { continue };
                let columns = *first..first + port.rows.leaves.len();
                let of = |column| ColumnRange { input: table.name.clone(), column, low, high };
                all.extend(columns.map(of));
            }
        }
        all
    }

    /// What goes out, in order, the result last.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Port> {
        self.ports.iter().filter(|port| !port.outputs.is_empty())
    }
}

type Wrong = (String, &'static str);

/// Values of one parameter, or of the result.
const VALUES_MAX: u64 = 1 << 28;
/// Columns of a table: more would not fit a program's description.
const COLUMNS_MAX: u64 = 1 << 20;

/// The name of what is returned.
const RESULT: &str = "result";

/// What a parameter points to, or is, and whether it is a scalar that is passed by value.
fn pointee(marked: &Marked, name: &str, typ: &CType) -> Result<(CType, bool), Wrong> {
    if marked.input.is_none() && marked.outputs.is_empty() {
        let remedy = "write PH_IN(party) or PH_OUT(party) before it";
        return Err((format!("who brings or learns '{name}'?"), remedy));
    }
    // A parameter may have any name, that of the result too.
    let is_returned = marked.name.is_empty();
    match typ {
        CType::Pointer(_) if is_returned => {
            let remedy = "mark a parameter that is a pointer or an array with PH_OUT(party)";
            Err(("what is returned is a pointer".to_owned(), remedy))
        }
        CType::Pointer(inner) => Ok(((**inner).clone(), false)),
        _ if !marked.outputs.is_empty() && !is_returned => {
            let remedy = "make it a pointer or an array";
            Err((format!("'{name}' is a copy, which nobody learns"), remedy))
        }
        other => Ok((other.clone(), !matches!(other, CType::Struct(..)))),
    }
}

/// The tables of a row of which there is one: each array in it, and all else. For each its name,
/// the path of its columns, its first byte and its type.
fn tables(name: &str, row: CType) -> Vec<(String, String, u64, CType)> {
    let (mut arrays, mut others) = (Vec::new(), Vec::new());
    let size = row.size_bytes();
    match row {
        CType::Struct(fields, _) => split("", 0, fields, &mut arrays, &mut others),
        row => return vec![(name.to_owned(), String::new(), 0, row)],
    }
    if let ([(path, 0, array)], []) = (arrays.as_slice(), others.as_slice()) {
        return vec![(name.to_owned(), path.clone(), 0, array.clone())];
    }
    let named =
        |(path, at, array): (String, u64, CType)| (format!("{name}.{path}"), path, at, array);
    let rest = (name.to_owned(), String::new(), 0, CType::Struct(others.clone(), size));
    let rest = (!others.is_empty()).then_some(rest);
    rest.into_iter().chain(arrays.into_iter().map(named)).collect()
}

type Field = (String, u64, CType);

/// The arrays among fields, and the others, with their paths and places.
fn split(
    path: &str,
    base: u64,
    fields: Vec<Field>,
    arrays: &mut Vec<Field>,
    others: &mut Vec<Field>,
) {
    for (field, at, inner) in fields {
        let path = if path.is_empty() { field } else { format!("{path}_{field}") };
        match inner {
            CType::Struct(fields, _) => split(&path, base + at, fields, arrays, others),
            CType::Array(..) => arrays.push((path, base + at, inner)),
            _ => others.push((path, base + at, inner)),
        }
    }
}

/// The rows and columns of a table.
fn rows_of(
    name: &str,
    path: &str,
    mut row: CType,
    rows: Option<u64>,
    range: Option<(i128, i128)>,
) -> Result<Rows, Wrong> {
    let mut count = rows.unwrap_or(1);
    if let (false, CType::Array(inner, length, _)) = (path.is_empty(), &row) {
        count = *length;
        row = (**inner).clone();
    }
    while let CType::Array(inner, length, _) = &row {
        if !matches!(**inner, CType::Array(..) | CType::Struct(..)) {
            break;
        }
        count = count.saturating_mul(*length);
        row = (**inner).clone();
    }
    if count == 0 {
        return Err((format!("'{name}' has no elements"), "give it a size of at least 1"));
    }
    if row.scalars() > COLUMNS_MAX {
        let what =
            format!("a row of '{name}' has {} columns, and 2^20 are the most", row.scalars());
        return Err((what, "make them rows, by a dimension more"));
    }
    let mut leaves = Vec::new();
    collect(name, path, 0, &row, &mut leaves)?;
    if let Some(range) = range {
        narrow(name, &mut leaves, range)?;
    }
    Ok(Rows { rows: count, row_bytes: row.size_bytes(), leaves })
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
        CType::Integer { fraction: Some(fraction), .. } if *fraction > FRACTION_BITS_MAX => {
            let what = format!("'{parameter}' has {fraction} bits behind the point");
            Err((what, "63 are the most"))
        }
        CType::Integer { bytes, signed, is_bool, fraction } => {
            let name = if path.is_empty() { parameter } else { path };
            let width = if *is_bool { 1 } else { *bytes as u16 * 8 };
            let element = ElementType::integer(width, *signed);
            let encoding = fraction.map_or(Encoding::Number, Encoding::Fixed);
            leaves.push(Leaf { name: name.to_owned(), offset, bytes: *bytes, element, encoding });
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
            let remedy =
                "make it ph_fixed, a fixed-point number of phineus.h: 1.25 is PH_FIXED(1.25)";
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
