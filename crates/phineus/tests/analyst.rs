//! An analyst's first hour: tables as they come from spreadsheets and databases.

mod common;

use common::{Done, Place, Result};

/// Two parties of a cluster, of which the first is started first.
fn both(place: &Place, lines: [&str; 2]) -> Result<[Done; 2]> {
    let children = lines.map(|line| place.start(line));
    let [a, b] = children.map(|child| Done::of(child?.wait_with_output()?).succeeded());
    Ok([a?, b?])
}

/// Lines of stderr, without progress.
fn lines(done: &Done) -> Vec<&str> {
    done.stderr.lines().filter(|line| !line.is_empty()).collect()
}

/// Accents as two characters or one, blanks, CRLF, a byte order mark, other columns, another name.
const LEFT: &str =
    "\u{feff}element,note\r\n Anna ,\"a\r\nb\"\r\nRene\u{301},c\r\nBob,\r\nCid,d\r\n";
const RIGHT: &str = ",patient_id\n0,Anna\n1,Ren\u{e9}\n2,\u{a0}Bob\n3,bob\n4,NULL\n";

#[test]
fn keys_are_compared_as_people_read_them() -> Result {
    let place = Place::new()?;
    place.write("left.csv", LEFT)?;
    place.write("right.csv", RIGHT)?;
    let line = "run psi --local --verify --report none --in left.csv --in right.csv \
                --column site_b.element=patient_id";
    let done = place.run(line)?.succeeded()?;
    assert_eq!(done.stdout, "common\n3\n");
    for note in [
        "note: left.csv: 1 value of column 'element' had blanks around it, which were left out",
        "note: left.csv: 1 value of column 'element' was brought into Unicode's composed form (NFC)",
        "note: right.csv: 1 value of column 'patient_id' had blanks around it, which were left out",
        "note: right.csv: 1 value of column 'patient_id' is a word for a missing value ('NULL' in \
         line 6), compared like any other text: leave out rows without a value",
    ] {
        assert_eq!(done.stderr.matches(note).count(), 1, "{note} in\n{}", done.stderr);
    }
    Ok(())
}

#[test]
fn columns_are_taken_by_other_names() -> Result {
    let place = Place::new()?;
    place.two_parties(["site_a", "site_b"])?;
    place.write("a.csv", "element\nann\nbob\n")?;
    place.write("b.csv", "id,age\nbob,5\nzoe,6\n")?;
    let line = |site: &str, more: &str| {
        format!("run psi --as {site} --id-dir id_{site} --report none {more}")
    };
    let ours = line("site_a", "--in a.csv");
    let theirs = line("site_b", "--in b.csv --column element=id");
    for done in both(&place, [&ours, &theirs])? {
        assert_eq!(done.stdout, "common\n1\n");
        done.says("site_a and site_b learnt: common (1).\n")?;
    }
    let local = "run psi --local --report none --in a.csv --in b.csv";
    for (more, code, part) in [
        ("", 8, "b.csv:1: there is no column 'element'; the header has id, age"),
        (
            "",
            8,
            "next: let the first line name the columns, or say which one it is with --column \
          element=NAME",
        ),
        ("--column element=id", 8, "a.csv:1: there is no column 'id', which --column names for"),
        (
            "--column site_b.element=ID",
            8,
            "no column 'ID', which --column names for 'element'; the \
          header has id, age",
        ),
        ("--column site_b.elem=id", 2, "no input wants a column 'elem'; 'site_b' has element"),
        ("--column site_c.element=id", 2, "no input 'site_c' here; there are: site_a, site_b"),
        ("--column id", 2, "column 'id' is not of the form [INPUT.]WANTED=FOUND"),
    ] {
        place.run(&format!("{local} {more}"))?.failed_with(code)?.says(part)?;
    }
    // Without the peer: nobody is waited for.
    let alone = line("site_b", "--in b.csv --timeout 1");
    place.run(&alone)?.failed_with(8)?.says("there is no column 'element'")?;
    // Of sizes alone nothing else is asked.
    for more in ["", "--column site_b.element=id"] {
        let done = place.run(&format!("explain psi --in a.csv --in b.csv {more}"))?.succeeded()?;
        assert_eq!(done.stdout.matches(": 2 rows of element").count(), 2, "{}", done.stdout);
    }
    Ok(())
}

/// Columns of .npy files have numbers.
#[test]
fn columns_of_binary_files_are_taken_by_number() -> Result {
    let place = Place::new()?;
    place.run("data intops --format npy --param lanes=5")?.succeeded()?;
    place.run("data merge --param n=3")?.succeeded()?;
    let header = "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 3), }";
    let mut wide = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes()].concat();
    wide.extend(header.bytes());
    for cell in [1u16, 2, 3, 4, 5, 6] {
        wide.extend(cell.to_le_bytes());
    }
    place.write("wide.npy", wide)?;
    place.write("x.csv", "x\n10\n20\n")?;
    let line = "run intops --local --report none --verify --in wide.npy --in x.csv";
    let done = place.run(&format!("{line} --column site_a.x=2"))?.succeeded()?;
    assert_eq!(done.stdout, "result\n13\n26\n");
    let done = place.run(line)?.failed_with(8)?;
    done.says("has 3 columns, and what is computed has 1")?.says("--column NAME=NUMBER")?;
    let done = place.run(&format!("{line} --column site_a.x=3"))?.failed_with(8)?;
    done.says("has no column '3' for 'x': columns of .npy files have numbers, here 0 to 2")?;
    Ok(())
}

#[test]
fn files_that_are_no_csv_come_with_what_to_do() -> Result {
    let place = Place::new()?;
    place.write("good.csv", "element\nann\n")?;
    let utf16: Vec<u8> =
        "\u{feff}element\nann\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin: &[u8] = b"element\nann\nRen\xe9\n";
    for (bytes, what, remedy) in [
        (
            &b"PK\x03\x04\x14\x00\x06\x00\x08\x00"[..],
            "bad.csv: is a spreadsheet (.xlsx",
            "save the",
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "bad.csv: is an Excel workbook (.xls)", "as CSV"),
        (&utf16, "bad.csv: is text in UTF-16", "iconv -f UTF-16 -t UTF-8"),
        (&utf16[2..], "bad.csv: is text in UTF-16", "iconv -f UTF-16LE -t UTF-8"),
        (latin, "bad.csv:3: column 'element' is not UTF-8 text", "iconv -f WINDOWS-1252 -t UTF-8"),
        (
            b"element;x\nann;1\n",
            "bad.csv:1: the fields are separated by ';'",
            "save it with commas",
        ),
        (b"element\tx\nann\t1\n", "separated by tabs, not by commas", "save it with commas"),
        (b"{\"element\": \"ann\"}", "bad.csv: is JSON", "write the table as CSV"),
        (b"\x1f\x8b\x08\x00", "bad.csv: is compressed with gzip", "unpack it"),
        (b"element,name\n1,Doe, Jane\n", "bad.csv:2: has 3 fields, the header has 2", "in quotes"),
    ] {
        place.write("bad.csv", bytes)?;
        for line in
            ["run psi --local --report none --in good.csv --in bad.csv", "explain psi --in bad.csv"]
        {
            let done = place.run(line)?.failed_with(8)?.says(what)?.says("\n  next: ")?;
            done.says(remedy)?;
        }
    }
    assert_eq!(place.files()?, ["bad.csv", "good.csv"]);
    Ok(())
}

/// An output that cannot be written is reported before anything is computed or a peer is waited for.
#[test]
fn a_missing_directory_is_named_before_the_run() -> Result {
    let place = Place::new()?;
    place.two_parties(["site_a", "site_b"])?;
    place.write("a.csv", "element\nann\n")?;
    for line in [
        "run psi --local --in a.csv --in a.csv --out results/r.csv",
        "run psi --as site_a --id-dir id_site_a --timeout 1 --in a.csv --out results/r.csv",
        "run psi --local --protocol clear --in a.csv --in a.csv --out results/r.csv",
        "plan psi --in a.csv --in a.csv --out results/r.csv",
    ] {
        let done = place.run(line)?.failed_with(2).map_err(|error| format!("{line}: {error}"))?;
        done.says("results/r.csv cannot be written: the directory results does not exist")?
            .says("next: make it with `mkdir -p results`")?;
    }
    assert!(!place.file("run.json").exists());
    Ok(())
}

#[test]
fn rows_that_repeat_others_count_once_if_asked() -> Result {
    let place = Place::new()?;
    place.two_parties(["site_a", "site_b"])?;
    place.write("a.csv", "element\nann\nbob\n ann\nann\ncid\n")?;
    place.write("b.csv", "element\nann\nzoe\n")?;
    let local = "run psi --local --verify --report none --in a.csv --in b.csv";
    let done = place.run(local)?.failed_with(8)?;
    done.says("a.csv:4: the same element as in line 2; every row needs another")?
        .says("count equal rows once with --repeat-keys count-once")?;
    let done = place.run(&format!("{local} --repeat-keys count-once"))?.succeeded()?;
    assert_eq!(done.stdout, "common\n1\n");
    done.says("note: a.csv: 2 rows repeat others and were left out; all see 3 rows")?;
    // The other one sees how many remain, and does nothing about it.
    let ours = "run psi --as site_a --id-dir id_site_a --report none --in a.csv \
                --repeat-keys count-once";
    let theirs = "run psi --as site_b --id-dir id_site_b --report none --in b.csv";
    let [_, b] = both(&place, [ours, theirs])?;
    b.says("site_a brings 3 rows for 'site_a'")?;
    let done = place.run("explain psi --in a.csv --rows site_b=2 --repeat-keys count-once")?;
    assert!(done.succeeded()?.stdout.contains("'site_a' of site_a: 3 rows"));
    // Rows with the same key that differ are a contradiction, whichever of them would count.
    place.write("c.csv", "user,password_hash\nann,1\nbob,2\nann,1\nbob,3\n")?;
    let line = "run password-reuse --local --report none --repeat-keys count-once --in c.csv";
    let done = place.run(&format!("{line} --in c.csv"))?.failed_with(8)?;
    done.says("c.csv:5: the same user as in line 3 and another password_hash")?;
    place.write("c.csv", "user,password_hash\nann,1\nbob,2\nann,1\n")?;
    let done = place.run(&format!("{line} --in c.csv --verify"))?.succeeded()?;
    assert_eq!(done.stdout, "reused_passwords\n2\n");
    place.write("s.csv", "key,payload\n1,aa\n1,aa\n")?;
    let line = "run sort --local --report none --repeat-keys count-once --in s.csv --in s.csv";
    place.run(line)?.failed_with(2)?.says("no input of this program wants each key once")?;
    Ok(())
}

#[test]
fn tables_may_have_no_rows() -> Result {
    let place = Place::new()?;
    for (program, header, row, empty) in [
        ("psi", "element", "ann", "common\n0\n"),
        ("password-reuse", "user,password_hash", "ann,1", "reused_passwords\n0\n"),
        ("sort", "key,payload", "1,aa", "key,payload\n"),
        ("ljoin", "key,payload", "1,aa", "valid,record_a,record_b\n"),
    ] {
        place.write("none.csv", format!("{header}\n"))?;
        place.write("one.csv", format!("{header}\n{row}\n"))?;
        for protocol in ["garbled", "gmw", "spdz"] {
            let line =
                format!("run {program} --local --verify --report none --protocol {protocol}");
            for inputs in ["none.csv none.csv", "none.csv one.csv", "one.csv none.csv"] {
                let (a, b) = inputs.split_once(' ').ok_or("two")?;
                let done = place.run(&format!("{line} --in {a} --in {b}"))?.succeeded()?;
                let expected = match (program, inputs) {
                    ("sort", inputs) if inputs != "none.csv none.csv" => {
                        "key,payload\n1,0000000000000000000000aa\n"
                    }
                    _ => empty,
                };
                assert_eq!(done.stdout, expected, "{line}: {inputs}");
                done.says("note: none.csv: has no rows")?.says(": yes")?;
            }
        }
    }
    place.run("explain psi --rows site_a=0 --rows site_b=7 --protocol spdz")?.succeeded()?;
    Ok(())
}

/// The answer, who learnt it, and nothing of the engine unless it is asked for.
#[test]
fn a_run_says_first_who_learnt_what() -> Result {
    let place = Place::new()?;
    place.write("a.csv", "element\nann\nbob\n")?;
    place.write("b.csv", "element\nbob\nzoe\n")?;
    let semi_honest = "Nobody learnt anything else about the data but what `phineus explain` lists, \
                       if all parties followed the protocol.";
    let line = "run psi --local --in a.csv --in b.csv";
    let done = place.run(line)?.succeeded()?;
    assert_eq!(done.stdout, "common\n1\n");
    assert_eq!(lines(&done), ["site_a and site_b learnt: common (1).", semi_honest]);
    // The figures are where they were.
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    assert!(report["parties"][0]["predicted"]["and_gates"].as_u64() > Some(0), "{report}");
    let done = place.run(&format!("{line} --verbose"))?.succeeded()?;
    let told = lines(&done);
    let first = told.iter().position(|line| line.starts_with("site_a and")).ok_or("a sentence")?;
    let figures = told.iter().position(|line| line.contains("predicted")).ok_or("figures")?;
    assert!(first < figures, "{}", done.stderr);
    done.says("AND gates")?.says("peak memory")?;
    // Who learns nothing is not said to learn something; what goes to a file is not shown.
    let done = place.run(&format!("{line} --param to=site_b --out r.csv"))?.succeeded()?;
    assert_eq!(
        lines(&done),
        ["'result' is in r.csv (1 row)", "site_b learnt: 'result', 1 row of common.", semi_honest]
    );
    assert_eq!(place.read("r.csv")?, "common\n1\n");
    place.write("s.csv", "key,payload\n1,aa\n2,bb\n")?;
    let sort = "run sort --local --protocol spdz --report none --in s.csv --in s.csv";
    let done = place.run(sort)?.succeeded()?;
    assert_eq!(
        lines(&done),
        [
            "site_a and site_b learnt: 'records', 4 rows of key, payload.",
            "Nobody learnt anything else about the data but what `phineus explain` lists, even if \
             others cheated."
        ]
    );
    // Nothing is claimed where nothing is protected.
    let done = place.run(&format!("{line} --protocol clear"))?.succeeded()?;
    assert!(
        done.stderr.contains("Nothing was hidden: it was computed in the clear"),
        "{}",
        done.stderr
    );
    let done = place.run(&format!("{line} --protocol spdz --fake-preprocessing"))?.succeeded()?;
    assert!(done.stderr.contains("Nothing was hidden: with preprocessing by a dealer"));
    assert!(!done.stderr.contains("Nobody learnt"), "{}", done.stderr);
    Ok(())
}

/// Somebody in between would be glad if the command to trust came first.
#[test]
fn keys_are_compared_before_they_are_trusted() -> Result {
    let place = Place::new()?;
    place.two_parties(["site_a", "site_b"])?;
    place.write("a.csv", "element\nann\n")?;
    place.run("id untrust site_a --id-dir id_site_b")?.succeeded()?;
    let line = |site: &str| {
        format!("run psi --as {site} --id-dir id_{site} --report none --timeout 5 --in a.csv")
    };
    let children = ["site_a", "site_b"].map(|site| place.start(&line(site)));
    for child in children {
        let done = Done::of(child?.wait_with_output()?).failed_with(7)?;
        let compare = done.stderr.find("over another channel").ok_or(done.stderr.clone())?;
        let command = done.stderr.find("phineus id trust").ok_or(done.stderr.clone())?;
        assert!(compare < command, "{}", done.stderr);
    }
    let done = place.run("id show --id-dir id_site_a")?.succeeded()?;
    let compare = done.stderr.find("over another channel").ok_or(done.stderr.clone())?;
    assert!(compare < done.stderr.find("phineus id trust").ok_or("a command")?);
    Ok(())
}
