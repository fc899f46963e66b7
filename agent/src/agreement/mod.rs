//! The state machine of an agent: which steps it pins, what it offers, and what it decides.
//!
//! # Words
//!
//! A *candidate* is a step newer than the agreed one whose versions of all local ranks this agent
//! has pinned. A *round* merges the offers of all agents to one result. A result is *whole* if all
//! ranks of the job are in it, each once and all of the same run.
//!
//! # Invariants
//!
//! - G1: A step is offered only while every local rank's version of it is pinned. The version stays
//!   pinned until the end of the round that the step was offered in, or, if the round fails, until
//!   the first whole result after that.
//! - G2: The newest step in a whole result is agreed. It stays pinned until a newer one is agreed
//!   and every use of it here has ended.
//! - G3: All decisions are functions of the results of rounds since the agents were connected. So
//!   all agents decide the same without more messages. A clock only says when rounds begin.
//! - G4: `publish` never waits for, reads from or calls an agent. Agents only observe
//!   ([`Regions`](crate::Regions) has no other call).
//! - G5: Per region an agent pins at most the agreed version and a window of others, and regions
//!   must have three more slots than the window. For a new candidate the oldest one goes, the
//!   agreed one never.
//! - G6: Results of different runs are never mixed.
//!
//! # Why the agreed step is pinned everywhere
//!
//! Each agent has the steps of its offer pinned when a round ends (G1), so a step that is in the
//! result is pinned on all nodes, whenever each agent learns of it. An agent that learns of it
//! makes it the agreed step, and lets go of the one before. Agents that have not learned of it yet
//! have both. If a round fails, some agents may have its result, and others not. These keep what
//! they have offered (they are *frozen*), so the new agreed step is still pinned on all nodes that
//! live, and the first whole result after that has it.

mod agent;
mod appointment;
mod decide;
mod error;
mod guards;
mod holdings;

pub use agent::{Agent, Settings};
pub use appointment::Rule;
pub use decide::{APPOINT, Agreed, Appointed, Decider, Decision};
pub use error::AgentError;
pub use guards::{Guard, Guards};
pub use holdings::{Held, WINDOW_FOR_INCREMENTS};
