//! [`Hybrid`]: a hybrid circuit as a program.
//!
//! The parties bring a row for each instance, a column for each integer of their variables;
//! instances are lanes of the same instructions.

use std::path::Path;

use phineus_bytecode::{Column, ElementType, Encoding, Lane, Sharing, Table};

use crate::arguments::{Arguments, Parameter};
use crate::error::ProgramError;
use crate::parties::{parties_parameter, party_names, receivers, to_parameter};
use crate::port::column;
use crate::program::Program;
use crate::tracer::Tracer;
use crate::value::Value;

use super::bundle::{Bundle, Purpose};
use super::module::{HyccModule, SourceVariable, VariableElement};
use super::run::{Plain, Secret, Sharings, Word, fit, run};

/// Instances that run as lanes of one instruction: as many integers of 64 bits fit a value.
const INSTANCE_LANES: u32 = 64;

/// The owners of inputs.
const PARTIES: [&str; 2] = ["site_a", "site_b"];

/// A bundle of modules.
pub struct Hybrid {
    name: String,
    about: String,
    bundle: Bundle,
}

fn element(leaf: &VariableElement) -> ElementType {
    ElementType::integer(leaf.width.into(), leaf.is_signed)
}

fn columns<'a>(variables: impl Iterator<Item = &'a SourceVariable>) -> Vec<Column> {
    let leaves = variables.flat_map(|variable| &variable.leaves);
    leaves.map(|leaf| column(&leaf.name, element(leaf), Encoding::Number)).collect()
}

impl Hybrid {
    /// Opens a `.cmb` file, or a directory with one or with modules only.
    ///
    /// # Errors
    /// Says which file is wrong, where, and what is wrong with it.
    pub fn open(path: &Path) -> Result<Hybrid, ProgramError> {
        let bundle = Bundle::open(path)?;
        let modules = bundle.modules.values().map(|(module, _)| module.gates.len());
        let gates: usize = modules.sum();
        Ok(Hybrid {
            name: path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            about: format!(
                "a hybrid circuit of {} modules and {gates} gates",
                bundle.modules.len()
            ),
            bundle,
        })
    }

    fn main(&self) -> &(HyccModule, Purpose) {
        &self.bundle.modules[self.bundle.main()]
    }

    /// The variables that a party brings, with their places among all inputs.
    fn inputs_of(&self, party: usize) -> Vec<(usize, &SourceVariable)> {
        let inputs = self.main().0.inputs.iter().enumerate();
        inputs
            .filter(|(_, (owner, _))| usize::from(*owner) == party)
            .map(|(place, (_, input))| (place, &input.variable))
            .collect()
    }

    /// The parties that bring something, and the variables.
    fn owners(&self) -> Vec<(&'static str, Vec<(usize, &SourceVariable)>)> {
        let all = PARTIES.into_iter().enumerate();
        let all = all.map(|(party, name)| (name, self.inputs_of(party)));
        all.filter(|(_, variables)| !variables.is_empty()).collect()
    }

    /// How many instances run: the rows of the inputs, which must agree.
    fn instances(&self, arguments: &Arguments) -> Result<u64, ProgramError> {
        arguments.equal_rows(PARTIES, "batch")
    }

    /// Brings in the inputs: for each variable its columns' chunks.
    ///
    /// An integer that is one wire comes in arithmetic sharing, one that is bits in that of bits.
    fn read(&self, tracer: &Tracer, instances: u64, sharings: Sharings) -> Vec<Vec<Vec<Value>>> {
        let (main, purpose) = self.main();
        let mut inputs = vec![Vec::new(); main.inputs.len()];
        for (name, variables) in self.owners() {
            let mut port = tracer.input(name, instances).lanes(INSTANCE_LANES);
            for column in columns(variables.iter().map(|(_, variable)| *variable)) {
                port = port.column(column);
            }
            let mut columns = port.read().into_columns().into_iter();
            for (place, variable) in variables {
                let wires = main.widths_of(main.inputs[place].1.wires.clone());
                let sharing = match wires == variable.widths() && wires.iter().all(|&w| w > 1) {
                    true => sharings.arithmetic(),
                    false => sharings.boolean(*purpose),
                };
                let chunks = columns.by_ref().take(variable.leaves.len());
                let shared = chunks.map(|column: Vec<Value>| {
                    column.iter().map(|v| v.with_sign(false).to_sharing(sharing)).collect()
                });
                inputs[place] = shared.collect();
            }
        }
        inputs
    }
}

impl Program for Hybrid {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("batch", "1", "instances to run, where no file says"),
            Parameter::new("sharing", "marked", "as the modules are marked, or any: as the run's"),
            Parameter::new("bits", "gmw", "the sharing of bits in @arith modules: gmw or bmr"),
            parties_parameter("2"),
            to_parameter("all"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        PARTIES.map(String::from).to_vec()
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        party_names(arguments)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let instances = self.instances(arguments)?;
        let is_marked = match arguments.text("sharing") {
            Some("marked") => true,
            Some("any") => false,
            _ => return Err(arguments.bad("sharing", "marked or any")),
        };
        let bits = match arguments.text("bits") {
            Some("gmw") => Sharing::Boolean,
            Some("bmr") => Sharing::Garbled,
            _ => return Err(arguments.bad("bits", "gmw or bmr")),
        };
        let names = party_names(arguments)?;
        let receivers = receivers(arguments, &names)?;
        let (main, purpose) = self.main();
        let sharings = Sharings { is_marked, bits };
        let inputs = self.read(tracer, instances, sharings);
        let variables = || main.outputs.iter().map(|output| &output.variable);
        let described = columns(variables());
        let mut results = vec![Vec::new(); described.len()];
        for chunk in 0..instances.div_ceil(INSTANCE_LANES.into()) as usize {
            let first = chunk as u64 * u64::from(INSTANCE_LANES);
            let lanes = (instances - first).min(INSTANCE_LANES.into()) as u32;
            let secret = Secret { tracer, lanes, sharings };
            let values = inputs.iter().zip(&main.inputs).map(|(columns, (_, input))| {
                let values = columns.iter().map(|column| column[chunk].clone());
                fit(&secret, values.collect(), main.widths_of(input.wires.clone()), *purpose)
            });
            let values = values.collect();
            let outputs = run(&self.bundle, self.bundle.main(), &secret, values);
            let outputs = outputs
                .into_iter()
                .zip(variables())
                .flat_map(|(wires, variable)| fit(&secret, wires, &variable.widths(), *purpose));
            results.iter_mut().zip(outputs).for_each(|(chunks, value)| chunks.push(value));
        }
        let mut output = tracer.output("result", &receivers);
        for (column, chunks) in described.into_iter().zip(results) {
            output = output.chunks(column, chunks);
        }
        output.write();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        let (main, purpose) = self.main();
        Some(self.instances(arguments).map(|instances| {
            let variables = || main.outputs.iter().map(|output| &output.variable);
            let mut result = Table::new(columns(variables()));
            for row in 0..instances {
                let mut words = vec![Vec::new(); main.inputs.len()];
                for ((_, variables), table) in self.owners().iter().zip(inputs) {
                    let mut cells = table.row(row).into_iter();
                    for (place, variable) in variables {
                        let leaves = variable.leaves.iter().zip(cells.by_ref());
                        let leaves = leaves.map(|(leaf, cell)| Word {
                            value: cell.as_limbs()[0],
                            width: leaf.width,
                        });
                        let widths = main.widths_of(main.inputs[*place].1.wires.clone());
                        words[*place] = fit(&Plain, leaves.collect(), widths, *purpose);
                    }
                }
                let outputs = run(&self.bundle, self.bundle.main(), &Plain, words);
                let cells = outputs
                    .into_iter()
                    .zip(variables())
                    .flat_map(|(wires, variable)| fit(&Plain, wires, &variable.widths(), *purpose));
                let cells: Vec<Lane> = cells.map(|word| Lane::from(word.value)).collect();
                result.push(&cells);
            }
            vec![result]
        }))
    }
}
