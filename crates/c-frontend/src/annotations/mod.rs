//! Finds the annotations in a preprocessed program.
//!
//! In this pass `phineus.h` turns each annotation into `phineus_mark(...)`, which stands before the
//! declaration that it belongs to; when the program is compiled they are nothing at all. (As
//! attributes of parameters they would keep LLVM from promoting them to registers, and debug
//! information has forgotten a parameter's first dimension.)

pub(crate) mod declaration;
pub(crate) mod marks;
pub(crate) mod scan;
pub(crate) mod tokens;

use std::path::Path;

use crate::annotations::tokens::SourceLine;
use crate::diagnostic::{Diagnostic, SourceLocation};

/// `PH_SIZE(name, default)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) name: String,
    pub(crate) default: String,
}

/// Annotations of a parameter or of the result.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnnotatedParameter {
    /// The parameter's name, empty for the result.
    pub(crate) name: String,
    pub(crate) line: SourceLine,
    pub(crate) input: Option<String>,
    pub(crate) outputs: Vec<String>,
    pub(crate) range: Option<(String, String)>,
    /// The first dimension, if it is an array.
    pub(crate) rows: Option<String>,
    /// The words of its type, if it is neither a pointer nor an array.
    pub(crate) value_type: Option<String>,
}

/// All that the annotations say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Annotations {
    pub(crate) sizes: Vec<Size>,
    /// The function's name and line.
    pub(crate) main: Option<(String, SourceLine)>,
    pub(crate) result: AnnotatedParameter,
    pub(crate) parameters: Vec<AnnotatedParameter>,
    /// The last function of the file, and its line.
    last_function: Option<(String, SourceLine)>,
    /// Functions with annotations and without `PH_MAIN`, before the computation is known.
    prototypes: Vec<AnnotatedDeclaration>,
}

impl Annotations {
    /// The fault of a file without a marked computation; the place is its last function.
    pub(crate) fn no_main(&self, path: &Path) -> Diagnostic {
        let what = "which function is the computation?".to_owned();
        let file = path.display().to_string();
        match &self.last_function {
            Some((name, line)) => {
                let remedy = format!(
                    "write PH_MAIN before it, as in `PH_MAIN void {name}(...)`, and PH_IN(party) \
                     and PH_OUT(party) before its parameters, which phineus.h defines"
                );
                Diagnostic::error(line.spot_of(&file, name), what, &remedy)
            }
            None => {
                let remedy = "include <phineus.h>, and write PH_MAIN before a function";
                Diagnostic::error(
                    SourceLocation { file, ..SourceLocation::default() },
                    what,
                    remedy,
                )
            }
        }
    }
}

/// A declaration of a function with annotations.
#[derive(Clone, Debug)]
struct AnnotatedDeclaration {
    name: String,
    line: SourceLine,
    is_main: bool,
    result: AnnotatedParameter,
    parameters: Vec<AnnotatedParameter>,
}

impl AnnotatedParameter {
    /// These annotations, and those of `before` where one is missing.
    fn or(self, before: AnnotatedParameter) -> AnnotatedParameter {
        AnnotatedParameter {
            input: self.input.or(before.input),
            outputs: if self.outputs.is_empty() { before.outputs } else { self.outputs },
            range: self.range.or(before.range),
            rows: self.rows.or(before.rows),
            ..self
        }
    }
}
