//! The settings of a simulated job.

use crate::failures::Failure;
use crate::job::Size;
use crate::network::Latency;
use crate::node::Store;
use crate::random::Random;
use crate::work::Work;
use crate::{MILLISECOND, Nanos};
use std::time::Duration;
use tcasm_agent::agreement::{Guards, Rule, Settings};

/// The settings of a simulated job.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The work of the ranks.
    pub work: Work,
    /// The ranks of each node.
    pub per_node: usize,
    /// The number of steps.
    pub steps: u64,
    /// The probability that a rank skips a version.
    pub skip: f64,
    /// Ranks have a reserve for multiples of this step, and never skip them.
    pub reserve: Option<u64>,
    /// The window of the agents. It is also the number of versions that ranks keep without pins.
    pub window: usize,
    /// The rule of appointments.
    pub rule: Rule,
    /// The time after which agents begin a round although nothing has changed.
    pub patience: Nanos,
    /// The times of the network.
    pub latency: Latency,
    /// The time that a node needs to write an appointed step and to protect it on other nodes, or
    /// `None` if there are no checkpoints.
    pub copy: Option<Nanos>,
    /// The deaths, and when they happen.
    pub failures: Vec<(Nanos, Failure)>,
    /// How long it takes to start things again.
    pub delays: Delays,
    /// The guards of the agents.
    pub guards: Guards,
    /// The seed of all random numbers.
    pub seed: u64,
}

/// How long it takes to start things again.
#[derive(Clone, Copy, Debug)]
pub struct Delays {
    /// Connecting the agents anew after one has died.
    pub agents: Nanos,
    /// Starting all ranks again.
    pub ranks: Nanos,
}

impl Latency {
    /// The times that give the rounds that were measured: 3 to 16 processes on one machine with two
    /// processors, messages by TCP. The kernel adds about 60 us to a sleep of 200 us.
    pub const MEASURED: Latency = Latency {
        hop: 80_000,
        look: [260_000, 2_060_000],
        late: 15_000,
    };
}

impl Default for Plan {
    /// 8 ranks on 4 nodes, without skips or failures.
    fn default() -> Self {
        Plan {
            work: Work {
                shape: [2, 2, 2],
                coupled: true,
                step: 100 * MILLISECOND,
                imbalance: 0.02,
                noise: 0.05,
                stall: 1e-4,
                reduce_every: 0,
            },
            per_node: 2,
            steps: 300,
            skip: 0.0,
            reserve: None,
            window: 4,
            rule: Rule::Never,
            patience: 20 * MILLISECOND,
            latency: Latency::MEASURED,
            copy: None,
            failures: Vec::new(),
            delays: Delays {
                agents: 2_000 * MILLISECOND,
                ranks: 10_000 * MILLISECOND,
            },
            guards: Guards::default(),
            seed: 1,
        }
    }
}

impl Plan {
    /// Returns true if a rank skips the version of a step.
    pub fn skips(&self, rank: usize, step: u64) -> bool {
        let reserved = self.reserve.is_some_and(|every| step.is_multiple_of(every));
        !reserved && Random::of(self.seed, [rank as u64, step]).chance(self.skip)
    }

    /// Returns the size of the job, and how its agents work.
    pub fn size(&self) -> Size {
        Size {
            ranks: self.work.ranks(),
            per_node: self.per_node,
            store: Store {
                history: self.window,
                versions: self.window + 3,
            },
            latency: self.latency,
            settings: Settings {
                window: self.window,
                patience: Duration::from_nanos(self.patience),
                rule: self.rule,
                guards: self.guards,
            },
        }
    }
}
