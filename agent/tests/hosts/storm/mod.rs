//! A storm over a job of three hosts: ranks, their keepers, agents and hosts are killed at random
//! moments, disks are lost with them, links are down or slow, file systems are full, and the job is
//! started again from its newest checkpoint.
//!
//! After each fault and each repair the agents are frozen, and what lies on the disks is checked
//! as it would be found if all had died at that moment.
//!
//! `TCASM_STORM_ROUNDS` is the number of rounds (8 unless set), `TCASM_STORM_SEED` the seed.

mod checks;
mod faults;
mod world;

use faults::{Fault, Random};
use std::time::Duration;
use world::World;

fn setting(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(default, |text| text.parse().expect("a number"))
}

fn storm(seed: u64, rounds: u64, arguments: &[&str]) {
    let Some(mut world) = World::new(arguments) else {
        eprintln!("NOT RUN: only hosts of namespaces can be killed, which needs root");
        return;
    };
    let mut random = Random::new(seed);
    world.settle();
    for round in 0..rounds {
        let faults: Vec<Fault> = (0..1 + random.below(2))
            .map(|_| Fault::any(&mut random))
            .collect();
        eprintln!("round {round} of seed {seed}: {faults:?}");
        for fault in &faults {
            std::thread::sleep(Duration::from_millis(random.below(400)));
            fault.strike(&mut world);
        }
        world.survivors_go_on(10 + random.below(60));
        world.check();
        world.repair();
        world.settle();
        world.check();
    }
    world.end();
}

#[test]
fn storm_of_kills_lost_hosts_links_and_full_disks_loses_nothing_committed() {
    let rounds = setting("TCASM_STORM_ROUNDS", 8);
    storm(setting("TCASM_STORM_SEED", 1), rounds, &[]);
}

#[test]
fn storm_over_increments_loses_nothing_committed() {
    let rounds = setting("TCASM_STORM_ROUNDS", 8);
    storm(setting("TCASM_STORM_SEED", 2), rounds, &["--increments"]);
}
