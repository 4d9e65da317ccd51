//! Clients share inputs and learn outputs, other parties compute.

mod common;

use std::time::Duration;

use common::{Place, Result, ends_within, wait};

const PATIENCE: Duration = Duration::from_secs(60);

fn matching() -> Result<Place> {
    let place = Place::new()?;
    place.run("data biometric --param n=40")?.succeeded()?;
    Ok(place)
}

const RUN: &str = "run biometric --param n=40 --local --verify --in site_a.csv --in site_b.csv \
                   --out out.csv";

/// Predicted and measured figures of every party, by name.
fn agreed_figures(place: &Place) -> Result<Vec<String>> {
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    let parties = report["parties"].as_array().ok_or("there are parties")?;
    for party in parties {
        for figure in ["rounds", "sent_bytes", "received_bytes", "oblivious_transfers"] {
            assert_eq!(party["predicted"][figure], party["measured"][figure], "{party}");
        }
        let bytes = |figure: &str| party["measured"][figure].as_u64().unwrap_or(0);
        assert!(bytes("sent_bytes") + bytes("received_bytes") > 0, "{party}");
    }
    Ok(parties.iter().filter_map(|party| party["party"].as_str().map(str::to_owned)).collect())
}

#[test]
fn two_or_three_servers_compute_for_the_parties_of_a_program() -> Result {
    let place = matching()?;
    for (protocol, computing) in
        [("gmw", "2"), ("gmw", "3"), ("arith", "3"), ("mixed", "2"), ("bmr", "3"), ("auto", "2")]
    {
        let done = place.run(&format!("{RUN} --protocol {protocol} --computing {computing}"))?;
        done.succeeded()
            .and_then(|done| done.says("equals the plaintext answer: yes"))
            .map_err(|error| format!("{protocol} {computing}: {error}"))?;
        let names = agreed_figures(&place)?;
        let servers = (1..=computing.parse::<usize>()?).map(|k| format!("server_{k}"));
        let expected: Vec<String> = servers.chain(["site_a", "site_b"].map(Into::into)).collect();
        assert_eq!(names, expected, "{protocol}");
    }
    place.run(&format!("{RUN} --computing 2"))?.failed_with(3)?.says("there are no clients")?;
    Ok(())
}

#[test]
fn inputs_come_from_and_outputs_go_to_whom_one_says() -> Result {
    let place = matching()?;
    let more = "--protocol mixed --computing s1,s2,s3";
    // One computes and brings an input; only the third person learns the answer.
    let line = format!("{RUN} {more} --inputs-from site_a=alice,site_b=s2 --outputs-to carol");
    place.run(&line)?.succeeded()?.says("\ncarol learnt: ")?;
    assert_eq!(agreed_figures(&place)?, ["s1", "s2", "s3", "alice", "carol"]);
    // Nobody brings or learns anything under the first party's name, which nobody has.
    let line = format!("{RUN} {more} --inputs-from site_a=alice --outputs-to carol");
    place.run(&line)?.succeeded()?.says("\ncarol learnt: ")?;
    assert_eq!(agreed_figures(&place)?, ["s1", "s2", "s3", "alice", "site_b", "carol"]);
    // By position, and the parties of the program compute.
    let line = format!("{RUN} --protocol gmw --inputs-from alice,bob");
    place.run(&line)?.succeeded()?;
    assert_eq!(agreed_figures(&place)?, ["site_a", "site_b", "alice", "bob"]);
    for (options, part) in [
        ("--inputs-from nothing=alice", "the inputs are"),
        ("--inputs-from a,b,c", "what does c bring"),
        ("--outputs-to nothing=alice", "the outputs are"),
        ("--computing s1", "2 to 16 parties compute"),
        ("--computing s1,s1", "named twice"),
    ] {
        place.run(&format!("{RUN} --protocol gmw {options}"))?.failed_with(2)?.says(part)?;
    }
    Ok(())
}

#[test]
fn what_clients_send_is_explained_and_planned() -> Result {
    let place = matching()?;
    let rows = "--param n=40 --in site_a.csv --in site_b.csv --computing s1,s2";
    let done = place.run(&format!("explain biometric {rows} --protocol mixed"))?.succeeded()?;
    assert!(done.stdout.contains("parties s1, s2   clients site_a, site_b"), "{}", done.stdout);
    assert!(done.stdout.contains("links     site_a sends s2 "), "{}", done.stdout);
    let line = format!("explain biometric {rows} --protocols garbled,gmw,mixed");
    let done = place.run(&line)?.succeeded()?;
    assert!(done.stdout.contains("bytes of client link"), "{}", done.stdout);
    let line = format!("plan biometric {rows} --protocol mixed --out p.plan");
    place.run(&line)?.succeeded()?;
    place.run("check p.plan")?.succeeded()?.says("computed by s1, s2; ")?;
    let run = "run p.plan --local --protocol mixed --in site_a.csv --in site_b.csv --out q.csv";
    place.run(run)?.succeeded()?;
    assert_eq!(agreed_figures(&place)?, ["s1", "s2", "site_a", "site_b"]);
    place.run(&format!("{RUN} --protocol mixed"))?.succeeded()?;
    assert_eq!(place.read("out.csv")?, place.read("q.csv")?);
    place.run(&format!("{run} --computing s1,s3"))?.failed_with(3)?.says("s1, s2 to compute")?;
    Ok(())
}

#[test]
fn triples_are_made_by_those_who_compute() -> Result {
    let place = matching()?;
    let both = "--protocol gmw --computing s1,s2 --param n=40 --in site_a.csv --in site_b.csv";
    place.run(&format!("preprocess biometric --local {both} --out kept"))?.succeeded()?;
    let done = place.run(&format!(
        "run biometric --local --verify {both} --out out.csv \
                                   --preprocessing stored=kept"
    ))?;
    done.succeeded()?.says("equals the plaintext answer: yes")?;
    agreed_figures(&place)?;
    Ok(())
}

const PEOPLE: [&str; 4] = ["site_a", "site_b", "s1", "s2"];

/// Keys and a cluster in which the last two compute, and the data of the first two.
fn cluster() -> Result<Place> {
    let place = matching()?;
    place.parties(&PEOPLE)?;
    let text = place.read("cluster.toml")?;
    place.write("cluster.toml", format!("computing = [\"s1\", \"s2\"]\n\n{text}"))?;
    Ok(place)
}

fn line(name: &str, more: &str) -> String {
    let file = if name.starts_with("site") { format!("--in {name}.csv") } else { String::new() };
    format!(
        "run biometric --param n=40 --protocol mixed --as {name} --id-dir id_{name} {file} \
         --report {name}.json {more}"
    )
}

#[test]
fn everybody_is_a_process_and_starts_when_they_like() -> Result {
    let place = cluster()?;
    let mut started = Vec::new();
    // All may get the same command line: those who bring nothing check the names of columns only.
    place.run(&line("s1", "--column y=x0"))?.failed_with(2)?.says("no input wants a column 'y'")?;
    for name in ["s2", "site_b", "site_a", "s1"] {
        started.push((name, place.start(&line(name, "--column x0=x0"))?));
        std::thread::sleep(Duration::from_millis(150));
    }
    for (name, child) in started {
        let done = wait(child, PATIENCE)?.succeeded().map_err(|e| format!("{name}: {e}"))?;
        let learns = name.starts_with("site");
        assert_eq!(!done.stdout.is_empty(), learns, "{name}: {}", done.stdout);
    }
    Ok(())
}

#[test]
fn clients_need_no_address() -> Result {
    let place = cluster()?;
    let text = place.read("cluster.toml")?;
    let without = |name: &str, text: &str| -> String {
        let (before, after) = text.split_once(&format!("name = \"{name}\"\n")).expect("a party");
        let (_, rest) = after.split_once('\n').expect("its address");
        format!("{before}name = \"{name}\"\n{rest}")
    };
    let bare = without("site_b", &without("site_a", &text));
    assert_eq!(bare.matches("address").count(), 2);
    place.write("cluster.toml", &bare)?;
    for more in ["", "--plain", "--transport quic"] {
        let start = |name| place.start(&line(name, more));
        let children = PEOPLE.into_iter().map(start).collect::<Result<Vec<_>>>()?;
        for child in children {
            wait(child, PATIENCE)?.succeeded().map_err(|error| format!("{more}: {error}"))?;
        }
    }
    place.write("cluster.toml", without("s1", &bare))?;
    for name in PEOPLE {
        place.run(&line(name, ""))?.failed_with(2)?.says(": s1 has no address in")?;
    }
    // A file of another name is called by that, with the line that names the party.
    let other = without("s1", &bare);
    place.write("others.toml", &other)?;
    let at = 1 + other.lines().position(|line| line == "name = \"s1\"").ok_or("its name")?;
    let done = place.run(&line("s2", "--cluster others.toml"))?.failed_with(2)?;
    done.says(&format!("others.toml:{at}: s1 has no address in others.toml"))?;
    Ok(())
}

#[test]
fn a_client_that_is_missing_or_dies_is_named() -> Result {
    let place = cluster()?;
    let others = |more: &str| -> Result<Vec<_>> {
        ["s1", "s2", "site_a"].into_iter().map(|name| place.start(&line(name, more))).collect()
    };
    for (k, child) in others("--timeout 3")?.into_iter().enumerate() {
        let done = wait(child, PATIENCE)?.failed_with(4)?;
        // site_a has no connection to site_b, and hears of it from the others.
        let part = if k < 2 { "site_b" } else { "" };
        done.says(part)?.says("nothing was revealed")?;
    }
    // A slow network gives time to kill it.
    let slow = "--simulate rtt=300ms";
    let rest = others(slow)?;
    let mut lost = place.start(&line("site_b", slow))?;
    assert!(!ends_within(&mut lost, Duration::from_millis(2500))?, "it is in the middle");
    lost.kill()?;
    lost.wait()?;
    for (k, child) in rest.into_iter().enumerate() {
        let done = wait(child, PATIENCE)?.failed_with(4)?;
        if k < 2 {
            done.says("site_b")?;
        }
    }
    Ok(())
}

#[test]
fn people_who_disagree_about_who_computes_are_told() -> Result {
    let place = cluster()?;
    let names = ["s1", "s2", "site_a", "site_b"];
    let start = |name: &str| {
        let more = if name == "site_b" { "--computing s1,s2,site_a" } else { "" };
        place.start(&line(name, &format!("{more} --timeout 4")))
    };
    let children = names.into_iter().map(start).collect::<Result<Vec<_>>>()?;
    for child in children {
        let done = wait(child, PATIENCE)?;
        assert!(matches!(done.code, Some(4 | 7)), "{:?} {}", done.code, done.stderr);
    }
    let more = "--outputs-to s1";
    let children: Vec<_> = names
        .into_iter()
        .map(|name| place.start(&line(name, if name == "s2" { more } else { "" })))
        .collect::<Result<_>>()?;
    for child in children {
        wait(child, PATIENCE)?.failed_with(7)?;
    }
    Ok(())
}

/// Each client hears of the other one from those who compute, who repeat what they were told: one of
/// them was said to have cheated.
#[test]
fn a_client_that_sees_other_roles_makes_nobody_a_cheat() -> Result {
    let place = cluster()?;
    let names = ["s1", "s2", "site_a", "site_b"];
    let start = |name: &str| {
        let more = match name {
            "site_b" => "--inputs-from site_a=site_b,site_b=site_a --timeout 20",
            _ => "--timeout 20",
        };
        place.start(&line(name, more))
    };
    let children = names.into_iter().map(start).collect::<Result<Vec<_>>>()?;
    for (name, child) in names.into_iter().zip(children) {
        let done = wait(child, PATIENCE)?.failed_with(7)?;
        let what = match name {
            "site_a" => "is party 3 here and party 2 at that one",
            "site_b" => {
                "the place of this client (by --inputs-from and --outputs-to) is party 2 here"
            }
            _ => "site_b is party 3 here and says it is party 2",
        };
        done.says(what).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Parties that compute with dealt correlated randomness can read every input. Clients took part
/// without a word.
#[test]
fn clients_refuse_fake_preprocessing_unless_they_state_it() -> Result {
    let place = cluster()?;
    let fake = "--fake-preprocessing";
    let start = |stating: &[&str]| -> Result<Vec<_>> {
        let more = |name: &str| if stating.contains(&name) { fake } else { "" };
        let start = |name| Ok((name, place.start(&line(name, more(name)))?));
        PEOPLE.into_iter().map(start).collect()
    };
    // Of those who differ each says how; another client hears that they do.
    let cases = [
        (&["s1", "s2"][..], &["site_a", "site_b"][..], "is not stated here and stated at s1"),
        (&["s1", "s2", "site_a"], &["site_b"], "is not stated here and stated at s1"),
        (&["site_a"], &["site_a"], "is stated here and not stated at s1"),
        // One of those who compute says so and the other one does not.
        (&["s1"], &["site_a"], "is not stated here and stated at s1"),
        (&["s1"], &["s2"], "is not stated here and stated at s1"),
    ];
    for (stating, telling, what) in cases {
        for (name, child) in start(stating)? {
            let case = |error| format!("{stating:?}, {name}: {error}");
            let done = wait(child, PATIENCE)?.failed_with(7).map_err(case)?;
            if telling.contains(&name) {
                let done = done.says(what)?.says("error E7123")?;
                done.says("leave --fake-preprocessing away").map_err(case)?;
            }
        }
    }
    for (name, child) in start(&PEOPLE)? {
        wait(child, PATIENCE)?.succeeded().map_err(|error| format!("{name}: {error}"))?;
        let report: serde_json::Value =
            serde_json::from_str(&place.read(&format!("{name}.json"))?)?;
        assert_eq!(report["preprocessing"], "fake", "{name}: {report}");
    }
    // Here one command line speaks for all.
    let local = format!("{RUN} --protocol gmw --computing 2 {fake}");
    place.run(&local)?.succeeded()?.says("equals the plaintext answer: yes")?;
    Ok(())
}

/// A party of the program exchanges two rows by a secret permutation of its own.
const PERMUTING: &str = "phineus 5 program
name \"permuting\"
party \"ann\"
party \"ben\"
party \"cat\"
permutation random party=2 items=2
input_port \"rows\" party=0 rows=2
  column \"r\" u8 number
output_port \"found\" parties=0,1 rows=2
  column \"f\" u8 number
%0 = input u8x1 port=0 column=0 row=0
%1 = input u8x1 port=0 column=0 row=1
%2 = switches u1x1 permutation=0 switch=0
%3 %4 = cond_swap u8x1 %2 %0 %1
output u8x1 %3 port=0 column=0 row=0
output u8x1 %4 port=0 column=0 row=1
";

/// Of two servers nobody has the third party's permutation: all shares of its switches were zeros, so all knew it.
#[test]
fn permutations_are_of_parties_that_compute() -> Result {
    let place = Place::new()?;
    place.write("permuting.phi", PERMUTING)?;
    place.write("rows.csv", "r\n1\n2\n")?;
    let run = "run permuting.phi --local --protocol gmw --in rows=rows.csv";
    place.run(run)?.succeeded()?;
    place.run(&format!("{run} --computing s1,s2,s3"))?.succeeded()?;
    let done = place.run(&format!("{run} --computing s1,s2"))?.failed_with(3)?;
    done.says("E3146")?.says("a permutation of a party that does not compute")?;
    Ok(())
}
