//! SR's figures 8, 9 and 10 from our figures, and the bytes behind the times, as pictures and their numbers.
//!
//! Axes and sizes are those of the captions and of section V-B: powers of two of rows, rows of 16 bytes solid and of 32
//! bytes dashed. Lines with marks are measured, thin ones predicted.

use std::io::Write;
use std::path::Path;

use phineus_session::failure::{Failure, codes};
use phineus_session::output_file::write_atomically;

use super::accesses::{Accesses, Contents, Part};
use super::beside::OtherCurve;
use super::crossovers::{Crossing, Crossover};
use super::picture::{Axis, Curve, Picture, Stroke};
use super::{Figures, METHODS};
use crate::leftovers::leftovers;

/// Names of all pictures.
pub(super) const NAMES: [&str; 5] =
    ["figure-8", "figure-9-time", "figure-9-bytes", "figure-10-time", "figure-10-bytes"];

/// Which rows are drawn: their bits, their contents, and whether the line is dashed.
const DRAWN: [(u64, Contents, bool); 2] =
    [(128, Contents::Secret, false), (256, Contents::Secret, true)];

const ROWS: Axis = Axis { label: "number of rows", base: 2 };
const SECONDS: Axis = Axis { label: "seconds", base: 10 };
const BYTES: Axis = Axis { label: "bytes sent by both parties", base: 10 };

/// Writes the pictures of what was measured, and their numbers, into a directory; `others` are curves of
/// another system.
pub(super) fn write(
    directory: &Path,
    (accesses, crossovers): (&[Accesses], &[Crossover]),
    others: Vec<OtherCurve>,
) -> Result<(), Failure> {
    std::fs::create_dir_all(directory).map_err(|error| Failure::file(directory, &error))?;
    let mut pictures = vec![figure_8(crossovers)];
    pictures.extend(figures_9_and_10(accesses));
    for (index, other) in others.into_iter().enumerate() {
        let picture = pictures.iter_mut().find(|picture| picture.name == other.picture);
        let stroke = Stroke { is_dashed: false, is_measured: true };
        let colour = METHODS.len() + index;
        let curve = Curve { name: other.name, colour, stroke, points: other.points };
        picture.expect("its name was checked").curves.push(curve);
    }
    for mut picture in pictures {
        picture.curves.retain(|curve| !curve.points.is_empty());
        if picture.curves.is_empty() {
            continue;
        }
        let csv = picture.csv().expect("memory takes all that is written");
        for (extension, bytes) in [("svg", picture.svg().into_bytes()), ("csv", csv)] {
            let path = directory.join(format!("{}.{extension}", picture.name));
            write_atomically(&path, leftovers(), |file| {
                file.write_all(&bytes).map_err(|error| Failure::new(codes::FILE, error.to_string()))
            })?;
        }
    }
    Ok(())
}

/// Sizes at which methods take the same time: a line for each pair that crosses.
fn figure_8(crossovers: &[Crossover]) -> Picture {
    let mut curves = Vec::new();
    for (index, &first) in METHODS.iter().enumerate() {
        for &second in &METHODS[index + 1..] {
            let ours = |one: &&Crossover| (one.first, one.second) == (first, second);
            let mut add = |is_measured: bool, crossing: fn(&Crossover) -> Crossing| {
                let point =
                    |one: &Crossover| crossing(one).rows().map(|rows| (one.row_bytes as f64, rows));
                let name = format!("{} / {}", first.name(), second.name());
                curves.push(Curve {
                    name: named(name, is_measured),
                    colour: curves.len() / 2,
                    stroke: Stroke { is_dashed: false, is_measured },
                    points: crossovers.iter().filter(ours).filter_map(point).collect(),
                });
            };
            add(false, |one| one.predicted);
            add(true, |one| one.measured);
        }
    }
    Picture {
        name: "figure-8",
        title: "Rows at which two methods take the same time for an access".to_owned(),
        x: Axis { label: "bytes of a row", base: 2 },
        y: ROWS,
        curves,
    }
}

/// An access, and the first shuffle: time and bytes of each.
fn figures_9_and_10(accesses: &[Accesses]) -> [Picture; 4] {
    let access = |one: &Accesses| Some(one.access);
    let shuffle = |one: &Accesses| one.shuffle;
    let seconds = |figures: Figures| figures.seconds;
    let sent_bytes = |figures: Figures| figures.sent_bytes;
    [
        picture(
            "figure-9-time",
            "An access, without the first shuffle",
            SECONDS,
            curves(accesses, access, seconds),
        ),
        picture(
            "figure-9-bytes",
            "An access, without the first shuffle",
            BYTES,
            curves(accesses, access, sent_bytes),
        ),
        picture("figure-10-time", "The first shuffle", SECONDS, curves(accesses, shuffle, seconds)),
        picture(
            "figure-10-bytes",
            "The first shuffle",
            BYTES,
            curves(accesses, shuffle, sent_bytes),
        ),
    ]
}

fn picture(name: &'static str, what: &str, y: Axis, curves: Vec<Curve>) -> Picture {
    let title = format!("{what}: rows of 16 bytes, and of 32 bytes (dashed)");
    Picture { name, title, x: ROWS, y, curves }
}

/// A predicted and a measured curve of each method and row; bytes that are measured are those that are predicted.
fn curves(
    accesses: &[Accesses],
    part: impl Fn(&Accesses) -> Option<Part>,
    number: impl Fn(Figures) -> f64,
) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (colour, method) in METHODS.into_iter().enumerate() {
        for (row_bits, contents, is_dashed) in DRAWN {
            for is_measured in [false, true] {
                let ours = |one: &&Accesses| {
                    let memory = one.memory;
                    (memory.method, memory.row_bits, memory.contents)
                        == (method, row_bits, contents)
                };
                let point = |one: &Accesses| {
                    let part = part(one)?;
                    let figures = if is_measured { part.measured? } else { part.predicted };
                    // A difference of two noisy runs may be below 0, and then has no logarithm.
                    let number = Some(number(figures)).filter(|&number| number > 0.0)?;
                    Some((one.memory.rows as f64, number))
                };
                let name = format!("{}, {} B", method.name(), row_bits / 8);
                curves.push(Curve {
                    name: named(name, is_measured),
                    colour,
                    stroke: Stroke { is_dashed, is_measured },
                    points: accesses.iter().filter(ours).filter_map(point).collect(),
                });
            }
        }
    }
    curves
}

fn named(name: String, is_measured: bool) -> String {
    if is_measured { name } else { format!("{name}, predicted") }
}
