//! Jobs of several hosts: ranks that `mpirun` starts, and agents that another `mpirun` starts.
//! Every value of every agreed step is compared.

mod agreed;
#[cfg(feature = "files")]
mod checkpoints;
mod common;
mod killed;
mod relayed;
