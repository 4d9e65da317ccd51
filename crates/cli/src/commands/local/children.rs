//! The command lines of the processes of a local run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use phineus_engine::StorageBackend;
use phineus_session::failure::Failure;
use phineus_session::settings::{
    Choice, MemoryLimit, NO_OPTIMISE, Optimisation, PreprocessingMode, Run, network_text,
};
use phineus_tables::is_stdin;

/// The report that a child leaves in its directory.
pub(super) const REPORT: &str = "run.json";

/// A party's stored correlated randomness in the directory of all.
pub(super) fn stored_file(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.prep"))
}

/// The key of a party's stored correlated randomness.
pub(super) fn key_file(run: &Run, directory: &Path, name: &str) -> PathBuf {
    let stated = run.together.stored_key.clone();
    stated.unwrap_or_else(|| directory.join(format!("{name}.key")))
}

/// The command that runs a party whose keys are in its part of `directory`.
pub(super) fn child_command(
    run: &Run,
    directory: &Path,
    name: &str,
    inputs: &[(&str, &str)],
) -> Result<Command, Failure> {
    let own = directory.join(name);
    let together = &run.together;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(if run.making.is_some() { "preprocess" } else { "run" });
    command.args(run.choice.program.as_deref());
    for (parameter, value) in &run.choice.parameters {
        command.arg("--param").arg(format!("{parameter}={value}"));
    }
    command.arg("--as").arg(name);
    command.arg("--cluster").arg(directory.join("cluster.toml"));
    command.arg("--id-dir").arg(&own);
    for (port, file) in inputs {
        command.arg("--in").arg(format!("{port}={file}"));
    }
    if let MemoryLimit::Process(memory) = run.resources.memory {
        command.arg("--memory").arg(memory.to_string());
    }
    if let Some(swap_dir) = &run.resources.swap_dir {
        command.arg("--swap-dir").arg(swap_dir);
    }
    if run.resources.storage != StorageBackend::Auto {
        command.arg("--storage").arg(run.resources.storage.name());
    }
    command.arg("--gpu").arg(run.resources.gpu.name());
    if let Some(network) = &together.simulate {
        command.arg("--simulate").arg(network_text(network));
    }
    command.arg("--protocol").arg(together.protocol.name());
    command.arg("--label").arg(&together.label);
    command.arg("--ot").arg(together.ot.name());
    for (name, value) in together.variants.typed() {
        command.arg(name).arg(value);
    }
    if together.variants.optimisation == Optimisation::Off {
        command.arg(NO_OPTIMISE);
    }
    if run.making.is_none() {
        command.arg("--report").arg(own.join(REPORT));
        command.arg("--max-iterations").arg(run.max_iterations.to_string());
        if let Some(network) = &run.net {
            command.arg("--net").arg(network_text(network));
        }
    }
    let cluster = super::cluster(run);
    if cluster.plain {
        command.arg("--plain");
    }
    if let Some(transport) = cluster.transport {
        command.arg("--transport").arg(transport.name());
    }
    if run.making.is_none() {
        command.arg("--threads").arg(run.threads.to_string());
        if let Some(slice) = run.slice_bytes {
            command.arg("--slice").arg(slice.to_string());
        }
    }
    command.arg("--timeout").arg(together.timeout_s.to_string());
    command.arg("--child").arg(own.join("out"));
    let reads_stdin = inputs.iter().any(|(_, file)| is_stdin(file));
    command.stdin(if reads_stdin { Stdio::inherit() } else { Stdio::null() });
    command.stdout(Stdio::piped());
    Ok(command)
}

/// Further options for computing parties: the source or the destination of their triples.
pub(super) fn preprocessing_options(command: &mut Command, run: &Run, name: &str) {
    let key = |directory: &Path| key_file(run, directory, name);
    if let Some(making) = &run.making {
        for (port, rows) in &making.rows {
            command.arg("--rows").arg(format!("{port}={rows}"));
        }
        command.arg("--out").arg(stored_file(&making.out, name));
        command.arg("--stored-key").arg(key(&making.out));
        return;
    }
    match &run.preprocessing {
        PreprocessingMode::Stored(directory) => {
            let file = stored_file(directory, name);
            command.arg("--preprocessing").arg(format!("stored={}", file.display()));
            command.arg("--stored-key").arg(key(directory));
        }
        other => {
            command.arg("--preprocessing").arg(other.name());
        }
    }
}
