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
    #[command(flatten)]
    pub wait: WaitArgs,
}

pub const KEEP_HELP: &str = "\
The next start of the simulation can take over what is held (Producer::restore_kept). To write it
to a file: tcasm restore --kept NAME --out FILE. It is released when the next start has published
its first version, and when this program exits. SIGINT or SIGTERM makes it exit with status 0.";
