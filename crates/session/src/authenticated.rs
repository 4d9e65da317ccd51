//! Runs a planned program on authenticated shares.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use phineus_channels::Mesh;
use phineus_crypto::Prg;
use phineus_crypto::field::{F32, F61, F128, Field, FieldName, MatrixProducts};
use phineus_ot::SessionId;
use phineus_protocols::spdz::{Activity, Material, Opening, SpdzDriver};

use crate::accelerator::{Accelerator, Warning};
use crate::execute::{Executed, Job, Recorded, unrevealed};
use crate::failure::Failure;
use crate::material::{AuthenticatedMaterial, Origin};
use crate::metered::Reading;
use crate::shared::{Begun, Ran, channels_of, metered};
use crate::statistics::Activities;

/// Tells the activities of the online phase apart.
struct Clock {
    activity: Activity,
    since: Instant,
    seconds: Activities,
}

impl Clock {
    fn start() -> Clock {
        let seconds = Activities::default();
        Clock { activity: Activity::Computing, since: Instant::now(), seconds }
    }

    fn turn_to(&mut self, activity: Activity) {
        let now = Instant::now();
        let seconds = (now - self.since).as_secs_f64();
        match self.activity {
            Activity::Sharing => self.seconds.inputs += seconds,
            Activity::Computing => self.seconds.computing += seconds,
            Activity::Checking => self.seconds.checking += seconds,
            Activity::Exchanging { told, opened } => {
                let inputs = seconds * told as f64 / (told + opened).max(1) as f64;
                self.seconds.inputs += inputs;
                self.seconds.computing += seconds - inputs;
            }
        }
        (self.activity, self.since) = (activity, now);
    }
}

/// Runs the job as one of any number of parties, of which all others may cheat.
pub fn run_authenticated(
    job: Job<'_>,
    mesh: Mesh,
    session: &SessionId,
    (field, accelerator): (FieldName, Accelerator),
) -> Result<Executed, Failure> {
    let (warning, progress) = (Warning::default(), job.progress);
    let executed = match field {
        FieldName::F61 => {
            run_in::<F61>(job, mesh, session, (field, accelerator.products(&warning)))
        }
        FieldName::F32 => {
            run_in::<F32>(job, mesh, session, (field, accelerator.products(&warning)))
        }
        FieldName::F128 => run_in::<F128>(job, mesh, session, (field, None)),
    };
    if let Some(text) = warning.get() {
        progress.note(text);
    }
    executed
}

fn run_in<F: Field>(
    mut job: Job<'_>,
    mesh: Mesh,
    session: &SessionId,
    (field, device): (FieldName, Option<Box<dyn MatrixProducts<F>>>),
) -> Result<Executed, Failure> {
    let (begun, mesh) = Begun::begin(&mut job, mesh)?;
    let description = &job.planned.description;
    let mut streams = metered(mesh, job.party, &begun.aheads).into_iter();
    let mut online = streams.next().expect("shares have two streams");
    let background = streams.next().expect("shares have two streams");
    let Begun { inputs, mut prg, mut memory, watch, start, .. } = begun;
    let seed = Prg::from_seed(prg.next_block());
    let origin = std::mem::replace(&mut job.origin, Origin::Interleaved);
    let (planned, swap_dir) = ((job.planned, field), job.swap_dir);
    let made =
        AuthenticatedMaterial::<F>::make(origin, planned, swap_dir, background, seed, session);
    let (material, entered) = made.map_err(|failure| unrevealed(failure, job.progress.cancel()))?;
    let (made, before) = (Instant::now(), Reading::of_parties(&mut online));
    let (me, count) = (online.me(), online.count());
    let opening = Opening::new(me, count, material.delta(), session, prg);
    let clock = Arc::new(Mutex::new(Clock::start()));
    let watched = clock.clone();
    let turn_to = move |activity| {
        watched.lock().unwrap_or_else(PoisonError::into_inner).turn_to(activity);
    };
    let driver = SpdzDriver::new(online, material, opening, description, inputs, field)
        .with_threads(job.threads)
        .with_cache(job.cache_bytes)
        .with_watch(Box::new(turn_to))
        .with_device(device);
    let mut recorded = Recorded::new(driver, description, job.progress.cancel());
    job.drive(&mut recorded, &mut memory, &watch, entered)?;
    let activities = {
        let mut clock = clock.lock().unwrap_or_else(PoisonError::into_inner);
        clock.turn_to(Activity::Computing);
        clock.seconds
    };
    let rounds = recorded.driver.rounds();
    let (mut online, outputs, material) = recorded.driver.into_parts();
    let phase = Reading::of_parties(&mut online).since(&before, made.elapsed());
    let (background, material) = material.finish().map_err(Failure::from)?;
    let ran = Ran {
        outputs,
        rounds,
        online: phase,
        and_gates: None,
        garbled_and_gates: None,
        ots: material.ots,
        material,
        running: start.elapsed(),
        channels: channels_of([online, background]).collect(),
    };
    let mut executed = ran.executed(description, &watch, &memory);
    executed.phases.activities = Some(activities);
    Ok(executed)
}
