//! Computes a program and its lowering in the clear, and holds the second against the first and against
//! all that the planner claims and that scripts on elements rely on.
//!
//! Shares no code with the planner: elements are plain integers.

use std::collections::HashMap;
use std::io::Cursor;

use phineus_bytecode::binary::to_bytes;
use phineus_bytecode::{
    Description, ElementType, FileKind, Instruction, Lane, Lanes, Op, ProgramReader, Sharing,
    mask_of,
};
use phineus_plan::{Claim, Claims, Error, check_ranges, lower_with_claims};

/// Sources of what comes into a program: `lanes(i)` are the lanes of an input or a load.
pub type Brought<'a> = &'a dyn Fn(&Instruction) -> Lanes;

/// A value of a lowered program.
#[derive(Clone)]
enum TestValue {
    Elements(Vec<i128>),
    Bits(Lanes),
}

/// A broken claim, in words.
pub type Fault = String;

/// An integer as a lane of two's complement.
fn lane(value: i128) -> Lane {
    let magnitude = Lane::from(value.unsigned_abs());
    if value < 0 { magnitude.wrapping_neg() } else { magnitude }
}

/// A lane as an integer of this type, if it is below 2^127.
fn integer(value: Lane, element: ElementType) -> Option<i128> {
    let width = element.width();
    let negative = element.is_signed() && value.bit(usize::from(width) - 1);
    let magnitude = if negative { value.wrapping_neg() & mask_of(width) } else { value };
    let magnitude = i128::try_from(magnitude).ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

fn is_in_type(value: i128, element: ElementType) -> bool {
    let (width, signed) = (u32::from(element.width()), element.is_signed());
    if width >= 127 {
        return signed || value >= 0;
    }
    let (low, bits) = if signed { (-(1 << (width - 1)), width - 1) } else { (0, width) };
    low <= value && value < 1i128 << bits
}

/// A program in its binary form.
pub fn read(program: &[Instruction], description: &Description) -> ProgramReader<Cursor<Vec<u8>>> {
    let bytes = to_bytes(FileKind::Program, program, description).expect("in memory");
    ProgramReader::open(Cursor::new(bytes)).expect("just written")
}

/// A lowered program, and what was claimed of it.
pub struct Lowered {
    pub bytes: Vec<u8>,
    pub program: Vec<Instruction>,
    pub claims: Vec<Claim>,
}

impl Lowered {
    /// Claims, with one more added, that the independent checker cannot prove.
    pub fn unproven(&self, magnitude_bits: u32, more: Option<Claim>) -> Vec<Fault> {
        let mut claims = Claims::default();
        self.claims.iter().copied().chain(more).for_each(|claim| claims.note(claim));
        let mut reader = ProgramReader::open(Cursor::new(&self.bytes)).expect("just written");
        check_ranges(&mut reader, &claims, magnitude_bits).expect("just written")
    }
}

/// Lowers a program to a field of this magnitude.
pub fn lowered(
    program: &[Instruction],
    description: &Description,
    bounds: (u32, bool),
) -> Result<Lowered, Error> {
    let scratch = tempfile::tempfile().expect("a temporary file");
    let mut claims = Vec::new();
    let mut reader = read(program, description);
    let claim = |claim| claims.push(claim);
    let bytes = lower_with_claims(&mut reader, Vec::new(), scratch, bounds, 64 << 20, claim)?.0;
    let mut reader = ProgramReader::open(Cursor::new(&bytes)).expect("just written");
    let mut program = Vec::new();
    let visit = |i: &Instruction| -> Result<(), phineus_bytecode::Error> {
        program.push(*i);
        Ok(())
    };
    reader.for_each(visit).expect("just written");
    Ok(Lowered { bytes, program, claims })
}

/// The values of a program by name, and what it gives out, in order.
pub fn meaning(program: &[Instruction], brought: Brought<'_>) -> (HashMap<u64, Lanes>, Vec<Lanes>) {
    let (mut values, mut given): (HashMap<u64, Lanes>, _) = (HashMap::new(), Vec::new());
    for i in program {
        let operands: Vec<Lanes> = i.operands().iter().map(|name| values[name].clone()).collect();
        let results = match i.op {
            op if op.is_input_or_load() => vec![brought(i)],
            op if op.is_output_or_store() => {
                given.push(operands[0].clone());
                continue;
            }
            op => (op.info().meaning.expect("it computes"))(i, &operands),
        };
        values.extend(i.results().iter().copied().zip(results));
    }
    (values, given)
}

/// Costs of a lowered program: products of elements, and decompositions or reductions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub products: usize,
    pub reductions: usize,
}

/// Computes `lowered` on what is brought; says what is wrong with it, if anything is.
///
/// # Errors
/// The first fault.
pub fn hold(
    (program, description): (&[Instruction], &Description),
    lowered: &Lowered,
    magnitude_bits: u32,
    brought: Brought<'_>,
) -> Result<Counts, Fault> {
    let (expected, given) = meaning(program, brought);
    let mut machine = Machine { magnitude_bits, brought, values: HashMap::new() };
    let mut counts = Counts::default();
    let mut given = given.into_iter();
    for i in &lowered.program {
        let at = |fault: Fault| format!("{} ({i:?}): {fault}", i.op.info().name);
        machine.relied_on(i).map_err(at)?;
        if i.op == Op::RequireZero {
            if machine.elements(i, 0)?.iter().any(|&difference| difference != 0) {
                return Err(at("it is not zero".to_owned()));
            }
            continue;
        }
        if i.op.is_output_or_store() {
            let expected = given.next().ok_or("too much is given out")?;
            machine.given(i, description, &expected).map_err(at)?;
            continue;
        }
        let results = machine.compute(i).map_err(at)?;
        match i.op {
            Op::Mul => counts.products += i.lanes as usize,
            Op::MatMul => counts.products += 1,
            Op::ShiftRight | Op::Reduce if is_integer(i) => counts.reductions += i.lanes as usize,
            Op::Convert if !is_integer(i) => counts.reductions += i.lanes as usize,
            _ => {}
        }
        for (&name, held) in i.results().iter().zip(results) {
            machine.values.insert(name, held);
        }
    }
    if given.next().is_some() {
        return Err("too little is given out".to_owned());
    }
    machine.hold(&lowered.claims, program, &expected)?;
    Ok(counts)
}

fn is_integer(i: &Instruction) -> bool {
    i.element.sharing() == Sharing::Arithmetic
}

struct Machine<'a> {
    magnitude_bits: u32,
    brought: Brought<'a>,
    values: HashMap<u64, TestValue>,
}

impl Machine<'_> {
    fn elements(&self, i: &Instruction, k: usize) -> Result<&[i128], Fault> {
        match self.values.get(&i.operands[k]) {
            Some(TestValue::Elements(elements)) => Ok(elements),
            _ => Err(format!("operand {k} is not made of elements")),
        }
    }

    fn bits(&self, i: &Instruction, k: usize) -> Result<&Lanes, Fault> {
        match self.values.get(&i.operands[k]) {
            Some(TestValue::Bits(bits)) => Ok(bits),
            _ => Err(format!("operand {k} is not made of bits")),
        }
    }

    /// Checks that operands are in the range that scripts on elements rely on.
    fn relied_on(&self, i: &Instruction) -> Result<(), Fault> {
        let is_bits = [Op::Convert].contains(&i.op) && !is_integer(i);
        if !is_integer(i) && !is_bits {
            return Ok(());
        }
        // How many operands, from the first on, must be of which type.
        let (count, element) = match i.op {
            Op::Eq | Op::Ne | Op::Lt | Op::Le => (2, i.element),
            Op::Abs | Op::ShiftRight => (1, i.element),
            Op::And | Op::Or | Op::Xor => (2, ElementType::BIT),
            Op::Not | Op::Mux | Op::CondSwap | Op::Mask => (1, ElementType::BIT),
            _ => (0, i.element),
        };
        for k in 0..count {
            let wrong = self.elements(i, k)?.iter().find(|&&value| !is_in_type(value, element));
            if let Some(wrong) = wrong {
                return Err(format!("operand {k} is {wrong}, beyond {element}"));
            }
        }
        Ok(())
    }

    /// Checks that an output reveals only the value: it is in the range of its type.
    fn given(
        &self,
        i: &Instruction,
        description: &Description,
        expected: &Lanes,
    ) -> Result<(), Fault> {
        let found: Lanes = if is_integer(i) {
            let elements = self.elements(i, 0)?;
            let all_are = |element| elements.iter().all(|&value| is_in_type(value, element));
            let width = i.element.width();
            let is_right = match i.op {
                Op::Store => all_are(description.slots[i.immediates[0] as usize].element),
                _ => [false, true].into_iter().any(|s| all_are(ElementType::integer(width, s))),
            };
            if !is_right {
                return Err(format!("{elements:?} is given out, beyond {}", i.element));
            }
            elements.iter().map(|&value| lane(value) & mask_of(width)).collect()
        } else {
            self.bits(i, 0)?.clone()
        };
        if &found != expected { Err(format!("{found:?}, not {expected:?}")) } else { Ok(()) }
    }

    fn compute(&self, i: &Instruction) -> Result<Vec<TestValue>, Fault> {
        let held = match i.op {
            op if op.is_input_or_load() => {
                let lanes = (self.brought)(i);
                vec![if is_integer(i) {
                    elements_of(&lanes, i.element)?
                } else {
                    TestValue::Bits(lanes)
                }]
            }
            Op::Convert if is_integer(i) => vec![elements_of(self.bits(i, 0)?, i.element)?],
            Op::Convert => {
                let mask = mask_of(i.element.width());
                let bits = self.elements(i, 0)?.iter().map(|&value| lane(value) & mask);
                vec![TestValue::Bits(bits.collect())]
            }
            op if is_integer(i) && op.is_lane_movement() => self.moved(i)?,
            _ if is_integer(i) => {
                self.on_elements(i)?.into_iter().map(TestValue::Elements).collect()
            }
            op => {
                let count = i.operands().len();
                let operands = (0..count).map(|k| self.bits(i, k).cloned());
                let operands = operands.collect::<Result<Vec<_>, _>>()?;
                (op.info().meaning.expect("it computes"))(i, &operands)
                    .into_iter()
                    .map(TestValue::Bits)
                    .collect()
            }
        };
        let bound = 1u128 << self.magnitude_bits;
        for held in &held {
            if let TestValue::Elements(elements) = held
                && let Some(large) = elements.iter().find(|value| value.unsigned_abs() > bound)
            {
                return Err(format!("{large} leaves the field"));
            }
        }
        Ok(held)
    }

    /// Lanes move as the table says, whatever is in them.
    fn moved(&self, i: &Instruction) -> Result<Vec<TestValue>, Fault> {
        let count = i.operands().len();
        let operands = (0..count).map(|k| {
            let elements = self.elements(i, k)?.iter();
            Ok(elements.map(|&value| lane(value)).collect::<Lanes>())
        });
        let operands = operands.collect::<Result<Vec<_>, Fault>>()?;
        let moved = (i.op.info().meaning.expect("it moves"))(i, &operands);
        let back = |lanes: Lanes| elements_of(&lanes, ElementType::signed(256));
        moved.into_iter().map(back).collect()
    }

    fn on_elements(&self, i: &Instruction) -> Result<Vec<Vec<i128>>, Fault> {
        let lanes = i.lanes as usize;
        let leaves = || "a number is beyond all fields".to_owned();
        let of = |k: usize| self.elements(i, k);
        let each = |f: &dyn Fn(usize) -> Option<i128>| -> Result<Vec<i128>, Fault> {
            (0..lanes).map(|k| f(k).ok_or_else(leaves)).collect()
        };
        let amount = i.immediates[0].min(127) as u32;
        let one = match i.op {
            Op::Constant => {
                let value = integer(Lane::from_limbs(i.immediates), i.element);
                each(&|_| value)
            }
            Op::Add => {
                let (a, b) = (of(0)?, of(1)?);
                each(&|k| a[k].checked_add(b[k]))
            }
            Op::Sub => {
                let (a, b) = (of(0)?, of(1)?);
                each(&|k| a[k].checked_sub(b[k]))
            }
            Op::Mul | Op::And => {
                let (a, b) = (of(0)?, of(1)?);
                each(&|k| a[k].checked_mul(b[k]))
            }
            Op::Or => {
                let (a, b) = (of(0)?, of(1)?);
                each(&|k| Some(a[k] + b[k] - a[k] * b[k]))
            }
            Op::Xor => {
                let (a, b) = (of(0)?, of(1)?);
                each(&|k| Some(a[k] + b[k] - 2 * a[k] * b[k]))
            }
            Op::Neg => {
                let a = of(0)?;
                each(&|k| Some(-a[k]))
            }
            Op::Not => {
                let a = of(0)?;
                each(&|k| Some(1 - a[k]))
            }
            Op::Abs => {
                let a = of(0)?;
                each(&|k| Some(a[k].abs()))
            }
            Op::LaneSum => {
                let a = of(0)?;
                let sum = a.iter().try_fold(0i128, |sum, &term| sum.checked_add(term));
                each(&|_| sum)
            }
            Op::ShiftLeft => {
                let a = of(0)?;
                let factor = 1i128.checked_shl(amount).filter(|_| amount < 127);
                each(&|k| a[k].checked_mul(factor?))
            }
            Op::ShiftRight => {
                let a = of(0)?;
                each(&|k| Some(a[k] >> amount))
            }
            Op::Reduce => {
                let (a, mask) = (of(0)?, mask_of(i.element.width()));
                each(&|k| integer(lane(a[k]) & mask, i.element))
            }
            Op::Eq | Op::Ne | Op::Lt | Op::Le => {
                let (a, b) = (of(0)?, of(1)?);
                each(&|k| {
                    let holds = match i.op {
                        Op::Eq => a[k] == b[k],
                        Op::Ne => a[k] != b[k],
                        Op::Lt => a[k] < b[k],
                        _ => a[k] <= b[k],
                    };
                    Some(i128::from(holds))
                })
            }
            Op::Mask => {
                let (bit, a) = (of(0)?, of(1)?);
                each(&|k| bit[k].checked_mul(a[k]))
            }
            Op::Mux | Op::CondSwap => {
                let (bit, a, b) = (of(0)?, of(1)?, of(2)?);
                let chosen = each(&|k| Some(if bit[k] == 1 { a[k] } else { b[k] }))?;
                let other = each(&|k| Some(if bit[k] == 1 { b[k] } else { a[k] }))?;
                // Exchanged where the bit is 1.
                let is_mux = i.op == Op::Mux;
                return Ok(if is_mux { vec![chosen] } else { vec![other, chosen] });
            }
            Op::MatMul => {
                let [columns, vectors, ..] = i.immediates.map(|word| word as usize);
                let (matrix, factors, rows) = (of(0)?, of(1)?, lanes / vectors);
                each(&|k| {
                    let vector = &factors[k / rows * columns..][..columns];
                    vector.iter().enumerate().try_fold(0i128, |sum, (column, &factor)| {
                        sum.checked_add(matrix[column * rows + k % rows].checked_mul(factor)?)
                    })
                })
            }
            op => Err(format!("{} is not expected on elements", op.info().name)),
        };
        Ok(vec![one?])
    }

    /// Holds all values against all claims.
    fn hold(
        &self,
        claims: &[Claim],
        program: &[Instruction],
        expected: &HashMap<u64, Lanes>,
    ) -> Result<(), Fault> {
        let mut widths = HashMap::new();
        for i in program {
            let results = i.results().iter().enumerate();
            widths.extend(results.map(|(k, &name)| (name, i.result_shape(k).width)));
        }
        let mut claimed = std::collections::HashSet::new();
        for claim in claims {
            match *claim {
                Claim::InRange { value, low, high } => {
                    let Some(TestValue::Elements(elements)) = self.values.get(&value) else {
                        return Err(format!("{claim:?} is not about elements"));
                    };
                    claimed.insert(value);
                    let wrong = elements.iter().find(|&&value| value < low || high < value);
                    if let Some(wrong) = wrong {
                        return Err(format!("{claim:?}, but it is {wrong}"));
                    }
                }
                Claim::Means { value, source } => {
                    let (expected, mask) = (&expected[&source], mask_of(widths[&source]));
                    let found: Lanes = match self.values.get(&value) {
                        Some(TestValue::Elements(elements)) => {
                            elements.iter().map(|&value| lane(value) & mask).collect()
                        }
                        _ => return Err(format!("{claim:?} is not about elements")),
                    };
                    if &found != expected {
                        return Err(format!("{claim:?}: {found:?}, not {expected:?}"));
                    }
                }
                Claim::Bits { source, to, value, at, is_repeated, inverted } => {
                    let Some(TestValue::Bits(bits)) = self.values.get(&value) else {
                        return Err(format!("{claim:?} is not about bits"));
                    };
                    let step = if is_repeated { 0 } else { 1 };
                    let held = |lane: usize, k: u16| {
                        bits[lane].bit(usize::from(at + step * k)) != inverted
                    };
                    same_bits(&expected[&source], to, bits.len(), &held)
                        .map_err(|fault| format!("{claim:?}: {fault}"))?;
                }
                Claim::Known { source, to, value } => {
                    let lanes = &expected[&source];
                    same_bits(lanes, to, lanes.len(), &|_, _| value)
                        .map_err(|fault| format!("{claim:?}: {fault}"))?;
                }
            }
        }
        let bare = self
            .values
            .iter()
            .find(|(name, held)| matches!(held, TestValue::Elements(_)) && !claimed.contains(name));
        match bare {
            Some((name, _)) => Err(format!("no range is claimed of the elements %{name}")),
            None => Ok(()),
        }
    }
}

/// Checks that `count` bits of each lane from bit `first` on are those that `held` says.
fn same_bits(
    lanes: &Lanes,
    (first, count): (u16, u16),
    held_lanes: usize,
    held: &dyn Fn(usize, u16) -> bool,
) -> Result<(), Fault> {
    if held_lanes != lanes.len() {
        return Err(format!("there are {held_lanes} lanes, not {}", lanes.len()));
    }
    for (k, lane) in lanes.iter().enumerate() {
        for bit in 0..count {
            if lane.bit(usize::from(first + bit)) != held(k, bit) {
                return Err(format!("bit {} of lane {k} is another one", first + bit));
            }
        }
    }
    Ok(())
}

fn elements_of(lanes: &Lanes, element: ElementType) -> Result<TestValue, Fault> {
    let elements = lanes.iter().map(|&lane| {
        integer(lane, element).ok_or_else(|| "a number is beyond all fields".to_owned())
    });
    Ok(TestValue::Elements(elements.collect::<Result<_, _>>()?))
}
