//! The parties, their connections and the protocol.

use std::path::PathBuf;

use clap::Args;
use phineus_channels::{NetworkModel, Transport};
use phineus_session::settings::{self, OtExtension, ProtocolChoice};

use super::choices::{VariantArguments, choice};
use super::parse_network;

/// The parties, their addresses and the protocol.
#[derive(Args, Clone)]
pub(crate) struct PartyArguments {
    /// Run all parties on this machine, each in its own process
    #[arg(long, conflicts_with_all = ["as_party", "cluster"])]
    pub(crate) local: bool,
    /// The name of this party in cluster.toml
    #[arg(long = "as", value_name = "NAME", env = "PHINEUS_AS")]
    pub(crate) as_party: Option<String>,
    /// The file with the names and addresses of the parties
    #[arg(long, value_name = "FILE", env = "PHINEUS_CLUSTER", default_value = "cluster.toml")]
    pub(crate) cluster: PathBuf,
    /// Directory of the keys
    #[arg(long, value_name = "DIR", env = "PHINEUS_ID_DIR", default_value = "phineus-id")]
    pub(crate) id_dir: PathBuf,
    /// The protocol
    #[arg(long, value_name = "NAME", default_value = "garbled", env = "PHINEUS_PROTOCOL")]
    #[arg(value_parser = choice::<ProtocolChoice>())]
    pub(crate) protocol: ProtocolChoice,
    /// A name for this run, such as an order number; all parties must state the same
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    #[arg(env = "PHINEUS_LABEL")]
    pub(crate) label: String,
    /// The OT extension that makes triples; all parties must state the same
    #[arg(long, value_name = "NAME", default_value = "softspoken", env = "PHINEUS_OT")]
    #[arg(value_parser = choice::<OtExtension>())]
    pub(crate) ot: OtExtension,
    #[command(flatten)]
    pub(crate) variants: VariantArguments,
    /// The key file of stored preprocessing; made if it does not exist, readable only by its owner
    /// [default: stored.key in --id-dir; with --local NAME.key beside each file]
    #[arg(long, value_name = "FILE", env = "PHINEUS_STORED_KEY")]
    pub(crate) stored_key: Option<PathBuf>,
    /// Simulate a slower network, such as rtt=40ms,bw=100mbit
    #[arg(long, value_name = "MODEL", env = "PHINEUS_SIMULATE", value_parser = parse_network)]
    pub(crate) simulate: Option<NetworkModel>,
    /// Seconds to wait for the other parties to connect
    #[arg(long, value_name = "SECONDS", default_value_t = 60, env = "PHINEUS_TIMEOUT")]
    pub(crate) timeout: u64,
    /// Connect without TLS; refused unless all parties are on this machine
    #[arg(long)]
    pub(crate) plain: bool,
    /// The transport, `tcp` or `quic`, instead of the one in cluster.toml
    #[arg(long, value_name = "NAME", value_parser = parse_transport, env = "PHINEUS_TRANSPORT")]
    pub(crate) transport: Option<Transport>,
    /// Print machine-readable progress to stdout and write results to this directory (used by `--local`)
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) child: Option<PathBuf>,
}

impl PartyArguments {
    pub(crate) fn settings(&self) -> settings::Participation {
        let together = self.clone();
        settings::Participation {
            as_party: together.as_party,
            connections: settings::Connections::Cluster(settings::Cluster {
                file: together.cluster,
                id_dir: together.id_dir,
                plain: together.plain,
                transport: together.transport,
            }),
            protocol: together.protocol,
            label: together.label,
            ot: together.ot,
            variants: together.variants.choices(),
            stored_key: together.stored_key,
            simulate: together.simulate,
            timeout_s: together.timeout,
            is_all_ours: together.child.is_some(),
        }
    }
}

fn parse_transport(text: &str) -> Result<Transport, String> {
    Transport::from_name(text).ok_or_else(|| "the transports are `tcp` and `quic`".to_owned())
}
