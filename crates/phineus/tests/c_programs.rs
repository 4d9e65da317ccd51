//! C programs from the command line: run under several protocols, checked, explained.
#![cfg(feature = "llvm")]

mod common;

use common::{Done, Place, Result};

const MATCH: &str = "\
#include <phineus.h>
PH_SIZE(N, 4)
PH_MAIN void match(PH_IN(alice) PH_RANGE(0, 255) const int32_t probe[2],
                   PH_IN(bob) PH_RANGE(0, 255) const int32_t base[N][2],
                   PH_OUT(alice, bob) uint32_t *best, PH_OUT(alice) uint32_t *row)
{
    uint32_t least = UINT32_MAX, at = 0;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t distance = 0;
        for (int j = 0; j < 2; j++) {
            int32_t d = probe[j] - base[i][j];
            distance += d * d;
        }
        if (distance < least) {
            least = distance;
            at = i;
        }
    }
    *best = least;
    *row = at;
}
";

fn place() -> Result<Place> {
    let place = Place::new()?;
    place.write("match.c", MATCH)?;
    place.write("alice.csv", "probe\n10\n20\n")?;
    place.write("bob.csv", "base0,base1\n0,0\n11,22\n10,25\n200,20\n9,18\n11,22\n")?;
    Ok(place)
}

#[test]
fn a_program_runs_unchanged_under_every_protocol() -> Result {
    let place = place()?;
    for protocol in ["clear", "garbled", "gmw"] {
        let done = place.run(&format!(
            "run match.c --local --protocol {protocol} --in alice=alice.csv --in bob=bob.csv \
             --verify"
        ))?;
        assert_eq!(done.code, Some(0), "{protocol}: {}{}", done.stdout, done.stderr);
    }
    Ok(())
}

#[test]
fn what_leaks_is_refused_with_its_place() -> Result {
    let place = place()?;
    let leaking = MATCH.replace("i < N;", "i < (uint32_t)probe[0];");
    place.write("leak.c", leaking)?;
    for command in ["check leak.c", "explain leak.c"] {
        let done = place.run(command)?;
        assert_eq!(done.code, Some(3), "{command}: {}", done.stderr);
        for part in ["leak.c:8:", "depends on a secret", "public bound", "for (uint32_t i"] {
            assert!(done.stderr.contains(part), "{command}: no {part} in {}", done.stderr);
        }
    }
    let done = place.run("check match.c")?;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    place.write("broken.c", "int f( {")?;
    let done = place.run("check broken.c")?;
    assert_eq!(done.code, Some(3));
    assert!(done.stderr.contains("broken.c"), "{}", done.stderr);
    Ok(())
}

#[test]
fn costs_are_explained_and_wrong_inputs_refused() -> Result {
    let place = place()?;
    let done = place.run("explain match.c --param N=100")?;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    place.write("large.csv", "probe\n10\n256\n")?;
    let done =
        place.run("run match.c --local --protocol clear --in alice=large.csv --in bob=bob.csv")?;
    assert_eq!(done.code, Some(8), "{}", done.stderr);
    assert!(done.stderr.contains("large.csv:3"), "{}", done.stderr);
    // The range is kept, not only its bits.
    place.write("exact.c", MATCH.replacen("0, 255", "-3, 200", 1))?;
    place.write("large.csv", "probe\n-3\n201\n")?;
    for protocol in ["clear", "gmw"] {
        let done = place.run(&format!(
            "run exact.c --local --protocol {protocol} --in alice=large.csv --in bob=bob.csv"
        ))?;
        assert_eq!(done.code, Some(8), "{}", done.stderr);
        let what = "large.csv:3: column 'probe': '201' is not within -3 to 200";
        assert!(done.stderr.contains(what), "{}", done.stderr);
    }
    // Also of what is beyond the bits; what is no number is none.
    place.write("large.csv", "probe\n70000\nmany\n")?;
    let line = "run exact.c --local --protocol clear --in alice=large.csv --in bob=bob.csv";
    let done = place.run(line)?.failed_with(8)?;
    let done = done.says("large.csv:2: column 'probe': '70000' is not within -3 to 200")?;
    done.says("large.csv:3: column 'probe': 'many' is not a whole number")?;
    let done = place.run(
        "run match.c --local --protocol clear --in alice=alice.csv --in bob=bob.csv --param N=5",
    )?;
    assert_eq!(done.code, Some(8), "{}", done.stderr);
    Ok(())
}

/// An answer that nothing can be compared with would come to light only after the run.
#[test]
fn what_is_no_plain_c_is_refused_before_the_run() -> Result {
    let place = place()?;
    place.write("only.c", format!("{MATCH}#ifndef PHINEUS\n#error not plain\n#endif\n"))?;
    for protocol in ["clear", "garbled"] {
        let line = format!("run only.c --local --protocol {protocol}");
        let line = format!("{line} --in alice=alice.csv --in bob=bob.csv");
        let done = place.run(&format!("{line} --verify"))?.failed_with(3)?.says("not plain")?;
        assert_eq!(done.stdout, "", "{protocol}: it was run");
        assert!(!place.file("run.json").exists(), "{protocol}: it was run");
    }
    let line = "run match.c --local --in alice=- --in bob=bob.csv --verify";
    place.run(line)?.failed_with(2)?.says("none can be stdin")?;
    // Ranges are looked at first, with the place in the file.
    place.write("large.csv", "probe\n10\n256\n")?;
    let line = "run match.c --local --in alice=large.csv --in bob=bob.csv --verify";
    place.run(line)?.failed_with(8)?.says("large.csv:3: column 'probe': '256' is not within")?;
    Ok(())
}

/// What only plain C sees.
const ONLY_PLAIN: &str = "\
#ifndef PHINEUS
#include <stdlib.h>
void *volatile kept;
static int deeper(volatile int n) { return n + deeper(n + 1) * n; }
#endif
";

/// A plaintext reference ends, and whatever becomes of it, the results are there: no answer is no
/// wrong answer.
#[test]
fn a_reference_without_an_answer_leaves_the_results() -> Result {
    let place = place()?;
    let line = "run plain.c --local --verify --in alice=alice.csv --in bob=bob.csv";
    for (body, why) in [
        ("for (;;);", "had not ended after 1 s (PHINEUS_REFERENCE_SECONDS says"),
        ("for (;;) kept = malloc(1 << 30);", "needs more than 4 GiB of memory"),
        ("deeper(1);", "ended with signal: 11"),
        ("exit(3);", "ended with exit status: 3"),
    ] {
        let begins = format!("{{\n#ifndef PHINEUS\n{body}\n#endif\n");
        let program = MATCH.replacen("{\n", &begins, 1).replacen(
            "PH_SIZE",
            &format!("{ONLY_PLAIN}PH_SIZE"),
            1,
        );
        place.write("plain.c", program)?;
        let protocols = if body == "exit(3);" { &["clear", "garbled"][..] } else { &["clear"] };
        for protocol in protocols {
            let mut command = place.command(&format!("{line} --protocol {protocol}"));
            let child = command.env("PHINEUS_REFERENCE_SECONDS", "1").spawn()?;
            let done = common::wait(child, std::time::Duration::from_secs(120))?.failed_with(1)?;
            assert!(done.stdout.contains("best\n5\n"), "{body}: {}", done.stdout);
            let done = done.says("equals the plaintext answer: not known")?.says("E1194")?;
            done.says("the results are not compared with the plaintext answer")?.says(why)?;
        }
    }
    let document = place.run(&format!("{line} --json"))?.document()?;
    assert_eq!(document["error"]["code"], "E1194", "{document}");
    assert!(document["outputs"].is_object(), "{document}");
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    assert!(report["verified"].is_null(), "{report}");
    assert!(report["not_verified"].as_str().is_some_and(|why| why.contains("exit status: 3")));
    Ok(())
}

/// Plain C reads behind the array, which is nobody's fault but the program's.
#[test]
fn what_c_leaves_undefined_may_differ_from_plain_c() -> Result {
    let place = Place::new()?;
    let program = "\
#include <phineus.h>
PH_MAIN PH_OUT(b) int f(PH_IN(a) const int x[4], PH_IN(b) PH_RANGE(0, 7) uint8_t q) { return x[q]; }
";
    place.write("f.c", program)?;
    place.write("x.csv", "x\n11\n12\n13\n14\n")?;
    let line = "run f.c --local --protocol clear --verify --in x=x.csv --in b=q.csv";
    place.write("q.csv", "q\n3\n")?;
    place.run(line)?.succeeded()?.says("equals the plaintext answer: yes")?;
    place.write("q.csv", "q\n6\n")?;
    let done = place.run(line)?;
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let done = done.says("equals the plaintext answer: NO")?.says("E1197")?;
    // The results and the error are one document.
    for protocol in ["clear", "garbled"] {
        let line = line.replace("clear", protocol);
        let document = place.run(&format!("{line} --json"))?.document()?;
        assert_eq!(document["error"]["code"], "E1197", "{document}");
        assert!(document["outputs"].is_object() && document["report"].is_object(), "{document}");
    }
    let refused =
        "#include <phineus.h>\nPH_MAIN PH_OUT(b) int f(PH_IN(a) int x) { return g(x); }\n";
    place.write("refused.c", refused)?;
    for line in ["check refused.c", "explain refused.c", "run refused.c --local --in x.csv"] {
        let done = place.run(&format!("{line} --json"))?.failed_with(3)?;
        done.document().map_err(|error| format!("{line}: {error}"))?;
    }
    done.says("what C leaves undefined: an index out of bounds")?.says("`phineus check` notes")?;
    Ok(())
}

/// LLVM alone makes 48 MiB resident: those who compute have nothing of it.
#[test]
fn what_reads_a_program_takes_no_memory_of_its_run() -> Result {
    let place = place()?;
    std::fs::create_dir(place.file("temporary"))?;
    for protocol in ["garbled", "gmw", "spdz"] {
        let line = format!("match.c --protocol {protocol} --memory 48MiB");
        place.run(&format!("explain {line} --param N=6"))?.succeeded()?;
        let line = format!("run {line} --local --in alice=alice.csv --in bob=bob.csv --verify");
        let mut run = place.command(&line);
        run.env("TMPDIR", place.file("temporary"));
        Done::of(run.output()?).succeeded()?;
        let left = std::fs::read_dir(place.file("temporary"))?.count();
        assert_eq!(left, 0, "{protocol}: what reads the program leaves files behind");
    }
    Ok(())
}

const GCD: &str = "\
#include <phineus.h>
PH_MAIN PH_OUT(alice, bob) uint32_t gcd(PH_IN(alice) uint32_t a, PH_IN(bob) uint32_t b)
{
    while (ph_reveal(b != 0)) {
        uint32_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}
";

#[test]
fn a_loop_ends_when_an_opened_value_says_so() -> Result {
    let place = Place::new()?;
    place.write("gcd.c", GCD)?;
    place.write("alice.csv", "a\n1071\n")?;
    place.write("bob.csv", "b\n462\n")?;
    for protocol in ["clear", "garbled", "gmw", "bmr"] {
        let done = place.run(&format!(
            "run gcd.c --local --protocol {protocol} --in alice=alice.csv --in bob=bob.csv --verify"
        ))?;
        assert_eq!(done.code, Some(0), "{protocol}: {}{}", done.stdout, done.stderr);
        assert!(done.stdout.contains("21"), "{protocol}: {}{}", done.stdout, done.stderr);
    }
    let done = place.run("check gcd.c")?;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let said = format!("{}{}", done.stdout, done.stderr);
    for part in ["gcd.c:4:", "opened to all parties"] {
        assert!(said.contains(part), "no {part} in {said}");
    }
    let done = place.run("explain gcd.c")?;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("gcd.c:4:"), "{}", done.stdout);
    place.write("leak.c", GCD.replace("ph_reveal(b != 0)", "b != 0"))?;
    assert_eq!(place.run("check leak.c")?.code, Some(3));
    Ok(())
}

const PUT_TOGETHER: &str = "\
#include <phineus.h>
PH_MAIN void f(PH_IN(alice) const uint8_t x[4], PH_IN(bob) uint32_t v,
               PH_OUT(alice) uint32_t *big, PH_OUT(bob) uint8_t bytes[4])
{
    *big = (uint32_t)x[0] << 24 | x[1] << 16 | x[2] << 8 | x[3];
    for (int i = 0; i < 4; i++)
        bytes[i] = (v >> (24 - 8 * i)) & 0xff;
}
";

#[test]
fn bytes_are_put_together_and_taken_apart_without_an_and() -> Result {
    let place = Place::new()?;
    place.write("bytes.c", PUT_TOGETHER)?;
    let done = place.run("explain bytes.c")?;
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains(" 0 AND gates"), "{}", done.stdout);
    Ok(())
}

/// C multiplies modulo 2^32 and 2^64, whatever the field holds.
#[test]
fn products_of_any_width_under_every_protocol() -> Result {
    let place = Place::new()?;
    let program = "\
#include <phineus.h>
PH_MAIN void products(PH_IN(alice) const uint32_t x[3], PH_IN(bob) const uint32_t y[3],
                      PH_OUT(alice, bob) uint32_t low[3], PH_OUT(alice, bob) uint64_t wide[3],
                      PH_OUT(bob) int64_t *dot)
{
    *dot = 0;
    for (int i = 0; i < 3; i++) {
        low[i] = (x[i] * y[i] + 7) * 0x9E3779B1u;
        wide[i] = (uint64_t)x[i] * y[i];
        *dot += (int64_t)x[i] * (int32_t)y[i];
    }
}
";
    place.write("products.c", program)?;
    place.write("x.csv", "x\n4294967295\n3\n2654435769\n")?;
    place.write("y.csv", "y\n4294967295\n4000000000\n2147483648\n")?;
    let run = "run products.c --local --verify --in x=x.csv --in y=y.csv";
    for protocol in ["spdz --fake-preprocessing", "spdz-128 --fake-preprocessing", "gmw"] {
        let done = place.run(&format!("{run} --protocol {protocol}"))?.succeeded()?;
        done.says("equals the plaintext answer: yes")?;
    }
    Ok(())
}

const PRODUCT: &str = "\
#include <phineus.h>
PH_MAIN void product(PH_IN(alice) const uint16_t a[8][3], PH_IN(bob) const uint16_t b[3][4],
                     PH_OUT(alice, bob) uint32_t c[8][4])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 4; j++) {
            c[i][j] = 5;
            for (int k = 0; k < 3; k++) c[i][j] += (uint32_t)a[i][k] * b[k][j];
        }
}
";

/// Three loops are one product of matrices, which opens each entry once.
#[test]
fn loops_are_products_of_matrices_under_every_protocol() -> Result {
    let place = Place::new()?;
    place.write("product.c", PRODUCT)?;
    let row = |from: u32, columns: u32| {
        let entries: Vec<_> =
            (0..columns).map(|k| ((from + k) * 7919 % 65536).to_string()).collect();
        entries.join(",") + "\n"
    };
    let rows = |count: u32, columns: u32| (0..count).map(move |i| row(i * columns, columns));
    place.write("a.csv", "a0,a1,a2\n".to_owned() + &rows(8, 3).collect::<String>())?;
    place.write("b.csv", "b0,b1,b2,b3\n".to_owned() + &rows(3, 4).collect::<String>())?;
    let run = "run product.c --local --verify --in a=a.csv --in b=b.csv --protocol";
    for protocol in ["clear", "garbled", "gmw", "bmr", "arith", "mixed"] {
        let done = place.run(&format!("{run} {protocol}"))?.succeeded()?;
        done.says("equals the plaintext answer: yes")?;
    }
    for protocol in ["spdz", "spdz-128 --fake-preprocessing", "spdz-32 --fake-preprocessing"] {
        let done = place.run(&format!("{run} {protocol}"))?.succeeded()?;
        done.says("equals the plaintext answer: yes")?;
    }
    let explained = place.run("explain product.c --protocol spdz-128")?.succeeded()?;
    assert!(explained.stdout.contains("1 matrix triples 8 x 3 x 4"), "{}", explained.stdout);
    Ok(())
}

const SCORE: &str = "\
#include <phineus.h>
PH_MAIN void score(PH_IN(alice) PH_RANGE(PH_FIXED(-8), PH_FIXED(7.5)) const ph_fixed x[3],
                   PH_IN(bob) const ph_fixed *weight, PH_OUT(alice, bob) ph_fixed scores[3],
                   PH_OUT(bob) ph_fixed *mean)
{
    ph_fixed_wide sum = 0;
    for (int i = 0; i < 3; i++) {
        scores[i] = ph_fixed_div(ph_fixed_mul(x[i], *weight), PH_FIXED(2));
        sum += ph_fixed_product(x[i], PH_FIXED(1.0 / 3));
    }
    *mean = ph_fixed_narrow(sum);
}
";

/// Columns of fixed-point numbers are decimals, and all protocols round alike.
#[test]
fn fixed_point_numbers_are_decimals_in_and_out() -> Result {
    let place = Place::new()?;
    place.write("score.c", SCORE)?;
    place.write("x.csv", "x\n1.25\n-0.1\n7.5e0\n")?;
    place.write("weight.csv", "weight\n-3.5\n")?;
    let run = "run score.c --local --verify --in weight=weight.csv --in x=x.csv --protocol";
    let mut all = Vec::new();
    for protocol in ["clear", "garbled", "gmw", "spdz --fake-preprocessing"] {
        let done = place.run(&format!("{run} {protocol}"))?.succeeded()?;
        all.push(done.stdout);
    }
    assert_eq!(all[0], "# scores\nscores\n-2.1875\n0.175\n-13.125\n# mean\nmean\n2.88329\n");
    assert!(all.iter().all(|output| *output == all[0]), "{all:?}");
    place.write("x.csv", "x\n1.25\none\n9\n")?;
    let done = place.run(&format!("{run} clear"))?;
    assert_eq!(done.code, Some(8), "{}", done.stderr);
    let not_within = "x.csv:4: column 'x': '9' is not within -8 to 7.5";
    for part in ["x.csv:3: column 'x': 'one' is not a decimal number", not_within] {
        assert!(done.stderr.contains(part), "no {part} in {}", done.stderr);
    }
    Ok(())
}

/// A program, the columns of its result, and for values of alice's what bob learns.
type Unset = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Programs that set a result only where a secret says so; alice's rows, and what bob learns. The
/// choice between a value and nothing was the value, so that bob learnt it always.
const UNSET: [Unset; 6] = [
    (
        "struct o { bool ok; int v; };
        PH_MAIN void f(PH_IN(alice) int x, PH_IN(bob) int k, PH_OUT(bob) struct o *y)
        { y->ok = x > k; if (y->ok) y->v = x; }",
        "ok,v",
        &[("31337", "0,0"), ("131337", "1,131337")],
    ),
    (
        "struct o { bool ok; int v; };
        PH_MAIN PH_OUT(bob) struct o f(PH_IN(alice) int x, PH_IN(bob) int k)
        { struct o y; y.ok = x > k; if (y.ok) y.v = x; return y; }",
        "ok,v",
        &[("31337", "0,0"), ("131337", "1,131337")],
    ),
    (
        "PH_MAIN void f(PH_IN(alice) int x, PH_IN(bob) int k, PH_OUT(bob) int *y)
        { if (x > k) *y = x; else if (k < 5) *y = k; }",
        "y",
        &[("31337", "0"), ("131337", "131337")],
    ),
    (
        "PH_MAIN PH_OUT(bob) int f(PH_IN(alice) int x, PH_IN(bob) int k)
        { int t[2]; if (x > k) t[0] = x; t[1] = k; return t[0] + t[1]; }",
        "result",
        &[("31337", "100000"), ("131337", "231337")],
    ),
    (
        "PH_MAIN void f(PH_IN(alice) const int x[3], PH_IN(bob) int k, PH_OUT(bob) int y[3])
        { for (int i = 0; i < 3; i++) if (x[i] > k) y[i] = x[i]; }",
        "y",
        &[("31337\n7\n31337", "0\n0\n0"), ("31337\n131337\n7", "0\n131337\n0")],
    ),
    (
        "PH_MAIN void f(PH_IN(alice) const int x[3], PH_IN(bob) int k, PH_OUT(bob) int y[3])
        { int n = 0; for (int i = 0; i < 3; i++) if (x[i] > k) y[n++] = x[i]; }",
        "y",
        &[("31337\n7\n31337", "0\n0\n0"), ("31337\n131337\n7", "131337\n0\n0")],
    ),
];

#[test]
fn what_a_secret_leaves_unset_is_zero() -> Result {
    let place = Place::new()?;
    place.write("bob.csv", "k\n100000\n")?;
    for (index, (program, columns, cases)) in UNSET.into_iter().enumerate() {
        let name = format!("unset{index}.c");
        place.write(&name, format!("#include <phineus.h>\n{program}\n"))?;
        for ((rows, shown), protocol) in
            cases.iter().flat_map(|case| ["clear", "garbled"].map(|protocol| (case, protocol)))
        {
            place.write("alice.csv", format!("x\n{rows}\n"))?;
            let line = format!("run {name} --local --protocol {protocol} --verify");
            let done = place.run(&format!("{line} --in alice=alice.csv --in bob=bob.csv"))?;
            let stdout = done.succeeded()?.stdout;
            let table = format!("{columns}\n{shown}\n");
            assert!(stdout.starts_with(&table), "{name}, {protocol}: {stdout}");
        }
    }
    Ok(())
}

/// Three loops that make the outer product of a vector with itself: one instruction with one value as
/// both operands.
const OUTER: &str = "\
#include <phineus.h>
PH_SIZE(N, 8)
PH_MAIN void outer(PH_IN(ann) PH_RANGE(-100, 100) const int32_t x[N][1],
                   PH_IN(ben) const uint16_t record[N][N],
                   PH_OUT(ann, ben) int32_t least[N][N], PH_OUT(ann) uint16_t chosen[N][N])
{
    int32_t c[N][N];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            c[i][j] = 0;
            for (int k = 0; k < 1; k++)
                c[i][j] += x[i][k] * x[j][k];
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            least[i][j] = c[i][j] < 0 ? c[i][j] : 0;
            chosen[i][j] = c[i][j] >= 2 ? record[i][j] : 0;
        }
}
";

/// Its entries may be negative: what is chosen by them under spdz is what plain C chooses.
#[test]
fn an_outer_product_is_not_a_square() -> Result {
    let place = Place::new()?;
    place.write("outer.c", OUTER)?;
    let shown = place.run("show outer.c")?.succeeded()?;
    let product = shown.stdout.lines().find(|line| line.contains("mat_mul"));
    let product = product.ok_or("the loops are a product of matrices")?;
    let names: Vec<&str> = product.split(' ').filter(|part| part.starts_with('%')).collect();
    assert_eq!(names[1], names[2], "{product}");
    place.write("x.csv", "x0\n-100\n-7\n-1\n0\n1\n2\n9\n100\n")?;
    let header: Vec<String> = (0..8).map(|k| format!("record{k}")).collect();
    let rows = (0..8).map(|i| (0..8).map(move |j| (1000 + 8 * i + j).to_string()));
    let rows: Vec<String> = rows.map(|row| row.collect::<Vec<_>>().join(",")).collect();
    place.write("record.csv", format!("{}\n{}\n", header.join(","), rows.join("\n")))?;
    let run = "run outer.c --local --verify --in x=x.csv --in record=record.csv --protocol";
    let fake = ["spdz", "spdz-128"].map(|name| format!("{name} --fake-preprocessing"));
    for protocol in ["clear", "garbled", "arith"].map(str::to_owned).into_iter().chain(fake) {
        let done = place.run(&format!("{run} {protocol}"))?.succeeded()?;
        done.says("equals the plaintext answer: yes")?;
    }
    Ok(())
}

/// The plan of N branches on opened values grows as N does: each block had the description of the
/// whole, which has N ports, so that 1,024 of them took 379 MiB.
#[test]
fn a_plan_grows_as_its_branches_do() -> Result {
    let place = Place::new()?;
    let program = "\
#include <phineus.h>
PH_SIZE(N, 16)
PH_MAIN PH_OUT(a, b) uint32_t f(PH_IN(a) const uint32_t x[N], PH_IN(b) const uint32_t y[N])
{
    uint32_t sum = 0;
    for (int i = 0; i < N; i++)
        if (ph_reveal(x[i] > y[i]))
            sum += x[i] * y[i];
    return sum;
}
";
    place.write("branches.c", program)?;
    // With chosen sharings a plan is another one as soon as another choice is cheaper.
    for protocol in ["gmw", "mixed --no-optimise", "garbled"] {
        let mut sizes = Vec::new();
        for count in [32, 64, 128] {
            let line = format!(
                "plan branches.c --param N={count} --protocol {protocol} --memory 256MiB \
                 --out branches.plan --json"
            );
            let told = place.run(&line)?.succeeded()?.document()?;
            let instructions = told["plan"]["instruction_count"].as_u64().ok_or("instructions")?;
            let memory = told["peak_memory_bytes"].as_u64().ok_or("memory")?;
            let bytes = std::fs::metadata(place.file("branches.plan"))?.len();
            sizes.push([instructions, bytes, memory]);
        }
        let grown =
            |what: usize| [sizes[1][what] - sizes[0][what], sizes[2][what] - sizes[1][what]];
        let [first, second] = grown(0);
        // Every sixty-four cells of an input are one instruction.
        assert!(second.abs_diff(2 * first) <= 8, "{protocol}: {sizes:?}");
        for what in [1, 2] {
            let [first, second] = grown(what);
            assert!(second * 10 <= first * 22, "{protocol}: {sizes:?}");
        }
    }
    Ok(())
}

/// Binary search, and a table that is written between reads.
const SEARCH: &str = "\
#include <phineus.h>
PH_SIZE(N, 700)
PH_SIZE(M, 3)
PH_MAIN void search(PH_IN(alice) const uint32_t table[N], PH_IN(bob) const uint32_t wanted[M],
                    PH_OUT(alice, bob) uint32_t place[M], PH_OUT(alice, bob) uint32_t sum[M])
{
    static uint16_t doubled[N];
    for (uint32_t k = 0; k < M; k++) {
        uint32_t low = 0, high = N;
        for (uint32_t width = N; width > 0; width /= 2) {
            uint32_t middle = (low + high) / 2;
            if (low < high && table[middle] < wanted[k]) low = middle + 1;
            else if (low < high) high = middle;
        }
        place[k] = low;
        for (uint32_t i = 0; i < N; i += 7) doubled[i] = (uint16_t)(2 * table[i] + k);
        sum[k] = doubled[wanted[k] % N] + (wanted[k] > 50 ? doubled[(wanted[k] + k) % N] : 1u);
        // Fewer elements of the same array before more of them.
        sum[k] += table[wanted[k] & 511] + table[wanted[k] % N];
    }
}
";

#[test]
fn reads_of_large_arrays_are_chosen_by_cost() -> Result {
    let place = Place::new()?;
    place.write("search.c", SEARCH)?;
    let rows: Vec<String> = (0..700).map(|row| (row * row / 3 + 5 * row).to_string()).collect();
    place.write("alice.csv", format!("table\n{}\n", rows.join("\n")))?;
    place.write("bob.csv", "wanted\n0\n12345\n66000\n")?;
    for protocol in ["clear", "garbled", "gmw"] {
        let line = format!("run search.c --local --protocol {protocol} --verify");
        let done = place.run(&format!("{line} --in alice=alice.csv --in bob=bob.csv"))?;
        assert_eq!(done.code, Some(0), "{protocol}: {}{}", done.stdout, done.stderr);
    }
    let document = |line: &str| -> Result<serde_json::Value> {
        let done = place.run(&format!("explain search.c --json --protocol garbled {line}"))?;
        let done = done.succeeded()?;
        Ok(serde_json::from_str::<serde_json::Value>(&done.stdout)?["memories"].clone())
    };
    let memories = document("")?;
    let named = |name: &str| -> Vec<&serde_json::Value> {
        let all = memories.as_array().into_iter().flatten();
        all.filter(|memory| memory["name"] == name).collect()
    };
    // Nine reads of each search, whose first middle is public, and one more; a memory for each turn of what is written in
    // each.
    let tables: Vec<_> = named("table").iter().map(|table| table["reads"].clone()).collect();
    assert_eq!(tables, [30, 3], "{memories}");
    assert_eq!(named("search.doubled").len(), 3, "{memories}");
    // The first party knows its own rows.
    let many = document("--param N=5000 --net rtt=1ms,bw=100mbit")?;
    let method = many[0]["method"].as_str().ok_or("a method")?;
    assert_eq!(method, "garbled-table", "{many}");
    let wrong = SEARCH.replace("(low + high) / 2", "ph_reveal((low + high) / 2)");
    place.write("opened.c", wrong)?;
    let done = place.run("explain opened.c --json --protocol garbled")?.succeeded()?;
    let opened: serde_json::Value = serde_json::from_str(&done.stdout)?;
    assert_eq!(opened["memories"], serde_json::json!([]));
    Ok(())
}

/// A party alone scans: nobody else could move its rows.
#[test]
fn one_party_reads_a_large_array() -> Result {
    let place = Place::new()?;
    let text = "#include <phineus.h>\n\
        PH_MAIN void f(PH_IN(alice) const uint64_t z[300], PH_OUT(alice) uint64_t r[1])\n\
        { r[0] = z[z[0] % 300]; }\n";
    place.write("one.c", text)?;
    let rows: Vec<String> = (7..307).map(|row| row.to_string()).collect();
    place.write("z.csv", format!("z\n{}\n", rows.join("\n")))?;
    let run = "run one.c --local --protocol clear --verify --in alice=z.csv";
    place.run(run)?.succeeded()?.says("equals the plaintext answer: yes")?;
    Ok(())
}
