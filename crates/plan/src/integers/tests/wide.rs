//! Products of all widths: the lowered program means the same, and each element fits the field.

use std::collections::HashMap;
use std::io::Cursor;

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{
    Column, Description, ElementType, Encoding, FileKind, InputPort, Instruction, Lane, Lanes, Op,
    OutputPort, ProgramReader, ProgramWriter, Sharing, mask_of,
};

use crate::lower_to_field;

/// A value of a lowered program.
#[derive(Clone)]
enum TestValue {
    Elements(Vec<i128>),
    Bits(Lanes),
}

impl TestValue {
    fn elements(&self) -> &[i128] {
        let TestValue::Elements(elements) = self else { panic!("elements are wanted") };
        elements
    }

    fn bits(&self) -> &Lanes {
        let TestValue::Bits(bits) = self else { panic!("bits are wanted") };
        bits
    }
}

/// An integer as a lane of two's complement.
fn lane(value: i128) -> Lane {
    let magnitude = Lane::from(value.unsigned_abs());
    if value < 0 { magnitude.wrapping_neg() } else { magnitude }
}

/// A lane as an integer.
fn signed(value: Lane, element: ElementType) -> i128 {
    let width = element.width();
    let negative = element.is_signed() && value.bit(usize::from(width) - 1);
    let magnitude = if negative { value.wrapping_neg() & mask_of(width) } else { value };
    let magnitude = i128::try_from(magnitude).expect("an element is small");
    if negative { -magnitude } else { magnitude }
}

/// Computes a lowered instruction; counts products and what takes a decomposition or a reduction.
fn compute(
    i: &Instruction,
    inputs: &[Lanes],
    o: &[TestValue],
    counts: &mut ProductCounts,
) -> TestValue {
    let lanes = i.lanes as usize;
    let is_integer = i.element.sharing() == Sharing::Arithmetic;
    let each = |f: &dyn Fn(usize) -> i128| TestValue::Elements((0..lanes).map(f).collect());
    match i.op {
        Op::Input if is_integer => {
            let lanes = &inputs[i.immediates[0] as usize];
            TestValue::Elements(lanes.iter().map(|&lane| signed(lane, i.element)).collect())
        }
        Op::Input => TestValue::Bits(inputs[i.immediates[0] as usize].clone()),
        Op::Convert if is_integer => {
            let bits = o[0].bits();
            TestValue::Elements(bits.iter().map(|&lane| signed(lane, i.element)).collect())
        }
        Op::Convert => {
            counts.reductions += lanes;
            let mask = mask_of(i.element.width());
            TestValue::Bits(o[0].elements().iter().map(|&value| lane(value) & mask).collect())
        }
        _ if !is_integer => {
            let operands: Vec<Lanes> = o.iter().map(|held| held.bits().clone()).collect();
            // The sums that are the factors, and what moves bits.
            let free = [Op::Add, Op::Constant, Op::BitSlice, Op::BitConcat, Op::Cast];
            assert!(free.contains(&i.op), "{} on bits is not expected", i.op.info().name);
            let compute = i.op.info().meaning.expect("it computes");
            TestValue::Bits(compute(i, &operands).remove(0))
        }
        Op::Constant => each(&|_| signed(Lane::from_limbs(i.immediates), i.element)),
        Op::Add => each(&|k| o[0].elements()[k] + o[1].elements()[k]),
        Op::Sub => each(&|k| o[0].elements()[k] - o[1].elements()[k]),
        Op::ShiftLeft => each(&|k| o[0].elements()[k] << i.immediates[0]),
        Op::ShiftRight => {
            counts.reductions += lanes;
            // What is larger than its type has it, no mask hides.
            let is_in_type = |&value: &i128| {
                let (width, low) = (i.element.width(), i128::from(i.element.is_signed()));
                (value + (low << (width - 1))) >> width == 0
            };
            assert!(o[0].elements().iter().all(is_in_type), "a shift beyond {}", i.element);
            each(&|k| o[0].elements()[k] >> i.immediates[0])
        }
        Op::Mul => {
            counts.products += lanes;
            each(&|k| o[0].elements()[k] * o[1].elements()[k])
        }
        Op::MatMul => {
            counts.products += 1;
            let [columns, vectors, ..] = i.immediates.map(|word| word as usize);
            let (matrix, factors, rows) = (o[0].elements(), o[1].elements(), lanes / vectors);
            each(&|lane| {
                let vector = &factors[lane / rows * columns..];
                let columns = matrix.chunks_exact(rows).zip(vector);
                columns.map(|(column, factor)| column[lane % rows] * factor).sum()
            })
        }
        Op::Reduce => {
            counts.reductions += lanes;
            let mask = mask_of(i.element.width());
            each(&|k| signed(lane(o[0].elements()[k]) & mask, i.element))
        }
        op => panic!("{} is not expected", op.info().name),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ProductCounts {
    products: usize,
    reductions: usize,
}

/// A product to lower: of inputs, or of sums of inputs, whose bits nobody has.
#[derive(Clone, Copy)]
struct ProductCase {
    op: Op,
    element: ElementType,
    columns: u64,
    vectors: u64,
    is_computed: bool,
    is_square: bool,
    constant: Option<Lane>,
}

const LANES: u32 = 6;

impl ProductCase {
    fn of(op: Op, element: ElementType) -> ProductCase {
        ProductCase {
            op,
            element,
            columns: 1,
            vectors: 1,
            is_computed: false,
            is_square: false,
            constant: None,
        }
    }

    fn factor(&self) -> ElementType {
        let half = self.element.width() / 2;
        match self.op {
            Op::MulFull => ElementType::integer(half, self.element.is_signed()),
            _ => self.element,
        }
    }

    fn sizes(&self) -> [u32; 2] {
        match self.op {
            Op::MatMul => {
                let (columns, vectors) = (self.columns as u32, self.vectors as u32);
                [LANES / vectors * columns, columns * vectors]
            }
            _ => [LANES; 2],
        }
    }

    fn program(&self) -> Vec<Instruction> {
        let (factor, sizes) = (self.factor(), self.sizes());
        let mut program = Vec::new();
        let mut names = [0, 1];
        for (party, size) in sizes.into_iter().enumerate() {
            let mut input = Instruction::new(Op::Input, factor, size);
            (input.immediates[0], input.results[0]) = (party as u64, party as u64);
            if let (Some(constant), 1) = (self.constant, party) {
                input = Instruction::new(Op::Constant, factor, size);
                (input.immediates, input.results[0]) = (constant.into_limbs(), 1);
            }
            program.push(input);
        }
        let mut next = 2;
        for (party, name) in names.iter_mut().enumerate().filter(|_| self.is_computed) {
            let mut sum = Instruction::new(Op::Add, factor, sizes[party]);
            (sum.operands, sum.results[0]) = ([*name, *name, 0], next);
            program.push(sum);
            (*name, next) = (next, next + 1);
        }
        let mut product = Instruction::new(self.op, self.element, LANES);
        let second = if self.is_square { names[0] } else { names[1] };
        (product.operands, product.results[0]) = ([names[0], second, 0], next);
        if self.op == Op::MatMul {
            product.immediates[..2].copy_from_slice(&[self.columns, self.vectors]);
        }
        program.push(product);
        let mut output = Instruction::new(Op::Output, self.element, LANES);
        output.operands[0] = next;
        program.push(output);
        program
    }

    fn description(&self) -> Description {
        let number =
            |element| vec![Column { name: "v".to_owned(), element, encoding: Encoding::Number }];
        let port = |party: u16| InputPort {
            name: ["x", "y"][usize::from(party)].to_owned(),
            party,
            rows: u64::from(self.sizes()[usize::from(party)]),
            columns: number(self.factor()),
            order: Default::default(),
        };
        Description {
            name: "product".to_owned(),
            parties: vec!["a".to_owned(), "b".to_owned()],
            inputs: vec![port(0), port(1)].into(),
            outputs: vec![OutputPort {
                name: "z".to_owned(),
                parties: vec![0],
                rows: u64::from(LANES),
                columns: number(self.element),
                rows_of: None,
            }]
            .into(),
            ..Description::default()
        }
    }

    /// Lowers and computes it on edges and random inputs, and compares; returns what it takes.
    fn check(&self, magnitude_bits: u32, prove_inputs: bool) -> ProductCounts {
        let mut random = SeededRng::new(u64::from(self.element.width()));
        let mask = mask_of(self.factor().width());
        let mut draw = |k: u32| match k {
            0 => mask,
            1 => mask ^ (mask >> 1),
            2 => mask >> 1,
            3 => Lane::from(k) & mask,
            _ => Lane::from_limbs([0; 4].map(|_: u64| random.next_u64())) & mask,
        };
        let inputs = self.sizes().map(|size| (0..size).map(&mut draw).collect::<Lanes>());
        let program = self.program();
        let mut plain: HashMap<u64, Lanes> = HashMap::new();
        let mut expected = Lanes::new();
        for i in &program {
            let operands: Vec<Lanes> =
                i.operands().iter().map(|name| plain[name].clone()).collect();
            match i.op {
                Op::Input => {
                    drop(plain.insert(i.results[0], inputs[i.immediates[0] as usize].clone()))
                }
                Op::Output => expected = operands[0].clone(),
                op => {
                    let compute = op.info().meaning.expect("it computes");
                    plain.insert(i.results[0], compute(i, &operands).remove(0));
                }
            }
        }
        let mut counts = ProductCounts::default();
        let mut values: HashMap<u64, TestValue> = HashMap::new();
        for i in self.lowered(&program, magnitude_bits, prove_inputs) {
            let operands: Vec<TestValue> =
                i.operands().iter().map(|name| values[name].clone()).collect();
            if i.op == Op::Output {
                let found: Lanes = match &operands[0] {
                    TestValue::Bits(bits) => bits.clone(),
                    TestValue::Elements(elements) => {
                        let mask = mask_of(self.element.width());
                        elements.iter().map(|&value| lane(value) & mask).collect()
                    }
                };
                let (op, width) = (self.op.info().name, self.element.width());
                assert!(found == expected, "{op} of {width} bits in {magnitude_bits} bits");
                continue;
            }
            let held = compute(&i, &inputs, &operands, &mut counts);
            if let TestValue::Elements(elements) = &held {
                let fits = |value: &i128| value.unsigned_abs() <= 1 << magnitude_bits;
                assert!(elements.iter().all(fits), "an element leaves the field");
            }
            values.insert(i.results[0], held);
        }
        counts
    }

    fn lowered(
        &self,
        program: &[Instruction],
        magnitude_bits: u32,
        prove_inputs: bool,
    ) -> Vec<Instruction> {
        let mut writer = ProgramWriter::new(Vec::new(), FileKind::Program).expect("memory");
        program.iter().for_each(|i| writer.push(i).expect("memory"));
        let bytes = writer.finish(&self.description()).expect("a valid description").0;
        let mut reader = ProgramReader::open(Cursor::new(bytes)).expect("just written");
        let scratch = tempfile::tempfile().expect("a temporary file");
        let bounds = (magnitude_bits, prove_inputs);
        let lowered = lower_to_field(&mut reader, Vec::new(), scratch, bounds, 64 << 20);
        let lowered = lowered.expect("every product can be lowered").0;
        let mut all = Vec::new();
        let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
            all.push(*i);
            Ok(())
        };
        let mut reader = ProgramReader::open(Cursor::new(lowered)).expect("just written");
        reader.for_each(visit).expect("just written");
        all
    }
}

const FIELDS: [u32; 3] = [30, 59, 126];

#[test]
fn products_of_all_widths() {
    for magnitude_bits in FIELDS {
        for width in 1..=100 {
            for k in 0..16 {
                let mut case = ProductCase::of(Op::Mul, ElementType::integer(width, k & 1 == 1));
                (case.is_computed, case.is_square) = (k & 2 != 0, k & 4 != 0);
                case.check(magnitude_bits, k & 8 == 0);
            }
            let mut case = ProductCase::of(Op::Mul, ElementType::unsigned(width));
            case.constant = Some(mask_of(width) / Lane::from(3));
            case.check(magnitude_bits, true);
            if width % 2 == 0 {
                for signed in [false, true] {
                    let mut case =
                        ProductCase::of(Op::MulFull, ElementType::integer(width, signed));
                    case.check(magnitude_bits, true);
                    case.is_computed = true;
                    case.check(magnitude_bits, false);
                }
            }
        }
    }
}

#[test]
fn matrices_of_all_widths() {
    for magnitude_bits in FIELDS {
        for width in 1..=72 {
            for (columns, vectors, k) in [(1, 1, 0), (3, 2, 1), (7, 1, 2), (16, 3, 3)] {
                let mut case = ProductCase::of(Op::MatMul, ElementType::integer(width, k & 1 == 1));
                (case.columns, case.vectors) = (columns, vectors);
                case.is_computed = k & 2 != 0;
                case.check(magnitude_bits, width % 2 == 0);
            }
        }
    }
}

/// Compares the costs of a product in each lane with the figures of the documentation.
#[test]
fn costs() {
    let lanes = LANES as usize;
    let each = |counts: ProductCounts| (counts.products / lanes, counts.reductions / lanes);
    let of = |width: u16, is_computed: bool, magnitude_bits: u32| {
        let case =
            ProductCase { is_computed, ..ProductCase::of(Op::Mul, ElementType::unsigned(width)) };
        each(case.check(magnitude_bits, true))
    };
    // The output is reduced too.
    assert_eq!(of(29, false, 59), (1, 1), "it fits");
    assert_eq!(of(32, false, 59), (2, 1), "bits of inputs are there");
    assert_eq!(of(32, true, 59), (2, 3), "a shift, and a reduction of the upper product");
    assert_eq!(of(64, false, 59), (6, 3), "in bits");
    assert_eq!(of(64, false, 126), (2, 1));
    assert_eq!(of(64, true, 126), (1, 3), "two signed integers of 64 bits just fit");
}
