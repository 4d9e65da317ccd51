//! Options about inputs: who brings them, and how files are read.

use clap::Args;
use phineus_session::choices::RepeatKeys;
use phineus_session::settings;

use super::choices::choice;

/// Who computes for whom.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Outsourcing {
    /// Who computes, as in s1,s2,s3; with --local also how many, as in 3. The others are clients:
    /// they share their inputs and learn outputs. [default: cluster.toml, else the program's parties]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', env = "PHINEUS_COMPUTING")]
    computing: Vec<String>,
    /// Who brings inputs, if not the program's parties: by input or party as in probe=alice, or a
    /// name for each party that brings any
    #[arg(long, value_name = "[INPUT=]NAME,...", value_delimiter = ',')]
    inputs_from: Vec<String>,
    /// Who learns outputs, if not the program's parties: by output as in match=alice, or names of
    /// those who learn all
    #[arg(long, value_name = "[OUTPUT=]NAME,...", value_delimiter = ',')]
    outputs_to: Vec<String>,
}

impl Outsourcing {
    pub(crate) fn settings(self) -> settings::Outsourcing {
        let Outsourcing { computing, inputs_from, outputs_to } = self;
        settings::Outsourcing { computing, inputs_from, outputs_to }
    }
}

/// How input files are read.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Reading {
    /// Take a column that the program wants from a column of another name, as in
    /// element=patient_id; for one input only: site_a.element=patient_id. Columns of .npy files are
    /// numbered from 0
    #[arg(long = "column", value_name = "[INPUT.]WANTED=FOUND")]
    columns: Vec<String>,
    /// Rows that repeat a key of their own table, where the program wants each key
    /// once: refuse the run, or count equal rows once, so that the others see how many remain
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = choice::<RepeatKeys>())]
    repeat_keys: RepeatKeys,
}

impl Reading {
    pub(crate) fn settings(self) -> settings::Reading {
        let Reading { columns, repeat_keys } = self;
        settings::Reading { columns, repeat_keys, text_key: None }
    }
}
