//! Arguments of `run`.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct RunArgs {
    /// Also publish the files that match PATTERN and that the program maps. Each is a region with
    /// the name of the file. Can be given several times
    #[arg(long = "region", value_name = "PATTERN")]
    pub regions: Vec<OsString>,
    /// File that describes the fields, or folder with a file NAME.toml for each region
    #[arg(long, value_name = "FILE")]
    pub description: Option<PathBuf>,
    /// Program and its arguments
    #[arg(
        required = true,
        value_name = "PROGRAM",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub program: Vec<OsString>,
}

pub const RUN_HELP: &str = "\
The program opens a file called tcasm:NAME for reading and writing, and maps it as shared memory
that it can write. Each msync publishes a version of the region NAME. The program needs no change
for that, but it must use shared libraries, and run with the rights of its user.

Exit status: that of the program; 128 and the number of the signal that ended it; 126 if it cannot
be run, 127 if it is not found.";
