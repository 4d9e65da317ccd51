//! Who takes part in a run, and the connections between them.

use std::time::Duration;

use phineus_bytecode::Description;
use phineus_channels::{
    ClusterConfig, FramedChannel, Mesh, MeshSettings, PARTIES_MAX, Security, Timeouts, connect_mesh,
};

use crate::arguments::{Protocol, ProtocolChoice, Together};
use crate::failure::{Exit, Failure};
use crate::progress::Progress;

/// What is needed to meet the other parties.
pub(crate) struct Meeting<'a> {
    pub(crate) cluster: &'a ClusterConfig,
    /// The names of the parties in the cluster, in the order of the program.
    pub(crate) members: &'a [String],
    /// Which of them this is.
    pub(crate) party: u16,
    pub(crate) security: &'a Security,
}

/// Streams between each two parties.
pub(crate) fn streams(protocol: Protocol) -> u16 {
    match protocol {
        // Its transfers are in the stream of its gates.
        Protocol::Garbled | Protocol::Clear => 1,
        // Openings, and what is made in the background.
        Protocol::Gmw | Protocol::Arith => 2,
        // And garbling.
        Protocol::Bmr | Protocol::Mixed => STREAMS_MAX,
    }
}

/// Streams that any protocol takes.
const STREAMS_MAX: u16 = 3;

/// Connects all parties; by stream and by party of the program.
pub(crate) fn meet(
    together: &Together,
    meeting: &Meeting<'_>,
    progress: &Progress,
) -> Result<Mesh, Failure> {
    let connect_timeout = Duration::from_secs(together.timeout.max(1));
    let names: Vec<&str> = meeting.members.iter().map(String::as_str).collect();
    let cluster = meeting.cluster.only(&names);
    let settings = MeshSettings {
        cluster: &cluster,
        me: names[usize::from(meeting.party)],
        streams: match together.protocol {
            ProtocolChoice::This(Protocol::Garbled | Protocol::Clear) => 1,
            // Which protocol it is will be agreed on, or chosen, when all are there.
            _ => STREAMS_MAX,
        },
        security: meeting.security,
        program_version: concat!("phineus ", env!("CARGO_PKG_VERSION")),
        timeouts: Timeouts { connect: connect_timeout, ..Timeouts::default() },
        network: together.simulate,
    };
    let mut on_wait = |waiting: &phineus_channels::Waiting<'_>| {
        progress.waiting(&waiting.missing.join(", "), waiting.elapsed);
    };
    let mesh = connect_mesh(&settings, &mut on_wait)
        .map_err(|error| Failure::from(error).revealed("nothing was revealed"))?;
    if together.child.is_none() {
        for peer in names.iter().filter(|name| **name != settings.me) {
            progress.note(&format!("{peer} connected, identity ok"));
        }
    }
    let place = |name: &&str| cluster.index_of(name).expect("the cluster has all members");
    let ordered = |mut row: Vec<Option<FramedChannel>>| {
        names.iter().map(|name| row[place(name)].take()).collect()
    };
    Ok(mesh.into_iter().map(ordered).collect())
}

/// Closes the streams that `protocol` does not take, at all parties at once.
///
/// # Errors
/// When a peer does not close them.
pub(crate) fn close_unused(mesh: &mut Mesh, protocol: Protocol) -> Result<(), Failure> {
    let unused = mesh.drain(usize::from(streams(protocol)).min(mesh.len())..);
    for channel in unused.flatten().flatten() {
        channel.close()?;
    }
    Ok(())
}

/// Which party of the program `me` is, and who all are: by name if the program's names are those
/// of the cluster, else by position.
pub(crate) fn roles(
    description: &Description,
    cluster: &ClusterConfig,
    me: &str,
) -> Result<(u16, Vec<String>), Failure> {
    let names = &description.parties;
    let by_name = names.iter().all(|name| cluster.index_of(name).is_some());
    let members: Vec<&str> = if by_name {
        names.iter().map(String::as_str).collect()
    } else {
        cluster.parties().iter().map(|party| party.name.as_str()).collect()
    };
    if !by_name && members.len() != names.len() {
        let message = format!(
            "the program is for {}, and cluster.toml has {}",
            names.join(" and "),
            members.join(", ")
        );
        return Err(Failure::new(Exit::Usage, 146, message)
            .remedy("name the parties in cluster.toml as the program does"));
    }
    match members.iter().position(|member| *member == me) {
        Some(party) => Ok((party as u16, members.into_iter().map(str::to_owned).collect())),
        None => {
            let message = format!("{me} is not a party here; there are {}", members.join(" and "));
            Err(Failure::new(Exit::Usage, 143, message).remedy("check the name given with --as"))
        }
    }
}

/// Refuses programs for a number of parties that the protocol cannot have.
pub(crate) fn check_parties(protocol: Protocol, description: &Description) -> Result<(), Failure> {
    let count = description.parties.len();
    let message = match protocol {
        Protocol::Garbled if count != 2 => {
            format!("garbled circuits are for two parties, this program has {count}")
        }
        protocol if protocol.is_shared() && !(2..=PARTIES_MAX).contains(&count) => {
            format!("this protocol is for 2 to {PARTIES_MAX} parties, this program has {count}")
        }
        _ => return Ok(()),
    };
    let failure = Failure::new(Exit::ProgramRefused, 130, message);
    Err(match protocol {
        Protocol::Garbled => failure.remedy("run it with --protocol gmw or bmr"),
        _ => failure,
    })
}
