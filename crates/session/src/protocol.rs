//! A protocol as one value: the session learns about a protocol only from its [`Definition`], and
//! [`list`] names all protocols. No other code in the session distinguishes protocols.
//!
//! To add a protocol, write a driver in `phineus-protocols`, a definition of it in this folder, and one
//! line in [`list`].

mod authenticated;
mod choice;
mod clear;
mod garbled;
pub mod list;
mod on_shares;
mod rep3;
mod shares;
mod totals;

use std::collections::BTreeMap;
use std::ops::{Deref, RangeInclusive};

use phineus_bytecode::{
    CostModel, Description, Instruction, Lane, Layout, PlanDescription, PortOrder, RoundModel,
    Sharing,
};
use phineus_channels::{FramedChannel, Mesh};
use phineus_correlated::demand::BatchScale;
use phineus_crypto::Prg;
use phineus_crypto::field::FieldName;
use phineus_engine::{Inputs, Outputs};
use phineus_ot::SessionId;
use phineus_plan::Assignment;
use phineus_protocols::batch_scale;
use phineus_protocols::garbled::moves_rows;
use phineus_protocols::mixed::GarblingScheme;
use phineus_protocols::spdz::{Masks, SpdzSettings};

use crate::accelerator::Accelerator;
use crate::choices::{Choice, ProtocolVariant};
use crate::execute::{Job, RunResult};
use crate::failure::{Failure, RunField};
use crate::metered::Metered;
use crate::overlay::CompiledOverlay;
use crate::program_file::ProgramFile;

pub use choice::ProtocolChoice;
pub use clear::{clear_has_no_parties, run_clear};
pub use on_shares::{aheads, metered};

/// Maximum number of streams of a protocol.
pub const STREAMS_MAX: u16 = 3;

/// Adversary that a protocol protects against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adversary {
    /// None: nothing is hidden.
    Nobody,
    /// Semi-honest parties, any number of which may collude.
    SemiHonest,
    /// Semi-honest parties, no two of which collude.
    SemiHonestApart,
    /// Malicious parties, any number of which may collude.
    Malicious,
    /// As `Malicious`, but a wrong message passes a check with a probability that is not
    /// negligible.
    MaliciousWeak,
}

/// Representation of a program that planning makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Representation {
    /// Instructions stay unchanged.
    AsWritten,
    /// Each value gets a sharing, and instructions are ordered into rounds.
    Sharings(Assignment),
    /// Values are garbled, but for rows that permutations move; the order of instructions stays.
    GarbledBesideRows,
    /// Integers become elements of a field, and instructions are ordered into rounds.
    Field(FieldName),
}

/// An option that only some protocols take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolOption {
    /// The OT extension of the correlated randomness.
    Ot,
    /// Conversion of garbled values to additive shares.
    YaoToArithmetic,
    /// Sending of openings.
    Broadcast,
    /// Masks of narrow comparisons.
    NarrowMasks,
    /// Who garbles.
    Garbler,
}

impl ProtocolOption {
    /// The option of the command line.
    pub fn option(self) -> &'static str {
        match self {
            ProtocolOption::Ot => "--ot",
            ProtocolOption::YaoToArithmetic => "--y2a",
            ProtocolOption::Broadcast => "--broadcast",
            ProtocolOption::NarrowMasks => crate::choices::NARROW_MASKS,
            ProtocolOption::Garbler => "--garbler",
        }
    }

    /// The field of a run that states it.
    pub fn field(self) -> RunField {
        match self {
            ProtocolOption::Ot => RunField::Ot,
            ProtocolOption::YaoToArithmetic => RunField::YaoToArithmetic,
            ProtocolOption::Broadcast => RunField::Broadcast,
            ProtocolOption::NarrowMasks => RunField::NarrowMasks,
            ProtocolOption::Garbler => RunField::Garbler,
        }
    }

    /// The setting of an option of the command line.
    pub fn of_option(option: &str) -> Option<ProtocolOption> {
        [
            ProtocolOption::Ot,
            ProtocolOption::YaoToArithmetic,
            ProtocolOption::Broadcast,
            ProtocolOption::NarrowMasks,
            ProtocolOption::Garbler,
        ]
        .into_iter()
        .find(|setting| setting.option() == option)
    }

    /// The protocols that take it, as in `gmw, bmr and mixed`.
    pub fn takers(self) -> String {
        Protocol::names(|protocol| protocol.settings().contains(&self))
    }
}

/// Parameters of costs besides the program.
#[derive(Clone, Copy, Debug)]
pub struct CostTerms {
    /// How many parties compute.
    pub parties: usize,
    /// The size of the batches of correlated randomness.
    pub scale: BatchScale,
    /// Variants of protocols on shares.
    pub variant: ProtocolVariant,
    /// Masks for openings of authenticated integers of few bits.
    pub masks: Masks,
}

impl CostTerms {
    /// Parameters that a plan states, for this number of computing parties.
    pub fn stated(plan: &PlanDescription, parties: usize) -> CostTerms {
        CostTerms {
            parties,
            scale: batch_scale(plan),
            variant: ProtocolVariant::stated(plan),
            masks: SpdzSettings::stated(plan).masks,
        }
    }
}

/// The blocks of a program in rounds, and how often each of them runs in each of several runs.
pub struct BlockRuns<'a> {
    /// The program of each block.
    pub files: &'a [&'a ProgramFile],
    /// The description of the whole program.
    pub description: &'a Description,
    /// For each run, blocks and how often each of them runs.
    pub runs: &'a [Vec<(usize, u64)>],
    /// Whether that is known when the parties set up what they share, since nothing that is opened decides it.
    pub are_stated: bool,
}

/// Totals by name, as in a plan.
pub type Totals = BTreeMap<String, u64>;

/// The correlated randomness of a plan, as far as memory depends on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PreprocessingFigures {
    /// Amount of authenticated randomness, as a number of triples.
    pub triples: u64,
    /// The largest part of it that is made as a whole, as a number of triples.
    pub largest: u64,
    /// Bytes of correlated randomness that wait for use.
    pub ready_bytes: u64,
    /// Additional bytes that silent OT holds.
    pub silent_bytes: u64,
    /// Whether anything is made at all.
    pub is_made: bool,
}

/// Parameters of the memory of a driver.
#[derive(Clone, Copy, Debug)]
pub struct DriverTerms {
    /// How many parties compute.
    pub parties: usize,
    /// Whether authenticated inputs are proven to be in the range of their types.
    pub prove_inputs: bool,
    /// The size of the batches of correlated randomness.
    pub scale: BatchScale,
    /// Bytes of recorded circuits.
    pub template_bytes: u64,
    /// The correlated randomness.
    pub making: PreprocessingFigures,
}

/// Inputs with which a run starts besides its job.
pub struct RunInputs<'a> {
    /// Channels to all others, by stream and party.
    pub mesh: Mesh,
    /// Identifier of the session, which is never used again.
    pub session: &'a SessionId,
    /// Device or processor for products of matrices.
    pub accelerator: Accelerator,
    /// The overlay that garbles, if the processor does not.
    pub overlay: Option<CompiledOverlay>,
}

/// A channel whose traffic is measured.
pub type ClientChannel = Metered<FramedChannel>;

/// Inputs with which a client starts.
pub struct ClientInputs<'a> {
    /// A channel to each computing party.
    pub channels: Vec<ClientChannel>,
    /// A generator of its own.
    pub prg: &'a mut Prg,
    /// The program's description.
    pub description: &'a Description,
    /// The client's place among the parties of the description.
    pub me: usize,
    /// Its tables.
    pub inputs: Inputs,
}

/// A client in the middle of a run.
pub trait ClientDriver {
    /// Goes through the next instruction of the ordered program.
    ///
    /// # Errors
    /// When a channel fails.
    fn step(&mut self, instruction: &Instruction) -> Result<(), Failure>;

    /// Value that output port `port` has opened.
    fn opened(&self, port: u32) -> Lane;

    /// The channels and the outputs, after the last instruction.
    ///
    /// # Errors
    /// When a channel fails.
    fn finish(self: Box<Self>) -> Result<(Vec<ClientChannel>, Outputs), Failure>;
}

/// Definition of a protocol for the session.
pub trait Definition: Sync {
    /// The name that users type and parties send.
    fn name(&self) -> &'static str;

    /// One line for a help page.
    fn meaning(&self) -> &'static str;

    /// Adversary that it protects against.
    fn adversary(&self) -> Adversary;

    /// Description of the adversary, with the probability that a wrong message passes a check.
    fn adversary_in_words(&self) -> &'static str;

    /// A sentence that users read before each run.
    fn warning(&self) -> Option<&'static str>;

    /// Returns whether `auto` may choose it.
    fn is_automatic(&self) -> bool;

    /// Possible numbers of computing parties.
    fn parties(&self) -> RangeInclusive<usize>;

    /// Returns whether parties that do not compute can bring inputs and learn outputs.
    fn takes_clients(&self) -> bool;

    /// Representation that planning makes of a program.
    fn representation(&self) -> Representation;

    /// As [`Definition::representation`], of a program whose permutations move rows.
    fn representation_beside_rows(&self) -> Representation {
        self.representation()
    }

    /// Returns whether the sharings are chosen that a program leaves open.
    fn chooses_sharings(&self) -> bool {
        false
    }

    /// The options that it takes.
    fn settings(&self) -> &'static [ProtocolOption];

    /// Layout of values among this number of computing parties.
    fn layout(&self, parties: usize) -> Layout;

    /// As [`Definition::layout`], of a program whose permutations move rows.
    fn layout_beside_rows(&self, parties: usize) -> Layout {
        self.layout(parties)
    }

    /// Units of a page, which holds any value.
    fn page_units(&self, parties: usize) -> u64;

    /// Returns whether a plan states all totals that every plan of this protocol has.
    fn is_complete(&self, plan: &PlanDescription) -> bool;

    /// Number of streams between each pair of parties: the first is for the online phase, the
    /// second for correlated randomness, the third for garbling. None if one process computes for all
    /// parties.
    fn streams(&self) -> u16;

    /// Returns whether correlated randomness is made before or beside the online phase, so that it can
    /// be made earlier and stored.
    fn has_preprocessing(&self) -> bool;

    /// Returns whether a program may take triples, shared bits and the like.
    fn may_take_triples(&self) -> bool;

    /// Returns whether a program may have garbled values, whose tables go over a stream of their own.
    fn may_garble(&self) -> bool;

    /// Returns whether so many computing parties make the tables beside the run or before it, in a pass of their own.
    fn garbles_beside(&self, _parties: usize) -> bool {
        self.may_garble()
    }

    /// How so many computing parties garble values, where a program may have garbled values beside others.
    fn garbling_scheme(&self, _parties: usize) -> GarblingScheme {
        GarblingScheme::default()
    }

    /// Returns whether so many computing parties look up rows that all of them know by point functions.
    fn looks_up_public_rows(&self, parties: usize) -> bool;

    /// Returns whether it opens values inside a block, and so runs programs with regions.
    fn reveals_inside_blocks(&self) -> bool;

    /// Returns whether one party looks items up in a table that it alone knows.
    fn looks_up_in_tables(&self) -> bool;

    /// The rounds of instructions, if they are ordered.
    fn rounds(&self, terms: &CostTerms) -> Option<Box<dyn RoundModel + Send>>;

    /// The costs of a program of one block.
    fn costs(&self, terms: &CostTerms) -> Box<dyn CostModel>;

    /// The exact totals of runs of a program of several blocks.
    ///
    /// # Errors
    /// If a file cannot be read.
    fn block_totals(
        &self,
        terms: &CostTerms,
        blocks: &BlockRuns<'_>,
    ) -> Result<Vec<Totals>, Failure>;

    /// The correlated randomness of a plan.
    fn making(&self, plan: &PlanDescription) -> PreprocessingFigures;

    /// Amounts of preprocessing in words; AND gates are counted elsewhere.
    fn making_in_words(&self, plan: &PlanDescription) -> Vec<(String, u64)>;

    /// Rounds until there is a batch of each kind of correlated randomness, and the fraction of all
    /// correlated randomness that these batches are.
    fn first_batches(&self, plan: &PlanDescription) -> (f64, f64);

    /// Memory of the driver, except for scratch wires and instructions in flight.
    fn driver_bytes(&self, terms: &DriverTerms) -> u64;

    /// Memory for the tables that a program looks rows up in: 16 bytes a row, and as much again for the one that is encrypted.
    fn table_bytes(&self, description: &Description) -> u64 {
        let tables = description.tables.iter();
        let largest = tables.clone().map(|table| 16 << table.index_bits()).max();
        tables.map(|table| 16 * table.rows).sum::<u64>() + largest.unwrap_or(0)
    }

    /// Memory for recording a circuit besides the circuit, for two of its bytes.
    fn recording_bytes_per_two(&self) -> u64;

    /// Runs a plan as one of the parties.
    ///
    /// # Errors
    /// The failure that ended the run, with what had been revealed.
    fn run(&self, job: Job<'_>, start: RunInputs<'_>) -> Result<RunResult, Failure>;

    /// A client at the beginning of a run.
    ///
    /// # Errors
    /// When a channel fails.
    fn client(&self, start: ClientInputs<'_>) -> Result<Box<dyn ClientDriver>, Failure>;
}

/// A protocol of [`list`].
#[derive(Clone, Copy)]
pub struct Protocol(&'static dyn Definition);

impl Protocol {
    /// How values of a program with this description are represented, whose accesses to memories have been replaced by
    /// what a method does.
    pub fn representation_of(self, description: &Description) -> Representation {
        match self.representation() {
            Representation::Sharings(assignment) if !description.memories.is_empty() => {
                Representation::Sharings(assignment.beside_accesses())
            }
            Representation::AsWritten if moves_rows(description) => {
                self.representation_beside_rows()
            }
            all @ (Representation::AsWritten
            | Representation::Sharings(_)
            | Representation::GarbledBesideRows
            | Representation::Field(_)) => all,
        }
    }

    /// Layout of values of a program with this description among so many computing parties.
    pub fn layout_of(self, description: &Description, parties: usize) -> Layout {
        match moves_rows(description) {
            true => self.layout_beside_rows(parties),
            false => self.layout(parties),
        }
    }

    /// Returns whether parties compute on shares without authentication.
    pub fn is_on_shares(self) -> bool {
        matches!(self.representation(), Representation::Sharings(_))
    }

    /// The sharing of all that is no access to a memory, if accesses compute in another one.
    pub fn beside_accesses(self) -> Sharing {
        match self.representation() {
            Representation::Sharings(Assignment::Uniform(Sharing::Garbled)) => Sharing::Garbled,
            Representation::AsWritten
            | Representation::GarbledBesideRows
            | Representation::Field(_)
            | Representation::Sharings(_) => Sharing::Any,
        }
    }

    /// The field of authenticated shares.
    pub fn field(self) -> Option<FieldName> {
        match self.representation() {
            Representation::Field(field) => Some(field),
            Representation::AsWritten
            | Representation::GarbledBesideRows
            | Representation::Sharings(_) => None,
        }
    }

    /// Returns whether instructions are ordered into rounds.
    pub fn has_rounds(self) -> bool {
        self.representation() != Representation::AsWritten
    }

    /// Position of inputs and outputs in plans: near their values, unless ordering has put them
    /// into rounds.
    pub fn port_order(self) -> PortOrder {
        match self.has_rounds() {
            true => PortOrder::Given,
            false => PortOrder::Near,
        }
    }

    /// The protocol that a plan was made for, if it is known here.
    pub fn of_plan(plan: &PlanDescription) -> Option<Protocol> {
        Protocol::from_name(&plan.protocol)
    }

    /// The protocol of a plan that was made or verified here.
    ///
    /// # Panics
    /// If it is not known.
    pub fn of_verified_plan(plan: &PlanDescription) -> Protocol {
        Protocol::of_plan(plan)
            .expect("plans of unknown protocols are refused when they are opened")
    }

    /// Returns whether one process computes for all parties.
    pub fn is_in_one_process(self) -> bool {
        self.streams() == 0
    }

    /// The names of those that `is_meant` accepts, as in `gmw, bmr and mixed`.
    pub fn names(is_meant: impl Fn(Protocol) -> bool) -> String {
        let all = Protocol::ALL.iter().copied().filter(|&protocol| is_meant(protocol));
        let names: Vec<&str> = all.map(Choice::name).collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => "no protocol".to_owned(),
        }
    }
}

impl Deref for Protocol {
    type Target = dyn Definition;

    fn deref(&self) -> &(dyn Definition + 'static) {
        self.0
    }
}

impl PartialEq for Protocol {
    fn eq(&self, other: &Protocol) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for Protocol {}

impl std::fmt::Debug for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

impl Choice for Protocol {
    const ALL: &'static [Protocol] = list::ALL;

    fn name(self) -> &'static str {
        self.0.name()
    }

    fn meaning(self) -> &'static str {
        self.0.meaning()
    }
}
