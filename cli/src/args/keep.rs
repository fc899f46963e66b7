//! Arguments of `keep`.

use super::wait::WaitArgs;
use clap::Args;

#[derive(Debug, Args)]
pub struct KeepArgs {
    /// Names of the regions
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Hold the last N versions. With more than one, versions are pinned while the simulation runs,
    /// which uses its memory
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=32)
    )]
    pub versions: u32,
    /// Hold the versions of a simulation that has ended normally, too. Its next start then goes on
    /// where it ended
    #[arg(long)]
    pub after_end: bool,
    #[command(flatten)]
    pub wait: WaitArgs,
}

pub const KEEP_HELP: &str = "\
The next start of the simulation can take over what is held (restore_or_begin, or restore_kept of
tcasm-restart). To write it to a file: tcasm restore --kept NAME --out FILE. It is released when the
next start has published its first version, and when this program exits. A simulation that closes
its region has ended normally: nothing of it is held. SIGINT or SIGTERM makes this program exit with
status 0.";
