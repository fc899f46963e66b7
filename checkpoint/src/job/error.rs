//! The errors of checkpoints of jobs.

use super::messages::Lost;
use crate::error::{ReadError, WriteError};
use std::path::PathBuf;
use tcasm_core::field::ArrayError;
use thiserror::Error;

/// Why a checkpoint of a job could not be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JobError {
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A node cannot be reached.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The nodes are too few for the redundancy, or too many of them fail together.
    #[error(
        "{of_group} of the {nodes} nodes are in the failure group {group:?}, so sets of {least} \
         nodes of different groups cannot be made; use more nodes, smaller failure groups, or \
         another redundancy"
    )]
    FewNodes {
        /// The number of nodes.
        nodes: usize,
        /// The largest failure group.
        group: String,
        /// The number of its nodes.
        of_group: usize,
        /// The nodes that each set must have.
        least: usize,
    },
    /// The step is not committed, because some nodes could not prepare it.
    #[error("step {step} is not committed: {}", .why.join("; "))]
    NotPrepared {
        /// The step.
        step: u64,
        /// The nodes, and their errors.
        why: Vec<String>,
    },
    /// A committed step is not on the slow tier.
    #[error("step {step} is committed, but was not copied to the slow tier: {why}")]
    NotDrained {
        /// The step.
        step: u64,
        /// The node, and its error.
        why: String,
    },
    /// Another file has the name of the manifest.
    #[error("{path:?} is not a manifest of the checkpoints of group {group:?}; move it away")]
    NotManifest {
        /// The file.
        path: PathBuf,
        /// The name of the group.
        group: String,
    },
    /// The local folder has files that belong to another manifest.
    #[error(
        "{dir:?} has files that node {node} has prepared for another manifest of {group:?}; give \
         the slow tier of that manifest, or remove them"
    )]
    OtherManifest {
        /// The local folder.
        dir: PathBuf,
        /// The node.
        node: usize,
        /// The name of the group.
        group: String,
    },
    /// No checkpoint of the job was ever committed.
    #[error("no checkpoint of group {group:?} is committed in {dir:?}")]
    NoneCommitted {
        /// The name of the group.
        group: String,
        /// The folder of the manifest.
        dir: PathBuf,
    },
    /// The folder of the slow tier has no manifest, but the files of a node belong to one.
    #[error(
        "{dir:?} has no manifest of group {group:?}, but {list:?} lists files that belong to one; \
         mount the slow tier there, or give its folder, or remove the files of the node"
    )]
    NoManifest {
        /// The name of the group.
        group: String,
        /// The folder that was given as the slow tier.
        dir: PathBuf,
        /// The list of a node.
        list: PathBuf,
    },
    /// Some blocks of a checkpoint are lost.
    #[error("step {step} cannot be read: {what}")]
    BlocksLost {
        /// The step.
        step: u64,
        /// What is lost, and why.
        what: String,
    },
    /// A node cannot read the manifest, so none looks for files. If only one has to read it, that
    /// is node 0.
    #[error(
        "the files of group {group:?} are not looked for, because its manifest cannot be read: {}; \
         make the slow folder readable there",
        .why.join("; ")
    )]
    NotLookedFor {
        /// The name of the group.
        group: String,
        /// The nodes, and their errors.
        why: Vec<String>,
    },
    /// The file with what the ranks of a run continue from is of another start of the job.
    #[error(
        "{path:?} says what the ranks of a run continue from, but not those of this start: {what}; \
         give each start of the job another name (TCASM_RUN), and start all ranks anew"
    )]
    OtherStart {
        /// The file.
        path: PathBuf,
        /// The part of the file that shows it.
        what: String,
    },
    /// The ranks cannot share the step that they continue from.
    #[error(
        "the ranks of group {group:?} cannot share what they continue from: {why}; make the slow \
         folder writable for all of them, or let one rank choose, and give its step to the others \
         (restore_job_at)"
    )]
    NotShared {
        /// The name of the group.
        group: String,
        /// The error.
        why: String,
    },
    /// The step that the ranks continue from is not committed any more.
    #[error(
        "the ranks of group {group:?} continue from step {step}, which is not committed in {dir:?} \
         any more; start all ranks anew"
    )]
    StepGone {
        /// The name of the group.
        group: String,
        /// The step.
        step: u64,
        /// The folder of the manifest.
        dir: PathBuf,
    },
    /// Some nodes cannot write checkpoints, so none does.
    #[error(
        "no checkpoints of group {group:?} are written, because some nodes cannot take part: {}",
        .why.join("; ")
    )]
    NotConnected {
        /// The name of the group.
        group: String,
        /// The nodes, and their errors.
        why: Vec<String>,
    },
    /// The manifest does not say that the job continues from an earlier step.
    #[error(
        "the job cannot continue from step {step}, because node 0 cannot enter that into the \
         manifest: {why}"
    )]
    NotContinued {
        /// The step.
        step: u64,
        /// The error of node 0.
        why: String,
    },
    /// Files that were lost could not be rebuilt.
    #[error("the lost files of step {step} could not be rebuilt: {}", .why.join("; "))]
    NotRebuilt {
        /// The step.
        step: u64,
        /// The nodes, and their errors.
        why: Vec<String>,
    },
    /// Files that build on each other are in several folders.
    #[error(
        "{files:?} build on each other and are in several folders; give a folder to rebuild in"
    )]
    Apart {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// No committed checkpoint can be read, or not the one that was asked for.
    #[error("no committed checkpoint of group {group:?} can be read: {}", Whys(.why))]
    NoneUsable {
        /// The name of the group.
        group: String,
        /// The steps, newest first, and why each cannot be read.
        why: Vec<(u64, String)>,
    },
    /// No rank has a field of this name.
    #[error("no rank of the checkpoint has a field {field:?}; there are {}", .have.join(", "))]
    NoField {
        /// The name that was requested.
        field: String,
        /// The names of the fields.
        have: Vec<String>,
    },
    /// A field that is local to its rank can only be restored on the same number of ranks.
    #[error(
        "field {field:?} is local to its rank, so it can only be restored on the {stored} ranks \
         that have written it, not on {asked}; start {stored} ranks, or give the field a place in \
         a global array (global and at)"
    )]
    OtherRanks {
        /// The name of the field.
        field: String,
        /// The number of ranks of the checkpoint.
        stored: u32,
        /// The number of ranks now.
        asked: u32,
    },
    /// The blocks of a field do not belong to one array.
    #[error("rank {rank} has field {field:?} with another {what} than the lowest rank")]
    Differs {
        /// The name of the field.
        field: String,
        /// What differs.
        what: &'static str,
        /// The rank.
        rank: u32,
    },
    /// The field is not a global array.
    #[error("field {0:?} is local to its rank, so there is no global array of it; read its blocks")]
    Local(String),
    /// There is no such rank.
    #[error("the checkpoint has no rank {rank}; there are {ranks}, numbered from 0")]
    NoRank {
        /// The rank that was requested.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
    },
    /// A part of a global array does not fit into memory.
    #[error("this part of {field:?} needs {need} bytes of memory, of which {have} are free")]
    TooLarge {
        /// The name of the field.
        field: String,
        /// The bytes that are needed.
        need: u64,
        /// The bytes that are free.
        have: u64,
    },
    /// The ranges are not inside the global array.
    #[error("{ranges} is not inside the global array {field:?} of shape {shape:?}")]
    Range {
        /// The name of the field.
        field: String,
        /// The ranges that were requested.
        ranges: String,
        /// The shape of the array.
        shape: Vec<usize>,
    },
    /// The manifest and the file of a node disagree about a block.
    #[error(
        "the block that rank {rank} has of {field:?} cannot be read: {why}; the manifest or the \
         file is damaged, so take another step"
    )]
    BadBlock {
        /// The rank.
        rank: u32,
        /// The name of the field.
        field: String,
        /// The difference.
        why: String,
    },
    /// No block of the checkpoint has a part of a global array.
    #[error("{count} of the requested values of {field:?} are in no block of the checkpoint")]
    Missing {
        /// The name of the field.
        field: String,
        /// The number of values.
        count: usize,
    },
    /// The field has another type.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// Shows the reason of each step.
struct Whys<'a>(&'a [(u64, String)]);

impl std::fmt::Display for Whys<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut separator = "";
        for (step, why) in self.0 {
            write!(f, "{separator}step {step}: {why}")?;
            separator = "; ";
        }
        Ok(())
    }
}
