//! The errors of an observer of a group.

use crate::error::{AttachError, ObserveError};
use std::io;
use std::path::PathBuf;
use tcasm_core::place::BadName;
use thiserror::Error;

/// Why a group cannot be observed, or has no version.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The name of the group is not valid.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The folder of the sockets cannot be read.
    #[error("cannot list the regions in {folder:?}: {source}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no region of the group.
    #[error(
        "there is no region {group:?}.RANK in {folder:?}; start the ranks of the group, or set \
         TCASM_RUNTIME_DIR to the folder that they use"
    )]
    NotFound {
        /// Name of the group.
        group: String,
        /// The folder of the sockets.
        folder: PathBuf,
    },
    /// The region of a rank cannot be attached to.
    #[error(transparent)]
    Attach(#[from] AttachError),
    /// A version of a rank cannot be had.
    #[error("rank {rank} of group {group:?}: {source}")]
    Member {
        /// Name of the group.
        group: String,
        /// The rank.
        rank: u32,
        /// The reason.
        source: Box<ObserveError>,
    },
    /// A region has the name of a member, but not its attributes.
    #[error(
        "region {region:?} has the name of a member of a group, but {why}; create it with \
         Builder::group, or give it another name"
    )]
    NotMember {
        /// Name of the region.
        region: String,
        /// The defect of its attributes.
        why: String,
    },
    /// Two ranks do not agree on the size of the group.
    #[error(
        "regions {:?} and {:?} do not agree on the number of {what}: {} and {}; start all ranks \
         with the same",
        regions[0], regions[1], found[0], found[1]
    )]
    Sizes {
        /// The ranks that were counted: all, or those of this host.
        what: &'static str,
        /// Names of the regions.
        regions: [String; 2],
        /// The numbers that they have.
        found: [u32; 2],
    },
    /// Two ranks are of different runs.
    #[error(
        "regions {:?} and {:?} are of different runs, {:?} and {:?}; ask again when all ranks have \
         been restarted",
        regions[0], regions[1], runs[0], runs[1]
    )]
    OtherRun {
        /// Names of the regions.
        regions: [String; 2],
        /// Their runs.
        runs: [String; 2],
    },
    /// Some ranks of this host have no region yet.
    #[error("{came} of {wanted} ranks of group {group:?} on this host have a region{why}")]
    Absent {
        /// Name of the group.
        group: String,
        /// The number of ranks that have a region.
        came: usize,
        /// The number of ranks on this host.
        wanted: u32,
        /// Why regions could not be attached to, or nothing.
        why: String,
    },
    /// The producers of some ranks died. Steps that all ranks have are still available.
    #[error(
        "group {group:?} has lost ranks {ranks:?}: their producers died without closing the \
         regions; restart them, and ask again"
    )]
    Lost {
        /// Name of the group.
        group: String,
        /// The ranks.
        ranks: Vec<u32>,
    },
    /// A rank has closed its region, and no step that it has can still become one of all ranks.
    #[error("end of stream: rank {rank} of group {group:?} has closed its region")]
    EndOfStream {
        /// Name of the group.
        group: String,
        /// The first such rank.
        rank: u32,
    },
    /// There is no agent on this host, so no step is agreed.
    #[error(
        "no agent of group {group:?} runs on this host ({source}); start tcasm-agent on each host \
         of the job"
    )]
    NoAgent {
        /// Name of the group.
        group: String,
        /// Why the region of the agent cannot be attached to.
        source: Box<AttachError>,
    },
    /// The region of the agent cannot be read.
    #[error("the agent of group {group:?}: {source}")]
    Agent {
        /// Name of the group.
        group: String,
        /// The reason.
        source: Box<ObserveError>,
    },
    /// The agents run, and have not agreed on a step yet.
    #[error(
        "the agents of group {group:?} have not agreed on a step yet; ask again when the ranks of \
         all hosts have published the same step"
    )]
    NotAgreed {
        /// Name of the group.
        group: String,
    },
    /// The agent has ended, and the last step that was agreed does not exist any more.
    #[error(
        "the agent of group {group:?} has ended, and {} exists no more; start it again",
        step.map_or("no agreed step".to_owned(), |step| format!("the agreed step {step}"))
    )]
    AgentGone {
        /// Name of the group.
        group: String,
        /// The last step that was agreed.
        step: Option<u64>,
    },
    /// The regions of this host do not have the agreed step.
    #[error(
        "step {step} of run {run:?} of group {group:?} was agreed, but the regions of this host \
         are of another run; ask again when a step of that is agreed"
    )]
    AgreedGone {
        /// Name of the group.
        group: String,
        /// The step.
        step: u64,
        /// Its run.
        run: String,
    },
    /// There is no step that all ranks have, or none that is newer.
    #[error(
        "there is no (newer) step of all ranks yet; the newest step of each rank: {}. A rank must \
         keep as many versions (Builder::history) as it may be ahead of others",
        listed(newest)
    )]
    NotReady {
        /// The ranks with their newest steps.
        newest: Vec<(u32, Option<u64>)>,
    },
}

impl GroupError {
    /// Returns true if there is no version yet, and waiting longer can help: ranks have no region
    /// or no newer version yet, or begin another run one after the other.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            GroupError::NotReady { .. } | GroupError::Absent { .. } | GroupError::OtherRun { .. }
        )
    }
}

fn listed(newest: &[(u32, Option<u64>)]) -> String {
    let text = |(rank, step): &(u32, Option<u64>)| match step {
        Some(step) => format!("{rank}: {step}"),
        None => format!("{rank}: none"),
    };
    let texts: Vec<String> = newest.iter().map(text).collect();
    texts.join(", ")
}
