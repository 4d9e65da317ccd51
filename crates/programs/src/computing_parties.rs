//! [`WithComputingParties`]: a program of two parties, computed by as many as are wanted.

use phineus_bytecode::Table;
use phineus_frontend::{
    Arguments, ColumnRange, Parameter, Program, ProgramError, Tracer, parties_parameter,
    party_names,
};

/// A program whose two parties bring and learn everything, with more parties that compute beside
/// them: who holds no share of a value learns nothing unless all that hold one work together.
pub(super) struct WithComputingParties<P>(pub(super) P);

impl<P: Program> Program for WithComputingParties<P> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn about(&self) -> &str {
        self.0.about()
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = self.0.parameters();
        parameters.push(parties_parameter("2"));
        parameters
    }

    fn parties(&self) -> Vec<String> {
        self.0.parties()
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        let mut names = self.0.parties();
        assert!(names.len() == 2, "it is a program of two parties");
        names.extend(party_names(arguments)?.split_off(2));
        Ok(names)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        self.0.trace(arguments, tracer)
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        self.0.reference(arguments, inputs)
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        self.0.generate(arguments, seed)
    }

    fn ranges(&self, arguments: &Arguments) -> Result<Vec<ColumnRange>, ProgramError> {
        self.0.ranges(arguments)
    }

    fn reveals(&self, arguments: &Arguments) -> Option<String> {
        self.0.reveals(arguments)
    }

    fn agrees(&self, outputs: &[Table], expected: &[Table]) -> bool {
        self.0.agrees(outputs, expected)
    }
}
