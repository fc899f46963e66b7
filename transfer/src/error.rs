//! Errors of owners and peers.

use crate::layout::LayoutError;
use crate::wire::Status;
use nix::errno::Errno;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tcasm_core::sys::mem::MapError;
use thiserror::Error;

/// The reason why an owner cannot begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// The folder of the sockets cannot be used.
    #[error("the folder {path:?} cannot be used: {source}; set TCASM_RUNTIME_DIR to another one")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The owner cannot listen for peers.
    #[error("cannot listen at {path:?}: {source}")]
    Listen {
        /// The path of the socket.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The service thread cannot start.
    #[error("the service thread cannot start: {0}")]
    Thread(#[source] io::Error),
}

/// The reason why memory cannot be declared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeclareError {
    /// The layout is refused.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Some of the memory is not mapped as it must be.
    #[error(
        "address {addr:#x} is not mapped for {}; declare memory that is there",
        uses(*writes)
    )]
    Unmapped {
        /// The first such address.
        addr: usize,
        /// True if peers would write.
        writes: bool,
    },
    /// Some of the layout is outside of the shared memory.
    #[error("address {addr:#x} is outside of the shared memory at {start:#x}..{end:#x}")]
    Outside {
        /// The address.
        addr: usize,
        /// The first address of the memory.
        start: usize,
        /// The address after the last one.
        end: usize,
    },
    /// The cookie cannot be used.
    #[error("the version cannot be replaced: {0}")]
    Cookie(#[source] Status),
    /// Only versions follow each other.
    #[error(
        "only a declaration of a version can be replaced, and only by another one that is not for \
         one use"
    )]
    NoVersion,
    /// The process is a forked child of the owner.
    #[error("a forked child cannot use the owner of its parent; create one")]
    Forked,
    /// There are too many declarations.
    #[error("{most} declarations are there already; revoke those that are not needed")]
    TooMany {
        /// The largest number.
        most: usize,
    },
    /// The system refused a call.
    #[error("the memory cannot be declared: {0}")]
    Os(#[from] io::Error),
}

/// The reason why a transfer failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransferError {
    /// Nothing answers at the address.
    #[error("no owner can be reached at {path:?}: {source}; it may have ended")]
    Connect {
        /// The path of the socket.
        path: PathBuf,
        /// The error.
        source: Errno,
    },
    /// The owner refused.
    #[error(transparent)]
    Refused(#[from] Status),
    /// The owner has ended, or ended the connection.
    #[error("the owner has ended, or has ended the connection; connect again if it still runs")]
    OwnerGone,
    /// The owner did not answer in time.
    #[error("the owner has not answered within {0:?}; it may be stopped. Connect again")]
    TimedOut(Duration),
    /// The program has ended the wait.
    #[error("the program was interrupted while it waited for the owner; connect again")]
    Interrupted,
    /// The answer of the owner makes no sense.
    #[error("the owner has answered nonsense: {0}; the connection is not used any more")]
    Nonsense(&'static str),
    /// The process is a forked child of the one that has connected.
    #[error("a forked child cannot use the connection of its parent; connect again")]
    Forked,
    /// An earlier error has ended the connection.
    #[error("an earlier error has ended this connection; connect again")]
    Ended,
    /// The transport that the caller chose does not work.
    #[error("a direct copy is not possible: {0}; use another transport")]
    NotDirect(String),
    /// This process has no room for a descriptor.
    #[error("no room for the file that the owner has sent: {0}; close some, and connect again")]
    Descriptors(#[source] io::Error),
    /// The kernel refused a copy.
    #[error("the kernel refused the copy: {0}")]
    Copy(#[source] io::Error),
    /// The memory cannot be mapped here.
    #[error(transparent)]
    Map(#[from] MapError),
}

/// Returns what peers do with memory, for messages.
fn uses(writes: bool) -> &'static str {
    match writes {
        true => "reading and writing",
        false => "reading",
    }
}
