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
use crate::collective::{AllGather, Collective};
use comm::Comm;
use mpi::ffi::MPI_Comm;
use mpi::raw::AsRaw;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;
use tcasm_core::place::{open_runtime_dir, runtime_dir};

/// The ranks of a communicator, on all their hosts.
///
/// Ranks are on one host if MPI says that they can share memory, and if they use the same folder
/// for sockets. The first rank of each host leads it, so that only this one calls MPI while the
/// buffer is created. All calls of MPI happen on the thread that made this value.
#[derive(Debug)]
pub struct Ranks(Collective<Leaders>);

/// The ranks that lead a host each. Other ranks have none.
#[derive(Debug)]
struct Leaders(Option<Comm>);

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
        let leaders = Leaders(all.split(leads.then_some(0))?);
        let processes = host.size()?;
        let local = Some(Local { processes, leads });
        Ok(Ranks(Collective::new(leaders, local)))
    }
}

impl AllGather for Leaders {
    fn all_gather(&mut self, mine: &[u8], until: Instant) -> Result<Vec<Vec<u8>>, AgreementError> {
        match &self.0 {
            Some(leaders) => leaders.all_gather(mine, until),
            None => Err(AgreementError::Mpi("this rank does not lead".into())),
        }
    }
}

impl Agreement for Ranks {
    fn all_gather(&mut self, mine: &[u8], until: Instant) -> Result<Vec<Vec<u8>>, AgreementError> {
        self.0.all_gather(mine, until)
    }

    fn leave(&mut self, why: &str) {
        self.0.leave(why);
    }

    fn local(&self) -> Option<Local> {
        self.0.local()
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
