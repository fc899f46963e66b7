//! The checkpoints that are copied to the slow tier.

use crate::node::run_steps;
use crate::world::World;
use tcasm_checkpoint::job::{JobSettings, Level, Redundancy, committed};

/// Returns the steps in the manifest that are drained.
fn drained(world: &World) -> Vec<u64> {
    let all = committed(&world.slow(), "heat").unwrap();
    let drained = all.iter().filter(|found| found.level == Level::Drained);
    drained.map(|found| found.commit.step).collect()
}

/// With the default settings, fewer checkpoints are kept than come between two that are drained.
#[test]
fn each_tenth_checkpoint_is_drained_although_two_are_kept_and_the_job_starts_anew() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::new(dir.path(), 2, Redundancy::Xor);
    let world = world.with(|settings| {
        let usual = JobSettings::new("heat", "", "");
        assert!(usual.keep < usual.drain_every);
        (settings.keep, settings.drain_every) = (usual.keep, usual.drain_every);
    });
    let steps = |range: std::ops::RangeInclusive<u64>| range.map(|i| 10 * i).collect::<Vec<_>>();
    run_steps(&world, &steps(1..=9));
    assert!(drained(&world).is_empty());
    run_steps(&world, &steps(10..=16));
    assert_eq!(drained(&world), [100]);
    run_steps(&world, &steps(17..=21));
    assert_eq!(drained(&world), [100, 200]);
    world.lose(0);
    world.lose(1);
    let found = world.find().unwrap();
    assert_eq!(found.step(), 200);
    world.check(&found);
}
