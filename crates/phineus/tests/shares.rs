//! Runs on shares: any number of parties, all sharings, plans with rounds.

mod common;

use std::time::Duration;

use common::{Place, Result, THREE, wait};

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
fn dealt_material_gives_the_same_results_without_any_transfer() -> Result {
    let place = Place::new()?;
    place.three()?;
    for protocol in ["mixed", "gmw", "arith", "bmr"] {
        let done = place.run(&format!("{RUN} --protocol {protocol} --fake-preprocessing"))?;
        done.succeeded()?.says("INSECURE")?;
        assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n", "{protocol}");
        assert_eq!(place.read("large.csv")?, "large\n0\n0\n1\n", "{protocol}");
        let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
        for party in report["parties"].as_array().ok_or("three parties")? {
            assert_eq!(party["measured"]["oblivious_transfers"], 0, "{protocol}");
            for figure in ["oblivious_transfers", "rounds", "sent_bytes", "received_bytes"] {
                let (predicted, measured) = (&party["predicted"], &party["measured"]);
                assert_eq!(predicted[figure], measured[figure], "{protocol} {figure}");
            }
        }
        place.explains_fake("three.phi", protocol)?;
    }
    place.run("explain three.phi --fake-preprocessing")?.failed_with(2)?.says("on shares")?;
    let fake = "--protocol auto --fake-preprocessing";
    place.run(&format!("{RUN} {fake}"))?.failed_with(2)?.says("one protocol on shares")?;
    Ok(())
}

#[test]
fn a_plan_with_rounds_is_proven_and_states_what_a_run_measures() -> Result {
    let place = Place::new()?;
    place.three()?;
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
    assert!(done.stdout.contains("protocol 'garbled' is for 2 parties"), "{}", done.stdout);
    assert!(done.stdout.contains("cheapest  "), "{}", done.stdout);
    place.run(&format!("{RUN} --protocol garbled"))?.failed_with(3)?.says("is for 2 parties")?;
    place.write("wrong.phi", THREE.replace("lt u32@bx3 %7 %6", "lt u32@bx3 %7 %5"))?;
    let done = place.run("explain wrong.phi --protocol mixed")?;
    done.failed_with(3)?.says("wrong.phi:25")?;
    Ok(())
}

/// The rows of a sort by 91 stages, each a comparison of 32 bits in six rounds and an exchange; then the outputs.
#[test]
fn far_parties_sort_level_by_level() -> Result {
    let place = Place::new()?;
    let explained = |size: &str, net: &str| -> Result<u64> {
        let line =
            format!("explain sort --param {size} --protocol gmw --memory 64MiB --json --net");
        let told = place.run(&format!("{line} {net}"))?.succeeded()?.document()?;
        told["plan"]["costs"]["rounds"].as_u64().ok_or_else(|| "a number of rounds".into())
    };
    assert_eq!(explained("n=4000", "rtt=40ms,bw=1gbit")?, 91 * 7 + 1);
    let near = explained("n=4000", "rtt=1ms,bw=1gbit")?;
    assert!(near > 2 * (91 * 7), "{near} rounds where rounds cost little");
    let net = "rtt=10ms,bw=1gbit";
    place.run("data sort --param n=100")?.succeeded()?;
    let line =
        "run sort --local --protocol gmw --verify --in site_a=site_a.csv --in site_b=site_b.csv";
    place.run(&format!("{line} --report run.json --net {net}"))?.succeeded()?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("two parties")? {
        assert_eq!(party["measured"]["rounds"], explained("n=100", net)?);
        assert_eq!(party["measured"]["rounds"], 36 * 7 + 1);
    }
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

/// Inputs of `intops` and what it is run with, up to the protocol's options.
fn conversion(place: &Place, op: &str) -> Result<String> {
    let rows = |factor: u32| -> String {
        (0..30).map(|k: u32| format!("{}\n", k.wrapping_mul(factor))).collect()
    };
    place.write("x.csv", format!("x\n{}", rows(0x9e37_79b9)))?;
    place.write("y.csv", format!("x\n{}", rows(0xdead_beef)))?;
    let parameters = format!("--param op={op} --param parties=3");
    Ok(format!("run intops {parameters} --local --verify --in site_a=x.csv --in site_b=y.csv"))
}

#[test]
fn all_variants_of_opening_and_conversion_give_the_same() -> Result {
    let place = Place::new()?;
    for op in ["a2b", "a2y", "b2a", "y2a"] {
        let line = conversion(&place, op)?;
        for variant in ["", "--y2a masks", "--broadcast star", "--y2a masks --broadcast star"] {
            let done = place.run(&format!("{line} --protocol mixed {variant}"))?;
            let done = done.succeeded().map_err(|error| format!("{op} {variant}: {error}"))?;
            done.says("equals the plaintext answer: yes")?;
            let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
            for party in report["parties"].as_array().ok_or("three parties")? {
                for figure in ["and_gates", "garbled_and_gates", "rounds", "sent_bytes"] {
                    let (predicted, measured) = (&party["predicted"], &party["measured"]);
                    assert_eq!(predicted[figure], measured[figure], "{op} {variant}: {figure}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn the_variants_are_explained_chosen_and_agreed_on() -> Result {
    let place = Place::new()?;
    let line = conversion(&place, "y2a")?;
    // A round of 100 ms and a fast line: masks save one. A slow line and no latency: they cost.
    for (network, variant, rounds) in
        [("rtt=200ms,bw=1gbit", "--y2a masks", 3), ("rtt=0ms,bw=1mbit", "--y2a bits", 4)]
    {
        let program = "intops --param op=y2a --param parties=3 --param lanes=30";
        let done = place.run(&format!("explain {program} --protocol mixed --net {network}"))?;
        let done = done.succeeded()?;
        assert!(done.stdout.contains("--y2a bits --broadcast direct: 4 rounds"), "{}", done.stdout);
        assert!(done.stdout.contains("--y2a masks --broadcast direct: 3 rounds"));
        assert!(done.stdout.contains("--broadcast star"), "{}", done.stdout);
        let auto = format!("explain {program} --protocol mixed --net {network} --y2a auto");
        let done = place.run(&auto)?.succeeded()?;
        let first = done.stdout.lines().find(|line| line.starts_with("variant "));
        assert!(first.ok_or("there are variants")?.contains(variant), "{network}: {}", done.stdout);
        let auto = format!("{line} --protocol mixed --net {network} --y2a auto");
        place.run(&auto)?.succeeded()?.says("equals the plaintext answer: yes")?;
        let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
        assert_eq!(report["parties"][0]["measured"]["rounds"], rounds, "{network}");
    }
    let refused = place.run(&format!("{line} --protocol garbled --broadcast star"))?;
    refused.failed_with(2)?.says("takes no --broadcast")?;
    Ok(())
}

#[test]
fn hybrid_circuits_run_garbled_among_three() -> Result {
    let place = Place::new()?;
    let circuits = concat!(env!("CARGO_MANIFEST_DIR"), "/../frontend/tests/hycc/masked");
    let shown =
        place.run(&format!("explain {circuits} --protocol bmr --param parties=3 --json"))?;
    let document: serde_json::Value = serde_json::from_str(&shown.succeeded()?.stdout)?;
    let mut inputs = String::new();
    for port in document["inputs"].as_array().ok_or("a list")? {
        let columns = port["columns"].as_array().ok_or("a list")?;
        let names: Vec<&str> = columns.iter().filter_map(|c| c["name"].as_str()).collect();
        let cells: Vec<&str> = names.iter().map(|_| "1").collect();
        let name = port["name"].as_str().ok_or("a name")?;
        place
            .write(&format!("{name}.csv"), format!("{}\n{}\n", names.join(","), cells.join(",")))?;
        inputs.push_str(&format!(" --in {name}={name}.csv"));
    }
    let run = |options: &str| -> Result<String> {
        let line = format!("run {circuits} --local {options}{inputs}");
        Ok(place.run(&line)?.succeeded()?.stdout)
    };
    let clear = run("--protocol clear")?;
    for options in ["--protocol bmr", "--protocol mixed --param bits=bmr --y2a masks"] {
        assert_eq!(run(&format!("{options} --param parties=3"))?, clear, "{options}");
    }
    Ok(())
}

/// Two runs of the same three parties with the same program, whose links are crossed: the third party of
/// each run has met the first one of the other run. All that was compared, the program's hash above all,
/// was the same, and they computed on shares of two sessions.
#[test]
fn links_of_two_runs_that_are_crossed_are_noticed() -> Result {
    let place = Place::new()?;
    place.three()?;
    let names = ["ann", "ben", "cid"];
    let mut addresses = Vec::new();
    for _ in 0..2 {
        place.parties(&names).or_else(|_| place.cluster(&names))?;
        let text = place.read("cluster.toml")?;
        let of_run: Vec<String> =
            text.lines().filter(|line| line.starts_with("address")).map(str::to_owned).collect();
        addresses.push(of_run);
    }
    // What a party of a run believes, if it finds the first party where `ann` is.
    let cluster = |file: &str, ann: &str, others: &[String]| {
        let party = |(name, address)| format!("[[party]]\nname = \"{name}\"\n{address}\n");
        let all = [ann, &others[1], &others[2]];
        place.write(file, names.into_iter().zip(all).map(party).collect::<String>())
    };
    for (run, own) in addresses.iter().enumerate() {
        cluster(&format!("own_{run}.toml"), &own[0], own)?;
        cluster(&format!("crossed_{run}.toml"), &addresses[1 - run][0], own)?;
    }
    for (crossed, code) in [("crossed", 7), ("own", 0)] {
        let start = |run: usize, name: &str, input: &str| {
            let file = if name == "cid" { crossed } else { "own" };
            let (input, cluster) = (format!("--in {input}.csv"), format!("{file}_{run}.toml"));
            place.start(&format!(
                "run three.phi --protocol mixed --as {name} --id-dir id_{name} {input} --timeout 30 \
                 --cluster {cluster} --report none"
            ))
        };
        let mut children = Vec::new();
        for run in 0..2 {
            for (name, input) in names.into_iter().zip(["a", "b", "c"]) {
                children.push((run, name, start(run, name, input)?));
            }
        }
        for (run, name, child) in children {
            let done = wait(child, Duration::from_secs(60))?.failed_with(code);
            let done = done.map_err(|error| format!("{crossed} {run} {name}: {error}"))?;
            if code == 7 {
                done.says(
                    "and this party are in different sessions: two runs of the same parties",
                )?
                .says("error E7124")?
                .says("next: stop all runs of these parties and start one")?
                .says("nothing was revealed")?;
            }
        }
    }
    Ok(())
}
