//! The least limit of a run of all parties in one process, whose memory nobody else uses.

use phineus_session::party::run_all;
use phineus_session::progress::Progress;
use phineus_session::registry::Registry;
use phineus_session::settings::{
    InputTable, MemoryLimit, ProgramChoice, ProtocolChoice, Run, protocols,
};
use phineus_tables::MemoryTable;

#[test]
fn what_is_stated_is_enough() {
    let registry = Registry::built_in();
    let table = |name: &str| {
        let elements: Vec<u64> = (0..2000).map(|k| k * 3).collect();
        InputTable::source(name, MemoryTable::new(name).with("element", elements))
    };
    let mut run = Run {
        choice: ProgramChoice { program: Some("psi".to_owned()), ..ProgramChoice::default() },
        inputs: vec![table("site_a"), table("site_b")],
        ..Run::default()
    };
    run.together.protocol = ProtocolChoice::This(protocols::GMW);
    let own_bytes = phineus_engine::resident_bytes().expect("Linux states it");
    run.resources.memory = MemoryLimit::Process(own_bytes + (24 << 20));
    let refused = run_all(&registry, &run, &Progress::unheard()).err().expect("it is too little");
    let needed = refused.needed_bytes.expect("more memory mends it");
    assert!(needed > run.resources.memory.bytes(), "{refused:?}");
    let said = format!("resources.memory {}MiB", needed >> 20);
    assert!(refused.remedy.expect("it is stated").to_string().contains(&said));
    // The heap has grown since then.
    run.resources.memory = MemoryLimit::Process(needed + (2 << 20));
    let answer = run_all(&registry, &run, &Progress::unheard());
    answer.unwrap_or_else(|failure| panic!("{needed} bytes: {failure:?}"));
}
