//! [`Value`]: the name of a secret value, of a type known only when tracing.

use std::rc::Rc;

use phineus_bytecode::meaning::mask_of;
use phineus_bytecode::{ElementType, Lane, Op, Shape, Sharing};

use crate::delayed::Delayed;
use crate::sharing;
use crate::tracer::{InputCells, Results, Tracer};

/// Where a value is.
#[derive(Clone)]
pub(crate) enum ValueOrigin {
    /// It was defined under this name.
    Named(u64),
    /// It is public: this in every lane. It is recorded only when used, in the sharing of its use.
    Known(Box<Lane>),
    /// It is these cells of an input, recorded when something else is.
    Input(Rc<InputCells>),
    /// It is a sum of products, recorded when something needs it.
    Delayed(Rc<Delayed>),
    /// It is the result of a mistake that was reported.
    Poisoned,
}

/// A secret value: `lanes` integers of one type. All operations are recorded, none is done.
///
/// An operand of one lane is repeated to the lanes of the other. The typed front ends are
/// [`crate::UInt`], [`crate::Int`] and [`crate::Bit`].
#[derive(Clone)]
pub struct Value {
    tracer: Tracer,
    place: ValueOrigin,
    element: ElementType,
    lanes: u32,
}

impl Value {
    pub(crate) fn known(tracer: &Tracer, element: ElementType, lanes: u32, value: Lane) -> Value {
        let place = ValueOrigin::Known(Box::new(value & mask_of(element.width())));
        Value { tracer: tracer.clone(), place, element: element.shared(Sharing::Any), lanes }
    }

    pub(crate) fn of_cells(tracer: &Tracer, cells: Rc<InputCells>) -> Value {
        let (element, lanes) = (cells.element, cells.lanes);
        Value { tracer: tracer.clone(), place: ValueOrigin::Input(cells), element, lanes }
    }

    /// Rows of an input from `row` on, one in each lane: of `column` of the input with number `port`
    /// ([`Tracer::add_input`]), which must hold elements of this type.
    #[track_caller]
    pub fn input(
        tracer: &Tracer,
        (port, column): (u64, u64),
        row: u64,
        (element, lanes): (ElementType, u32),
    ) -> Value {
        match tracer.add_cells(element, lanes, [port, column, row, 0]) {
            Some(cells) => Value::of_cells(tracer, cells),
            None => Value::poisoned(tracer, element, lanes),
        }
    }

    /// Of the shape of `vector`.
    pub(crate) fn of_delayed(vector: &Value, delayed: Rc<Delayed>) -> Value {
        Value { place: ValueOrigin::Delayed(delayed), ..vector.clone() }
    }

    pub(crate) fn result(
        tracer: &Tracer,
        element: ElementType,
        lanes: u32,
        results: Results,
        index: usize,
    ) -> Value {
        Value {
            tracer: tracer.clone(),
            place: results.map_or(ValueOrigin::Poisoned, |names| ValueOrigin::Named(names[index])),
            element,
            lanes,
        }
    }

    pub(crate) fn place(&self) -> &ValueOrigin {
        &self.place
    }

    /// Whether both are surely the same value.
    pub(crate) fn is_same_as(&self, other: &Value) -> bool {
        match (&self.place, &other.place) {
            (ValueOrigin::Named(a), ValueOrigin::Named(b)) => a == b,
            (ValueOrigin::Input(a), ValueOrigin::Input(b)) => Rc::ptr_eq(a, b),
            (ValueOrigin::Named(_) | ValueOrigin::Input(_), _)
            | (ValueOrigin::Known(_) | ValueOrigin::Delayed(_) | ValueOrigin::Poisoned, _) => false,
        }
    }

    /// Tracer that records the value.
    pub fn tracer(&self) -> &Tracer {
        &self.tracer
    }

    /// Type of its lanes, with the sharing.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Type of its lanes, without the sharing.
    pub fn integer(&self) -> ElementType {
        self.element.shared(Sharing::Any)
    }

    /// How the parties hold it; a public value fits every sharing.
    pub fn sharing(&self) -> Sharing {
        self.element.sharing()
    }

    /// Bits per lane.
    pub fn width(&self) -> u16 {
        self.element.width()
    }

    /// How many lanes it has.
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// Its width and lanes.
    pub fn shape(&self) -> Shape {
        Shape { width: self.element.width(), lanes: self.lanes, sharing: self.element.sharing() }
    }

    /// The public value of every lane, if it is public.
    pub fn public(&self) -> Option<Lane> {
        match &self.place {
            ValueOrigin::Known(lane) => Some(**lane),
            _ => None,
        }
    }

    /// A public value like this one.
    pub(crate) fn like(&self, value: Lane) -> Value {
        Value::known(&self.tracer, self.element, self.lanes, value)
    }

    /// Returns the same bits with another signedness.
    pub fn with_sign(&self, signed: bool) -> Value {
        let element = ElementType::integer(self.width(), signed).shared(self.sharing());
        Value { element, ..self.clone() }
    }

    #[track_caller]
    pub(crate) fn emit(
        &self,
        op: Op,
        element: ElementType,
        lanes: u32,
        operands: &[&Value],
        immediates: [u64; 4],
    ) -> Value {
        let sharing = sharing::common(op, operands);
        let element = element.shared(sharing.unwrap_or_default());
        let results = match sharing {
            Some(_) => self.tracer.emit(op, element, lanes, operands, immediates),
            None => None,
        };
        let info = op.info();
        let mut instruction = phineus_bytecode::Instruction::new(op, element, lanes);
        instruction.immediates = immediates;
        let shape = info.results[0].shape(&instruction);
        let element = if shape.width == element.width() {
            element
        } else {
            ElementType::unsigned(shape.width).shared(element.sharing())
        };
        Value::result(&self.tracer, element, shape.lanes, results, 0)
    }

    /// Records an operation with two results of shape `element` x `lanes`.
    #[track_caller]
    pub(crate) fn emit_pair(
        &self,
        op: Op,
        element: ElementType,
        lanes: u32,
        operands: &[&Value],
        immediates: [u64; 4],
    ) -> (Value, Value) {
        let sharing = sharing::common(op, operands);
        let element = element.shared(sharing.unwrap_or_default());
        let results = match sharing {
            Some(_) => self.tracer.emit(op, element, lanes, operands, immediates),
            None => None,
        };
        let result = |index| Value::result(&self.tracer, element, lanes, results, index);
        (result(0), result(1))
    }

    /// A value that stands for the result of a reported mistake.
    pub fn poisoned(tracer: &Tracer, element: ElementType, lanes: u32) -> Value {
        Value::result(tracer, element, lanes, None, 0)
    }

    /// Both with the same lanes, one lane being repeated; `None`, and a fault, if types differ.
    #[track_caller]
    pub(crate) fn aligned(&self, name: &str, other: &Value) -> Option<(Value, Value)> {
        if self.integer() != other.integer() {
            let (a, b) = (self.integer(), other.integer());
            self.tracer.fault(format!("{name} needs equal types, got {a} and {b}"));
            return None;
        }
        Some(match (self.lanes, other.lanes) {
            // In the other's sharing first: one lane is cheaper to convert than many.
            (1, lanes) if lanes > 1 => (self.beside(other).tile(lanes), other.clone()),
            (lanes, 1) if lanes > 1 => (self.clone(), other.beside(self).tile(lanes)),
            _ => (self.clone(), other.clone()),
        })
    }
}
