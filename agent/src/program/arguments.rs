//! The arguments.

use crate::agreement::{Guards, Rule, Settings};
use clap::Parser;
use std::num::NonZeroU64;
use std::time::Duration;

const STATUSES: &str = "Exit status: 0 when the job has ended or a signal has ended the agents, \
2 for wrong arguments or arguments that are not the same for all agents, 3 if a region of this \
node cannot be read, 4 if its regions have too few versions, 5 if the region of agreed steps \
cannot be created or written, 6 if another agent or MPI has failed (start the agents again), 7 if \
something that is done with agreed steps has failed, 1 for any other error.";

/// The agent of one node of a job of many ranks.
///
/// Start one per node, all with the same MPI launcher, beside the job and not as a part of it:
/// `mpirun --map-by ppr:1:node tcasm-agent heat`. The agents follow the regions of their nodes, and
/// agree on the newest step that all ranks of the job have. The step stays pinned on all nodes
/// until a newer one is agreed, also when ranks die. No rank ever waits for an agent.
///
/// Each agent publishes the agreed step on its node in the region GROUP.group, where observers and
/// `tcasm info GROUP` find it.
///
/// The agents end when all ranks have closed their regions, and on SIGTERM and SIGINT. If ranks
/// die, the agents keep the last agreed step, write a checkpoint of it if they write any, and wait
/// for the next run.
#[derive(Clone, Debug, Parser)]
#[command(name = "tcasm-agent", version, after_help = STATUSES)]
pub struct Arguments {
    /// The group: the name that the ranks give to Producer::builder
    pub group: String,
    /// The number of steps that are pinned besides the agreed one (1 to 31)
    ///
    /// Regions need three more versions than this (Builder::versions).
    #[arg(long, value_name = "STEPS", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=31))]
    pub window: u8,
    /// Appoints each step that is a multiple of N: when it comes, it alone is kept until all have
    /// it
    #[arg(long, value_name = "N", conflicts_with = "at")]
    pub every: Option<NonZeroU64>,
    /// Appoints this step
    #[arg(long, value_name = "STEP")]
    pub at: Option<u64>,
    /// Makes this node an analysis node: it receives the agreed steps of the others, and has them
    /// in regions with the names of the ranks' own
    ///
    /// It must have no ranks. Give the option to some agents only:
    /// `mpirun -n 3 tcasm-agent heat : -n 1 tcasm-agent heat --relay`, where the last one is on
    /// another node. The window must be at least 3.
    #[arg(long)]
    pub relay: bool,
    /// Waits for the next run when the job has ended
    #[arg(long)]
    pub stay: bool,
    /// The time after which a round begins even if nothing has changed on this node
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub patience: u64,
    /// Prints no lines about agreed steps and runs
    #[arg(long, short)]
    pub quiet: bool,
    /// The arguments about checkpoints.
    #[cfg(feature = "files")]
    #[command(flatten)]
    pub checkpoints: crate::checkpoints::CheckpointArguments,
}

impl Arguments {
    /// Returns what is said about checkpoints, which must be the same for all agents.
    pub(super) fn checkpoints(&self) -> String {
        #[cfg(feature = "files")]
        return self.checkpoints.shared();
        #[cfg(not(feature = "files"))]
        return "no checkpoints".to_owned();
    }

    /// Returns true if checkpoints are increments where that may be.
    pub(super) fn increments(&self) -> bool {
        #[cfg(feature = "files")]
        return self.checkpoints.increments;
        #[cfg(not(feature = "files"))]
        return false;
    }

    /// Returns the settings of the agent.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            window: self.window.into(),
            patience: Duration::from_millis(self.patience),
            rule: match (self.every, self.at) {
                (Some(n), _) => Rule::Every(n),
                (None, Some(step)) => Rule::At(step),
                (None, None) => Rule::Never,
            },
            guards: Guards::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_make_settings() {
        Arguments::command().debug_assert();
        let settings = |words: &[&str]| {
            let all = [&["tcasm-agent", "heat"], words].concat();
            Arguments::try_parse_from(all).map(|a| a.settings())
        };
        assert_eq!(settings(&[]).unwrap().rule, Rule::Never);
        let every = settings(&["--every", "100", "--window", "8"]).unwrap();
        assert_eq!(every.rule, Rule::Every(NonZeroU64::new(100).unwrap()));
        assert_eq!(every.window, 8);
        assert_eq!(settings(&["--at", "7"]).unwrap().rule, Rule::At(7));
        for wrong in [
            &["--every", "0"][..],
            &["--window", "32"],
            &["--window", "0"],
            &["--every", "2", "--at", "3"],
        ] {
            assert!(settings(wrong).is_err(), "{wrong:?}");
        }
    }
}
