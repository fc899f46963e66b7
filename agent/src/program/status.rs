//! The exit statuses.

use super::introduction::Differing;
use crate::agreement::AgentError;
use crate::mpi::MpiError;
use crate::node::{NodeError, UseError};
use crate::notice::NoticeError;
use crate::transport::Suspicion;
use std::time::Duration;
use thiserror::Error;

/// The exit statuses. `--help` explains them to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The job has ended, or a signal has ended the agents.
    Ended = 0,
    /// Another error.
    Other = 1,
    /// The arguments are wrong, or not the same for all agents.
    Usage = 2,
    /// A region of this node cannot be read.
    Regions = 3,
    /// The regions of this node have too few versions.
    TooFewVersions = 4,
    /// The region of agreed steps cannot be created or written.
    Notice = 5,
    /// Another agent or MPI has failed. Start the agents again.
    Lost = 6,
    /// Something that is done with agreed steps has failed.
    Use = 7,
}

/// Why the program ends with an error.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Mpi(#[from] MpiError),
    #[error(transparent)]
    Differing(#[from] Differing),
    #[error(transparent)]
    Notice(#[from] NoticeError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("{0}")]
    Use(UseError),
    #[error(
        "told to end, and the other agents take part in no round for {0:.1?}: an agent or its host \
         is lost; start the agents again"
    )]
    Silent(Duration),
}

impl Failure {
    pub(super) fn status(&self) -> Status {
        match self {
            Failure::Mpi(_) | Failure::Silent(_) => Status::Lost,
            Failure::Differing(Differing::Lost(_)) => Status::Lost,
            Failure::Differing(_) => Status::Usage,
            Failure::Notice(_) => Status::Notice,
            Failure::Node(NodeError::Use(error)) | Failure::Use(error) => match error {
                error if error.is::<Suspicion>() => Status::Lost,
                error if error.is::<NoticeError>() => Status::Notice,
                _ => Status::Use,
            },
            Failure::Node(NodeError::Agent(error)) => match error {
                AgentError::Suspicion(_) => Status::Lost,
                AgentError::Offer(_) => Status::Usage,
                AgentError::Regions(_) => Status::Regions,
                AgentError::TooFewVersions { .. } => Status::TooFewVersions,
            },
        }
    }
}
