//! Arguments of `keep`.

use clap::Args;

#[derive(Debug, Args)]
pub struct KeepArgs {
    /// Name of the region
    pub name: String,
    /// Hold the last N versions. With more than one, versions are pinned while the simulation runs,
    /// which uses its memory
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=32)
    )]
    pub versions: u32,
}

pub const KEEP_HELP: &str = "\
The next start of the simulation can take over what is held (restore_or_begin, or restore_kept of
tcasm-restart). To write it to a file: tcasm restore --kept NAME --out FILE. It is released when the
next start has published its first version, and when this program exits. SIGINT or SIGTERM makes it
exit with status 0.";
