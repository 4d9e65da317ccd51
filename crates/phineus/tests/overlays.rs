//! `hw explain`: what a program takes on our overlay and on SIFO.

mod common;

use common::{Place, Result};

#[test]
fn one_program_is_explained_on_both_overlays() -> Result {
    let place = Place::new()?;
    let explain = |overlay: &str| {
        let line = format!("--json hw explain sort --param n=8 --overlay {overlay}");
        place.run(&line)?.succeeded()?.document()
    };
    let (ours, sifo) = (explain("phineus")?, explain("sifo")?);
    assert_eq!(ours["and_gates"], sifo["and_gates"]);
    assert!(sifo["xor_gates"].as_u64() > sifo["and_gates"].as_u64());
    assert!(sifo["seconds"].as_f64() > ours["seconds"].as_f64(), "{sifo} {ours}");
    let text = place.run("hw explain sort --param n=8 --overlay sifo")?.succeeded()?.stdout;
    assert!(text.contains("protect nothing"), "{text}");
    Ok(())
}

#[test]
fn several_cells_take_fewer_cycles() -> Result {
    let place = Place::new()?;
    let explain = |options: &str| {
        let line = format!("--json hw explain mvmul --param n=8 {options}");
        place.run(&line)?.succeeded()?.document()
    };
    let (one, four) = (explain("")?, explain("--cells 4")?);
    assert_eq!(one["and_gates"], four["and_gates"]);
    let cycles = [&one, &four].map(|document| document["cycles"].as_u64().unwrap_or(0));
    assert!(3 * cycles[1] < cycles[0], "{cycles:?}");

    place.run("hw compile mvmul --param n=8 --cells 4 --out four.ovl")?.succeeded()?;
    let stream = place.run("--json hw explain four.ovl")?.succeeded()?.document()?;
    assert_eq!((&stream["cells"], &stream["cycles"]), (&four["cells"], &four["cycles"]));
    let text = place.run("hw show four.ovl")?.succeeded()?.stdout;
    assert!(text.starts_with("# 4 cells, 16 banks of 4096 labels in each"), "{text}");
    let failed = place.run("hw explain four.ovl --cells 2")?.failed_with(3)?;
    failed.says("the stream is for 4 cells, not for 2")?;
    for options in ["--cells 17", "--cells 0", "--cells 2 --overlay sifo"] {
        place.run(&format!("hw explain mvmul --param n=8 {options}"))?.failed_with(2)?;
    }
    Ok(())
}

#[test]
fn links_are_explained() -> Result {
    let place = Place::new()?;
    place.run("hw compile mvmul --param n=8 --cells 4 --out four.ovl")?.succeeded()?;
    let explain = |options: &str| {
        let line = format!("--json hw explain four.ovl {options}");
        place.run(&line)?.succeeded()?.document()
    };
    let usual = explain("")?;
    let link = &usual["links"][0];
    assert_eq!(link["name"], "gen3x8");
    let bytes = |name: &str| usual[name].as_u64().unwrap_or(0);
    assert_eq!(link["bytes_in"], bytes("word_bytes_in") + bytes("label_bytes_in"));
    assert_eq!(link["bytes_out"], bytes("row_bytes_out") + bytes("result_bytes_out"));
    // Four lanes take 38.4 GB/s at 200 MHz.
    assert_eq!(link["bound_by"], "link in");
    assert!(link["stalls"].as_u64() > usual["cycles"].as_u64(), "{usual}");

    let memory = explain("--words-in-memory")?;
    let link = &memory["links"][0];
    assert_eq!(link["memory_bytes_per_second"], 60_000_000_000_u64);
    assert_eq!(
        (&link["bytes_in"], &link["bound_by"]),
        (&usual["label_bytes_in"], &"link out".into())
    );
    let options = "--link gen3x8 --link in=100gb,out=100gb,latency=0ns --words-in-memory=15gb";
    let several = explain(options)?;
    let links = several["links"].as_array().ok_or("a list")?;
    let bounds: Vec<_> = links.iter().map(|link| link["bound_by"].as_str()).collect();
    assert_eq!(bounds, ["link in", "cells", "link out", "memory"].map(Some));
    assert_eq!(links[1]["stalls"], 0);
    let text = place.run(&format!("hw explain four.ovl {options}"))?.succeeded()?.stdout;
    assert!(text.contains("| gen3x8 | memory, 15 GB/s |"), "{text}");
    let text = place.run("hw explain four.ovl")?.succeeded()?.stdout;
    assert!(text.contains("bound by           link in"), "{text}");

    for options in ["--link gen9", "--words-in-memory=15", "--link gen3x8 --overlay sifo"] {
        place.run(&format!("hw explain four.ovl {options}"))?.failed_with(2)?;
    }
    Ok(())
}

#[test]
fn netlists_of_sifo_are_read() -> Result {
    let place = Place::new()?;
    place.write("good.sifo", "4 XOR 5 = 6\n6 AND 4 = 7\n")?;
    let document =
        place.run("--json hw explain good.sifo --overlay sifo")?.succeeded()?.document()?;
    assert_eq!(document["and_gates"].as_u64(), Some(1));
    assert_eq!(document["layers"].as_u64(), Some(2));
    place.write("bad.sifo", "4 XOR 5 = 6\n6 OR 4 = 7\n")?;
    let failed = place.run("hw explain bad.sifo --overlay sifo")?;
    let expected = "error E3110: bad.sifo:2: column 3: expected AND or XOR, found 'OR'";
    assert!(failed.stderr.contains(expected), "{}", failed.stderr);
    let failed = place.run("hw explain good.sifo --overlay sifo --clock 100")?;
    assert!(failed.stderr.contains("cannot be used with"), "{}", failed.stderr);
    Ok(())
}
