//! [`Bundle`]: the modules that make a hybrid circuit, found in a directory or listed in a file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::error::ProgramError;

use super::bytes::read_module;
use super::module::{HyccModule, SourceVariable};

/// The most bytes of a module's file: it is held in memory while it is read.
const FILE_BYTES_MAX: u64 = 1 << 30;
/// The most files of a bundle.
const MODULES_MAX: usize = 1 << 16;
/// The most modules that wait for each other, each called by the one before.
const CALLS_MAX: usize = 256;
/// The most steps of a whole circuit, every call with what it calls: hours of tracing.
const STEPS_MAX: u64 = 1 << 34;

/// Sharing that a module was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Arithmetic sharing; single bits in it are Boolean.
    Arithmetic,
    /// Few levels of ANDs: Boolean sharing.
    Depth,
    /// Few ANDs: garbled sharing.
    Size,
}

/// The modules by name.
pub(super) struct Bundle {
    pub(super) modules: BTreeMap<String, (HyccModule, Purpose)>,
    main: String,
}

fn refused<T>(what: String) -> Result<T, ProgramError> {
    Err(ProgramError::Refused(what))
}

impl Bundle {
    /// Opens a `.cmb` file, or the directory that has one or just modules.
    pub(super) fn open(path: &Path) -> Result<Bundle, ProgramError> {
        let files = if path.is_dir() { files_of(path)? } else { listed(path)? };
        if files.is_empty() {
            return refused(format!("{} names no modules", path.display()));
        }
        let mut modules = BTreeMap::new();
        for file in &files {
            let purpose = purpose(file)?;
            let module = read(file)?;
            let name = module.name.clone();
            if modules.insert(name.clone(), (module, purpose)).is_some() {
                return refused(format!(
                    "{}: there is another module '{name}'; choose one of them in a .cmb file",
                    file.display()
                ));
            }
        }
        let main = match modules.len() {
            1 => modules.keys().next().cloned(),
            _ => Some("mpc_main".to_owned()).filter(|main| modules.contains_key(main)),
        };
        let Some(main) = main else {
            return refused(format!("{}: none of the modules is 'mpc_main'", path.display()));
        };
        let bundle = Bundle { modules, main };
        bundle.check(&bundle.main, &mut Vec::new(), &mut BTreeMap::new())?;
        Ok(bundle)
    }

    /// The module that the others serve.
    pub(super) fn main(&self) -> &str {
        &self.main
    }

    /// Checks what `name` calls, directly or not, and how many steps all of it is; `above` are the
    /// modules that wait for it.
    fn check<'a>(
        &'a self,
        name: &'a str,
        above: &mut Vec<&'a str>,
        checked: &mut BTreeMap<&'a str, u64>,
    ) -> Result<u64, ProgramError> {
        if above.contains(&name) {
            return refused(format!("module '{name}' calls itself"));
        }
        if let Some(steps) = checked.get(&name) {
            return Ok(*steps);
        }
        if above.len() == CALLS_MAX {
            return refused(format!("module '{name}' is the {CALLS_MAX}th in a row of calls"));
        }
        let (module, _) = &self.modules[name];
        above.push(name);
        let mut steps = module.order.len() as u64;
        only_once(name, "input", module.inputs.iter().map(|(_, input)| &input.variable))?;
        only_once(name, "output", module.outputs.iter().map(|output| &output.variable))?;
        for call in &module.calls {
            only_once(name, "argument", call.arguments.iter().map(|given| &given.variable))?;
            let Some((callee, _)) = self.modules.get(&call.name) else {
                let missing = &call.name;
                return refused(format!(
                    "module '{name}' calls '{missing}', which is not in the bundle"
                ));
            };
            let fits =
                |wanted: &SourceVariable,
                 mut given: Box<dyn Iterator<Item = &SourceVariable> + '_>| {
                    given.any(|given| given.name == wanted.name && given.bits() == wanted.bits())
                };
            for (_, input) in &callee.inputs {
                let given = call.arguments.iter().map(|argument| &argument.variable);
                if !fits(&input.variable, Box::new(given)) {
                    return no_fit(name, &call.name, "given", &input.variable);
                }
            }
            for returned in &call.returns {
                let given = callee.outputs.iter().map(|output| &output.variable);
                if !fits(&returned.variable, Box::new(given)) {
                    return no_fit(name, &call.name, "returned", &returned.variable);
                }
            }
            steps = steps.saturating_add(self.check(&call.name, above, checked)?);
        }
        if steps > STEPS_MAX {
            return refused(format!("module '{name}' with all calls is more than 2^34 steps"));
        }
        above.pop();
        checked.insert(name, steps);
        Ok(steps)
    }
}

/// Refuses two variables of one name, since calls find them by it.
fn only_once<'a>(
    module: &str,
    kind: &str,
    variables: impl Iterator<Item = &'a SourceVariable>,
) -> Result<(), ProgramError> {
    let mut names = BTreeSet::new();
    for SourceVariable { name, .. } in variables {
        if !names.insert(name) {
            return refused(format!("module '{module}' has two variables '{name}' as {kind}s"));
        }
    }
    Ok(())
}

fn no_fit<T>(
    caller: &str,
    callee: &str,
    verb: &str,
    variable: &SourceVariable,
) -> Result<T, ProgramError> {
    let (name, bits) = (&variable.name, variable.bits());
    refused(format!(
        "where '{caller}' calls '{callee}', no variable '{name}' of {bits} bits is {verb}"
    ))
}

/// Purpose that the end of a file's name states.
fn purpose(file: &Path) -> Result<Purpose, ProgramError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = name.strip_suffix(".circ").unwrap_or(&name);
    match stem.rsplit_once('@').map(|(_, purpose)| purpose) {
        Some("arith") => Ok(Purpose::Arithmetic),
        Some("bool_depth") | None => Ok(Purpose::Depth),
        Some("bool_size") => Ok(Purpose::Size),
        Some(other) => refused(format!(
            "{name}: '@{other}' is unknown; known are @arith, @bool_depth and @bool_size"
        )),
    }
}

/// The files with this ending in `directory`, by name.
fn with_ending(directory: &Path, ending: &str) -> Result<Vec<PathBuf>, ProgramError> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The modules of the only bundle, of the optimized one, or all modules.
fn files_of(directory: &Path) -> Result<Vec<PathBuf>, ProgramError> {
    let bundles = with_ending(directory, "cmb")?;
    let optimized = bundles.iter().find(|path| path.ends_with("ps_optimized.cmb"));
    match (&bundles[..], optimized) {
        ([], _) => with_ending(directory, "circ"),
        ([one], _) | (_, Some(one)) => listed(one),
        _ => {
            let names: Vec<String> = bundles.iter().map(|p| p.display().to_string()).collect();
            refused(format!("there are several bundles, name one: {}", names.join(", ")))
        }
    }
}

/// The files that a bundle lists, one a line.
fn listed(bundle: &Path) -> Result<Vec<PathBuf>, ProgramError> {
    let directory = bundle.parent().unwrap_or(Path::new(""));
    let name = bundle.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let error = |line: usize, what: String| ProgramError::Circuit {
        file: name.clone(),
        line: line as u64 + 1,
        what,
    };
    let text = String::from_utf8(contents(bundle)?)
        .map_err(|_| error(0, "this is not text".to_owned()))?;
    let mut files = Vec::new();
    for (line, file) in text.lines().map(str::trim).enumerate().filter(|(_, f)| !f.is_empty()) {
        let path = directory.join(file);
        if !path.is_file() {
            return Err(error(line, format!("there is no file '{}'", path.display())));
        }
        if files.len() == MODULES_MAX {
            return Err(error(line, format!("more than {MODULES_MAX} modules")));
        }
        files.push(path);
    }
    Ok(files)
}

fn contents(path: &Path) -> Result<Vec<u8>, ProgramError> {
    let length = std::fs::metadata(path)?.len();
    if length > FILE_BYTES_MAX {
        return refused(format!("{} has more than {FILE_BYTES_MAX} bytes", path.display()));
    }
    Ok(std::fs::read(path)?)
}

fn read(file: &Path) -> Result<HyccModule, ProgramError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    read_module(&name, &contents(file)?)
}
