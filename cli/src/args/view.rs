//! Arguments of the commands that show a region live.

use clap::Args;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ViewArgs {
    /// Name of the region
    pub name: String,
    /// The port to listen at; 0 for any [default: the first free one from 8337 on]
    #[arg(long, value_name = "P")]
    pub port: Option<u16>,
    /// The address to listen at. With another one than the default, others can reach the page; they need the token
    #[arg(long, value_name = "ADDR", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub bind: IpAddr,
    /// Listen at this Unix socket instead of a port: only this user can connect to it, as through  ssh -L 8337:PATH HOST
    #[arg(long, value_name = "PATH", conflicts_with_all = ["port", "bind"])]
    pub socket: Option<PathBuf>,
    /// Fail when there is no such region, instead of waiting for it
    #[arg(long)]
    pub no_wait: bool,
}

pub const VIEW_HELP: &str = "\
The address that is printed holds a token, without which nothing is shown; it is the same at the next start at this port.
One port is all that is needed: through SSH with  ssh -L PORT:127.0.0.1:PORT HOST
On a machine that others use, prefer --socket: no other user can connect to it, or take its place when this program has ended.
The simulation is not asked for anything, and does not notice. SIGINT or SIGTERM ends this program with status 0.";

#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Name of the region
    pub name: String,
    /// Draw at most so many times in a second; less is kinder to a slow connection
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub rate: u32,
    /// Fail when there is no such region, instead of waiting for it
    #[arg(long)]
    pub no_wait: bool,
}

pub const WATCH_HELP: &str = "\
Keys: q ends, ? shows the others.
Colours are those of the terminal: 16 million where COLORTERM says truecolor (SSH does not pass it on: COLORTERM=truecolor
tcasm watch NAME, if the terminal has them), else 256; none where NO_COLOR is set.
The simulation is not asked for anything, and does not notice. SIGINT, SIGTERM or SIGHUP ends this program with status 0.";
