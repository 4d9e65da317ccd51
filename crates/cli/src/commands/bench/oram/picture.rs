//! [`Picture`]: curves over two logarithmic axes, as SVG and as the numbers behind it.

use std::fmt::Write as _;

/// Size of a picture, and the part of it between the axes, in pixels.
const SIZE: (f64, f64) = (860.0, 520.0);
const LEFT: f64 = 90.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 450.0;

/// Colours that people with any kind of colour vision can tell apart (Okabe, Ito, "Color Universal Design", 2008).
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];

/// An axis whose ticks are powers of `base`.
pub(super) struct Axis {
    pub(super) label: &'static str,
    pub(super) base: u32,
}

/// Points that belong together.
pub(super) struct Curve {
    pub(super) name: String,
    /// Curves of one colour belong to one method.
    pub(super) colour: usize,
    pub(super) stroke: Stroke,
    /// Both above 0.
    pub(super) points: Vec<(f64, f64)>,
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stroke {
    pub(super) is_dashed: bool,
    /// Measured points have marks, and predicted ones a thin line.
    pub(super) is_measured: bool,
}

/// A picture and its numbers.
pub(super) struct Picture {
    /// Name of its files.
    pub(super) name: &'static str,
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) curves: Vec<Curve>,
}

/// An axis with the exponents of its ends, and where these lie.
struct Scale {
    base: f64,
    from: i32,
    to: i32,
    place: (f64, f64),
}

impl Scale {
    /// The whole powers around all numbers.
    fn around(axis: &Axis, numbers: impl Iterator<Item = f64> + Clone, place: (f64, f64)) -> Scale {
        let base = f64::from(axis.base);
        let exponents = numbers.map(|number| number.log(base));
        let (least, most) = exponents
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), at| {
                (least.min(at), most.max(at))
            });
        // Without numbers, an axis from 1 on.
        let (least, most) = if least <= most { (least, most) } else { (0.0, 0.0) };
        // A power of the base is at its tick, whatever its logarithm is rounded to.
        let from = (least + 1e-9).floor() as i32;
        Scale { base, from, to: ((most - 1e-9).ceil() as i32).max(from + 1), place }
    }

    fn at(&self, number: f64) -> f64 {
        let part = (number.log(self.base) - f64::from(self.from)) / f64::from(self.to - self.from);
        self.place.0 + part * (self.place.1 - self.place.0)
    }

    /// Exponents that are written at the axis: at most 12.
    fn ticks(&self) -> impl Iterator<Item = i32> + use<> {
        let step = (self.to - self.from + 11) / 12;
        (self.from..=self.to).step_by(step.max(1) as usize)
    }
}

impl Picture {
    /// The picture as SVG.
    pub(super) fn svg(&self) -> String {
        let (width, height) = SIZE;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"28\" font-size=\"15\">{}</text>\n",
            escaped(&self.title)
        );
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let x = Scale::around(&self.x, points.clone().map(|point| point.0), (LEFT, RIGHT));
        let y = Scale::around(&self.y, points.clone().map(|point| point.1), (BOTTOM, TOP));
        if points.count() == 0 {
            let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"{TOP}\">nothing was measured</text>");
        } else {
            self.axes(&mut svg, &x, &y);
            for (row, curve) in self.curves.iter().enumerate() {
                curve.draw(&mut svg, &x, &y);
                curve.legend(&mut svg, TOP + 10.0 + 18.0 * row as f64);
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn axes(&self, svg: &mut String, x: &Scale, y: &Scale) {
        for exponent in x.ticks() {
            let at = x.at(x.base.powi(exponent));
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"#ddd\"/>\
                 <text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                BOTTOM + 20.0,
                power(self.x.base, exponent)
            );
        }
        for exponent in y.ticks() {
            let at = y.at(y.base.powi(exponent));
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                at + 4.0,
                power(self.y.base, exponent)
            );
        }
        let (middle, centre) = ((LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"black\"/>\n\
             <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(28 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 50.0,
            escaped(self.x.label),
            escaped(self.y.label)
        );
    }

    /// The numbers behind the picture: `picture,curve,x,y`, as another picture takes them (`--beside`).
    pub(super) fn csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(super::beside::HEADS)?;
        for curve in &self.curves {
            for (x, y) in &curve.points {
                writer.write_record([self.name, &curve.name, &x.to_string(), &y.to_string()])?;
            }
        }
        writer.into_inner().map_err(|error| error.into_error().into())
    }
}

impl Curve {
    fn colour(&self) -> &'static str {
        COLOURS[self.colour % COLOURS.len()]
    }

    fn line(&self) -> String {
        let width = if self.stroke.is_measured { 2.0 } else { 1.0 };
        let dashes = if self.stroke.is_dashed { " stroke-dasharray=\"7 4\"" } else { "" };
        let colour = self.colour();
        format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}")
    }

    fn draw(&self, svg: &mut String, x: &Scale, y: &Scale) {
        let at = |&(first, second): &(f64, f64)| (x.at(first), y.at(second));
        let path: Vec<String> =
            self.points.iter().map(at).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(svg, "<polyline points=\"{}\" {}/>", path.join(" "), self.line());
        // One point alone is no line.
        if self.stroke.is_measured || self.points.len() == 1 {
            for (x, y) in self.points.iter().map(at) {
                self.mark(svg, x, y);
            }
        }
    }

    fn mark(&self, svg: &mut String, x: f64, y: f64) {
        let colour = self.colour();
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }

    fn legend(&self, svg: &mut String, y: f64) {
        let (from, to) = (RIGHT + 20.0, RIGHT + 50.0);
        let _ = writeln!(svg, "<path d=\"M{from} {y}H{to}\" {}/>", self.line());
        if self.stroke.is_measured {
            self.mark(svg, (from + to) / 2.0, y);
        }
        let name = escaped(&self.name);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\">{name}</text>", to + 8.0, y + 4.0);
    }
}

fn power(base: u32, exponent: i32) -> String {
    format!("{base}<tspan dy=\"-5\" font-size=\"10\">{exponent}</tspan>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(curves: Vec<Curve>) -> Picture {
        let x = Axis { label: "rows", base: 2 };
        let y = Axis { label: "seconds", base: 10 };
        Picture { name: "figure", title: "a < b".to_owned(), x, y, curves }
    }

    fn curve(name: &str, points: &[(f64, f64)]) -> Curve {
        let stroke = Stroke { is_dashed: false, is_measured: true };
        Curve { name: name.to_owned(), colour: 0, stroke, points: points.to_vec() }
    }

    /// Coordinates of the marks of points, without those of the legend.
    fn marks(svg: &str) -> Vec<(f64, f64)> {
        let number = |text: &str, name: &str| -> f64 {
            let (_, rest) = text.split_once(&format!("{name}=\"")).expect("it is there");
            rest.split_once('"').expect("it ends").0.parse().expect("a number")
        };
        let circles = svg.lines().filter(|line| line.starts_with("<circle"));
        let places = circles.map(|line| (number(line, "cx"), number(line, "cy")));
        places.filter(|(x, _)| *x <= RIGHT).collect()
    }

    #[test]
    fn points_lie_where_the_axes_say() {
        let points = [(4.0, 1e-3), (16.0, 1e-2), (64.0, 1e-1)];
        let svg = picture(vec![curve("one", &points)]).svg();
        let (middle, centre) = ((LEFT + RIGHT) / 2.0, (TOP + BOTTOM) / 2.0);
        assert_eq!(marks(&svg), [(LEFT, BOTTOM), (middle, centre), (RIGHT, TOP)]);
        for exponent in ["2", "6", "-3", "-1"] {
            assert!(svg.contains(&format!(">{exponent}</tspan>")), "{exponent}: {svg}");
        }
    }

    #[test]
    fn names_are_no_markup() {
        let svg = picture(vec![curve("<script> & co", &[(1.0, 1.0)])]).svg();
        assert!(svg.contains("a &lt; b") && svg.contains("&lt;script&gt; &amp; co"), "{svg}");
        assert!(!svg.contains("<script"));
    }

    #[test]
    fn no_points_and_equal_points_are_drawn() {
        assert!(picture(Vec::new()).svg().contains("nothing was measured"));
        let svg = picture(vec![curve("one", &[(1000.0, 0.5)])]).svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(marks(&svg).len(), 1);
    }
}
