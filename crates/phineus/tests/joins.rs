//! Results about one's own rows: `psi --param result=elements` and `join`.

mod common;

use common::{Done, Place, Result};

const PATIENTS: &str =
    "patient_id,name,region\nzed,\"Zed, A\",2\nann,Ann,0\nbob,Bob,1\ncid,Cid,0\n";
const CLAIMS: &str = "claim,patient_id,amount\n1,bob,70\n2,eve,9\n3, zed ,31\n";

fn place() -> Result<Place> {
    let place = Place::new()?;
    place.write("patients.csv", PATIENTS)?;
    place.write("claims.csv", CLAIMS)?;
    Ok(place)
}

const FILES: &str =
    "--local --verify --report none --in site_a=patients.csv --in site_b=claims.csv";

#[test]
fn receivers_see_their_own_elements_in_their_own_order() -> Result {
    let place = place()?;
    for protocol in ["garbled", "gmw", "arith", "bmr", "spdz --fake-preprocessing", "clear"] {
        let line = format!(
            "run psi {FILES} --param result=elements --column element=patient_id --protocol {protocol}"
        );
        let done = place.run(&line)?.succeeded()?;
        let expected = "# common_site_a\npatient_id,name,region\nzed,\"Zed, A\",2\nbob,Bob,1\n\
                        # common_site_b\nclaim,patient_id,amount\n1,bob,70\n3, zed ,31\n";
        assert_eq!(done.stdout, expected, "{protocol}");
        done.says("equals the plaintext answer: yes")?;
    }
    // The report counts the rows that were written, not those that were asked about.
    let line = format!(
        "run psi {FILES} --param result=elements --column element=patient_id --out own.csv"
    );
    let done = place.run(&line.replace("--report none", "--report run.json"))?.succeeded()?;
    done.says("'common_site_a' is in own.common_site_a.csv (2 rows)")?;
    let report: serde_json::Value = serde_json::from_str(&place.read("run.json")?)?;
    for outputs in [&report["outputs"], &report["parties"][1]["outputs"]] {
        let rows: Vec<_> = outputs.as_array().into_iter().flatten().map(|o| &o["rows"]).collect();
        assert_eq!(rows, [2, 2]);
    }
    // As numbers there is one for each row of the file.
    let done = place.run(&line.replace("own.csv", "own.npy"))?.succeeded()?;
    done.says("'common_site_a' is in own.common_site_a.npy (4 rows)")?;
    // One receiver, three parties, and a row that repeats another.
    place.write("more.csv", "element\nzoe\nbob\nbob\nann\n")?;
    let line = "run psi --local --verify --report none --param parties=3 --param to=site_c \
                --param result=elements --protocol gmw --repeat-keys count-once \
                --column site_a.element=patient_id --column site_b.element=patient_id \
                --in site_a=patients.csv --in site_b=claims.csv --in site_c=more.csv";
    assert_eq!(place.run(line)?.succeeded()?.stdout, "element\nbob\n");
    Ok(())
}

#[test]
fn two_machines_learn_what_is_theirs() -> Result {
    let place = place()?;
    place.two_parties(["site_a", "site_b"])?;
    let line = |site: &str, file: &str| {
        place.start(&format!(
            "run join --as {site} --id-dir id_{site} --report none --in {file} --param \
             key=patient_id:text --param right=amount:u32 --param how=left --param to=site_a"
        ))
    };
    let parties = [line("site_a", "patients.csv")?, line("site_b", "claims.csv")?];
    let [a, b] = parties.map(|child| Done::of(child.wait_with_output()?).succeeded());
    let expected = "patient_id,name,region,matched,site_b.amount\n\
                    zed,\"Zed, A\",2,1,31\nann,Ann,0,0,\nbob,Bob,1,1,70\ncid,Cid,0,0,\n";
    assert_eq!(a?.stdout, expected);
    assert_eq!(b?.stdout, "");
    Ok(())
}

#[test]
fn both_see_the_columns_of_the_other() -> Result {
    let place = place()?;
    let join = format!("run join {FILES} --param key=patient_id:text --param left=region:u8");
    let line = format!("{join} --param right=amount:u32 --json --repeat 2");
    let done = place.run(&line)?.succeeded()?.document()?;
    assert_eq!(done["outputs"]["joined_site_a"]["rows"][1][3], "70");
    let columns = &done["outputs"]["joined_site_b"]["columns"];
    assert_eq!(columns.to_string(), r#"["claim","patient_id","amount","site_a.region"]"#);
    assert_eq!(
        done["outputs"]["joined_site_b"]["rows"].to_string(),
        r#"[["1","bob","70","1"],["3"," zed ","31","2"]]"#
    );
    // Others compute, and those who bring data are clients.
    let line = format!("{join} --param right= --protocol mixed --computing 2");
    let done = place.run(&line)?.succeeded()?;
    assert!(
        done.stdout
            .contains("# joined_site_b\nclaim,patient_id,amount,site_a.region\n1,bob,70,1\n"),
        "{}",
        done.stdout
    );
    let line = format!("{join} --protocol mixed --computing 2 --outputs-to joined_site_a=site_b");
    let refused = place.run(&line)?;
    refused.failed_with(2)?.says("who brings that input learns it")?;
    Ok(())
}

#[test]
fn keys_may_repeat_up_to_a_bound() -> Result {
    let place = place()?;
    place.write("claims.csv", "patient_id,amount\nbob,70\nbob,1\neve,9\nzed,31\nbob,5\n")?;
    let join = format!("run join {FILES} --param key=patient_id:text --param right=amount:u32");
    let refused = place.run(&format!("{join} --param repeats=2"))?.failed_with(8)?;
    refused.says(
        "claims.csv:6: more than 2 rows have the same patient_id, the first of them in line 2",
    )?;
    let line = format!("{join} --param repeats=3 --param left=region:u8");
    let done = place.run(&line)?.succeeded()?;
    assert!(done.stdout.ends_with("bob,70,1\nbob,1,1\nzed,31,2\nbob,5,1\n"), "{}", done.stdout);
    // Where there are fewer partners, their columns are empty and not 0.
    let line = format!("{join} --param repeats=3 --param how=left --param to=site_a");
    let done = place.run(&line)?.succeeded()?;
    let expected = "patient_id,name,region,matched,site_b.amount,matched_2,site_b.amount_2,matched_3,\
                    site_b.amount_3\nzed,\"Zed, A\",2,1,31,0,,0,\nann,Ann,0,0,,0,,0,\n\
                    bob,Bob,1,1,70,1,1,1,5\ncid,Cid,0,0,,0,,0,\n";
    assert_eq!(done.stdout, expected);
    let line = format!(
        "{join} --param left=region:u8 --param repeats=3 --param result=count,sum,mean --param \
         value=amount --param by=region --param categories=3"
    );
    let done = place.run(&line)?.succeeded()?;
    let expected = "region,count,sum,mean\n0,0,0,0\n1,3,76,25.33333\n2,1,31,31\n";
    assert_eq!(done.stdout, expected);
    let few = line.replace("categories=3", "categories=2");
    place
        .run(&few)?
        .failed_with(8)?
        .says("patients.csv:2: column 'region': '2' is not within 0 to 1")?;
    Ok(())
}

/// A join costs at most 1.1 times a merge of as many rows that are as wide as those that are joined: a
/// key of 32 bits and 96 bits of payload.
#[test]
fn a_join_costs_little_more_than_a_merge() -> Result {
    let place = Place::new()?;
    for n in [1_000, 4_096, 20_000] {
        let ands = |line: &str| -> Result<u64> {
            let line = format!("explain {line} --param n={n} --memory 8GiB --json");
            let document = place.run(&line)?.succeeded()?.document()?;
            Ok(document["plan"]["costs"]["and_gates"].as_u64().ok_or("and_gates")?)
        };
        let join = ands("join --param key=id:u32 --param left=a:u48 --param right=b:u48")?;
        let merge = ands("merge")?;
        assert!(10 * join <= 11 * merge, "{n}: {join} ANDs for {merge}");
    }
    let line = "explain join --param key=id:text --param right=b:u48 --param to=site_a";
    let explained = place.run(line)?.succeeded()?.stdout;
    let sentence = "learns    site_a learns which of its rows have a partner, and site_b's b of that \
                    row; all learn how many rows each brings, and nothing else\n";
    assert!(explained.contains(sentence), "{explained}");
    Ok(())
}
