//! Role assignment: parties that compute, and clients, which only share inputs and learn outputs.
//!
//! A program names its own parties. Without more they are those who compute. `--computing` (or
//! `computing` in cluster.toml) lets others compute; `--inputs-from` and `--outputs-to` say who
//! brings an input and who learns an output. The program is then run with those who compute as its
//! first parties and the clients after them: the instructions stay the same, the description
//! changes, and with it the hash that all agree on.

mod owners;

use std::collections::BTreeMap;
use std::sync::Arc;

use phineus_bytecode::binary::finish_blocks;
use phineus_bytecode::{Description, FileKind, FileSummary, ProgramWriter};
use phineus_channels::{ClusterConfig, PARTIES_MAX, check_name};
use phineus_plan::Scratch;

use crate::failure::{Failure, Remedy, RunField, codes};
use crate::program_file::ProgramFile;
use crate::settings::Outsourcing;
use crate::traced::{TracedBlocks, TracedFile};

use owners::owners;

/// Who takes part.
#[derive(Clone, Debug)]
pub struct Roles {
    /// Those who compute, then the clients: by their names in the cluster.
    pub members: Vec<String>,
    /// How many of them compute.
    pub computing: usize,
    /// Who takes whose place; nothing if the parties of the program compute.
    recast: Option<RenamedRoles>,
}

/// Members by what the program calls them.
#[derive(Clone, Debug)]
struct RenamedRoles {
    inputs: BTreeMap<String, u16>,
    outputs: BTreeMap<String, Vec<u16>>,
}

impl Roles {
    /// The parties of `description` compute, under these names.
    pub fn plain(members: Vec<String>) -> Roles {
        Roles { computing: members.len(), members, recast: None }
    }

    /// Casts the program that `description` describes; among the parties of `cluster`, or of any
    /// names on one machine.
    ///
    /// # Errors
    /// Names that nobody has, or too many parties.
    pub fn new(
        description: &Description,
        options: &Outsourcing,
        cluster: Option<&ClusterConfig>,
    ) -> Result<Roles, Failure> {
        if description.plan.is_some() {
            return Roles::of_plan(description, description.computing(), options, cluster);
        }
        let stated = computing(options, cluster)?;
        if stated.is_none() && !options.is_stated() {
            return program_names(description, cluster, None, &[]).map(Roles::plain);
        }
        let owners = owners(description, options, cluster, stated.as_deref())?;
        let computing = match stated {
            Some(names) => names,
            None => program_names(description, cluster, None, &[])?,
        };
        let mut members = computing.clone();
        let all = owners.inputs.iter().chain(owners.outputs.iter().flatten());
        for name in all {
            if !members.contains(name) {
                members.push(name.clone());
            }
        }
        if members.len() > PARTIES_MAX {
            let message = format!("{} parties take part, at most {PARTIES_MAX} can", members.len());
            return Err(Failure::usage(message));
        }
        check_members(&members, cluster)?;
        let known = |name: &String| {
            let place = members.iter().position(|member| member == name);
            place.expect("all owners are members") as u16
        };
        let learners = |names: &Vec<String>| {
            let mut places: Vec<u16> = names.iter().map(known).collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        let inputs = description.inputs.iter().map(|port| port.name.clone());
        let outputs = description.outputs.iter().map(|port| port.name.clone());
        let recast = RenamedRoles {
            inputs: inputs.zip(owners.inputs.iter().map(known)).collect(),
            outputs: outputs.zip(owners.outputs.iter().map(learners)).collect(),
        };
        Ok(Roles { members, computing: computing.len(), recast: Some(recast) })
    }

    /// A plan says itself who computes.
    fn of_plan(
        description: &Description,
        computing: usize,
        options: &Outsourcing,
        cluster: Option<&ClusterConfig>,
    ) -> Result<Roles, Failure> {
        let wanted = self::computing(options, cluster)?;
        let is_other = wanted.is_some_and(|names| names != description.parties[..computing]);
        if is_other || !options.inputs_from.is_empty() || !options.outputs_to.is_empty() {
            let names = description.parties[..computing].join(", ");
            let message = format!("the plan is for {names} to compute, on the inputs it names");
            return Err(Failure::new(codes::PLAN_FOR_OTHER_ROLES, message)
                .remedy("run it without these options, or plan it again with them"));
        }
        if computing == description.parties.len() {
            return program_names(description, cluster, None, &[]).map(Roles::plain);
        }
        check_members(&description.parties, cluster)?;
        Ok(Roles { members: description.parties.clone(), computing, recast: None })
    }

    /// Who is whom, where the program's parties have other names here and are taken in their order.
    pub fn roles(&self, description: &Description) -> Option<String> {
        let is_other = self.recast.is_none() && self.members != description.parties;
        let each = self.members.iter().zip(&description.parties);
        let each: Vec<String> = each.map(|(name, role)| format!("{name} is '{role}'")).collect();
        is_other.then(|| format!("in this program {}", each.join(", ")))
    }

    /// How many clients there are.
    pub fn clients(&self) -> usize {
        self.members.len() - self.computing
    }

    /// Whether this member is a client.
    pub fn is_client(&self, member: u16) -> bool {
        usize::from(member) >= self.computing
    }

    /// The place of the member of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn place(&self, name: &str) -> Result<u16, Failure> {
        let place = self.members.iter().position(|member| member == name);
        place.map(|place| place as u16).ok_or_else(|| {
            let members = self.members.join(" and ");
            let message = format!("{name} is not a party here; there are {members}");
            Failure::new(codes::NO_SUCH_PARTY, message)
                .remedy(Remedy::new("check the name given with ").field(RunField::AsParty))
        })
    }

    /// Those who compute, by name.
    pub fn computing_names(&self) -> &[String] {
        &self.members[..self.computing]
    }

    /// Gives the ports of a description of the program to the members.
    ///
    /// # Errors
    /// If it has a port that it did not have when it was cast: nobody was said to own that.
    pub fn apply(&self, description: &mut Description) -> Result<(), Failure> {
        let Some(recast) = &self.recast else { return Ok(()) };
        description.parties = self.members.clone();
        let unknown = |name: &str| {
            let message = format!("'{name}' is there for some sizes only, so nobody can own it");
            Failure::new(codes::NO_OWNER, message)
        };
        for port in &mut description.inputs {
            let owner = recast.inputs.get(&port.name);
            port.party = *owner.ok_or_else(|| unknown(&port.name))?;
        }
        let opened = description.opened.clone();
        for (index, port) in (0..).zip(&mut description.outputs) {
            // What decides on what runs next is known to all, clients too.
            if opened.contains(&index) {
                port.parties = (0..self.members.len() as u16).collect();
                continue;
            }
            let learners = recast.outputs.get(&port.name);
            port.parties.clone_from(learners.ok_or_else(|| unknown(&port.name))?);
        }
        Ok(())
    }

    /// The program as the members run it.
    pub fn recast(&self, traced: TracedFile, scratch: &Scratch) -> Result<TracedFile, Failure> {
        if self.recast.is_none() {
            return Ok(traced);
        }
        let mut description = traced.description.clone();
        self.apply(&mut description)?;
        described(&TracedFile { computing: self.computing, ..traced }, description, scratch)
    }
}

/// The instructions of `traced` under another description.
pub fn described(
    traced: &TracedFile,
    description: Description,
    scratch: &Scratch,
) -> Result<TracedFile, Failure> {
    assert!(traced.kind == FileKind::Program, "a plan is not changed");
    if let Some(blocks) = &traced.blocks {
        return described_blocks((traced, blocks), description, scratch);
    }
    let mut writer = ProgramWriter::new(scratch.file(), FileKind::Program)?;
    traced
        .file
        .reader()?
        .for_each(|instruction| writer.push(instruction).map_err(Failure::from))?;
    let (file, written) = writer.finish(&description)?;
    let file = ProgramFile::new(file);
    Ok(TracedFile { file, description, hash: written.hash, ..traced.clone() })
}

/// Assigns roles in a program of several blocks, which share all ports.
fn described_blocks(
    (traced, blocks): (&TracedFile, &TracedBlocks),
    description: Description,
    scratch: &Scratch,
) -> Result<TracedFile, Failure> {
    // The blocks' own files say nothing of ports.
    let mut blocks = blocks.of_program(&Arc::new(description.of_block()));
    let (mut file, mut written) = (scratch.file(), Vec::new());
    for part in &mut blocks.parts {
        part.computing = traced.computing;
        let (instruction_count, file_bytes) =
            (part.file.reader()?.instruction_count(), part.file.length_bytes()?);
        std::io::copy(&mut part.file.view(), &mut file)?;
        written.push(FileSummary { hash: part.hash, instruction_count, file_bytes });
    }
    let (file, whole) = finish_blocks(file, &written, &description, &blocks.flow)?;
    let (file, hash) = (ProgramFile::new(file), whole.hash);
    let blocks = Some(Arc::new(blocks));
    Ok(TracedFile { file, description, hash, blocks, ..traced.clone() })
}

/// Who computes, if it is stated.
fn computing(
    options: &Outsourcing,
    cluster: Option<&ClusterConfig>,
) -> Result<Option<Vec<String>>, Failure> {
    let names = match (options.computing.as_slice(), cluster) {
        ([], None) => return Ok(None),
        ([], Some(cluster)) => return Ok(cluster.computing().map(<[String]>::to_vec)),
        ([number], None) => match number.parse::<usize>() {
            Ok(count) => (1..=count.min(PARTIES_MAX + 1)).map(|k| format!("server_{k}")).collect(),
            Err(_) => vec![number.clone()],
        },
        (names, _) => names.to_vec(),
    };
    let is_repeated = |(k, name): (usize, &String)| names[..k].contains(name);
    if names.iter().enumerate().any(is_repeated) {
        return Err(Failure::usage("--computing: somebody is named twice"));
    }
    if !(2..=PARTIES_MAX).contains(&names.len()) {
        let message = format!("--computing: 2 to {PARTIES_MAX} parties compute");
        return Err(Failure::usage(message)
            .remedy(Remedy::new("name them, as in ").field(RunField::Computing).and(" s1,s2")));
    }
    Ok(Some(names))
}

/// The names of the program's parties in the cluster: their own if it has them, else those that a
/// local run gives them, else by position among those who do not compute for others.
///
/// A party in `replaced` takes no part itself: others bring its inputs and learn its outputs.
fn program_names(
    description: &Description,
    cluster: Option<&ClusterConfig>,
    computing: Option<&[String]>,
    replaced: &[usize],
) -> Result<Vec<String>, Failure> {
    let names = &description.parties;
    let local = local_names(names);
    let Some(cluster) = cluster else { return Ok(local) };
    let has_all = |names: &[String]| {
        let mut taking_part = names.iter().enumerate().filter(|(at, _)| !replaced.contains(at));
        taking_part.all(|(_, name)| cluster.index_of(name).is_some())
    };
    if let Some(known) = [names, &local].into_iter().find(|names| has_all(names)) {
        return Ok(known.clone());
    }
    let all = cluster.parties().iter().map(|party| party.name.clone());
    let is_other = |name: &String| computing.is_none_or(|computing| !computing.contains(name));
    let others: Vec<String> = all.filter(is_other).collect();
    if others.len() == names.len() {
        return Ok(others);
    }
    let role = if computing.is_some() { " as clients" } else { "" };
    let (names, others) = (names.join(" and "), others.join(", "));
    let message = format!("the program is for {names}, and cluster.toml has {others}{role}");
    Err(Failure::new(codes::OTHER_PARTIES, message).remedy(
        Remedy::new("name the parties in cluster.toml as the program does, or use ")
            .field(RunField::InputsFrom),
    ))
}

/// Names that can stand in a cluster: the program's, if they can.
fn local_names(names: &[String]) -> Vec<String> {
    if names.iter().all(|name| check_name(name).is_ok()) {
        return names.to_vec();
    }
    (0..names.len()).map(|index| format!("party_{index}")).collect()
}

/// Refuses names that are no names, or of nobody in the cluster.
fn check_members(members: &[String], cluster: Option<&ClusterConfig>) -> Result<(), Failure> {
    for name in members {
        if let Err(problem) = check_name(name) {
            return Err(Failure::usage(format!("'{name}': {problem}")));
        }
        if let Some(cluster) = cluster
            && cluster.index_of(name).is_none()
        {
            let known: Vec<&str> = cluster.parties().iter().map(|p| p.name.as_str()).collect();
            let message = format!("{name} is not in cluster.toml; there are {}", known.join(", "));
            return Err(Failure::new(codes::NO_SUCH_PARTY, message));
        }
    }
    Ok(())
}
