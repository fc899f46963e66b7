//! The agent, with a use that checks each agreed step.

use crate::{fields, host, say};
use clap::Parser;
use tcasm_agent::node::{Progress, Round, Use, UseError};
use tcasm_agent::program::{self, Arguments};

/// Runs the agent, and returns its exit status.
pub fn run(arguments: &[&str]) -> i32 {
    let all = [&["tcasm-agent"], arguments].concat();
    say(&format!("agent host={} pid={}", host(), std::process::id()));
    let checks = |_: &_| Ok(vec![Box::new(Check::default()) as Box<dyn Use>]);
    program::run(Arguments::parse_from(all), checks)
}

/// Checks each agreed step.
#[derive(Default)]
struct Check {
    last: Option<tcasm_agent::Agreed>,
}

impl Use for Check {
    fn decided(&mut self, round: Round<'_>) -> Result<(), UseError> {
        let Some(agreed) = round.agreed.filter(|held| self.last != Some(held.of)) else {
            return Ok(());
        };
        self.last = Some(agreed.of);
        let checked = fields::check(&agreed.pin).map_err(|error| error.to_string())?;
        let (run, step) = (agreed.pin.run(), agreed.of.step);
        let appointed = round.decision.appointed;
        say(&format!(
            "checked host={} run={run} step={step} blocks={} wrong={} appointed={appointed:?}",
            host(),
            checked.0,
            checked.1
        ));
        Ok(())
    }

    fn turn(&mut self) -> Result<Progress, UseError> {
        Ok(Progress::default())
    }
}
