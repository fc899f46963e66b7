//! The arguments about checkpoints.

use clap::ValueEnum;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::job::{JobSettings, Redundancy};

/// The arguments about checkpoints.
#[derive(Clone, Debug, clap::Args)]
pub struct CheckpointArguments {
    /// Writes checkpoints of the job, one file per node, into this folder of the node: of the steps
    /// of --every or --at, or of agreed steps as often as they can be written
    ///
    /// %h is replaced by the name of the host. When ranks have died, the agreed step is written
    /// too. --every or --at has to be the same for all agents, and so have all other arguments
    /// about checkpoints.
    #[arg(
        long,
        value_name = "DIR",
        requires = "slow",
        help_heading = "Checkpoints"
    )]
    pub fast: Option<PathBuf>,
    /// The folder that all nodes share, with the manifest and the copies of some checkpoints
    #[arg(
        long,
        value_name = "DIR",
        requires = "fast",
        help_heading = "Checkpoints"
    )]
    pub slow: Option<PathBuf>,
    /// How nodes protect each other's files [default: xor if there are several nodes]
    #[arg(
        long,
        value_name = "SCHEME",
        requires = "fast",
        help_heading = "Checkpoints"
    )]
    pub redundancy: Option<Scheme>,
    /// The number of nodes that protect each other
    #[arg(
        long,
        value_name = "N",
        default_value_t = 8,
        requires = "fast",
        help_heading = "Checkpoints"
    )]
    #[arg(value_parser = clap::value_parser!(u16).range(2..))]
    pub set_size: u16,
    /// The name of what fails together with this node: a rack, or a power supply [default: the
    /// name of the host]
    #[arg(
        long,
        value_name = "NAME",
        requires = "fast",
        help_heading = "Checkpoints"
    )]
    pub failure_group: Option<String>,
    /// How many checkpoints the nodes keep, and how many the slow folder
    #[arg(
        long,
        value_name = "N",
        default_value_t = 2,
        requires = "fast",
        help_heading = "Checkpoints"
    )]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub keep: u16,
    /// Copies each Nth checkpoint to the slow folder, none for 0
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        requires = "fast",
        help_heading = "Checkpoints"
    )]
    pub drain_every: u16,
    /// Writes what has changed only, where that may be
    ///
    /// Checkpoints that are to be drained are full, unless each is. Keeps up to two more steps
    /// pinned. So the window must be at least 3.
    #[arg(long, requires = "fast", help_heading = "Checkpoints")]
    pub increments: bool,
}

/// How nodes protect each other's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Scheme {
    /// Not at all
    None,
    /// Each node has a copy of another one's file
    Partner,
    /// Parity, which survives the loss of one node of a set
    Xor,
    /// Parity, which survives the loss of two nodes of a set
    ReedSolomon,
}

impl CheckpointArguments {
    /// Returns what must be the same for all agents.
    pub(crate) fn shared(&self) -> String {
        let Some(slow) = &self.slow else {
            return "no checkpoints".to_owned();
        };
        format!(
            "checkpoints in {slow:?}, {:?}, sets of {}, {} kept, each {}th drained, increments: {}",
            self.redundancy, self.set_size, self.keep, self.drain_every, self.increments
        )
    }

    /// Returns the settings of `nodes` nodes, of which this one is on `host`, and the failure group
    /// of this node. Returns `None` if no checkpoints are written.
    pub(crate) fn settings(
        &self,
        group: &str,
        host: &str,
        nodes: usize,
    ) -> Option<(JobSettings, String)> {
        let (fast, slow) = (self.fast.as_ref()?, self.slow.as_ref()?);
        let mut settings = JobSettings::new(group, of_host(fast, host), slow);
        settings.redundancy = match self.redundancy {
            Some(Scheme::None) => Redundancy::None,
            Some(Scheme::Partner) => Redundancy::Partner,
            Some(Scheme::ReedSolomon) => Redundancy::ReedSolomon,
            None if nodes == 1 => Redundancy::None,
            Some(Scheme::Xor) | None => Redundancy::Xor,
        };
        settings.set_size = self.set_size.into();
        settings.keep = self.keep.into();
        settings.keep_slow = self.keep.into();
        settings.drain_every = self.drain_every.into();
        let failure_group = self.failure_group.clone();
        Some((settings, failure_group.unwrap_or_else(|| host.to_owned())))
    }
}

/// Returns the folder of a host.
fn of_host(folder: &Path, host: &str) -> PathBuf {
    match folder.to_str() {
        Some(text) => text.replace("%h", host).into(),
        None => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        checkpoints: CheckpointArguments,
    }

    fn parse(words: &[&str]) -> Result<CheckpointArguments, clap::Error> {
        let all = [&["tcasm-agent"], words].concat();
        Command::try_parse_from(all).map(|command| command.checkpoints)
    }

    #[test]
    fn options_without_a_folder_are_refused() {
        let defaults = parse(&[]).unwrap();
        let numbers = (defaults.set_size, defaults.keep, defaults.drain_every);
        assert_eq!(numbers, (8, 2, 10));
        for option in [
            &["--slow", "all"][..],
            &["--redundancy", "xor"],
            &["--set-size", "4"],
            &["--failure-group", "rack"],
            &["--keep", "3"],
            &["--drain-every", "5"],
            &["--increments"],
        ] {
            let error = parse(option).unwrap_err().to_string();
            assert!(error.contains("--fast <DIR>"), "{option:?}: {error}");
            let folders = ["--fast", "node", "--slow", "all"];
            let slow = option[0] == "--slow";
            let all = [&folders[..if slow { 2 } else { 4 }], option].concat();
            parse(&all).unwrap();
        }
    }
}
