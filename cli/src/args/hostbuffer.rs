//! Arguments of `hostbuffer`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What `hostbuffer` does.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum HostBufferAction {
    /// Run the rendezvous
    Serve,
}

#[derive(Debug, Args)]
pub struct HostBufferArgs {
    /// The command
    pub action: HostBufferAction,
    /// Listen at this address and port; port 0 for any free one
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: String,
    /// Number of hosts of each job
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub hosts: u32,
    /// File with the secret that the processes of the job know too: at least 16 random bytes. Other
    /// users must not be able to read it
    #[arg(long, value_name = "FILE")]
    pub secret: PathBuf,
}

pub const HOSTBUFFER_HELP: &str = "\
A launcher starts it before the processes of the job, and ends it when they run. For a new secret:
    (umask 077; head -c 32 /dev/urandom | base64 > FILE)
The messages are authenticated, but not encrypted: they contain names of hosts, programs and files.
SIGINT or SIGTERM makes this program exit with status 0.";
