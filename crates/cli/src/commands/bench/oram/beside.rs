//! Curves of another system, which `--beside` adds to the pictures: CSV with a picture, a curve and a point in a row.

use std::path::Path;

use phineus_session::failure::Failure;

/// The columns.
pub(super) const HEADS: [&str; 4] = ["picture", "curve", "x", "y"];

/// A curve of the picture with this name.
#[derive(Debug, PartialEq)]
pub(super) struct OtherCurve {
    pub(super) picture: String,
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// The curves of a file, in the order of their first points.
///
/// # Errors
/// A file that cannot be read, other columns, a picture that is not among `pictures`, and numbers that have no logarithm:
/// with the line.
pub(super) fn read(path: &Path, pictures: &[&str]) -> Result<Vec<OtherCurve>, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
    parse(&bytes, pictures).map_err(|(line, what)| Failure::usage(what).at_line(path, line))
}

/// The curves, or what is wrong in which line.
fn parse(bytes: &[u8], pictures: &[&str]) -> Result<Vec<OtherCurve>, (usize, String)> {
    let mut reader = csv::Reader::from_reader(bytes);
    let expected = || format!("expected the columns {}", HEADS.join(","));
    let heads = reader.headers().map_err(|error| (1, format!("{}: {error}", expected())))?;
    if *heads != HEADS[..] {
        return Err((1, expected()));
    }
    let mut curves: Vec<OtherCurve> = Vec::new();
    for record in reader.records() {
        let line_of =
            |position: Option<&csv::Position>| position.map_or(1, |at| at.line() as usize);
        let record = record.map_err(|error| (line_of(error.position()), error.to_string()))?;
        let line = line_of(record.position());
        let [picture, name, x, y] = [0, 1, 2, 3].map(|column| &record[column]);
        if !pictures.contains(&picture) {
            let known = pictures.join(", ");
            return Err((line, format!("picture '{picture}': expected one of {known}")));
        }
        let number = |head: &str, text: &str| match text.parse::<f64>() {
            Ok(number) if number.is_normal() && number > 0.0 => Ok(number),
            _ => Err((line, format!("{head} '{text}': expected a number above 0"))),
        };
        let point = (number("x", x)?, number("y", y)?);
        let same =
            curves.iter_mut().find(|curve| (&*curve.picture, &*curve.name) == (picture, name));
        match same {
            Some(curve) => curve.points.push(point),
            None => {
                let (picture, name) = (picture.to_owned(), name.to_owned());
                curves.push(OtherCurve { picture, name, points: vec![point] });
            }
        }
    }
    Ok(curves)
}

#[cfg(test)]
mod tests {
    use phineus_bytecode::random::SeededRng;

    use super::super::picture::{Axis, Curve, Picture, Stroke};
    use super::*;

    const PICTURES: [&str; 2] = ["figure-9-time", "figure-10-time"];

    #[test]
    fn the_numbers_of_a_picture_are_read_again() {
        let stroke = Stroke { is_dashed: true, is_measured: false };
        let points = vec![(4.0, 1.25e-3), (1048576.0, 0.1)];
        let name = "scan, \"16\" B".to_owned();
        let curve = Curve { name: name.clone(), colour: 1, stroke, points: points.clone() };
        let [x, y] = [2, 10].map(|base| Axis { label: "", base });
        let (title, curves) = (String::new(), vec![curve]);
        let bytes = Picture { name: PICTURES[0], title, x, y, curves }.csv().expect("memory");
        let picture = PICTURES[0].to_owned();
        assert_eq!(parse(&bytes, &PICTURES), Ok(vec![OtherCurve { picture, name, points }]));
    }

    #[test]
    fn faults_name_their_line() {
        let with = |row: &str| format!("picture,curve,x,y\nfigure-9-time,a,1,2\n{row}\n");
        for (row, what) in [
            ("figure-7,a,1,2", "expected one of figure-9-time, figure-10-time"),
            ("figure-9-time,a,0,2", "x '0': expected a number above 0"),
            ("figure-9-time,a,1,-2", "y '-2'"),
            ("figure-9-time,a,1,NaN", "y 'NaN'"),
            ("figure-9-time,a,inf,2", "x 'inf'"),
            ("figure-9-time,a,1", "found record with 3 fields"),
        ] {
            let (line, message) = parse(with(row).as_bytes(), &PICTURES).expect_err(row);
            assert!(line == 3 && message.contains(what), "{line}: {message}");
        }
        assert_eq!(parse(b"", &PICTURES).map_err(|(line, _)| line), Err(1));
        assert_eq!(parse(b"picture,curve,x\n", &PICTURES).map_err(|(line, _)| line), Err(1));
    }

    /// Random bytes, and a file with some bytes changed: a result or a fault, whatever they are.
    #[test]
    fn no_bytes_make_it_panic() {
        let seed = std::process::id().into();
        println!("seed {seed}");
        let mut random = SeededRng::new(seed);
        let good = b"picture,curve,x,y\nfigure-9-time,\"a\",1,2\nfigure-10-time,b,3e4,5\n";
        for _ in 0..2000 {
            let mut bytes = good.to_vec();
            for _ in 0..=random.below(6) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
            }
            let _ = parse(&bytes, &PICTURES);
        }
    }
}
