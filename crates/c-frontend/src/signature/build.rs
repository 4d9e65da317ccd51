//! The signature from the annotations and the types of the parameters.

use crate::annotations::tokens::SourceLine;
use crate::annotations::{AnnotatedParameter, Annotations};
use crate::compiler::debug_types::CType;
use crate::diagnostic::Diagnostic;
use crate::memory::object::OBJECT_BYTES_MAX;
use crate::signature::collisions::{RENAME, collisions};
use crate::signature::columns::{Wrong, rows_of, tables};
use crate::signature::{CParameter, Signature};

/// The expressions whose values the signature needs: dimensions and ranges.
pub(crate) fn expressions(annotations: &Annotations) -> Vec<String> {
    let of = |marked: &AnnotatedParameter| {
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
            |faults: &mut Vec<Diagnostic>, at: (&SourceLine, &str), what: String, remedy: &str| {
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
        let marked = AnnotatedParameter { line: line.clone(), ..annotations.result.clone() };
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
        marked: &AnnotatedParameter,
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
            let port = CParameter {
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
}

/// Values of one parameter, or of the result.
const VALUES_MAX: u64 = 1 << 28;

/// The name of what is returned.
const RESULT: &str = "result";

/// The type that a parameter points to, or its own; and whether it is a scalar passed by value.
fn pointee(marked: &AnnotatedParameter, name: &str, typ: &CType) -> Result<(CType, bool), Wrong> {
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
