//! Why a process did not get the host buffer.

use crate::agreement::AgreementError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::path::PathBuf;
use tcasm_core::place::BadName;
use tcasm_core::sys::mem::MapError;
use thiserror::Error;

/// A process that cannot use an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The address that was proposed.
    pub base: u64,
    /// The process and its host.
    pub who: String,
    /// The obstacle there.
    pub why: String,
    /// No other address would help.
    pub(crate) everywhere: bool,
}

/// Why a process cannot use an address.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Obstacle {
    pub why: String,
    /// No other address would help.
    pub everywhere: bool,
}

impl Obstacle {
    pub(crate) fn here(why: impl fmt::Display) -> Self {
        Obstacle {
            why: why.to_string(),
            everywhere: false,
        }
    }

    pub(crate) fn everywhere(why: String) -> Self {
        Obstacle {
            why,
            everywhere: true,
        }
    }
}

impl From<MapError> for Obstacle {
    fn from(error: MapError) -> Self {
        Obstacle::here(error)
    }
}

impl Refusal {
    /// Describes a refusal of process `pid` of this host.
    pub(crate) fn of(pid: i32, base: u64, obstacle: Obstacle) -> Self {
        let program = tcasm_core::sys::process::program(u64::try_from(pid).unwrap_or(0));
        let program = program.unwrap_or_else(|| "?".into());
        Refusal {
            base,
            who: format!("process {pid} ({program}) on {}", host_name()),
            why: obstacle.why,
            everywhere: obstacle.everywhere,
        }
        .shortened()
    }

    /// Shortens the texts, which another host may have sent. A path may be as long as 4096 bytes,
    /// and many refusals must fit into one message.
    pub(crate) fn shortened(self) -> Self {
        Refusal {
            base: self.base,
            who: short(self.who, 200),
            why: short(self.why, 500),
            everywhere: self.everywhere,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}: {}: {}", self.base, self.who, self.why)
    }
}

/// Returns the first `most` characters of a text.
pub(crate) fn short(text: impl fmt::Display, most: usize) -> String {
    text.to_string().chars().take(most).collect()
}

/// Returns the name of this host.
pub(crate) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(|_| "?".into(), |name| name.trim().to_owned())
}

/// Why a process did not get the host buffer, or could not seal a section.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HostBufferError {
    /// The name of the job cannot be used.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The sections cannot be used.
    #[error("the sections of the host buffer cannot be used: {0}")]
    Layout(String),
    /// This process has the buffer already.
    #[error(
        "this process, or the one that it was forked from, has the host buffer of {0:?} already; \
         share it among the threads"
    )]
    Twice(String),
    /// This process is a forked child of the one that has the buffer.
    #[error(
        "this process is a forked child of the one that has the host buffer; it can use the \
         memory, but only its parent can do this"
    )]
    Forked,
    /// The folder of the socket cannot be used.
    #[error("cannot use the folder {path:?}: {source}; set TCASM_RUNTIME_DIR to another one")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another user has a socket of this name in the folder.
    #[error(
        "the socket {path:?} belongs to user {uid}, not to this one; set TCASM_RUNTIME_DIR to a \
         folder of your own"
    )]
    Foreign {
        /// The socket.
        path: PathBuf,
        /// The user.
        uid: u32,
    },
    /// There is no address that all processes can use. No process has the buffer.
    #[error(
        "no address can be used by all processes; the first refusal of each address: {}",
        listed(.refusals)
    )]
    Refused {
        /// One refusal of each address that was tried.
        refusals: Vec<Refusal>,
    },
    /// Some processes did not come in time.
    #[error(
        "{came} of {wanted} processes came in time; start the others, or allow more time, or \
         correct the number of processes"
    )]
    Missing {
        /// The number of processes that came, this one included.
        came: usize,
        /// The number of processes that were expected.
        wanted: usize,
    },
    /// A process died during the agreement. No process has the buffer.
    #[error("process {pid} ended while {step}; no process has the buffer, start the job again")]
    Died {
        /// The process.
        pid: i32,
        /// The step of the agreement at that moment.
        step: &'static str,
    },
    /// A process did not answer in time.
    #[error("process {pid} did not answer in time while {step}; is it stopped?")]
    Silent {
        /// The process.
        pid: i32,
        /// The step of the agreement at that moment.
        step: &'static str,
    },
    /// The time was over.
    #[error("there was no answer in time while {step}")]
    NoAnswer {
        /// The step of the agreement at that moment.
        step: &'static str,
    },
    /// The process that leads the agreement of this host refused this one, or gave up.
    #[error("process {pid}, which leads the agreement, refuses: {why}")]
    Leader {
        /// The process.
        pid: i32,
        /// Its reason.
        why: String,
    },
    /// The hosts could not agree.
    #[error(transparent)]
    Hosts(#[from] AgreementError),
    /// Memory could not be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// There is no such section.
    #[error("the host buffer has no section {0:?}")]
    NoSection(String),
    /// The section has memory, and no parts for ranks.
    #[error("section {0:?} is not for regions, so no rank has a part of it; see Section::regions")]
    NotForRegions(String),
    /// The section is for regions, and has no memory.
    #[error("section {0:?} is for regions: the buffer has no memory there")]
    ForRegions(String),
    /// The section has no part for this rank.
    #[error("section {section:?} has no part for rank {rank}: its ranks are 0 to {}", ranks - 1)]
    NoRank {
        /// The section.
        section: String,
        /// The rank.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
    },
    /// This process has taken the part already.
    #[error(
        "this process has taken the part of rank {rank} in section {section:?} already; use the \
         addresses that it got then"
    )]
    PartTaken {
        /// The section.
        section: String,
        /// The rank.
        rank: u32,
    },
    /// A section could not be sealed.
    #[error("section {section:?} was not sealed: {why}")]
    NotSealed {
        /// The section.
        section: String,
        /// The obstacle.
        why: String,
    },
    /// A section was not sealed in time.
    #[error("section {section:?} was not sealed in time: {why}")]
    SealTimeout {
        /// The section.
        section: String,
        /// The obstacle.
        why: String,
    },
    /// The section is in other memory than this call is for.
    #[error(
        "section {section:?} is in {is}; `device_section` is for device memory, and all else for \
         ordinary memory"
    )]
    Backing {
        /// The section.
        section: String,
        /// Its memory.
        is: &'static str,
    },
    /// The driver of the GPU is absent, or refuses.
    #[error("cannot register memory with a GPU: {0}")]
    Gpu(String),
    /// Memory of a device could not be created or mapped.
    #[error("cannot use the memory of a device: {0}")]
    Device(String),
    /// A call of the system failed.
    #[error("cannot {what}: {source}")]
    Os {
        /// The step that failed.
        what: String,
        /// The error of the system.
        source: io::Error,
    },
}

impl HostBufferError {
    /// Returns a function that makes an error of the system one of these.
    pub(crate) fn os<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |error| HostBufferError::Os {
            what,
            source: error.into(),
        }
    }
}

fn listed(refusals: &[Refusal]) -> String {
    let texts: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
    texts.join("; ")
}
