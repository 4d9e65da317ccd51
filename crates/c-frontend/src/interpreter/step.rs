//! One instruction.

use crate::access::moved;
use crate::data::Data;
use crate::interpreter::{Frame, Machine, Stop};
use crate::ir::{Kind, Operand, Type, Unary};

/// Bytes that one object may have.
pub(crate) const OBJECT_BYTES_MAX: u128 = 1 << 32;

impl<'m> Machine<'m> {
    /// Does what an instruction says; returns its result.
    pub(crate) fn execute(&mut self, frame: &mut Frame<'m>, kind: &'m Kind) -> Result<Data, Stop> {
        match kind {
            Kind::Binary(op, width, [a, b]) => {
                self.binary(*op, *width, &frame.get(*a), &frame.get(*b))
            }
            Kind::Compare(op, width, [a, b]) => {
                if let Some(found) = self.compare_bound(frame, *op, *width, [*a, *b])? {
                    return Ok(found);
                }
                self.compare(*op, *width, &frame.get(*a), &frame.get(*b))
            }
            Kind::Unary(op, from, to, a) => self.unary(*op, *from, *to, &frame.get(*a)),
            Kind::Select(width, [condition, a, b]) => {
                self.select(&frame.get(*condition), &frame.get(*a), &frame.get(*b), *width)
            }
            Kind::Funnel(left, width, [high, low, amount]) => {
                let operands = [&frame.get(*high), &frame.get(*low), &frame.get(*amount)];
                self.funnel(*left, *width, operands)
            }
            Kind::Overflow(op, is_signed, width, [a, b]) => {
                self.overflow(*op, *is_signed, *width, &frame.get(*a), &frame.get(*b))
            }
            Kind::Reduce(op, width, vector) => {
                let Data::Many(elements) = frame.get(*vector) else { return Ok(Data::Poison) };
                let mut all = elements.to_vec();
                while all.len() > 1 {
                    let pairs = all.chunks(2).map(|pair| match pair {
                        [a, b] => self.binary(*op, *width, a, b),
                        _ => Ok(pair[0].clone()),
                    });
                    all = pairs.collect::<Result<_, _>>()?;
                }
                Ok(all.pop().unwrap_or(Data::Undefined))
            }
            Kind::Freeze(a) => Ok(frame.get(*a)),
            Kind::Reveal(width, operand) => self.reveal(frame, *width, *operand),
            Kind::Unsupported(what, remedy) => {
                self.error(format!("{what} is not supported"), remedy)
            }
            Kind::Extract(..)
            | Kind::Insert(..)
            | Kind::ExtractElement(_)
            | Kind::InsertElement(_)
            | Kind::Shuffle(..) => self.rearrange(frame, kind),
            _ => self.access(frame, kind),
        }
    }

    /// Memory, addresses and calls.
    fn access(&mut self, frame: &mut Frame<'m>, kind: &'m Kind) -> Result<Data, Stop> {
        match kind {
            Kind::Load(type_, place) => {
                let place = frame.get(*place);
                let (block, index) = frame.position;
                let code = &frame.function.blocks[block as usize];
                match frame.function.moved[code.instructions[index].result as usize] {
                    true => self.load_to_move(type_, place),
                    false => self.load(type_, place),
                }
            }
            Kind::Store(type_, [data, place]) => {
                self.store(type_, frame.get(*data), frame.get(*place))?;
                Ok(Data::Undefined)
            }
            Kind::Allocate(name, bytes, granule, count) => {
                self.allocate(frame, name, (*bytes, *granule), *count)
            }
            Kind::Address(base, offset, indices) => {
                self.address(frame, frame.get(*base), *offset, indices)
            }
            Kind::ToInteger(a) | Kind::ToPointer(a) => Ok(frame.get(*a)),
            Kind::Call(function, arguments) => {
                let arguments = arguments.iter().map(|argument| frame.get(*argument)).collect();
                self.call(*function, arguments)
            }
            Kind::CallPointer(target, arguments) => match frame.get(*target) {
                Data::Function(function) => {
                    let arguments = arguments.iter().map(|argument| frame.get(*argument)).collect();
                    self.call(function, arguments)
                }
                Data::Poison => Ok(Data::Poison),
                _ => self.error(
                    "which function is called here is not known",
                    "call functions by name, or choose with a public index",
                ),
            },
            Kind::Copy(operands) => self.copy(frame, operands),
            Kind::Fill(operands) => self.fill(frame, operands),
            Kind::Heap(sizes, is_zeroed) => self.heap(frame, sizes, *is_zeroed),
            Kind::Begin(place) => {
                if let (Some(rehearsal), Data::Pointer(object, _)) =
                    (&mut self.rehearsal, frame.get(*place))
                {
                    rehearsal.begin(object);
                }
                Ok(Data::Undefined)
            }
            _ => unreachable!("all other kinds were done"),
        }
    }

    /// Parts of vectors and structures.
    fn rearrange(&mut self, frame: &Frame<'m>, kind: &Kind) -> Result<Data, Stop> {
        match kind {
            Kind::Extract(from, indices) => {
                let mut data = frame.get(*from);
                for index in indices {
                    data = match data {
                        Data::Many(elements) => elements[*index as usize].clone(),
                        other => other,
                    };
                }
                Ok(data)
            }
            Kind::Insert(into, element, indices) => {
                Ok(inserted(frame.get(*into), frame.get(*element), indices))
            }
            Kind::ExtractElement([vector, index]) => {
                let (vector, index) = (frame.get(*vector), frame.get(*index));
                self.element(vector, index)
            }
            Kind::InsertElement([vector, element, index]) => {
                let Data::Public(index) = frame.get(*index) else {
                    return self.error("a secret index into a vector", "use an array");
                };
                Ok(inserted(frame.get(*vector), frame.get(*element), &[index as u32]))
            }
            Kind::Shuffle([a, b], mask) => Ok(shuffled(frame.get(*a), frame.get(*b), mask)),
            _ => unreachable!("all other kinds were done"),
        }
    }

    fn element(&mut self, vector: Data, index: Data) -> Result<Data, Stop> {
        match (vector, index) {
            (Data::Many(elements), Data::Public(index)) => {
                Ok(elements.get(index as usize).cloned().unwrap_or(Data::Undefined))
            }
            (Data::Undefined, _) => Ok(Data::Undefined),
            _ => self.error("a secret index into a vector", "use an array"),
        }
    }

    /// A size or count that is known when the program is planned.
    fn size(&mut self, data: Data, what: &str) -> Result<Option<u128>, Stop> {
        match data {
            Data::Public(size) => Ok(Some(size)),
            Data::Poison => Ok(None),
            Data::Undefined => {
                self.error(format!("{what} is not set"), "set it first")?;
                Ok(None)
            }
            Data::Opened(_) => {
                let message = format!(
                    "{what} is known only while the program runs, and memory is planned before"
                );
                let remedy = "take the most that it can be, such as a PH_SIZE N, and let loops go \
                              up to `i < N && i < n`";
                self.error(message, remedy)?;
                Ok(None)
            }
            _ => {
                let message = format!("{what} depends on a secret");
                self.error(message, "use a public size, the largest there can be")?;
                Ok(None)
            }
        }
    }

    fn allocate(
        &mut self,
        frame: &mut Frame<'m>,
        name: &str,
        (bytes, granule): (u64, u8),
        count: Operand,
    ) -> Result<Data, Stop> {
        let Some(count) = self.size(frame.get(count), "the size of this array")? else {
            return Ok(Data::Poison);
        };
        let size = count.saturating_mul(u128::from(bytes));
        if size > OBJECT_BYTES_MAX {
            self.error("this array is larger than 4 GiB", "use smaller parts")?;
            return Err(Stop::Fatal);
        }
        let object = self.memory.allocate(name, size as u64, granule);
        frame.objects.push(object);
        Ok(Data::Pointer(object, 0))
    }

    fn heap(
        &mut self,
        frame: &mut Frame<'m>,
        sizes: &[Operand],
        is_zeroed: bool,
    ) -> Result<Data, Stop> {
        let (mut size, mut granule) = (1u128, 1u8);
        for operand in sizes {
            let Some(own) = self.size(frame.get(*operand), "the size of this memory")? else {
                return Ok(Data::Poison);
            };
            size = size.saturating_mul(own);
        }
        if size > OBJECT_BYTES_MAX {
            self.error("this is more than 4 GiB", "use smaller parts")?;
            return Err(Stop::Fatal);
        }
        if size.is_multiple_of(8) {
            granule = 8;
        }
        let object = match is_zeroed {
            true => self.memory.allocate_zeroed("", size as u64, granule),
            false => self.memory.allocate("", size as u64, granule),
        };
        Ok(Data::Pointer(object, 0))
    }

    fn copy(&mut self, frame: &Frame<'m>, operands: &[Operand; 3]) -> Result<Data, Stop> {
        let [target, source, bytes] = operands.map(|operand| frame.get(operand));
        let Some(bytes) = self.size(bytes, "how much is copied here")? else {
            return Ok(Data::Poison);
        };
        let bytes = bytes.min(u128::from(u64::MAX)) as u64;
        let (Data::Pointer(to, at), Data::Pointer(from, start)) = (&target, &source) else {
            if matches!((&target, &source), (Data::Poison, _) | (_, Data::Poison)) {
                return Ok(Data::Poison);
            }
            if self.lanes > 1 {
                return Err(Stop::Abandon);
            }
            return self.copy_indexed(target, source, bytes);
        };
        self.copy_bytes((*to, *at), (*from, *start), bytes)
    }

    fn copy_bytes(
        &mut self,
        (to, at): (u32, i64),
        (from, start): (u32, i64),
        bytes: u64,
    ) -> Result<Data, Stop> {
        for (object, offset) in [(to, at), (from, start)] {
            if let Err(error) = self.memory.check(object, offset, bytes) {
                return self.outside(object, offset, error);
            }
        }
        self.rehearse_read(from, start, bytes)?;
        self.rehearse_write(to, at, bytes)?;
        // All is read before anything is written: the two may overlap.
        let mut values = Vec::new();
        let mut offset = 0;
        while offset < bytes {
            let (data, size) = self.next_value(from, start as u64 + offset, bytes - offset)?;
            values.push((offset, data, size));
            offset += u64::from(size);
        }
        for (offset, data, size) in values {
            self.write(to, at as u64 + offset, size, &data)?;
        }
        Ok(Data::Undefined)
    }

    /// The function's own copy of a structure that is passed by value.
    pub(crate) fn copied(
        &mut self,
        frame: &mut Frame<'m>,
        parameter: usize,
        bytes: u64,
        granule: u8,
    ) -> Result<Data, Stop> {
        let source = frame.registers[parameter].clone();
        let Data::Pointer(from, start) = source else {
            return match source {
                Data::Places(..) => Err(Stop::Abandon),
                Data::Indexed(_) | Data::Chosen(_) => {
                    let object = self.memory.allocate("", bytes, granule);
                    frame.objects.push(object);
                    self.copy_indexed(Data::Pointer(object, 0), source, bytes)?;
                    Ok(Data::Pointer(object, 0))
                }
                other => Ok(other),
            };
        };
        let object = self.memory.allocate("", bytes, granule);
        frame.objects.push(object);
        self.copy_bytes((object, 0), (from, start), bytes)?;
        Ok(Data::Pointer(object, 0))
    }

    /// A copy between places of which a secret chooses one, in words that keep values whole.
    fn copy_indexed(&mut self, target: Data, source: Data, bytes: u64) -> Result<Data, Stop> {
        let whole = self.granule_of(&target).min(self.granule_of(&source));
        let words = words(whole, bytes);
        // All is read before anything is written: the two may overlap.
        let mut values = Vec::with_capacity(words.len());
        for (offset, word) in &words {
            values.push(self.load(word, moved(source.clone(), *offset))?);
        }
        for ((offset, word), data) in words.iter().zip(values) {
            self.store(word, data, moved(target.clone(), *offset))?;
        }
        Ok(Data::Undefined)
    }

    fn fill(&mut self, frame: &Frame<'m>, operands: &[Operand; 3]) -> Result<Data, Stop> {
        let [target, byte, bytes] = operands.map(|operand| frame.get(operand));
        let Some(bytes) = self.size(bytes, "how much is set here")? else {
            return Ok(Data::Poison);
        };
        let bytes = bytes.min(u128::from(u64::MAX)) as u64;
        let Data::Pointer(object, start) = target else {
            return match target {
                Data::Poison => Ok(Data::Poison),
                Data::Places(..) => Err(Stop::Abandon),
                Data::Indexed(_) | Data::Chosen(_) => {
                    for (offset, word) in words(self.granule_of(&target), bytes) {
                        let data = self.repeated(&byte, word.size_bytes())?;
                        self.store(&word, data, moved(target.clone(), offset))?;
                    }
                    Ok(Data::Undefined)
                }
                _ => self.error("this sets memory through a null pointer", "point it to an object"),
            };
        };
        if let Err(error) = self.memory.check(object, start, bytes) {
            return self.outside(object, start, error);
        }
        self.rehearse_write(object, start, bytes)?;
        let granule = self.memory.object(object).granule;
        let mut at = start as u64;
        let end = at + bytes;
        while at < end {
            let fits = |size: &u64| at.is_multiple_of(*size) && at + size <= end;
            let size = [granule, 8, 4, 2, 1].into_iter().find(fits).expect("a byte fits");
            let data = self.repeated(&byte, size)?;
            self.write(object, at, size as u8, &data)?;
            at += size;
        }
        Ok(Data::Undefined)
    }

    /// A byte, `size` times.
    fn repeated(&mut self, byte: &Data, size: u64) -> Result<Data, Stop> {
        use crate::ir::Binary;
        let width = size as u16 * 8;
        let ones = (0..size).fold(0u128, |all, k| all | 1 << (8 * k));
        let wide = self.unary(Unary::ZeroExtend, 8, width, byte)?;
        self.binary(Binary::Mul, width, &wide, &Data::Public(ones))
    }
}

/// Integers of at most `whole` bytes that fill a stretch of memory, with their offsets.
fn words(whole: u64, bytes: u64) -> Vec<(i64, Type)> {
    let (mut all, mut offset) = (Vec::new(), 0);
    while offset < bytes {
        let fits = |size: &u64| *size <= whole && offset + size <= bytes;
        let size = [16, 8, 4, 2, 1].into_iter().find(fits).expect("a byte is left");
        all.push((offset as i64, Type::Integer(size as u16 * 8)));
        offset += size;
    }
    all
}

fn inserted(into: Data, element: Data, indices: &[u32]) -> Data {
    let Some((first, rest)) = indices.split_first() else { return element };
    let first = *first as usize;
    let mut elements = match into {
        Data::Many(elements) => elements.to_vec(),
        _ => Vec::new(),
    };
    if elements.len() <= first {
        elements.resize(first + 1, Data::Undefined);
    }
    elements[first] = inserted(elements[first].clone(), element, rest);
    Data::Many(elements.into())
}

fn shuffled(a: Data, b: Data, mask: &[i32]) -> Data {
    let parts = |data: Data| match data {
        Data::Many(elements) => elements.to_vec(),
        _ => Vec::new(),
    };
    let (a, b) = (parts(a), parts(b));
    let length = a.len().max(b.len());
    let pick = |index: &i32| {
        let found = usize::try_from(*index)
            .ok()
            .and_then(|index| if index < length { a.get(index) } else { b.get(index - length) });
        found.cloned().unwrap_or(Data::Undefined)
    };
    Data::Many(mask.iter().map(pick).collect())
}
