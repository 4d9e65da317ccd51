//! [`Arguments`]: parameters and sizes of inputs for which a program is traced.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard};

use crate::error::ProgramError;
use crate::program::Program;

/// A public setting of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, as in `n=1000`.
    pub name: String,
    /// Its value when not given; `None` if it must be given.
    pub default: Option<String>,
    /// Description for help.
    pub help: String,
}

impl Parameter {
    /// A parameter with a default.
    pub fn new(name: &str, default: &str, help: &str) -> Parameter {
        Parameter {
            name: name.to_string(),
            default: Some(default.to_string()),
            help: help.to_string(),
        }
    }

    /// A parameter that must be given.
    pub fn required(name: &str, help: &str) -> Parameter {
        Parameter { name: name.to_string(), default: None, help: help.to_string() }
    }
}

/// The parameters of one tracing, and how many rows each input has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    values: BTreeMap<String, String>,
    rows: BTreeMap<String, u64>,
    asks_for_sources: bool,
    goes_by_levels: bool,
    used: UsedParameters,
}

/// The parameters that were asked for. It is no part of what arguments say.
#[derive(Debug, Default)]
struct UsedParameters(Mutex<BTreeSet<String>>);

impl UsedParameters {
    fn names(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().expect("no code panics while it holds this lock")
    }
}

impl Clone for UsedParameters {
    fn clone(&self) -> UsedParameters {
        UsedParameters(Mutex::new(self.names().clone()))
    }
}

impl PartialEq for UsedParameters {
    fn eq(&self, _: &UsedParameters) -> bool {
        true
    }
}

impl Eq for UsedParameters {}

impl Arguments {
    /// The defaults of `program`, with `given` in their place.
    pub fn new<'a>(
        program: &dyn Program,
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Arguments, ProgramError> {
        let parameters = program.parameters();
        let mut values = BTreeMap::new();
        for (name, value) in given {
            if !parameters.iter().any(|parameter| parameter.name == name) {
                return Err(unknown(program, &parameters, name));
            }
            values.insert(name.to_string(), value.to_string());
        }
        for parameter in parameters {
            if values.contains_key(&parameter.name) {
                continue;
            }
            let value = parameter.default.ok_or_else(|| ProgramError::MissingParameter {
                name: parameter.name.clone(),
                help: parameter.help,
            })?;
            values.insert(parameter.name, value);
        }
        Ok(Arguments { values, ..Arguments::default() })
    }

    /// States that input `port` has `rows` rows.
    pub fn set_rows(&mut self, port: &str, rows: u64) {
        self.rows.insert(port.to_string(), rows);
    }

    /// Asks for the source line of each instruction.
    pub fn ask_for_sources(&mut self) {
        self.asks_for_sources = true;
    }

    /// Asks for networks level by level ([`Tracer::goes_by_levels`](crate::Tracer::goes_by_levels)).
    pub fn go_by_levels(&mut self) {
        self.goes_by_levels = true;
    }

    /// Whether networks are recorded level by level.
    pub fn goes_by_levels(&self) -> bool {
        self.goes_by_levels
    }

    /// Whether source lines are asked for.
    pub fn asks_for_sources(&self) -> bool {
        self.asks_for_sources
    }

    /// All parameters.
    pub fn values(&self) -> &BTreeMap<String, String> {
        &self.values
    }

    /// The text of a parameter, if the program has it.
    pub fn text(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?;
        self.used.names().insert(name.to_string());
        Some(value)
    }

    /// Begins to note anew which parameters are asked for.
    pub(crate) fn forget_used(&self) {
        self.used.names().clear();
    }

    /// The parameters that were asked for since, but for those that only stand in for the rows of
    /// inputs: what they say, the inputs say.
    pub(crate) fn used(&self) -> Vec<(String, String)> {
        let names = self.used.names();
        let values = self.values.iter().filter(|(name, _)| names.contains(*name));
        values.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// A parameter as any type that can be read from text; `expected` describes it in errors.
    pub fn parsed<T: FromStr>(&self, name: &str, expected: &str) -> Result<T, ProgramError> {
        let value = self.text(name).ok_or_else(|| ProgramError::MissingParameter {
            name: name.to_string(),
            help: expected.to_string(),
        })?;
        value.parse().map_err(|_| self.bad(name, expected))
    }

    /// The error of a parameter that does not fit.
    pub fn bad(&self, name: &str, expected: &str) -> ProgramError {
        ProgramError::BadParameter {
            name: name.to_string(),
            value: self.text(name).unwrap_or_default().to_string(),
            expected: expected.to_string(),
        }
    }

    /// A parameter as a count of at least 1.
    pub fn count(&self, name: &str) -> Result<u64, ProgramError> {
        let expected = "a whole number from 1 on";
        let count: u64 = self.parsed(name, expected)?;
        if count == 0 {
            return Err(self.bad(name, expected));
        }
        Ok(count)
    }

    /// A parameter that is `true` or `false`.
    pub fn flag(&self, name: &str) -> Result<bool, ProgramError> {
        self.parsed(name, "true or false")
    }

    /// How many rows input `port` was stated to have.
    pub fn stated_rows(&self, port: &str) -> Option<u64> {
        self.rows.get(port).copied()
    }

    /// All inputs of which it was stated how many rows they have.
    pub fn all_stated_rows(&self) -> &BTreeMap<String, u64> {
        &self.rows
    }

    /// How many rows input `port` has: as stated, or parameter `n`.
    pub fn rows(&self, port: &str) -> Result<u64, ProgramError> {
        if let Some(&rows) = self.rows.get(port) {
            return Ok(rows);
        }
        if self.values.contains_key("n") {
            return self.unstated_rows("n");
        }
        Err(ProgramError::MissingRows { input: port.to_string() })
    }

    /// How many rows `ports` have, which are computed on row by row: as stated for one of them, or else as the
    /// parameter of this name says, such as `n`.
    ///
    /// # Errors
    /// When two of them were stated to have different numbers of rows.
    pub fn equal_rows<'a>(
        &self,
        ports: impl IntoIterator<Item = &'a str>,
        parameter: &str,
    ) -> Result<u64, ProgramError> {
        let stated = |port| Some((port, self.stated_rows(port)?));
        let mut stated = ports.into_iter().filter_map(stated);
        let Some((first, rows)) = stated.next() else { return self.unstated_rows(parameter) };
        match stated.find(|(_, other)| *other != rows) {
            None => Ok(rows),
            Some((other, found)) => Err(ProgramError::Rows(format!(
                "input '{first}' has {rows} rows and '{other}' has {found}: they are computed on \
                 row by row, so both need the same number"
            ))),
        }
    }

    /// A parameter that stands in for rows that nobody stated.
    pub fn unstated_rows(&self, name: &str) -> Result<u64, ProgramError> {
        let was_used = self.used.names().contains(name);
        let count = self.count(name)?;
        if !was_used {
            self.used.names().remove(name);
        }
        Ok(count)
    }
}

fn unknown(program: &dyn Program, parameters: &[Parameter], name: &str) -> ProgramError {
    let names: Vec<&str> = parameters.iter().map(|p| p.name.as_str()).collect();
    ProgramError::UnknownParameter {
        program: program.name().to_string(),
        name: name.to_string(),
        known: if names.is_empty() { "none".to_string() } else { names.join(", ") },
    }
}
