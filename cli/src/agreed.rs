//! The step that the agents of a group have agreed on, as commands show it.

use crate::output;
use serde::Serialize;
use tcasm_observer::{GroupError, GroupObserver};

/// The newest step that all ranks on all hosts have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreed {
    pub step: u64,
    pub time: f64,
    pub run: String,
    /// The number of steps that the fastest rank of this host is ahead.
    pub lag: u64,
    pub agents: u32,
    /// The agent of this host lives.
    pub alive: bool,
}

/// Returns the agreed step, or why there is none. Without an agent there is neither.
pub fn of(group: &mut GroupObserver) -> Result<Option<Agreed>, String> {
    let agreed = match group.agreed_step() {
        Ok(agreed) => agreed,
        Err(GroupError::NoAgent { .. }) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let steps = group.steps().map_err(|error| error.to_string())?;
    let newest = steps.newest.iter().filter_map(|(_, step)| *step).max();
    Ok(Some(Agreed {
        step: agreed.step,
        time: agreed.time,
        run: agreed.run,
        lag: newest.map_or(0, |newest| newest.saturating_sub(agreed.step)),
        agents: agreed.agents,
        alive: agreed.agent_alive,
    }))
}

impl Agreed {
    /// Describes the step, and how far behind it is.
    pub fn text(&self) -> String {
        let behind = match self.lag {
            0 => "the newest".to_owned(),
            1 => "1 step behind".to_owned(),
            n => format!("{n} steps behind"),
        };
        let agents = match (self.alive, self.agents) {
            (false, _) => "its agent has ended".to_owned(),
            (true, 1) => "1 agent".to_owned(),
            (true, n) => format!("{n} agents"),
        };
        let time = output::number(self.time);
        format!("step {}, t = {time}, {behind}, {agents}", self.step)
    }
}
