//! Authenticated shares: the correlated randomness of MASCOT and runs of SPDZ.

use phineus_bytecode::Table;
use phineus_channels::Parties;
use phineus_correlated::authenticated::MatrixSize;
use phineus_correlated::authenticated::{AuthenticatedRandomness, Dealer};
use phineus_correlated::mascot::{Batch, Generator, Kind, OnDemand};
use phineus_crypto::field::{F61, F128, Field, FieldName};
use phineus_engine::run;
use phineus_ot::{FieldBits, SessionId};
use phineus_plan::{lower_to_field, order};
use phineus_protocols::spdz::{Masks, Opening, SpdzCosts, SpdzDriver, SpdzRounds, SpdzSettings};

use crate::programs::{
    Program, assert_learned, memory, ordering, planned, random_of, read, scratch, secret_inputs,
    write,
};
use crate::shares::expected;
use crate::watch;
use crate::wire::{Wire, mesh, on_threads, secret_block, secret_prg};

const KINDS: [(Kind, usize); 8] = [
    (Kind::Triple, 5),
    (Kind::Mask { owner: 0 }, 7),
    (Kind::Bit, 3),
    (Kind::Matrix(MatrixSize { rows: 2, cols: 3, vectors: 1 }), 2),
    (Kind::Square, 9),
    (Kind::Mask { owner: 1 }, 1),
    (Kind::BitMask { owner: 1 }, 65),
    (Kind::Bounded, 4),
];

const SESSION: [u8; 32] = [6; 32];

/// Where triples, bits and masks come from.
#[derive(Clone, Copy)]
enum Source {
    /// From the parties, by MASCOT.
    Parties,
    /// From a dealer with a secret seed, which is much faster; `mascot` runs what the parties do.
    Dealer,
}

pub fn mascot() {
    correlated::<F61>(3);
    correlated::<F128>(2);
}

fn correlated<F: Field>(parties: usize) {
    on_threads(mesh(parties), |parties| {
        let prg = secret_prg(parties.me() as u128 + 1);
        let session = SessionId::new([4; 32]);
        let generator = Generator::<F, _>::setup(parties, prg, &session, FieldBits::LAN);
        let mut generator = generator.expect("all are honest");
        let mut batch = Batch::empty();
        for (kind, count) in KINDS {
            generator.make(kind, count, &mut batch).expect("all are honest");
        }
    });
}

pub fn small() {
    let seed = watch::seed("spdz");
    authenticated::<F61>(seed, (2, 30), (FieldName::F61, Masks::Narrow), Source::Parties);
}

/// Openings are behind masks over the whole field.
pub fn whole() {
    let seed = watch::seed("spdz-whole");
    authenticated::<F61>(seed, (2, 30), (FieldName::F61, Masks::Whole), Source::Dealer);
}

/// With three parties, sums of shares and checks of what others sent take other paths than with two.
pub fn three() {
    let seed = watch::seed("spdz-three");
    authenticated::<F61>(seed, (3, 30), (FieldName::F61, Masks::Narrow), Source::Dealer);
}

pub fn large() {
    let seed = watch::seed("spdz-128");
    authenticated::<F128>(seed, (2, 30), (FieldName::F128, Masks::Narrow), Source::Dealer);
}

/// Runs a random program of so many instructions among `count` parties.
fn authenticated<F: Field>(
    seed: u64,
    (count, instructions): (u16, usize),
    (field, masks): (FieldName, Masks),
    source: Source,
) {
    // Some programs need numbers that the field does not hold: the next one then.
    let mut made = (seed..).find_map(|seed| {
        let program = random_of(seed, count, (12, 60), instructions);
        Some((plan::<F>(&program, (field, masks))?, program))
    });
    let (bytes, program) = made.take().expect("a program that the field is large enough for");
    let right = expected(&program);
    let description = &read(&bytes).description().clone();
    let stated = description.plan.as_ref().map(|plan| SpdzSettings::stated(plan).masks);
    assert_eq!(stated, Some(masks), "the driver takes the masks that the plan states");
    let pairs: Vec<_> = mesh(count.into()).into_iter().zip(mesh(count.into())).collect();
    on_threads(pairs, |(online, offline)| {
        let (me, count) = (online.me(), online.count());
        let learned = match source {
            Source::Parties => {
                let prg = secret_prg(16 * me as u128 + 1);
                let correlated =
                    OnDemand::<F, _>::setup(offline, prg, &SessionId::new(SESSION), FieldBits::LAN);
                let correlated = correlated.expect("all are honest");
                compute(online, correlated, (&bytes, field), &program.tables)
            }
            Source::Dealer => {
                let correlated = Dealer::<F>::insecure(secret_block(5), me, count);
                compute(online, correlated, (&bytes, field), &program.tables)
            }
        };
        assert_learned(description, me, learned, &right);
    });
}

fn compute<F: Field, M: AuthenticatedRandomness<F>>(
    online: Parties<Wire>,
    correlated: M,
    (bytes, field): (&[u8], FieldName),
    tables: &[Table],
) -> Vec<Option<Table>> {
    let (me, count) = (online.me(), online.count());
    let description = &read(bytes).description().clone();
    let prg = secret_prg(16 * me as u128 + 2);
    let session = SessionId::new(SESSION);
    let opening = Opening::new(me, count, correlated.delta(), &session, prg);
    let inputs = secret_inputs(description, tables, me);
    let mut driver = SpdzDriver::new(online, correlated, opening, description, inputs, field);
    let mut memory = memory(description);
    run(&mut read(bytes), &mut driver, &mut memory, &mut |_| true).expect("it runs");
    driver.into_parts().1.into_tables()
}

fn plan<F: Field>(program: &Program, (field, masks): (FieldName, Masks)) -> Option<Vec<u8>> {
    let count = program.description.parties.len();
    let bytes = write(&program.instructions, &program.description);
    let lowering = (F::BITS - 2, true);
    let lowered = lower_to_field(&mut read(&bytes), Vec::new(), scratch(), lowering, 64 << 20);
    let lowered = lowered.ok()?.0;
    let layout = phineus_protocols::spdz::layout(F::BYTES);
    let mut model = SpdzRounds::new(field, count).with_masks(masks);
    let ordered = order(&mut read(&lowered), Vec::new(), scratch(), &ordering(layout), &mut model);
    let ordered = ordered.expect("a valid program").0;
    let mut costs = SpdzCosts::new(count, field).with_masks(masks);
    let page_wires = layout.units_max().next_power_of_two().max(4096);
    Some(planned(&ordered, "spdz", layout, page_wires, 64, &mut costs))
}
