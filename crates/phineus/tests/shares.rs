//! Runs on shares: any number of parties, all sharings, plans with rounds.

mod common;

use common::{Place, Result};

/// Three parties' squares are added on additive shares and compared with a bound on XOR shares.
const THREE: &str = "\
phineus 2 program
name \"three\"
party \"ann\"
party \"ben\"
party \"cid\"
input_port \"a\" party=0 rows=3
  column \"x\" u32 number
input_port \"b\" party=1 rows=3
  column \"x\" u32 number
input_port \"c\" party=2 rows=3
  column \"x\" u32 number
output_port \"sum\" parties=0,2 rows=3
  column \"sum\" u32 number
output_port \"large\" parties=1 rows=3
  column \"large\" u1 number
%0 = input u32@ax3 port=0 column=0 row=0
%1 = input u32@ax3 port=1 column=0 row=0
%2 = input u32@ax3 port=2 column=0 row=0
%3 = mul u32@ax3 %0 %0
%4 = mul u32@ax3 %1 %2
%5 = add u32@ax3 %3 %4
output u32@ax3 %5 port=0 column=0 row=0
%6 = convert u32@bx3 %5 from=1
%7 = constant u32@bx3 value=0x64
%8 = lt u32@bx3 %7 %6
output u1@bx3 %8 port=1 column=0 row=0
";

fn three(place: &Place) -> Result {
    place.write("three.phi", THREE)?;
    place.write("a.csv", "x\n5\n0\n65536\n")?;
    place.write("b.csv", "x\n7\n10\n3\n")?;
    place.write("c.csv", "x\n9\n10\n50\n")?;
    Ok(())
}

const RUN: &str = "run three.phi --local --in a=a.csv --in b=b.csv --in c=c.csv \
                   --out sum=sum.csv --out large=large.csv";

#[test]
fn three_parties_compute_on_every_assignment_of_sharings() -> Result {
    let place = Place::new()?;
    three(&place)?;
    for protocol in ["mixed", "gmw", "arith", "bmr"] {
        for more in ["", "--preprocessing sequential", "--simulate rtt=2ms"] {
            let done = place.run(&format!("{RUN} --protocol {protocol} {more}"))?;
            done.succeeded().map_err(|error| format!("{protocol} {more}: {error}"))?;
            assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n", "{protocol} {more}");
            assert_eq!(place.read("large.csv")?, "large\n0\n0\n1\n", "{protocol} {more}");
        }
    }
    Ok(())
}

#[test]
fn a_plan_with_rounds_is_proven_and_states_what_a_run_measures() -> Result {
    let place = Place::new()?;
    three(&place)?;
    let line = "plan three.phi --protocol mixed --memory 64MiB --out p.plan";
    place.run(line)?.succeeded()?;
    place.run("check p.plan --program three.phi")?.succeeded()?.says("right")?;
    let text = place.run("show p.plan")?.succeeded()?.stdout;
    let rounds = text.lines().filter(|line| *line == "round").count();
    // Squares and products together; then a sum of three, a comparison and the outputs.
    assert!((4..20).contains(&rounds), "{rounds} rounds");
    place.run(&format!("{RUN} --protocol mixed"))?.succeeded()?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("three parties")? {
        assert_eq!(party["measured"]["rounds"], rounds);
        for figure in ["and_gates", "rounds", "sent_bytes", "received_bytes"] {
            assert_eq!(party["predicted"][figure], party["measured"][figure], "{figure}");
        }
    }
    Ok(())
}

#[test]
fn protocols_are_compared_and_refused() -> Result {
    let place = Place::new()?;
    three(&place)?;
    let line = "explain three.phi --protocols garbled,gmw,mixed --net rtt=40ms,bw=1gbit";
    let done = place.run(line)?.succeeded()?;
    assert!(done.stdout.contains("garbled circuits are for two parties"), "{}", done.stdout);
    assert!(done.stdout.contains("cheapest  "), "{}", done.stdout);
    place.run(&format!("{RUN} --protocol garbled"))?.failed_with(3)?.says("for two parties")?;
    place.write("wrong.phi", THREE.replace("lt u32@bx3 %7 %6", "lt u32@bx3 %7 %5"))?;
    let done = place.run("explain wrong.phi --protocol mixed")?;
    done.failed_with(3)?.says("wrong.phi:25")?;
    Ok(())
}
