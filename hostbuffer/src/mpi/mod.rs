//! Agreement among hosts by the application's MPI.
//!
//! ```no_run
//! use tcasm_hostbuffer::{HostBuffer, Section, mpi::Ranks};
//!
//! let universe = mpi::initialize().expect("MPI is not initialised yet");
//! let ranks = Ranks::new(&universe.world())?;
//! let buffer = HostBuffer::builder("weather")
//!     .section(Section::new("orography", 1 << 30))
//!     .agreement(ranks)
//!     .create_or_attach()?;
//! # let _ = buffer;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program that has initialised MPI in another language makes the communicator with
//! `mpi::topology::SimpleCommunicator::from_raw`.

mod comm;

use crate::agreement::{Agreement, AgreementError, Local};
use crate::error::short;
use comm::Comm;
use mpi::ffi::MPI_Comm;
use mpi::raw::AsRaw;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use tcasm_core::place::{open_runtime_dir, runtime_dir};

/// The first byte of a message of a host that takes part, and of one that leaves.
const PRESENT: u8 = 0;
const LEFT: u8 = 1;
/// How long a host that leaves waits for the others to learn why.
const LEAVING: Duration = Duration::from_secs(10);

/// The ranks of a communicator, on all their hosts.
///
/// Ranks are on one host if MPI says that they can share memory, and if they use the same folder
/// for sockets. The first rank of each host leads it, so that only this one calls MPI while the
/// buffer is created. All calls of MPI happen on the thread that made this value.
#[derive(Debug)]
pub struct Ranks {
    /// The ranks that lead a host each. Other ranks have none.
    leaders: Option<Comm>,
    local: Local,
    /// The last message that all hosts will gather has been sent, or a call has failed.
    ended: bool,
}

impl Ranks {
    /// Finds out which ranks are on which host. All ranks of the communicator call this together.
    pub fn new(ranks: &impl AsRaw<Raw = MPI_Comm>) -> Result<Self, AgreementError> {
        let all = Comm::duplicate(ranks)?;
        let node = all.split_shared()?;
        let own = common(&all, folder())?;
        let folders = node.all_gather_now(own)?;
        let first = folders.iter().position(|other| *other == own);
        let host = node.split(first)?;
        let host = host.ok_or_else(|| AgreementError::Mpi("a rank is on no host".into()))?;
        let leads = host.rank()? == 0;
        let leaders = all.split(leads.then_some(0))?;
        let processes = host.size()?;
        Ok(Ranks {
            leaders,
            local: Local { processes, leads },
            ended: false,
        })
    }

    /// Gives a message to all hosts, and returns those of all. One that has left is an error.
    fn gather(
        &self,
        kind: u8,
        mine: &[u8],
        until: Instant,
    ) -> Result<Vec<Vec<u8>>, AgreementError> {
        let leaders = self.leaders.as_ref();
        let leaders =
            leaders.ok_or_else(|| AgreementError::Mpi("this rank does not lead".into()))?;
        let mut all = leaders.all_gather(&[&[kind], mine].concat(), until)?;
        for message in &mut all {
            let kind = (!message.is_empty()).then(|| message.remove(0));
            if kind != Some(PRESENT) {
                let why = String::from_utf8_lossy(message).into_owned();
                return Err(AgreementError::Left(why));
            }
        }
        Ok(all)
    }
}

impl Agreement for Ranks {
    fn all_gather(&mut self, mine: &[u8], until: Instant) -> Result<Vec<Vec<u8>>, AgreementError> {
        if self.ended {
            return Err(AgreementError::Left("the agreement has ended".into()));
        }
        let all = self.gather(PRESENT, mine, until);
        // A host that learns that another one has left does not answer: nobody waits for it.
        self.ended = all.is_err();
        all
    }

    fn leave(&mut self, why: &str) {
        if !self.ended {
            self.ended = true;
            let why = short(why, 4000);
            // All others learn it in the next round, or leave in it themselves.
            let _ = self.gather(LEFT, why.as_bytes(), Instant::now() + LEAVING);
        }
    }

    fn local(&self) -> Option<Local> {
        Some(self.local)
    }
}

/// Returns the folder of this rank, if all ranks have one. Otherwise no rank waits for another one.
fn common(all: &Comm, folder: std::io::Result<[u64; 2]>) -> Result<[u64; 2], AgreementError> {
    let number = all.rank()? as u64 + 1;
    let without = all.max_now(if folder.is_err() { number } else { 0 })?;
    let own = folder.map_err(|error| {
        let path = runtime_dir();
        AgreementError::Mpi(format!("cannot use the folder {path:?}: {error}"))
    })?;
    match without {
        0 => Ok(own),
        n => Err(AgreementError::Mpi(format!(
            "rank {} cannot use its folder",
            n - 1
        ))),
    }
}

/// Returns the identity of the folder where the processes of a host meet.
fn folder() -> std::io::Result<[u64; 2]> {
    let status = open_runtime_dir(&runtime_dir())?.metadata()?;
    Ok([status.dev(), status.ino()])
}
