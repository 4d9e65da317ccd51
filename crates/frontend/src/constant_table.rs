//! [`ConstantTable`]: constants that are looked up at secret indices, by a circuit made for the table.

use phineus_bytecode::{ElementType, Lane};
use phineus_circuits::lookup::{INDEX_BITS_MAX, look_up};
use phineus_circuits::record::{CircuitTemplate, LocalGate, Recorder};

use crate::value::Value;

/// Constants to look up. Cost: [`ConstantTable::and_count`] ANDs for each lane of an index, and nothing opened.
///
/// ```
/// use phineus_bytecode::ElementType;
/// use phineus_frontend::{ConstantTable, Element, U8, Vector, program};
///
/// let primes = [2, 3, 5, 7, 11, 13, 17, 19];
/// let program = program("prime").party("a").trace(move |t, _| {
///     let index = t.input("a", 100).number::<U8>("x").vector::<U8>();
///     let table = ConstantTable::new(&primes, ElementType::unsigned(8));
///     let found: Vector<U8> = index.map(|index| U8::from_value(table.look_up(index.value())));
///     t.output("primes", &["a"]).vector("prime", found).write();
///     Ok(())
/// });
/// ```
pub struct ConstantTable {
    template: CircuitTemplate,
    /// The type of the rows, and the narrowest one that holds all of them.
    element: ElementType,
    narrow: ElementType,
}

impl ConstantTable {
    /// The most rows of a table.
    pub const ROWS_MAX: usize = 1 << INDEX_BITS_MAX;

    /// The lowest bits, as many as `element` has, of each of these rows.
    ///
    /// # Panics
    /// If there are no rows, or more than [`ConstantTable::ROWS_MAX`], or the type has more than 128 bits.
    pub fn new(rows: &[u128], element: ElementType) -> ConstantTable {
        assert!((1..=ConstantTable::ROWS_MAX).contains(&rows.len()), "a table has 1 to 4096 rows");
        assert!(element.width() <= 128, "rows have at most 128 bits");
        let unused = 128 - element.width();
        let rows: Vec<u128> = rows.iter().map(|row| row << unused >> unused).collect();
        let bits = |value: u128| (128 - value.leading_zeros()) as u16;
        let natural = rows.iter().map(|row| bits(*row)).max().unwrap_or(0).max(1);
        // Bits up to the copies of the sign.
        let magnitude = |row: &u128| {
            let value = (row << unused) as i128 >> unused;
            bits((value ^ value >> 127) as u128)
        };
        let with_sign = 1 + rows.iter().map(magnitude).max().unwrap_or(0);
        let narrow = ElementType::integer(natural.min(with_sign), with_sign < natural);
        let mut recorder = Recorder::new();
        let index = recorder.inputs(rows.len().next_power_of_two().ilog2().max(1) as usize);
        let outputs = look_up(&mut recorder, &index, &rows, narrow.width());
        ConstantTable { template: recorder.finish(&outputs), element, narrow }
    }

    /// ANDs that a lookup takes.
    pub fn and_count(&self) -> usize {
        self.template.and_count()
    }

    /// The rows at these indices, one for each lane; an index beyond the last row gives any value.
    #[track_caller]
    pub fn look_up(&self, index: &Value) -> Value {
        let CircuitTemplate { input_count, slot_count, levels, outputs, .. } = &self.template;
        let (tracer, lanes) = (index.tracer(), index.lanes());
        let index = index.with_sign(false).cast(ElementType::unsigned(*input_count as u16));
        let bit = |value: bool| {
            Value::known(tracer, ElementType::BIT, lanes, Lane::from(u64::from(value)))
        };
        let mut slots: Vec<Value> =
            (0..*input_count).map(|at| index.bit_slice(at as u16, 1)).collect();
        slots.resize(*slot_count as usize, bit(false));
        for level in levels {
            for &gate in &level.local {
                match gate {
                    LocalGate::Xor { out, a, b } => {
                        slots[out as usize] = slots[a as usize].xor(&slots[b as usize]);
                    }
                    LocalGate::Not { out, a } => slots[out as usize] = slots[a as usize].not(),
                    LocalGate::Constant { out, value } => slots[out as usize] = bit(value),
                }
            }
            let ands = level.ands.iter();
            let products: Vec<Value> =
                ands.map(|and| slots[and.a as usize].and(&slots[and.b as usize])).collect();
            for (and, product) in level.ands.iter().zip(products) {
                slots[and.out as usize] = product;
            }
        }
        let bits = outputs.iter().map(|&slot| slots[slot as usize].clone());
        let row = bits.reduce(|low, high| low.bit_concat(&high)).expect("a row has a bit");
        let row = row.with_sign(self.narrow.is_signed());
        row.cast(ElementType::integer(self.element.width(), row.element().is_signed()))
            .with_sign(self.element.is_signed())
    }
}
