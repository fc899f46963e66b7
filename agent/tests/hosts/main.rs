//! Jobs of several hosts: ranks that `mpirun` starts, and agents that another `mpirun` starts.
//! Every value of every agreed step is compared.

mod agreed;
#[cfg(feature = "files")]
mod alone;
#[cfg(feature = "files")]
mod checkpoints;
mod common;
#[cfg(feature = "files")]
mod disks;
mod killed;
#[cfg(feature = "files")]
mod lost_host;
#[cfg(feature = "files")]
mod own_disks;
mod relayed;
#[cfg(feature = "files")]
mod storm;
