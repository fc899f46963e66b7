//! The faults of a storm.

use super::world::World;
use crate::common::HOSTS;

/// Random numbers that a seed repeats (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }

    fn host(&mut self) -> usize {
        self.below(HOSTS as u64) as usize
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// SIGKILL to the rank of a host.
    Rank(usize),
    /// SIGKILL to the keeper of the rank of a host.
    Keeper(usize),
    /// SIGKILL to the agent of a host.
    Agent(usize),
    /// All processes of a host are gone.
    Host(usize),
    /// The same, and its disk is empty when it comes back.
    HostAndDisk(usize),
    /// The link of a host is down.
    LinkDown(usize),
    /// The link of a host has so many kbit/s, and drops packets.
    LinkSlow(usize, u32),
    /// The file system of a host is full.
    FullFast(usize),
    /// The file system that all hosts share is full.
    FullSlow,
    /// All ranks die, and continue from the newest checkpoint in a new run.
    NewRun,
    /// The same, but a newer checkpoint may be committed before all are dead. It is abandoned.
    Return,
}

impl Fault {
    pub fn any(random: &mut Random) -> Fault {
        let host = random.host();
        match random.below(13) {
            0 => Fault::Rank(host),
            1 | 2 => Fault::Agent(host),
            3 => Fault::Host(host),
            4 => Fault::HostAndDisk(host),
            5 => Fault::LinkDown(host),
            6 => Fault::LinkSlow(host, 1000 + random.below(30_000) as u32),
            7 => Fault::FullFast(host),
            8 => Fault::FullSlow,
            9 => Fault::NewRun,
            10 => Fault::Keeper(host),
            _ => Fault::Return,
        }
    }

    /// Lets it happen. On a host that is dead, nothing more does.
    pub fn strike(self, world: &mut World) {
        match self {
            Fault::Rank(host) => world.kill_rank(host),
            Fault::Keeper(host) => world.kill_keeper(host),
            Fault::Agent(host) => world.kill_agent(host),
            Fault::Host(host) => world.kill_host(host, false),
            Fault::HostAndDisk(host) => world.kill_host(host, true),
            Fault::LinkDown(host) => world.take_link_down(host),
            Fault::LinkSlow(host, rate) => world.slow_link(host, rate),
            Fault::FullFast(host) => world.disks.fill(&world.disks.fast(host)),
            Fault::FullSlow => world.disks.fill(&world.disks.slow()),
            Fault::NewRun => world.new_run(false),
            Fault::Return => world.new_run(true),
        }
    }
}
