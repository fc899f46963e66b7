//! Arguments of the commands that follow a region: how long they wait for it.

use super::values::seconds;
use clap::Args;
use std::time::Duration;

/// The limit of waiting for a region that does not exist yet.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct WaitArgs {
    /// Wait at most SECONDS for the region to appear [default: no limit]
    #[arg(long, alias = "wait", value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<f64>,
    /// Fail if there is no such region, instead of waiting for it
    #[arg(long, conflicts_with = "timeout")]
    no_wait: bool,
}

impl WaitArgs {
    /// Returns the longest time to wait. `None` stands for no limit.
    pub fn limit(&self) -> Option<Duration> {
        match self.no_wait {
            true => Some(Duration::ZERO),
            false => self.timeout.map(Duration::from_secs_f64),
        }
    }
}
