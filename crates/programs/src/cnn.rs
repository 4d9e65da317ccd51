//! `cnn`: a convolutional network on one image: who owns the image, who the weights.
//!
//! The layers of Gilad-Bachrach et al., "CryptoNets: Applying Neural Networks to Encrypted Data
//! with High Throughput and Accuracy", ICML 2016: a convolution of stride 1 or 2, a fully connected
//! layer, another one for the classes; but with ReLU between them, as MOTION runs it (ePrint
//! 2020/1137). By default 28 x 28 pixels with one row and column of zeros, 5 kernels of 5 x 5 with
//! stride 2, 845 values, 100 values, 10 classes.
//!
//! Products are in arithmetic sharing modulo 2^32, all of a layer in one round. ReLU is in Boolean
//! or garbled sharing: the sign masks the value, whose low bits are dropped there for nothing, so
//! that the numbers stay fixed-point integers. Everything wraps modulo 2^32.
//!
//! Each table of weights has a column for each value that it makes, and a last row of biases.

use phineus_bytecode::random::SeededRng;
use phineus_bytecode::{Column, Encoding, Lane, Sharing, Table};
use phineus_frontend::{
    Arguments, Element, I32, Parameter, Program, ProgramError, Records, Tracer, U32, Value, Vector,
    column, parties_parameter, party_names, receivers, to_parameter,
};

use super::choices::{choice, sharing};
use super::sites;

/// Inference with a small convolutional network.
pub(super) struct NeuralNetwork;

/// The most pixels of a side, kernels, values of a layer: columns are limited.
const SIZE_MAX: u64 = 1024;

/// The shape of the network.
struct Layers {
    names: Vec<String>,
    /// Pixels of a side, with zeros around.
    size: u64,
    pixels: u64,
    pad: u64,
    kernel: u64,
    stride: u64,
    kernels: u64,
    hidden: u64,
    classes: u64,
    shift: u16,
    relu: Sharing,
    gives_class: bool,
}

impl Layers {
    fn new(arguments: &Arguments) -> Result<Layers, ProgramError> {
        let limited = |name: &str, most: u64| {
            let count = arguments.count(name)?;
            if count > most {
                return Err(arguments.bad(name, &format!("1 to {most}")));
            }
            Ok(count)
        };
        let (pixels, kernel) = (limited("size", 128)?, limited("kernel", 128)?);
        let expected = "0 to the size of the kernel";
        let pad: u64 = arguments.parsed("pad", expected)?;
        if pad > kernel {
            return Err(arguments.bad("pad", expected));
        }
        let size = pixels + pad;
        if kernel > size {
            return Err(arguments.bad("kernel", "no more than the image with its zeros"));
        }
        let shift: u16 = arguments.parsed("shift", "0 to 31")?;
        if shift > 31 {
            return Err(arguments.bad("shift", "0 to 31"));
        }
        let layers = Layers {
            names: party_names(arguments)?,
            pixels,
            size,
            pad,
            kernel,
            stride: limited("stride", 2)?,
            kernels: limited("kernels", SIZE_MAX)?,
            hidden: limited("hidden", SIZE_MAX)?,
            classes: limited("classes", SIZE_MAX)?,
            shift,
            relu: sharing(arguments, "relu", &[Sharing::Boolean, Sharing::Garbled])?,
            gives_class: choice(arguments, "result", &["scores", "class"])? == "class",
        };
        for (port, rows) in layers.ports().map(|(port, rows, _)| (port, rows)) {
            if let Some(found) = arguments.stated_rows(port).filter(|stated| *stated != rows) {
                let input = port.to_owned();
                return Err(ProgramError::WrongRows { input, found, expected: rows });
            }
        }
        Ok(layers)
    }

    /// Values of a row of a map.
    fn side(&self) -> u64 {
        (self.size - self.kernel) / self.stride + 1
    }

    fn map_values(&self) -> u64 {
        self.kernels * self.side() * self.side()
    }

    /// Name, rows and columns of each input.
    fn ports(&self) -> impl Iterator<Item = (&'static str, u64, u64)> {
        [
            ("image", self.pixels * self.pixels, 1),
            ("convolution", self.kernel * self.kernel + 1, self.kernels),
            ("hidden", self.map_values() + 1, self.hidden),
            ("output", self.hidden + 1, self.classes),
        ]
        .into_iter()
    }

    fn columns(port: &str, count: u64) -> Vec<Column> {
        let name = |index| if port == "image" { "pixel".to_owned() } else { format!("w{index}") };
        (0..count).map(|index| column(&name(index), I32::TYPE, Encoding::Number)).collect()
    }

    fn result_column(&self) -> Column {
        match self.gives_class {
            true => column("class", U32::TYPE, Encoding::Number),
            false => column("score", I32::TYPE, Encoding::Number),
        }
    }
}

/// The image's rows of pixels with their zeros, one value each.
#[track_caller]
fn image_rows(layers: &Layers, image: &Vector<I32>) -> Vec<Value> {
    let tracer = image.tracer();
    let zeros = |count: u64| tracer.constant(I32::TYPE, Lane::ZERO).tile(count as u32);
    // Zeros on all sides, one fewer before than after where the number is odd.
    let (before, after) = (layers.pad / 2, layers.pad - layers.pad / 2);
    let mut rows = Vec::new();
    for row in 0..layers.size {
        if row < before || row >= before + layers.pixels {
            rows.push(zeros(layers.size));
            continue;
        }
        let pixels = image.slice((row - before) * layers.pixels, layers.pixels);
        let parts = [before, after].map(|count| (count > 0).then(|| zeros(count)));
        let [left, right] = parts;
        let parts = left.into_iter().chain(pixels.into_chunks()).chain(right);
        rows.extend(parts.reduce(|a, b| a.lane_concat(&b)));
    }
    rows
}

/// The pixels under place (`y`, `x`) of the kernel, for all places of the kernel.
#[track_caller]
fn patch(layers: &Layers, rows: &[Value], y: u64, x: u64) -> Vector<I32> {
    let side = layers.side() as u32;
    let mut pieces = Vec::new();
    for step in 0..layers.side() {
        let row = &rows[(step * layers.stride + y) as usize];
        let piece = if layers.stride == 1 {
            row.lane_slice(x as u32, side)
        } else {
            every_other(&row.lane_slice(x as u32, row.lanes() - x as u32), side)
        };
        pieces.push(I32::from_value(piece));
    }
    Vector::from_pieces(rows[0].tracer(), pieces)
}

/// The first `count` lanes with even numbers.
#[track_caller]
fn every_other(row: &Value, count: u32) -> Value {
    let even = row.lanes() / 2;
    if even == 0 {
        return row.clone();
    }
    let (first, _) = row.lane_slice(0, 2 * even).deinterleave(1);
    if count <= even {
        return first.lane_slice(0, count);
    }
    first.lane_concat(&row.lane_slice(2 * even, 1))
}

/// The maps of all kernels, one after the other.
#[track_caller]
fn convolution(layers: &Layers, image: &Vector<I32>, weights: &Records) -> Vector<I32> {
    let rows = image_rows(layers, image);
    let places = (0..layers.kernel).flat_map(|y| (0..layers.kernel).map(move |x| (y, x)));
    let patches: Vec<Vector<I32>> = places.map(|(y, x)| patch(layers, &rows, y, x)).collect();
    let mut maps = Vec::new();
    for kernel in 0..layers.kernels {
        let weights = weights.column::<I32>(kernel as usize);
        let products = patches.iter().zip(0..).map(|(patch, place)| patch * &weights.get(place));
        let map = products.reduce(|sum, product| &sum + &product).expect("a kernel has a place");
        let bias = weights.get(patches.len() as u64);
        maps.extend((&map + &bias).into_chunks());
    }
    Vector::from_pieces(image.tracer(), maps.into_iter().map(I32::from_value))
}

/// A value for each column of the weights: the sum of its products with `values`, and its bias.
#[track_caller]
fn fully_connected(values: &Vector<I32>, weights: &Records) -> Vector<I32> {
    let sums = (0..weights.elements().len()).map(|column| {
        let weights = weights.column::<I32>(column);
        let products: I32 = weights.slice(0, values.len()).dot(values);
        products + weights.get(values.len())
    });
    Vector::from_pieces(values.tracer(), sums.collect::<Vec<_>>())
}

/// Zero where negative, and without the low bits, in arithmetic sharing again.
#[track_caller]
fn relu(layers: &Layers, values: &Vector<I32>) -> Vector<I32> {
    let values = values.to_sharing(layers.relu);
    let positive = values.map(|value| {
        let kept = (!value.is_negative()).mask(value);
        kept >> usize::from(layers.shift)
    });
    positive.to_arith()
}

/// The number of the largest score, the first of equal ones.
#[track_caller]
fn class(layers: &Layers, scores: &Vector<I32>) -> U32 {
    let scores = scores.to_sharing(layers.relu);
    let tracer = scores.tracer().clone();
    let number = |index: u64| U32::constant(&tracer, index);
    let candidates = (0..layers.classes).map(|index| (scores.get(index), number(index)));
    let mut candidates: Vec<(I32, U32)> = candidates.collect();
    while candidates.len() > 1 {
        let pairs = candidates.chunks(2).map(|pair| match pair {
            [(a, i), (b, j)] => {
                let is_larger = b.gt(a);
                (is_larger.select(b, a), is_larger.select(j, i))
            }
            _ => pair[0].clone(),
        });
        candidates = pairs.collect();
    }
    candidates.pop().expect("there is a class").1
}

impl Program for NeuralNetwork {
    fn name(&self) -> &str {
        "cnn"
    }

    fn about(&self) -> &str {
        "site_a's image through site_b's convolutional network with ReLU (CryptoNets' layers)"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("size", "28", "pixels of a side of the image"),
            Parameter::new("pad", "1", "rows and columns of zeros around it"),
            Parameter::new("kernel", "5", "pixels of a side of a kernel"),
            Parameter::new("stride", "2", "pixels that a kernel moves by, 1 or 2"),
            Parameter::new("kernels", "5", "how many kernels"),
            Parameter::new("hidden", "100", "values of the hidden layer"),
            Parameter::new("classes", "10", "values of the last layer"),
            Parameter::new("shift", "8", "low bits that are dropped after each layer but the last"),
            Parameter::new("relu", "gmw", "the sharing of the comparisons: gmw or bmr"),
            Parameter::new("result", "scores", "what is given out: scores or class"),
            parties_parameter("2"),
            to_parameter("site_a"),
        ]
    }

    fn parties(&self) -> Vec<String> {
        sites()
    }

    fn parties_for(&self, arguments: &Arguments) -> Result<Vec<String>, ProgramError> {
        party_names(arguments)
    }

    fn trace(&self, arguments: &Arguments, tracer: &mut Tracer) -> Result<(), ProgramError> {
        let layers = Layers::new(arguments)?;
        let mut inputs = layers.ports().zip([0, 1, 1, 1]).map(|((port, rows, columns), party)| {
            let mut input = tracer.input(port, rows).by(&layers.names[party]);
            for column in Layers::columns(port, columns) {
                input = input.column(column);
            }
            input.read().to_arith()
        });
        let [image, first, hidden, last] =
            std::array::from_fn(|_| inputs.next().expect("there are four inputs"));
        let maps = convolution(&layers, &image.column::<I32>(0), &first);
        let values = fully_connected(&relu(&layers, &maps), &hidden);
        let scores = fully_connected(&relu(&layers, &values), &last);
        let chunks = match layers.gives_class {
            true => vec![class(&layers, &scores).value().clone()],
            false => scores.into_chunks(),
        };
        tracer
            .output("result", &receivers(arguments, &layers.names)?)
            .chunks(layers.result_column(), chunks)
            .write();
        Ok(())
    }

    fn reference(
        &self,
        arguments: &Arguments,
        inputs: &[Table],
    ) -> Option<Result<Vec<Table>, ProgramError>> {
        Some(Layers::new(arguments).map(|layers| {
            let scores = scores(&layers, inputs);
            let mut table = Table::new(vec![layers.result_column()]);
            if layers.gives_class {
                let largest = scores.iter().copied().max().expect("there is a class");
                let class = scores.iter().position(|&score| score == largest);
                table.push(&[Lane::from(class.expect("it is one of them"))]);
            } else {
                scores.iter().for_each(|&score| table.push(&[Lane::from(score as u32)]));
            }
            vec![table]
        }))
    }

    fn generate(&self, arguments: &Arguments, seed: u64) -> Option<Vec<Table>> {
        let layers = Layers::new(arguments).ok()?;
        let mut random = SeededRng::new(seed);
        let tables = layers.ports().map(|(port, rows, columns)| {
            let mut table = Table::new(Layers::columns(port, columns));
            for _ in 0..rows {
                // Pixels of 8 bits, weights from -128 to 127.
                let cells: Vec<Lane> = (0..columns)
                    .map(|_| match (port, random.next_u64() as u8) {
                        ("image", byte) => Lane::from(byte),
                        (_, byte) => Lane::from(i32::from(byte as i8) as u32),
                    })
                    .collect();
                table.push(&cells);
            }
            table
        });
        Some(tables.collect())
    }
}

/// The last layer's values, in plain integers.
fn scores(layers: &Layers, inputs: &[Table]) -> Vec<i32> {
    let cell = |table: &Table, row, column: u64| {
        table.cell(row, column as usize).as_limbs()[0] as u32 as i32
    };
    let before = layers.pad / 2;
    let pixel = |y: u64, x: u64| {
        let inside = |place: u64| place.checked_sub(before).filter(|&p| p < layers.pixels);
        match (inside(y), inside(x)) {
            (Some(y), Some(x)) => cell(&inputs[0], y * layers.pixels + x, 0),
            _ => 0,
        }
    };
    let relu = |value: i32| value.max(0) >> layers.shift;
    let mut values = Vec::new();
    for map in 0..layers.kernels {
        for (y, x) in (0..layers.side()).flat_map(|y| (0..layers.side()).map(move |x| (y, x))) {
            let mut sum = cell(&inputs[1], layers.kernel * layers.kernel, map);
            for place in 0..layers.kernel * layers.kernel {
                let (dy, dx) = (place / layers.kernel, place % layers.kernel);
                let under = pixel(y * layers.stride + dy, x * layers.stride + dx);
                sum = sum.wrapping_add(under.wrapping_mul(cell(&inputs[1], place, map)));
            }
            values.push(relu(sum));
        }
    }
    let layer = |values: &[i32], table: &Table, count: u64| -> Vec<i32> {
        (0..count)
            .map(|column| {
                let bias = cell(table, values.len() as u64, column);
                values.iter().zip(0..).fold(bias, |sum, (value, row)| {
                    sum.wrapping_add(value.wrapping_mul(cell(table, row, column)))
                })
            })
            .collect()
    };
    let hidden: Vec<i32> =
        layer(&values, &inputs[2], layers.hidden).into_iter().map(relu).collect();
    layer(&hidden, &inputs[3], layers.classes)
}
