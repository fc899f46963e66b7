//! The agreement among hosts.

use std::fmt;
use std::time::Instant;
use thiserror::Error;

/// Why the hosts could not agree.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgreementError {
    /// A host has left.
    #[error("the hosts did not agree: {0}")]
    Left(String),
    /// The other hosts did not answer in time.
    #[error("the other hosts did not answer in time, while waiting for {0}")]
    Late(String),
    /// The rendezvous cannot be reached, or is not the one with our secret.
    #[error("the rendezvous at {address}: {why}")]
    Rendezvous {
        /// The address.
        address: String,
        /// The error.
        why: String,
    },
    /// MPI could not be used, or a call of it failed.
    #[error("the hosts did not agree by MPI: {0}")]
    Mpi(String),
}

/// A connection of this host with the other hosts of the job.
///
/// One process of each host uses it, from the thread that creates the buffer. If that process dies
/// before the hosts have agreed, another process of the host begins anew with its own value.
pub trait Agreement: fmt::Debug + Send {
    /// Gives the message of this host to all hosts, and returns those of all hosts, in the same
    /// order on every host. All hosts call this equally often. A host that is gone makes it fail on
    /// all others.
    fn all_gather(&mut self, mine: &[u8], until: Instant) -> Result<Vec<Vec<u8>>, AgreementError>;

    /// Leaves the agreement before it is complete, and tells the other hosts why.
    fn leave(&mut self, why: &str);

    /// Returns what the agreement knows of the processes of this host. The default is nothing.
    fn local(&self) -> Option<Local> {
        None
    }
}

/// The processes of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local {
    /// The number of processes that take part.
    pub processes: usize,
    /// Whether this process leads. The others wait for it. Without this knowledge, the first
    /// process that comes leads.
    pub leads: bool,
}

/// The agreement of a job on one host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Agreement for Alone {
    fn all_gather(&mut self, mine: &[u8], _until: Instant) -> Result<Vec<Vec<u8>>, AgreementError> {
        Ok(vec![mine.to_vec()])
    }

    fn leave(&mut self, _why: &str) {}
}
