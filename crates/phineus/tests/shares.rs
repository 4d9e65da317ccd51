//! Runs on shares: any number of parties, all sharings, plans with rounds.

mod common;

use common::{Place, Result, THREE};

const RUN: &str = "run three.phi --local --in a=a.csv --in b=b.csv --in c=c.csv \
                   --out sum=sum.csv --out large=large.csv";

#[test]
fn three_parties_compute_on_every_assignment_of_sharings() -> Result {
    let place = Place::new()?;
    place.three()?;
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
    place.three()?;
    let line = "plan three.phi --protocol mixed --memory 64MiB --out p.plan";
    place.run(line)?.succeeded()?;
    place.run("check p.plan --program three.phi")?.succeeded()?.says("right")?;
    let garbled = place.run("plan three.phi --protocol bmr --out garbled.plan")?;
    garbled.failed_with(3)?.says("derived from the program")?;
    let text = place.run("show p.plan")?.succeeded()?.stdout;
    let rounds = text.lines().filter(|line| *line == "round").count();
    // Squares and products together; then a sum of three, a comparison and the outputs.
    assert!((4..20).contains(&rounds), "{rounds} rounds");
    place.run(&format!("{RUN} --protocol mixed"))?.succeeded()?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("three parties")? {
        assert_eq!(party["measured"]["rounds"], rounds);
        for figure in ["and_gates", "garbled_and_gates", "rounds", "sent_bytes"] {
            assert_eq!(party["predicted"][figure], party["measured"][figure], "{figure}");
        }
    }
    Ok(())
}

#[test]
fn protocols_are_compared_and_refused() -> Result {
    let place = Place::new()?;
    place.three()?;
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

#[test]
fn triples_are_made_with_either_extension() -> Result {
    let place = Place::new()?;
    place.three()?;
    let sent = |place: &Place| -> Result<u64> {
        let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
        for party in report["parties"].as_array().ok_or("three parties")? {
            for figure in ["oblivious_transfers", "rounds", "sent_bytes", "received_bytes"] {
                assert_eq!(party["predicted"][figure], party["measured"][figure], "{figure}");
            }
        }
        report["parties"][0]["measured"]["sent_bytes"].as_u64().ok_or_else(|| "a number".into())
    };
    for protocol in ["mixed", "gmw", "bmr"] {
        for more in ["", "--preprocessing sequential"] {
            place.run(&format!("{RUN} --protocol {protocol} --ot silent {more}"))?.succeeded()?;
            assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n", "{protocol} {more}");
            sent(&place)?;
        }
    }
    place.run(&format!("{RUN} --protocol garbled --ot silent"))?.failed_with(2)?.says("--ot")?;
    let plan = "plan three.phi --protocol mixed --memory 64MiB --ot silent --out p.plan";
    place.run(plan)?.succeeded()?;
    let run = RUN.replace("three.phi", "p.plan");
    place.run(&format!("{run} --protocol mixed --ot silent --memory 64MiB"))?.succeeded()?;
    sent(&place)?;
    let done = place.run(&format!("{run} --protocol mixed --memory 64MiB"))?;
    done.failed_with(3)?.says("the plan is for silent OT")?;
    Ok(())
}

#[test]
fn the_network_decides_about_the_extension() -> Result {
    let place = Place::new()?;
    let explain = |net: &str| -> Result<serde_json::Value> {
        let line = format!("explain aes128 --param n=2000 --protocols gmw --ot auto --json {net}");
        Ok(serde_json::from_str(&place.run(&line)?.succeeded()?.stdout)?)
    };
    let near = explain("")?;
    assert_eq!(near["protocols"][0]["ot"], "softspoken");
    let far = explain("--net rtt=10ms,bw=20mbit")?;
    assert_eq!(far["protocols"][0]["ot"], "silent");
    let bytes = |value: &serde_json::Value| value["protocols"][0]["link_bytes"].as_u64();
    assert!(bytes(&far) < bytes(&near).map(|bytes| bytes / 5), "{near} {far}");
    Ok(())
}

#[test]
fn long_sums_take_rounds_by_their_logarithm() -> Result {
    let place = Place::new()?;
    let rounds = |n: u64| -> Result<u64> {
        let line = format!("explain mvmul --param n={n} --protocol gmw --json");
        let done = place.run(&line)?.succeeded()?;
        let plan: serde_json::Value = serde_json::from_str(&done.stdout)?;
        plan["plan"]["costs"]["rounds"].as_u64().ok_or_else(|| "a number".into())
    };
    let (few, many) = (rounds(16)?, rounds(256)?);
    // Four more levels of adders of 16 bits, six rounds each; one after another took 1029 rounds.
    assert_eq!((few, many), (25, 25 + 4 * 6));
    Ok(())
}
