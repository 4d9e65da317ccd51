//! [`ColumnLimbs`]: columns that are wider than an element, cut into columns that are not.

use std::ops::Range;

use phineus_bytecode::ElementType;
use phineus_frontend::Value;

/// Which limbs the columns of a memory are cut into: a row of limbs moves by one product for each.
pub(super) struct ColumnLimbs {
    /// By limb.
    elements: Vec<ElementType>,
    /// By column, its limbs.
    of_column: Vec<Range<usize>>,
}

impl ColumnLimbs {
    /// Limbs of at most `most` bits each; as few as there can be, of about the same width.
    pub(super) fn new(columns: &[ElementType], most: u16) -> ColumnLimbs {
        let mut elements = Vec::new();
        let of_column = columns.iter().map(|&column| {
            let (from, width) = (elements.len(), column.width());
            if width <= most {
                elements.push(column);
                return from..from + 1;
            }
            let each = width.div_ceil(width.div_ceil(most));
            let starts = (0..width).step_by(each.into());
            elements.extend(starts.map(|start| ElementType::unsigned(each.min(width - start))));
            from..elements.len()
        });
        let of_column = of_column.collect();
        ColumnLimbs { elements, of_column }
    }

    /// Each column is its own limb.
    pub(super) fn whole(columns: &[ElementType]) -> ColumnLimbs {
        ColumnLimbs::new(columns, u16::MAX)
    }

    /// The types of all limbs.
    pub(super) fn elements(&self) -> &[ElementType] {
        &self.elements
    }

    /// The limbs of a column.
    pub(super) fn of_column(&self, column: usize) -> Range<usize> {
        self.of_column[column].clone()
    }

    /// The limbs of cells of a column.
    #[track_caller]
    pub(super) fn cut(&self, column: usize, cells: &Value) -> Vec<Value> {
        let limbs = self.of_column(column);
        if limbs.len() == 1 {
            return vec![cells.clone()];
        }
        let mut start = 0;
        let cut = self.elements[limbs].iter().map(|limb| {
            // One element, and not as many as it has bits.
            let part = cells.bit_slice(start, limb.width()).reduced();
            start += limb.width();
            part
        });
        cut.collect()
    }

    /// Cells of type `element` of which these are the limbs.
    #[track_caller]
    pub(super) fn joined(element: ElementType, limbs: Vec<Value>) -> Value {
        match limbs.len() {
            1 => limbs.into_iter().next().expect("just counted"),
            _ => {
                let joined = limbs.into_iter().reduce(|low, high| low.bit_concat(&high));
                joined.expect("a column has bits").with_sign(element.is_signed())
            }
        }
    }
}
