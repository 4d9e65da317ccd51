//! `id`: the keys by which parties know each other.

use std::path::Path;

use phineus_channels::{Fingerprint, Identity, TrustStore};
use phineus_session::failure::{Failure, codes};
use serde_json::json;

use crate::arguments::{IdAction, IdArguments};
use crate::output::Console;

/// Does what the user asks with keys.
pub(crate) fn run(id: &IdArguments, console: &Console) -> Result<(), Failure> {
    match &id.action {
        IdAction::Init { name } => {
            let identity = Identity::create(&id.id_dir, name)?;
            console.say(&format!("made {}; the private key stays there", id.id_dir.display()));
            print(console, &identity)
        }
        IdAction::Show { name } => {
            let name = match name {
                Some(name) => name.clone(),
                None => only_name(&id.id_dir)?,
            };
            print(console, &Identity::load(&id.id_dir, &name)?)
        }
        IdAction::Trust { name, fingerprint } => trust(&id.id_dir, name, fingerprint, console),
        IdAction::Untrust { name } => {
            if TrustStore::load(&id.id_dir)?.untrust(name)? {
                console.say(&format!("{name} is trusted no more"));
                if console.is_json {
                    console.document(json!({ "name": name, "trusted": false }));
                }
                return Ok(());
            }
            let message = format!("no key is trusted for {name}");
            Err(Failure::new(codes::NOT_TRUSTED, message))
        }
        IdAction::List => list(&id.id_dir, console),
    }
}

fn print(console: &Console, identity: &Identity) -> Result<(), Failure> {
    let (name, fingerprint) = (identity.name(), identity.fingerprint().to_string());
    if console.is_json {
        console.document(json!({ "name": name, "fingerprint": fingerprint }));
        return Ok(());
    }
    console.print(&format!("{name}  fingerprint  {fingerprint}"))?;
    console.say(
        "tell it to the others over another channel (by phone, in person); they compare it, then:",
    );
    console.say(&format!("  phineus id trust {name} {fingerprint}"));
    Ok(())
}

fn trust(
    directory: &Path,
    name: &str,
    fingerprint: &str,
    console: &Console,
) -> Result<(), Failure> {
    let fingerprint: Fingerprint = fingerprint
        .parse()
        .map_err(|error| Failure::new(codes::NOT_A_FINGERPRINT, format!("{error}")))?;
    let is_new = TrustStore::load(directory)?.trust(name, fingerprint)?;
    if console.is_json {
        let fingerprint = fingerprint.to_string();
        console.document(json!({ "name": name, "fingerprint": fingerprint, "trusted": true }));
    }
    console.say(&match is_new {
        true => format!("{name} is trusted with {fingerprint}"),
        false => format!("{name} was trusted with {fingerprint} already"),
    });
    Ok(())
}

/// Names of the keys in `directory`.
fn names(directory: &Path) -> Vec<String> {
    let files = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = files
        .filter_map(|file| file.file_name().to_str()?.strip_suffix(".key.pem").map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn only_name(directory: &Path) -> Result<String, Failure> {
    let names = names(directory);
    match names.as_slice() {
        [name] => Ok(name.clone()),
        [] => {
            Err(Failure::new(codes::NO_KEY, format!("there is no key in {}", directory.display()))
                .remedy("make one with `phineus id init NAME`"))
        }
        several => {
            let message = format!("there are several keys, say which: {}", several.join(", "));
            Err(Failure::new(codes::WHICH_KEY, message))
        }
    }
}

fn list(directory: &Path, console: &Console) -> Result<(), Failure> {
    let own = names(directory)
        .into_iter()
        .map(|name| Ok((name.clone(), Identity::load(directory, &name)?.fingerprint().to_string())))
        .collect::<Result<Vec<_>, Failure>>()?;
    let store = TrustStore::load(directory)?;
    let trusted: Vec<(String, String)> =
        store.iter().map(|(name, key)| (name.to_owned(), key.to_string())).collect();
    if console.is_json {
        let object = |list: &[(String, String)]| -> serde_json::Map<_, _> {
            list.iter().map(|(name, key)| (name.clone(), key.clone().into())).collect()
        };
        console.document(json!({ "own": object(&own), "trusted": object(&trusted) }));
        return Ok(());
    }
    for (name, key) in &own {
        console.print(&format!("own      {name:<16} {key}"))?;
    }
    for (name, key) in &trusted {
        console.print(&format!("trusted  {name:<16} {key}"))?;
    }
    if own.is_empty() && trusted.is_empty() {
        console.say(&format!("there are no keys in {}", directory.display()));
    }
    Ok(())
}
