//! The agents compare their arguments before the first round: those that decide must be the same.

use super::arguments::Arguments;
use crate::agreement::WINDOW_FOR_INCREMENTS;
use crate::transport::{Exchange, Suspicion};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use thiserror::Error;

/// The least window with a relay: one step is being sent, one is what changes are against, and one
/// is the next candidate.
const WINDOW_FOR_RELAY: usize = 3;

/// The introduction of an agent to the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Introduction {
    pub(super) host: String,
    version: String,
    group: String,
    rule: String,
    checkpoints: String,
    stay: bool,
    pub(super) relay: bool,
    increments: bool,
    window: u8,
}

/// Why the agents cannot work together.
#[derive(Debug, Error)]
pub(super) enum Differing {
    #[error(
        "the agents differ in {what}: agent 0 has {first}, and agent {agent} on {host:?} has \
         {found}; start all agents with the same"
    )]
    In {
        what: &'static str,
        first: String,
        agent: usize,
        host: String,
        found: String,
    },
    #[error("all agents have --relay; start one without it on each node with ranks")]
    OnlyRelays,
    #[error(
        "agent {agent} on {host:?} has --window {window}, and {option} needs at least {least}; \
         start all agents with --window {least} or more, and regions with three more versions"
    )]
    Window {
        agent: usize,
        host: String,
        window: u8,
        option: &'static str,
        least: usize,
    },
    #[error(
        "agent {agent} cannot be understood ({source}); start all agents with the same program"
    )]
    Unknown {
        agent: usize,
        source: serde_json::Error,
    },
    #[error(transparent)]
    Lost(#[from] Suspicion),
}

impl Introduction {
    pub(super) fn of(arguments: &Arguments, host: &str) -> Introduction {
        Introduction {
            host: host.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            group: arguments.group.clone(),
            rule: format!("{:?}", arguments.settings().rule),
            checkpoints: arguments.checkpoints(),
            stay: arguments.stay,
            relay: arguments.relay,
            increments: arguments.increments(),
            window: arguments.window,
        }
    }

    /// Gives this to all agents, and returns what all have told. Waits for all of them.
    pub(super) fn exchange(
        &self,
        exchange: &mut impl Exchange,
    ) -> Result<Vec<Introduction>, Differing> {
        exchange.begin(serde_json::to_vec(self).unwrap_or_default())?;
        let all = loop {
            if let Some(all) = exchange.poll()? {
                break all;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let read = |(agent, bytes): (usize, &Vec<u8>)| {
            let told = serde_json::from_slice::<Introduction>(bytes);
            told.map_err(|source| Differing::Unknown { agent, source })
        };
        let all = all.iter().enumerate().map(read);
        let all = all.collect::<Result<Vec<_>, _>>()?;
        compare(&all)?;
        Ok(all)
    }

    /// Returns what must be the same.
    fn common(&self) -> [(&'static str, String); 5] {
        [
            ("their version", self.version.clone()),
            ("the group", format!("{:?}", self.group)),
            ("appointments", self.rule.clone()),
            ("checkpoints", self.checkpoints.clone()),
            ("--stay", self.stay.to_string()),
        ]
    }
}

fn compare(all: &[Introduction]) -> Result<(), Differing> {
    let Some(first) = all.first() else {
        return Ok(());
    };
    for (agent, other) in all.iter().enumerate() {
        for ((what, first), (_, found)) in first.common().into_iter().zip(other.common()) {
            if first != found {
                let host = other.host.clone();
                return Err(Differing::In {
                    what,
                    first,
                    agent,
                    host,
                    found,
                });
            }
        }
    }
    check_relays(all)?;
    check_windows(all)
}

fn check_relays(all: &[Introduction]) -> Result<(), Differing> {
    match all.iter().all(|other| other.relay) {
        true => Err(Differing::OnlyRelays),
        false => Ok(()),
    }
}

/// Checks that the windows have room for what is kept pinned besides candidates.
fn check_windows(all: &[Introduction]) -> Result<(), Differing> {
    let relay = all.iter().any(|other| other.relay);
    let increments = all.iter().any(|other| other.increments);
    let needs = [
        (relay, "--relay", WINDOW_FOR_RELAY),
        (increments, "--increments", WINDOW_FOR_INCREMENTS),
    ];
    for (_, option, least) in needs.into_iter().filter(|(given, ..)| *given) {
        let narrow = |other: &Introduction| usize::from(other.window) < least;
        if let Some(agent) = all.iter().position(narrow) {
            return Err(Differing::Window {
                agent,
                host: all[agent].host.clone(),
                window: all[agent].window,
                option,
                least,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn agents_with_other_arguments_are_named() {
        let told = |host: &str, words: &[&str]| {
            let all = [&["tcasm-agent"], words].concat();
            Introduction::of(&Arguments::parse_from(all), host)
        };
        let first = told("a", &["heat", "--every", "10"]);
        let same = told("b", &["heat", "--every", "10", "--window", "8", "-q"]);
        assert!(compare(&[first.clone(), same]).is_ok());
        for words in [
            &["heat", "--every", "20"][..],
            &["heat"],
            &["wind", "--every", "10"],
            &["heat", "--every", "10", "--stay"],
        ] {
            let error = compare(&[first.clone(), told("b", words)]).unwrap_err();
            assert!(error.to_string().contains("agent 1 on \"b\""), "{error}");
        }
        let relay = told("b", &["heat", "--every", "10", "--relay"]);
        assert!(compare(&[first.clone(), relay.clone()]).is_ok());
        assert!(compare(&[relay.clone(), relay.clone()]).is_err());
        let narrow = told("c", &["heat", "--every", "10", "--window", "2"]);
        let error = compare(&[first.clone(), narrow.clone(), relay]).unwrap_err();
        assert!(
            error.to_string().contains("--relay needs at least 3"),
            "{error}"
        );
        assert!(compare(&[first.clone(), narrow.clone()]).is_ok());
        let writes = |told: &Introduction| Introduction {
            increments: true,
            ..told.clone()
        };
        let error = compare(&[writes(&first), writes(&narrow)])
            .unwrap_err()
            .to_string();
        let told = "agent 1 on \"c\" has --window 2, and --increments needs at least 3";
        assert!(error.starts_with(told), "{error}");
        let enough = Introduction {
            window: 3,
            ..writes(&narrow)
        };
        assert!(compare(&[writes(&first), enough]).is_ok());
    }
}
