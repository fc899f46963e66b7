//! Groups: regions of several ranks, of which observers see one step at a time.

use super::Builder;
use super::launcher::{Told, told};
use crate::error::EnvError;
use tcasm_core::group::Member;

/// The place of a region in a group: see [`Builder::group`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    rank: u32,
    ranks: u32,
    local_ranks: u32,
    run: String,
}

impl Group {
    /// Describes the member `rank` of `ranks`, which are numbered from 0. All of them are on this
    /// host, and belong to the same run.
    pub fn new(rank: u32, ranks: u32) -> Self {
        Group {
            rank,
            ranks,
            local_ranks: ranks,
            run: String::new(),
        }
    }

    /// Describes the member that this process is, as its launcher tells it in the environment:
    /// the rank, the numbers of ranks in all and on this host, and the name of the run.
    ///
    /// Launchers are, in this order: `mpirun` of Open MPI, Hydra (MPICH), PMIx, and `srun` of
    /// Slurm. `TCASM_RANK`, `TCASM_RANKS`, `TCASM_LOCAL_RANKS` and `TCASM_RUN` tell what the
    /// launcher does not, and come first. `docs/jobs.md` has the table of variables. A program that
    /// no launcher has started is the only rank. If a launcher has told a part only, or a wrong
    /// number, the error has all variables that were looked at, with their values.
    pub fn from_env() -> Result<Self, EnvError> {
        let Told {
            rank,
            ranks,
            local_ranks,
            run,
        } = told(&|name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))?;
        let group = Group::new(rank, ranks).local_ranks(local_ranks);
        Ok(group.run(&run))
    }

    /// Returns the rank of this process, from 0.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Returns the number of ranks on all hosts.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Sets how many of the ranks are on this host. Observers wait for that many.
    pub fn local_ranks(self, count: u32) -> Self {
        Group {
            local_ranks: count,
            ..self
        }
    }

    /// Names the run, in all ranks alike: for example the launcher's number of the job. Observers
    /// never combine versions of different runs. So give each start of the job another name. If the
    /// ranks return to an earlier step, set the attribute `run` to another text in all of them
    /// ([`Producer::set_attr`](crate::Producer::set_attr)).
    pub fn run(self, name: &str) -> Self {
        Group {
            run: name.to_owned(),
            ..self
        }
    }

    /// Returns this member of the group called `name`, with all that its region tells of it.
    pub fn member(&self, name: &str) -> Member {
        Member {
            group: name.to_owned(),
            rank: self.rank,
            ranks: self.ranks,
            local_ranks: self.local_ranks,
            run: self.run.clone(),
        }
    }
}

impl Builder {
    /// Makes the region that of one rank of a group, which has the name of the builder. The region
    /// is called `<name>.<rank>`, and has the attributes `group`, `rank`, `ranks`, `local_ranks`
    /// and `run`.
    ///
    /// Each rank declares fields of its own and publishes them, without waiting for the others.
    /// The versions of all ranks that have the same step belong together: publish the same state of
    /// the simulation with the same step in all ranks, and ascending steps within a run.
    /// `GroupObserver` of tcasm-observer finds the newest step that all ranks have. So keep as many
    /// versions ([`history`](Builder::history)) as a rank may be ahead of another one.
    ///
    /// In a part of a host buffer (`HostBuffer::take_part` of tcasm-hostbuffer), the regions of all
    /// ranks have addresses of their own: `.extent(part)`.
    #[must_use]
    pub fn group(mut self, group: Group) -> Self {
        let member = group.member(&self.member.map_or(self.name, |member| member.group));
        self.name = member.region();
        self.member = Some(member);
        self
    }
}
