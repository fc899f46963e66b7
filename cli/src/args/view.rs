//! Arguments of the commands that show a region live.

use super::wait::WaitArgs;
use clap::Args;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Name of the region or group
    pub name: String,
    /// Listen on this port; 0 for any free port [default: the first free port from 8337 on]
    #[arg(long, value_name = "P")]
    pub port: Option<u16>,
    /// Listen on this address. With any other than the default, other machines can reach the page;
    /// they need the token
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub bind: IpAddr,
    /// Listen on this Unix socket instead of a port. Only this user can connect to it, for example
    /// through  ssh -L 8337:PATH HOST
    #[arg(long, value_name = "PATH", conflicts_with_all = ["port", "bind"])]
    pub socket: Option<PathBuf>,
    #[command(flatten)]
    pub wait: WaitArgs,
}

pub const VIEW_HELP: &str = "\
The printed address contains a token. The page shows nothing without it. The token stays the same
when the program is started on this port again.
One port is enough. Through SSH:  ssh -L PORT:127.0.0.1:PORT HOST
On a machine with other users, prefer --socket: no other user can connect to it, or take its place
after this program has exited.
The simulation is not interrupted. SIGINT or SIGTERM makes this program exit with status 0.";

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Name of the region or group
    pub name: String,
    /// Draw at most N times per second; choose less for a slow connection
    #[arg(
        long,
        value_name = "N",
        default_value_t = 15,
        value_parser = clap::value_parser!(u32).range(1..=60)
    )]
    pub rate: u32,
    #[command(flatten)]
    pub wait: WaitArgs,
}

pub const WATCH_HELP: &str = "\
Keys: q quits, ? shows the others.
Colours: 16 million if COLORTERM is truecolor, else 256; none if NO_COLOR is set. SSH does not pass
COLORTERM on. If the terminal supports it:  COLORTERM=truecolor tcasm watch NAME
The simulation is not interrupted. SIGINT, SIGTERM or SIGHUP ends this program with status 0.";
