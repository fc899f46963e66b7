//! Ranks, coupled by MPI or alone.

use crate::fields::Region;
use crate::{Failure, host, say};
use mpi::traits::Communicator;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tcasm_producer::Group;

/// A rank of an MPI job, which is never more than one step ahead of its neighbours.
pub fn coupled(group: &str, steps: u64, pause: u64) -> Result<(), Failure> {
    let universe = mpi::initialize().ok_or("MPI is initialised already")?;
    let world = universe.world();
    let place = Group::from_env()?;
    let rank = place.rank();
    let mut region = Region::create(group, place, 0)?;
    let (me, count) = (world.rank(), world.size());
    let right = world.process_at_rank((me + 1) % count);
    let left = world.process_at_rank((me + count - 1) % count);
    introduce(rank);
    let mut skipped = 0;
    for step in 1..=steps {
        region.compute(step)?;
        let mut halo = 0u64;
        mpi::point_to_point::send_receive_into(&step, &right, &mut halo, &left);
        assert_eq!(halo, step, "the neighbour is at the same step");
        let published = region.producer.publish(step, step as f64 * 0.5)?;
        skipped += u64::from(published.version().is_none());
        std::thread::sleep(Duration::from_millis(pause));
    }
    region.producer.wait_captured(Duration::from_secs(60));
    say(&format!("done {rank} skipped={skipped}"));
    Ok(())
}

fn introduce(rank: u32) {
    say(&format!(
        "rank {rank} host={} pid={}",
        host(),
        std::process::id()
    ));
}

/// The clock that ranks without coupling have in common.
pub struct Clock {
    /// The step at the time [`began`](Self::began).
    pub step: u64,
    /// Milliseconds of Unix time.
    pub began: u64,
    /// Milliseconds per step.
    pub pause: u64,
}

impl Clock {
    /// Returns the step that the job should have now.
    fn now(&self) -> Result<u64, Failure> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
        Ok(self.step + now.saturating_sub(self.began) / self.pause)
    }
}

/// A rank that depends on no other one, and ends when it is killed. One that is started again goes
/// on with the step that the others have by then. One that is late catches up.
pub fn alone(group: &str, clock: &Clock) -> Result<(), Failure> {
    let place = Group::from_env()?;
    let rank = place.rank();
    let mut step = clock.now()?;
    let mut region = Region::create(group, place, step)?;
    introduce(rank);
    loop {
        while step >= clock.now()? {
            std::thread::sleep(Duration::from_millis(1));
        }
        step += 1;
        region.compute(step)?;
        region.producer.publish(step, step as f64 * 0.5)?;
        if step.is_multiple_of(10) {
            say(&format!("at step={step}"));
        }
    }
}
