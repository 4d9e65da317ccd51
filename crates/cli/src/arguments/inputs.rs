//! Options about inputs: who brings them, and how files are read.

use clap::Args;
use phineus_session::choices::RepeatKeys;
use phineus_session::settings;

use super::choices::choice;

/// Computing parties and clients.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OutsourcingArguments {
    /// The computing parties, as in s1,s2,s3; with --local also their number, as in 3. All others are
    /// clients: they share their inputs and learn outputs. [default: those of cluster.toml, or else the
    /// program's parties]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', env = "PHINEUS_COMPUTING")]
    computing: Vec<String>,
    /// The owners of the inputs, if they are not the program's parties: by input or party as in
    /// probe=alice, or one name for each party that brings an input
    #[arg(long, value_name = "[INPUT=]NAME,...", value_delimiter = ',')]
    inputs_from: Vec<String>,
    /// The receivers of the outputs, if they are not the program's parties: by output as in
    /// match=alice, or the names of those who learn all outputs
    #[arg(long, value_name = "[OUTPUT=]NAME,...", value_delimiter = ',')]
    outputs_to: Vec<String>,
}

impl OutsourcingArguments {
    pub(crate) fn settings(self) -> settings::Outsourcing {
        let OutsourcingArguments { computing, inputs_from, outputs_to } = self;
        settings::Outsourcing { computing, inputs_from, outputs_to }
    }
}

/// How input files are read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ReadingArguments {
    /// Read a column of the program from a column of another name in the file, as in
    /// element=patient_id; for one input only: site_a.element=patient_id. Columns of .npy files are
    /// numbered from 0
    #[arg(long = "column", value_name = "[INPUT.]WANTED=FOUND")]
    columns: Vec<String>,
    /// Treatment of rows that repeat a key of their table, if the program expects each key once. If
    /// equal rows are counted once, the other parties see how many rows remain
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = choice::<RepeatKeys>())]
    repeat_keys: RepeatKeys,
}

impl ReadingArguments {
    pub(crate) fn settings(self) -> settings::Reading {
        let ReadingArguments { columns, repeat_keys } = self;
        settings::Reading { columns, repeat_keys, text_key: None }
    }
}
