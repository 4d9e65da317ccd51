//! Parquet and Arrow files as inputs and outputs of runs.

mod common;

use std::path::Path;

use common::{Place, Result};
use phineus_tables::{
    CellType, Content, Format, Input, OwnColumn, OwnRows, ResultHeader, TableCell, open, sink,
};

const PATIENTS: [[&str; 2]; 4] =
    [["zed", "Zed, A"], ["ann", "Ann"], ["bob", "Bob"], ["cid", "Cid"]];
const CLAIMS: [[&str; 2]; 3] = [["1", "bob"], ["2", "eve"], ["3", " zed "]];

/// A file of text columns.
fn write(place: &Place, name: &str, header: [&str; 2], rows: &[[&str; 2]]) -> Result {
    let mut bytes = Vec::new();
    {
        let mut sink = sink(Format::of(Path::new(name)), &mut bytes);
        let own = header.map(|name| OwnColumn { name: name.to_owned(), cell_type: CellType::Text });
        sink.begin(&ResultHeader { own: &own, columns: &[], rows: rows.len() as u64 })?;
        for row in rows {
            sink.row(&row.map(|text| TableCell::Text(text.into())), &[])?;
        }
        sink.end()?;
    }
    place.write(name, bytes)
}

/// The header and the rows of a file as text.
fn rows(place: &Place, name: &str) -> Result<Vec<Vec<String>>> {
    let input = Input::count(open(Content::Path(place.file(name)))?)?;
    let mut rows = OwnRows::open(&input)?;
    let mut all = vec![rows.columns().into_iter().map(|own| own.name).collect()];
    for _ in 0..input.rows {
        all.push(rows.next_row()?.iter().map(TableCell::shown).collect());
    }
    Ok(all)
}

#[test]
fn tables_of_parquet_and_arrow_are_joined() -> Result {
    for (ours, theirs, result) in [
        ("patients.parquet", "claims.arrow", "own.parquet"),
        ("patients.arrows", "claims.parquet", "own.arrow"),
        ("patients.csv", "claims.parquet", "own.arrows"),
    ] {
        let place = Place::new()?;
        write(&place, ours, ["patient_id", "name"], &PATIENTS)?;
        write(&place, theirs, ["claim", "patient_id"], &CLAIMS)?;
        let line = format!(
            "run join --local --verify --report none --in site_a={ours} --in site_b={theirs} --param \
             key=patient_id:text --param right=claim:u32 --param how=left --param to=site_a --out {result}"
        );
        place.run(&line)?.succeeded()?.says("equals the plaintext answer: yes")?;
        let header = ["patient_id", "name", "matched", "site_b.claim"];
        let expected = [
            header,
            ["zed", "Zed, A", "true", "3"],
            ["ann", "Ann", "false", ""],
            ["bob", "Bob", "true", "1"],
            ["cid", "Cid", "false", ""],
        ];
        assert_eq!(rows(&place, result)?, expected, "{result}");
    }
    Ok(())
}

#[test]
fn data_is_generated_and_computed_on_in_every_format() -> Result {
    let place = Place::new()?;
    let mut all = Vec::new();
    for (format, _) in Format::ALL {
        place
            .run(&format!("data intops --param lanes=50 --format {format} --out-dir {format}"))?
            .succeeded()?;
        let line = format!(
            "run intops --local --verify --report none --in {format}/site_a.{format} --in \
             {format}/site_b.{format} --out {format}/r.csv"
        );
        place.run(&line)?.succeeded()?.says("equals the plaintext answer: yes")?;
        all.push(place.read(&format!("{format}/r.csv"))?);
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:?}");
    Ok(())
}

/// The promise holds while files are decoded, too: one whose parts are too large is refused before.
#[test]
fn what_takes_too_much_memory_to_decode_is_refused() -> Result {
    let place = Place::new()?;
    place.write("b.csv", "element\nann\n")?;
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tables/tests/files");
    let whole = std::fs::read(files.join("feather_lz4.arrow"))?;
    // The length to which some buffer decompresses stands before it.
    let decodes_to = |bytes: &[u8]| {
        let input = open(Content::Bytes(bytes.to_vec())).and_then(Input::count);
        input.map_or(0, |input| input.buffer_bytes)
    };
    let large = (0..whole.len() / 8).find_map(|place| {
        let mut bytes = whole.clone();
        bytes[8 * place..][..8].copy_from_slice(&(600u64 << 20).to_le_bytes());
        (decodes_to(&bytes) > 500 << 20).then_some(bytes)
    });
    place.write("a.arrow", large.ok_or("there is such a place")?)?;
    let line =
        "run psi --local --memory 64MiB --in a.arrow --in b.csv --column site_a.element=name";
    let done = place.run(line)?.failed_with(6)?;
    done.says("a.arrow: decoding it takes up to 600.")?.says("E6114")?;
    Ok(())
}

#[test]
fn damaged_files_are_refused_in_a_sentence() -> Result {
    let place = Place::new()?;
    write(&place, "a.parquet", ["patient_id", "name"], &PATIENTS)?;
    let mut bytes = std::fs::read(place.file("a.parquet"))?;
    bytes.truncate(bytes.len() / 2);
    place.write("b.parquet", bytes)?;
    let line = "run psi --local --in a.parquet --in b.parquet --column element=patient_id";
    let done = place.run(line)?.failed_with(8)?;
    assert!(!done.stderr.contains("bug in Phineus"), "{}", done.stderr);
    done.says("b.parquet: is no Parquet table that is understood")?.says("next: write it again")?;
    Ok(())
}
