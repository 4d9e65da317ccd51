//! Runs on authenticated shares from the command line.

mod common;

use common::{Place, Result};

const RUN: &str = "run three.phi --local --in a=a.csv --in b=b.csv --in c=c.csv \
                   --out sum=sum.csv --out large=large.csv";

fn agrees(place: &Place) -> Result {
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for party in report["parties"].as_array().ok_or("parties")? {
        for figure in ["rounds", "sent_bytes", "received_bytes", "swap_in_pages"] {
            if !party["measured"][figure].is_null() {
                assert_eq!(party["predicted"][figure], party["measured"][figure], "{figure}");
            }
        }
    }
    Ok(())
}

#[test]
fn three_parties_of_whom_two_may_cheat() -> Result {
    let place = Place::new()?;
    place.three()?;
    for more in ["", "--preprocessing sequential"] {
        place.run(&format!("{RUN} --protocol spdz-128 {more}"))?.succeeded()?;
        assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n", "{more}");
        assert_eq!(place.read("large.csv")?, "large\n0\n0\n1\n", "{more}");
        agrees(&place)?;
    }
    let line = "plan three.phi --protocol spdz-128 --memory 128MiB --out p.plan";
    place.run(line)?.succeeded()?;
    place.run("check p.plan --program three.phi")?.succeeded()?.says("right")?;
    let run = RUN.replace("three.phi", "p.plan");
    place.run(&format!("{run} --protocol spdz-128 --memory 128MiB"))?.succeeded()?;
    assert_eq!(place.read("sum.csv")?, "sum\n88\n100\n150\n");
    Ok(())
}

#[test]
fn a_field_that_is_too_small_is_refused() -> Result {
    let place = Place::new()?;
    place.three()?;
    let done = place.run(&format!("{RUN} --protocol spdz"))?;
    done.failed_with(3)?.says("need a field of 66 bits")?.says("spdz-128")?;
    place.run("explain three.phi --protocol spdz-128")?.succeeded()?;
    Ok(())
}

#[test]
fn a_linear_layer_under_every_protocol() -> Result {
    let place = Place::new()?;
    place.run("data linear-layer --param n=20")?.succeeded()?;
    let run = "run linear-layer --local --verify --in matrix=matrix.csv --in bias=bias.csv \
               --in vector=vector.csv";
    for protocol in ["spdz", "spdz --fake-preprocessing", "garbled", "gmw", "arith"] {
        let done = place.run(&format!("{run} --protocol {protocol}"))?.succeeded()?;
        done.says("equals the plaintext answer: yes")?;
        agrees(&place)?;
    }
    Ok(())
}

#[test]
fn no_security_only_where_it_is_asked_for() -> Result {
    let place = Place::new()?;
    place.three()?;
    let fake = "--fake-preprocessing";
    let done = place.run(&format!("{RUN} --protocol spdz-128 {fake}"))?.succeeded()?;
    done.says("INSECURE")?;
    place.run(&format!("{RUN} --protocol gmw {fake}"))?.failed_with(2)?.says("spdz alone")?;
    let done = place.run(&format!("{RUN} --protocol spdz-128 --preprocessing stored=here"))?;
    done.failed_with(2)?.says("cannot be stored")?;
    let done = place.run(&format!("{RUN} --protocol spdz-128 --computing 3"))?;
    done.failed_with(3)?.says("no clients")?;
    Ok(())
}
