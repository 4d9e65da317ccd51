//! What must be equal at all parties after each has traced the program.

use std::collections::BTreeMap;

use phineus_bytecode::binary::FORMAT_VERSION;
use phineus_bytecode::{Description, InputPort, OutputPort};
use phineus_channels::CONTROL_BYTES_MAX;
use phineus_ot::SessionId;
use sha2::{Digest, Sha256};

use super::{Difference, Peers, SESSION, exchange, parse, settle};
use crate::failure::Failure;

/// Items that must be equal, by name: the program's hash and, for messages, what it covers.
pub fn agreement(
    program_hash: &str,
    description: &Description,
    protocol: &str,
    computing: usize,
) -> BTreeMap<String, String> {
    let mut items = BTreeMap::new();
    let mut add = |name: String, value: String| {
        items.insert(name, value);
    };
    add("parties".to_owned(), description.parties.join(", "));
    for port in &description.inputs {
        add(format!("input '{}'", port.name), describe_input(description, port));
    }
    for (index, port) in description.outputs.iter().enumerate() {
        if description.is_opened(index) {
            let element = port.columns[0].element.to_string();
            add(format!("what is opened at run time, '{}'", port.name), element);
        } else {
            add(format!("output '{}'", port.name), describe_output(description, port));
        }
    }
    if description.registers > 0 {
        let what = "registers that are opened inside the program".to_owned();
        add(what, description.registers.to_string());
    }
    let told = description.permutations.iter();
    let told = told.filter(|permutation| permutation.kind.is_told()).count();
    if told > 0 {
        add("permutations that a party is told".to_owned(), told.to_string());
    }
    let size: usize = items.iter().map(|(name, value)| name.len() + value.len() + 16).sum();
    if size > CONTROL_BYTES_MAX / 2 {
        // The hash covers them.
        items.clear();
    }
    items.insert("format version".to_owned(), FORMAT_VERSION.to_string());
    items.insert("protocol".to_owned(), protocol.to_owned());
    items.insert("the number of those who compute".to_owned(), computing.to_string());
    items.insert("program hash".to_owned(), program_hash.to_owned());
    items
}

/// Adds the session's name to what must be equal: links of two runs of the same parties that got
/// crossed, or somebody who told others something else than us, show in nothing else.
pub fn add_session(items: &mut BTreeMap<String, String>, session: &SessionId) {
    // What is derived from the session stays apart from what is sent.
    let digest = Sha256::new().chain_update(b"phineus agreement").chain_update(session.as_bytes());
    let digest: [u8; 32] = digest.finalize().into();
    let name = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    items.insert(SESSION.to_owned(), name);
}

fn describe_input(description: &Description, port: &InputPort) -> String {
    let party = &description.parties[usize::from(port.party)];
    format!("{} rows of {} columns from {party}", port.rows, port.columns.len())
}

fn describe_output(description: &Description, port: &OutputPort) -> String {
    let name = |&party: &u16| description.parties[usize::from(party)].as_str();
    let parties: Vec<&str> = port.parties.iter().map(name).collect();
    let columns: Vec<&str> = port.columns.iter().map(|column| column.name.as_str()).collect();
    format!("{} rows of {} to {}", port.rows, columns.join(","), parties.join(" and "))
}

/// Compares what came out at all parties.
///
/// # Errors
/// Exit 7 with all that differs.
pub fn exchange_agreement(
    channels: &mut Peers,
    ours: &BTreeMap<String, String>,
) -> Result<(), Failure> {
    let message = serde_json::to_vec(ours).expect("an agreement is text");
    let mut differences = Vec::new();
    for (peer, answer) in exchange(channels.iter_mut().flatten(), &message)? {
        let theirs: BTreeMap<String, String> = parse(&peer, &answer)?;
        let none = "nothing".to_owned();
        let names: std::collections::BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
        for what in names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name)) {
            let value = |items: &BTreeMap<String, String>| items.get(what).unwrap_or(&none).clone();
            let (peer, what) = (peer.clone(), what.clone());
            differences.push(Difference { ours: value(ours), theirs: value(&theirs), peer, what });
        }
    }
    if differences.iter().any(|difference| difference.what != SESSION) {
        // It follows from the other differences.
        differences.retain(|difference| difference.what != SESSION);
    }
    settle(channels, &differences)
}
