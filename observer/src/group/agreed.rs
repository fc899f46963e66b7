//! Agreed steps: the newest step that all ranks on all hosts have. On an analysis node, the newest
//! of them that was relayed.
//!
//! The agent of this host publishes it in a region of its own, and keeps its versions pinned in all
//! local regions until it has published a newer one. So a step that cannot be pinned any more has a
//! successor.

use super::error::GroupError;
use super::observer::{GroupObserver, LATER_ATTACH, LOOKS};
use super::version::GroupVersion;
use crate::error::{AttachError, ObserveError};
use crate::observer::Observer;
use crate::version::Version;
use tcasm_core::group::{AgreedAttrs, agreed_region};

/// A step that all ranks on all hosts have, as the agent of this host tells it. It is not pinned.
#[derive(Clone, Debug, PartialEq)]
pub struct AgreedStep {
    /// The step.
    pub step: u64,
    /// The simulated time.
    pub time: f64,
    /// The name of the run.
    pub run: String,
    /// The number of ranks on all hosts.
    pub ranks: u32,
    /// The number of agents.
    pub agents: u32,
    /// The newest step that any rank had when this one was agreed, or when its relay began.
    pub newest: u64,
    /// The agent of this host lives. Otherwise no newer step will be agreed.
    pub agent_alive: bool,
}

impl GroupObserver {
    /// Returns the newest step that all ranks of the job have, on all hosts, pinned in all regions
    /// of this host. `tcasm-agent` must run on each host. On an analysis node, this is the newest
    /// step that was relayed. Waits for nobody.
    ///
    /// After the death of ranks, or of the agent, this is the last step that was agreed, as long as
    /// its versions exist.
    pub fn agreed(&mut self) -> Result<GroupVersion, GroupError> {
        let mut before = None;
        for _ in 0..LOOKS {
            let agreed = self.agreed_step()?;
            self.members.refresh(LATER_ATTACH)?;
            let version = self.version(agreed.step)?;
            if let Some(version) = version.filter(|version| version.run() == agreed.run) {
                return Ok(version);
            }
            // A successor was agreed, unless the same step is the newest still.
            if before.as_ref() == Some(&agreed) {
                break;
            }
            before = Some(agreed);
        }
        Err(self.gone(before))
    }

    /// Returns the newest step that all ranks of the job have, without pinning it.
    pub fn agreed_step(&mut self) -> Result<AgreedStep, GroupError> {
        let group = self.name().to_owned();
        let agent = self.agent()?;
        let agent_alive = agent.producer_alive();
        let version = match agent.latest() {
            Ok(version) => version,
            Err(ObserveError::NotReady) => return Err(GroupError::NotAgreed { group }),
            Err(ObserveError::ProducerLost | ObserveError::EndOfStream) => {
                return Err(GroupError::AgentGone { group, step: None });
            }
            Err(source) => {
                let source = Box::new(source);
                return Err(GroupError::Agent { group, source });
            }
        };
        described(&group, &version, agent_alive)
    }

    /// Returns the region of the agent. Attaches to it if that was not done yet, or if the agent
    /// has been started again.
    fn agent(&mut self) -> Result<&mut Observer, GroupError> {
        let group = self.name().to_owned();
        let lives = self.agent.as_ref().is_some_and(Observer::producer_alive);
        let attached = (!lives).then(|| {
            let region = agreed_region(&group);
            Observer::attach_within(&region, LATER_ATTACH)
        });
        match attached {
            Some(Ok(observer)) => self.agent = Some(observer),
            // What is left of an agent that was attached to before still counts.
            Some(Err(source)) if self.agent.is_none() => return Err(none(group, source)),
            Some(Err(_)) | None => {}
        }
        match &mut self.agent {
            Some(agent) => Ok(agent),
            None => Err(GroupError::AgentGone { group, step: None }),
        }
    }

    /// Returns the error for an agreed step that cannot be pinned.
    fn gone(&self, last: Option<AgreedStep>) -> GroupError {
        let group = self.name().to_owned();
        match last {
            Some(last) if last.agent_alive => GroupError::AgreedGone {
                group,
                step: last.step,
                run: last.run,
            },
            last => GroupError::AgentGone {
                group,
                step: last.map(|last| last.step),
            },
        }
    }
}

fn none(group: String, source: AttachError) -> GroupError {
    let source = Box::new(source);
    GroupError::NoAgent { group, source }
}

fn described(group: &str, version: &Version, agent_alive: bool) -> Result<AgreedStep, GroupError> {
    let wrong = |why| GroupError::NotMember {
        region: version.region().to_owned(),
        why,
    };
    let attrs = AgreedAttrs::from_attrs(&version.table().attrs).map_err(wrong)?;
    if attrs.group != group {
        return Err(wrong(format!("it is of group {:?}", attrs.group)));
    }
    Ok(AgreedStep {
        step: version.step(),
        time: version.time(),
        run: attrs.run,
        ranks: attrs.ranks,
        agents: attrs.agents,
        newest: attrs.newest,
        agent_alive,
    })
}
