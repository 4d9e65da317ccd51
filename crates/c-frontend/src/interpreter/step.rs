//! One instruction.

use crate::data::CellValue;
use crate::evaluate::report::ExecutionStop;
use crate::frame::Frame;
use crate::interpreter::Interpreter;
use crate::ir::OperationKind;

impl<'m> Interpreter<'m> {
    /// Does what an instruction says; returns its result.
    pub(crate) fn execute(
        &mut self,
        frame: &mut Frame<'m>,
        kind: &'m OperationKind,
    ) -> Result<CellValue, ExecutionStop> {
        match kind {
            OperationKind::Binary(op, width, [a, b]) => {
                self.access.values.binary(*op, *width, &frame.get(*a), &frame.get(*b))
            }
            OperationKind::Compare(op, width, [a, b]) => {
                if let Some(found) =
                    self.access.values.compare_bound(frame, *op, *width, [*a, *b])?
                {
                    return Ok(found);
                }
                self.access.values.compare(*op, *width, &frame.get(*a), &frame.get(*b))
            }
            OperationKind::Unary(op, from, to, a) => {
                self.access.values.unary(*op, *from, *to, &frame.get(*a))
            }
            OperationKind::Float(op, from, to, operands) => {
                let operands: Vec<CellValue> = operands.iter().map(|o| frame.get(*o)).collect();
                self.access.values.float(*op, *from, *to, &operands.iter().collect::<Vec<_>>())
            }
            OperationKind::Select(width, [condition, a, b]) => self.access.values.select(
                &frame.get(*condition),
                &frame.get(*a),
                &frame.get(*b),
                *width,
            ),
            OperationKind::Funnel(left, width, [high, low, amount]) => {
                let operands = [&frame.get(*high), &frame.get(*low), &frame.get(*amount)];
                self.access.values.funnel(*left, *width, operands)
            }
            OperationKind::Overflow(op, is_signed, width, [a, b]) => {
                self.access.values.overflow(*op, *is_signed, *width, &frame.get(*a), &frame.get(*b))
            }
            OperationKind::Reduce(op, width, vector) => {
                let CellValue::Many(elements) = frame.get(*vector) else {
                    return Ok(CellValue::Poison);
                };
                let mut all = elements.to_vec();
                while all.len() > 1 {
                    let pairs = all.chunks(2).map(|pair| match pair {
                        [a, b] => self.access.values.binary(*op, *width, a, b),
                        _ => Ok(pair[0].clone()),
                    });
                    all = pairs.collect::<Result<_, _>>()?;
                }
                Ok(all.pop().unwrap_or(CellValue::Undefined))
            }
            OperationKind::Freeze(a) => Ok(frame.get(*a)),
            OperationKind::Reveal(width, operand) => self.reveal(frame, *width, *operand),
            OperationKind::Unsupported(what, remedy) => {
                self.access.values.error(format!("{what} is not supported"), remedy)
            }
            OperationKind::Extract(..)
            | OperationKind::Insert(..)
            | OperationKind::ExtractElement(_)
            | OperationKind::InsertElement(_)
            | OperationKind::Shuffle(..) => self.access.values.rearrange(frame, kind),
            _ => self.access(frame, kind),
        }
    }

    /// Memory, addresses and calls.
    fn access(
        &mut self,
        frame: &mut Frame<'m>,
        kind: &'m OperationKind,
    ) -> Result<CellValue, ExecutionStop> {
        match kind {
            OperationKind::Load(type_, place) => {
                let place = frame.get(*place);
                let (block, index) = frame.position;
                let code = &frame.function.blocks[block as usize];
                match frame.function.moved[code.instructions[index].result as usize] {
                    true => self.access.load_to_move(type_, place),
                    false => self.access.load(type_, place),
                }
            }
            OperationKind::Store(type_, [data, place]) => {
                self.access.store(type_, frame.get(*data), frame.get(*place))?;
                Ok(CellValue::Undefined)
            }
            OperationKind::Allocate(name, bytes, granule, count) => {
                self.access.allocate(frame, name, (*bytes, *granule), *count)
            }
            OperationKind::Address(base, offset, indices) => {
                self.access.values.address(frame, frame.get(*base), *offset, indices)
            }
            OperationKind::ToInteger(a) | OperationKind::ToPointer(a) => Ok(frame.get(*a)),
            OperationKind::Call(function, arguments) => {
                let arguments = arguments.iter().map(|argument| frame.get(*argument)).collect();
                self.call(*function, arguments)
            }
            OperationKind::CallPointer(target, arguments) => match frame.get(*target) {
                CellValue::Function(function) => {
                    let arguments = arguments.iter().map(|argument| frame.get(*argument)).collect();
                    self.call(function, arguments)
                }
                CellValue::Poison => Ok(CellValue::Poison),
                _ => self.access.values.error(
                    "which function is called here is not known",
                    "call functions by name, or choose with a public index",
                ),
            },
            OperationKind::Copy(operands) => self.access.copy(frame, operands),
            OperationKind::Fill(operands) => self.access.fill(frame, operands),
            OperationKind::Heap(sizes, is_zeroed) => self.access.heap(frame, sizes, *is_zeroed),
            OperationKind::Begin(place) => {
                if let (Some(dry_run), CellValue::Pointer(object, _)) =
                    (&mut self.access.values.scope.dry_run, frame.get(*place))
                {
                    dry_run.begin(object);
                }
                Ok(CellValue::Undefined)
            }
            _ => unreachable!("all other kinds were done"),
        }
    }
}
