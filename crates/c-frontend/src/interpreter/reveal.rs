//! `ph_reveal`: opens a secret when the program runs.

use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::interpreter::Interpreter;
use crate::ir::{IrOperand, OperationKind, Unary};

impl<'m> Interpreter<'m> {
    /// `ph_reveal`: opens a secret of `width` bits to all parties.
    pub(crate) fn reveal(
        &mut self,
        frame: &Frame<'m>,
        width: u16,
        operand: IrOperand,
    ) -> Result<CellValue, ExecutionStop> {
        let (width, data) = narrowest(frame, width, operand);
        match &data {
            CellValue::Public(_) | CellValue::Opened(_) | CellValue::Poison => return Ok(data),
            _ => {}
        }
        if let Some(unfit) = self.access.values.unfit(&data) {
            return unfit;
        }
        if self.access.values.scope.dry_run.is_some() {
            return Err(ExecutionStop::Abandon);
        }
        if self.access.values.scope.secret_branches > 0 {
            return self.access.values.error(
                "this is revealed only where a secret says so, which tells the secret",
                "reveal it before the branch, or reveal the secret that decides the branch",
            );
        }
        if !data.is_secret() {
            return self
                .access
                .values
                .error("what is revealed here is no integer", "reveal integers");
        }
        let place = self.access.values.report.spot();
        let file = std::path::Path::new(&place.file).file_name().unwrap_or_default();
        let name = format!("{}:{}:{}", file.to_string_lossy(), place.line, place.column);
        self.access.values.note(
            format!("{width} bits are opened to all parties when the program runs"),
            "everybody learns it, and what depends on it: how often a loop runs, which branch is taken",
        );
        let value = self.access.values.emit.value(&data, width);
        Ok(CellValue::Opened(self.access.values.emit.open(name, &value)))
    }
}

/// The revealed operand before it was extended with zeros, and its width.
fn narrowest(frame: &Frame<'_>, width: u16, operand: IrOperand) -> (u16, CellValue) {
    if let IrOperand::Register(register) = operand {
        let all = frame.function.blocks.iter().flat_map(|block| &block.instructions);
        for instruction in all.filter(|instruction| instruction.result == register) {
            if let OperationKind::Unary(Unary::ZeroExtend, from, _, narrow) = &instruction.kind {
                return (*from, frame.get(*narrow));
            }
        }
    }
    (width, frame.get(operand))
}
