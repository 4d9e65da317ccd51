//! Floating-point numbers from the command line: decimals in, every protocol, decimals out.
#![cfg(feature = "llvm")]

mod common;

use common::{Place, Result};

/// Two measurements of each of several people, and what is learnt of them.
const STUDY: &str = "\
#include <math.h>
#include <phineus.h>
PH_SIZE(N, 3)
struct found {
    float mean;
    double distance;
    int32_t larger;
};
PH_MAIN PH_OUT(ann, ben) struct found study(PH_IN(ann) const float x[N], PH_IN(ben) const double y[N])
{
    struct found found = {0};
    for (int i = 0; i < N; i++) {
        found.mean += x[i] / N;
        double difference = x[i] - y[i];
        found.distance += difference * difference;
        found.larger += x[i] > y[i];
    }
    found.distance = sqrt(found.distance);
    return found;
}
";

fn place() -> Result<Place> {
    let place = Place::new()?;
    place.write("study.c", STUDY)?;
    place.write("x.csv", "x\n0.1\n-2.5e3\n7\n")?;
    place.write("y.csv", "y\n0.2\n1e-3\n-6.5\n")?;
    Ok(place)
}

#[test]
fn decimals_come_in_and_go_out_under_every_protocol_on_bits() -> Result {
    let place = place()?;
    let (mean, distance) = {
        let x = [0.1f32, -2.5e3, 7.0];
        let y = [0.2f64, 1e-3, -6.5];
        let mean = x.iter().fold(0f32, |sum, x| sum + x / 3.0);
        let squares = x.iter().zip(y).map(|(x, y)| (f64::from(*x) - y) * (f64::from(*x) - y));
        (mean, squares.fold(0.0, |sum, square| sum + square).sqrt())
    };
    for protocol in ["clear", "garbled", "gmw", "bmr", "mixed"] {
        let run = "run study.c --local --verify --in ann=x.csv --in ben=y.csv --out result=r.csv";
        let done = place.run(&format!("{run} --protocol {protocol}"))?.succeeded()?;
        done.says("equals the plaintext answer: yes")?;
        let expected = format!("mean,distance,larger\n{mean},{distance},1\n");
        assert_eq!(place.read("r.csv")?, expected, "{protocol}");
    }
    Ok(())
}

#[test]
fn what_is_no_number_is_refused_with_its_line() -> Result {
    let place = place()?;
    let run = "run study.c --local --protocol clear --in ben=y.csv --in ann=bad.csv";
    for (bad, what) in [
        ("x\n1\ntwo\n3\n", "bad.csv:3: column 'x': 'two' is not a number"),
        (
            "x\n1\n2\n4e38\n",
            "bad.csv:4: column 'x': '4e38' is beyond the largest number of 32 bits",
        ),
        ("x\n1\n\"1,5\"\n3\n", "bad.csv:3: column 'x': '1,5' is not a number"),
    ] {
        place.write("bad.csv", bad)?;
        place.run(run)?.failed_with(8)?.says(what)?;
    }
    place.write("bad.csv", "x\n1\n-inf\nnan\n")?;
    let done = place.run(&format!("{run} --verify --out result=r.csv"))?.succeeded()?;
    done.says("equals the plaintext answer: yes")?;
    assert_eq!(place.read("r.csv")?, "mean,distance,larger\nNaN,NaN,1\n");
    Ok(())
}

/// ANDs of a function of two numbers of a type.
struct Case {
    types: [&'static str; 2],
    result: &'static str,
    ands: u64,
}

const CASES: &[Case] = &[
    Case { types: ["float", "float"], result: "a + b", ands: 604 },
    Case { types: ["float", "float"], result: "a * b", ands: 1248 },
    Case { types: ["float", "float"], result: "(a - b) * (a - b)", ands: 1485 },
    Case { types: ["float", "float"], result: "a / b", ands: 1416 },
    Case { types: ["float", "float"], result: "2 * a + b", ands: 710 },
    Case { types: ["float", "float"], result: "fabsf(a) + copysignf(0, b)", ands: 346 },
    Case { types: ["double", "double"], result: "a + b", ands: 1288 },
    Case { types: ["double", "double"], result: "a * b", ands: 3916 },
    Case { types: ["uint8_t", "double"], result: "a * b", ands: 4005 },
];

#[test]
fn circuits_have_their_size() -> Result {
    let place = Place::new()?;
    let mut wrong = Vec::new();
    for Case { types: [a, b], result, ands } in CASES {
        let text = format!(
            "#include <math.h>\n#include <phineus.h>\n\
             PH_MAIN PH_OUT(ann) {b} f(PH_IN(ann) {a} a, PH_IN(ben) {b} b)\n{{\n    return {result};\n}}\n"
        );
        place.write("case.c", text)?;
        let told =
            place.run("explain case.c --protocol garbled --json")?.succeeded()?.document()?;
        let found = &told["plan"]["costs"]["and_gates"];
        if *found != *ands {
            wrong.push(format!("{a}, {b}: {result}: {found} ANDs, not {ands}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
