//! The place of this process in its job, as a launcher tells it in the environment.
//!
//! Each number is that of a variable `TCASM_...`, if it is set, else that of the launcher. The
//! functions get the environment as a function, and depend on nothing else.

use crate::error::{EnvError, Looked};
use tcasm_core::group::Member;

/// Returns the value of a variable of the environment.
pub(super) type Lookup<'e> = &'e dyn Fn(&str) -> Option<String>;

/// The place of a process in its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) rank: u32,
    pub(super) ranks: u32,
    pub(super) local_ranks: u32,
    pub(super) run: String,
}

/// The variables in which a launcher tells a process its place. Of each list, the first that is set
/// counts.
#[derive(Debug)]
struct Launcher {
    /// Variables that only processes of the launcher have.
    signs: &'static [&'static str],
    rank: &'static [&'static str],
    ranks: &'static [&'static str],
    local_ranks: &'static [&'static str],
    /// Ids of the start of a job. An id of several variables counts if all of them are set.
    run: &'static [&'static [&'static str]],
    /// True if the numbers of ranks on each host may be in Slurm's variables.
    is_slurm: bool,
}

/// The start of the names that Slurm gives to the jobs that it tells their places by PMIx, too.
const SLURM_NAMESPACE: &str = "slurm.";
/// The numbers of ranks of each host, in the order of hosts, such as `4(x2),3`.
const PER_HOST: [&str; 2] = ["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"];
/// The number of this host, from 0.
const HOST: &str = "SLURM_NODEID";
/// How often Slurm has queued the job again. Its number and those of its steps are the same then.
const RESTARTS: &str = "SLURM_RESTART_COUNT";

const OWN: Launcher = Launcher {
    signs: &["TCASM_RANK", "TCASM_RANKS"],
    rank: &["TCASM_RANK"],
    ranks: &["TCASM_RANKS"],
    local_ranks: &["TCASM_LOCAL_RANKS"],
    run: &[&["TCASM_RUN"]],
    is_slurm: false,
};

const OPEN_MPI: Launcher = Launcher {
    signs: &["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
    rank: &["OMPI_COMM_WORLD_RANK"],
    ranks: &["OMPI_COMM_WORLD_SIZE"],
    local_ranks: &["OMPI_COMM_WORLD_LOCAL_SIZE"],
    run: &[&["PMIX_NAMESPACE"], &["OMPI_MCA_ess_base_jobid"]],
    is_slurm: false,
};

/// Hydra (MPICH, Intel MPI), and Slurm's PMI-2.
const PMI: Launcher = Launcher {
    signs: &["PMI_RANK", "PMI_SIZE"],
    rank: &["PMI_RANK"],
    ranks: &["PMI_SIZE"],
    local_ranks: &["MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"],
    run: &[&["PMI_JOBID"]],
    is_slurm: true,
};

/// Other launchers with PMIx. They do not tell the numbers of ranks in the environment.
const PMIX: Launcher = Launcher {
    signs: &["PMIX_RANK"],
    rank: &["PMIX_RANK"],
    ranks: &[],
    local_ranks: &[],
    run: &[&["PMIX_NAMESPACE"]],
    is_slurm: false,
};

const SLURM: Launcher = Launcher {
    signs: &["SLURM_PROCID"],
    rank: &["SLURM_PROCID"],
    ranks: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
    local_ranks: &[],
    run: &[&["SLURM_JOB_ID", "SLURM_STEP_ID"]],
    is_slurm: true,
};

/// Returns the place that the environment tells. Without a launcher, it is that of the only rank.
pub(super) fn told(get: Lookup<'_>) -> Result<Told, EnvError> {
    // An empty text is as good as none.
    let get = |name: &str| get(name).filter(|value| !value.is_empty());
    let launcher = launcher(&get);
    let reader = Reader {
        get: &get,
        launcher,
    };
    if launcher.is_none() && !has_started(&OWN, &get) {
        return Ok(Told {
            rank: 0,
            ranks: 1,
            local_ranks: 1,
            run: reader.run().unwrap_or_default(),
        });
    }
    reader.told()
}

/// Returns the launcher that has started this process. A launcher may itself have been started by
/// one that comes later here.
fn launcher(get: Lookup<'_>) -> Option<&'static Launcher> {
    let is_slurm = |space: String| space.starts_with(SLURM_NAMESPACE);
    let by_slurm = get("PMIX_NAMESPACE").is_some_and(is_slurm);
    let known = [&OPEN_MPI, &PMI, &PMIX, &SLURM].into_iter();
    let mut set = known.filter(|l| has_started(l, get));
    match set.next() {
        Some(first) if first.rank == PMIX.rank && by_slurm => set.next(),
        first => first,
    }
}

fn has_started(launcher: &Launcher, get: Lookup<'_>) -> bool {
    launcher.signs.iter().any(|name| get(name).is_some())
}

/// Reads the variables of a launcher.
struct Reader<'e> {
    get: Lookup<'e>,
    launcher: Option<&'static Launcher>,
}

impl Reader<'_> {
    fn told(&self) -> Result<Told, EnvError> {
        let rank = self.number(|l| l.rank)?;
        let rank = rank.ok_or_else(|| self.missing("rank", OWN.rank[0]))?;
        let ranks = self.number(|l| l.ranks)?;
        let ranks = ranks.ok_or_else(|| self.missing("number of ranks", OWN.ranks[0]))?;
        let local_ranks = match self.local_ranks()? {
            Some(n) => n,
            // All ranks are here, as they are for `Group::new`.
            None if ranks == 1 || self.launcher.is_none() => ranks,
            None => return Err(self.missing("number of ranks on this host", OWN.local_ranks[0])),
        };
        let run = match self.run() {
            Some(run) => run,
            None if ranks == 1 => String::new(),
            None => return Err(self.missing("name of the run", OWN.run[0][0])),
        };
        let told = Told {
            rank,
            ranks,
            local_ranks,
            run,
        };
        self.check(&told)?;
        Ok(told)
    }

    /// Returns the launchers whose variables count, the first one first.
    fn launchers(&self) -> impl Iterator<Item = &'static Launcher> {
        [&OWN].into_iter().chain(self.launcher)
    }

    /// Returns the number in the first of these variables that is set.
    fn number(
        &self,
        names: impl Fn(&Launcher) -> &'static [&'static str],
    ) -> Result<Option<u32>, EnvError> {
        let mut all = self.launchers().flat_map(|l| names(l).iter().copied());
        let set = all.find_map(|name| Some((name, (self.get)(name)?)));
        set.map(|(name, value)| whole(name, &value)).transpose()
    }

    fn local_ranks(&self) -> Result<Option<u32>, EnvError> {
        match self.number(|l| l.local_ranks)? {
            None if self.launcher.is_some_and(|l| l.is_slurm) => self.of_host(),
            number => Ok(number),
        }
    }

    /// Returns the number of ranks on this host, as Slurm tells it.
    fn of_host(&self) -> Result<Option<u32>, EnvError> {
        let mut lists = PER_HOST.into_iter();
        let list = lists.find_map(|name| Some((name, (self.get)(name)?)));
        let (Some((name, list)), Some(host)) = (list, (self.get)(HOST)) else {
            return Ok(None);
        };
        let host = whole(HOST, &host)?;
        match per_host(&list, host) {
            Some(ranks) => Ok(Some(ranks)),
            None => Err(EnvError::PerHost { name, list, host }),
        }
    }

    fn run(&self) -> Option<String> {
        let own = OWN.run.iter().find_map(|names| self.joined(names));
        own.or_else(|| {
            let mut ids = self.launchers().flat_map(|l| l.run.iter());
            let id = ids.find_map(|names| self.joined(names))?;
            Some(match (self.get)(RESTARTS).filter(|count| count != "0") {
                Some(count) => format!("{id}.{count}"),
                None => id,
            })
        })
    }

    fn joined(&self, names: &[&str]) -> Option<String> {
        let parts = names.iter().map(|name| (self.get)(name));
        Some(parts.collect::<Option<Vec<String>>>()?.join("."))
    }

    fn check(&self, told: &Told) -> Result<(), EnvError> {
        let member = Member {
            group: String::new(),
            rank: told.rank,
            ranks: told.ranks,
            local_ranks: told.local_ranks,
            run: String::new(),
        };
        member.check().map_err(|source| EnvError::Member {
            source,
            looked: self.looked(),
        })
    }

    fn missing(&self, what: &'static str, own: &'static str) -> EnvError {
        let looked = self.looked();
        EnvError::Missing { what, own, looked }
    }

    /// Returns all variables that were looked at, with their values.
    fn looked(&self) -> Looked {
        let names = |l: &'static Launcher| {
            let lists = [l.rank, l.ranks, l.local_ranks].into_iter().flatten();
            let slurm = PER_HOST.iter().chain([&HOST]).filter(|_| l.is_slurm);
            lists.chain(slurm).chain(l.run.iter().copied().flatten())
        };
        let names = self.launchers().flat_map(names);
        Looked(names.map(|name| (*name, (self.get)(name))).collect())
    }
}

/// Returns the number that a variable has.
fn whole(name: &'static str, value: &str) -> Result<u32, EnvError> {
    let digits = value.bytes().all(|b| b.is_ascii_digit());
    let number = digits.then(|| value.parse().ok()).flatten();
    number.ok_or_else(|| EnvError::Number {
        name,
        value: value.to_owned(),
    })
}

/// Returns item `host` of a list like `4(x2),3`: 4, 4, 3.
fn per_host(list: &str, host: u32) -> Option<u32> {
    let mut before = 0u32;
    for item in list.split(',') {
        let (ranks, hosts) = match item.split_once("(x") {
            Some((ranks, hosts)) => (ranks, hosts.strip_suffix(')')?.parse().ok()?),
            None => (item, 1),
        };
        before = before.checked_add(hosts)?;
        if host < before {
            return ranks.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests;
