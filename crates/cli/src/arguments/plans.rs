//! Commands that look at programs and plans: `explain`, `plan`, `show` and `check`.

use std::path::PathBuf;

use clap::Args;
use phineus_channels::NetworkModel;
use phineus_session::settings::{OtExtension, Protocol};

use super::choices::{OtChoice, VariantArguments, choice};
use super::inputs::OutsourcingArguments;
use super::parse_network;
use super::program::{ProgramArguments, ResourceArguments, RowCountArguments};

#[derive(Args, Clone)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    #[command(flatten)]
    pub(crate) outsourcing: OutsourcingArguments,
    #[command(flatten)]
    pub(crate) sizes: RowCountArguments,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// The network to predict the time for
    #[arg(long, value_name = "MODEL", value_parser = parse_network)]
    pub(crate) net: Option<NetworkModel>,
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "garbled", env = "PHINEUS_PROTOCOL")]
    #[arg(value_parser = choice::<Protocol>())]
    pub(crate) protocol: Protocol,
    /// The OT extension that makes triples
    #[arg(long, value_name = "NAME", default_value = "softspoken", env = "PHINEUS_OT")]
    #[arg(value_parser = choice::<OtChoice>())]
    pub(crate) ot: OtChoice,
    #[command(flatten)]
    pub(crate) variants: VariantArguments,
    /// State the costs of a run with `--fake-preprocessing`: correlated randomness from a simulated
    /// trusted dealer, NO SECURITY
    #[arg(long)]
    pub(crate) fake_preprocessing: bool,
    /// Compare these protocols, as in gmw,bmr,mixed
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', conflicts_with = "protocol")]
    #[arg(value_parser = choice::<Protocol>())]
    pub(crate) protocols: Vec<Protocol>,
    /// List the source lines that cost the most ANDs, with widths and what would make them cheaper
    #[arg(long, conflicts_with = "protocols")]
    pub(crate) why: bool,
}

#[derive(Args, Clone)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    #[command(flatten)]
    pub(crate) outsourcing: OutsourcingArguments,
    #[command(flatten)]
    pub(crate) sizes: RowCountArguments,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "garbled", env = "PHINEUS_PROTOCOL")]
    #[arg(value_parser = choice::<Protocol>())]
    pub(crate) protocol: Protocol,
    /// The OT extension that makes triples
    #[arg(long, value_name = "NAME", default_value = "softspoken", env = "PHINEUS_OT")]
    #[arg(value_parser = choice::<OtExtension>())]
    pub(crate) ot: OtExtension,
    #[command(flatten)]
    pub(crate) variants: VariantArguments,
    /// The file for the plan
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// A file for the program before planning, for `check`
    #[arg(long, value_name = "FILE")]
    pub(crate) program_out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct ShowArguments {
    /// A traced or planned file, a .phi, a circuit or a built-in name
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    /// Print only the description, without instructions
    #[arg(long)]
    pub(crate) description: bool,
}

#[derive(Args)]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    pub(crate) choice: ProgramArguments,
    /// The program of the plan, if the plan's name and parameters do not identify it
    #[arg(long = "program", value_name = "PROGRAM")]
    pub(crate) source: Option<String>,
}
