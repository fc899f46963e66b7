//! The launchers of jobs, and their options.

use super::{Part, name};
use std::process::Command;

/// A launcher, by the MPI that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI 4.
    OpenMpi4,
    /// Open MPI 5, which starts processes by PRRTE.
    OpenMpi5,
    /// MPICH, which starts processes by Hydra.
    Hydra,
}

impl Launcher {
    /// Returns what `mpirun` on the PATH is.
    ///
    /// # Panics
    ///
    /// Panics if there is none, or a version that was never tried.
    pub fn found() -> Launcher {
        let asked = Command::new("mpirun").arg("--version").output();
        let output = asked.expect("mpirun is on the PATH");
        let text = String::from_utf8_lossy(&output.stdout);
        match () {
            () if text.contains("(Open MPI) 4.") => Launcher::OpenMpi4,
            () if text.contains("(Open MPI) 5.") => Launcher::OpenMpi5,
            () if text.contains("HYDRA") => Launcher::Hydra,
            () => panic!("mpirun is neither of Open MPI 4 or 5 nor of MPICH: {text:?}"),
        }
    }

    /// Returns true if the status of a job does not tell that a host was killed. PRRTE ends the job
    /// then, and its status is 0.
    pub fn hides_lost_hosts(self) -> bool {
        self == Launcher::OpenMpi5
    }

    /// Returns true if processes on other hosts are told to end when a host was killed. PRRTE ends
    /// the job as if it were done, and Hydra fails: neither tells them.
    pub fn tells_of_lost_hosts(self) -> bool {
        self == Launcher::OpenMpi4
    }

    /// Returns the options before the parts of a job. `agent` is the script that starts commands on
    /// hosts, unless hosts are folders.
    pub(super) fn options(self, agent: Option<&str>, parts: &[Part]) -> Vec<String> {
        let open_mpi = ["--allow-run-as-root", "--mca", "pml", "ob1"];
        let net = ["--mca", "btl_tcp_if_include", "eth0"];
        let mut options = match self {
            Launcher::OpenMpi4 => [&open_mpi[..], &["--oversubscribe"]].concat(),
            Launcher::OpenMpi5 => {
                let shared = ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"];
                [&open_mpi[..], &shared].concat()
            }
            Launcher::Hydra => Vec::new(),
        };
        let places = places(parts);
        match (self, agent) {
            (Launcher::OpenMpi4, Some(agent)) => {
                options.extend(["--mca", "plm_rsh_agent", agent]);
                options.extend(["--mca", "oob_tcp_if_include", "eth0"]);
                options.extend(["--mca", "btl", "self,vader,tcp"]);
                options.extend(net);
            }
            (Launcher::OpenMpi5, Some(agent)) => {
                options.extend(["--prtemca", "plm_ssh_agent", agent]);
                options.extend(["--prtemca", "prte_if_include", "eth0"]);
                options.extend(["--mca", "btl", "self,sm,tcp"]);
                options.extend(net);
            }
            (Launcher::Hydra, Some(agent)) => {
                options.extend(["-launcher", "rsh", "-launcher-exec", agent]);
                options.extend(["-iface", "eth0", "-hosts", &places]);
            }
            (Launcher::OpenMpi4, None) => options.extend(["--mca", "btl", "self,vader"]),
            (Launcher::OpenMpi5, None) => options.extend(["--mca", "btl", "self,sm"]),
            (Launcher::Hydra, None) => {}
        }
        options.into_iter().map(str::to_owned).collect()
    }

    /// Returns the options of a part of a job on a host. Hydra fills the hosts of all parts one
    /// after the other.
    pub(super) fn place(self, part: &Part) -> Vec<String> {
        match self {
            Launcher::Hydra => Vec::new(),
            _ => vec!["-host".to_owned(), place(part)],
        }
    }
}

fn place(part: &Part) -> String {
    format!("{}:{}", name(part.host), part.processes)
}

fn places(parts: &[Part]) -> String {
    let places: Vec<String> = parts.iter().map(place).collect();
    places.join(",")
}
