//! How the command ends. Every error is printed as `tcasm: what happened; what to do`.

use crate::failure::{Code, Failure};
use crate::{output, plain};
use std::io::{self, Write};
use std::process::ExitCode;

/// The exit statuses and environment variables, as `--help` prints them.
pub const TABLE: &str = "\
Exit status:
    0  success
    1  any error that is not listed here
    2  the command line is wrong
    3  there is no such region
    4  the producer is dead, or died during the command
    5  this user may not attach, another user owns the producer, or the lease was revoked
    6  the producer uses another layout version
    7  there is no such field
    8  there is no such version, or none is published yet
    9  input or output failed: the folder does not exist, no space is left, or access is denied
   10  the producer cannot take another observer, or does not answer
   11  the checkpoints or time series belong to another run or have later steps, or another program
       writes them
  130  interrupted

Environment:
  TCASM_RUNTIME_DIR  the folder of the regions [$XDG_RUNTIME_DIR/tcasm, else /tmp/tcasm-<uid>]
  TCASM_TRACKER      the tracker of writes that producers use: uffd-async, cow, compare, auto
  TCASM_LOG          the level of the log on standard error: error, warn, info, debug, trace
  NO_COLOR           if set, do not use colours";

/// Prints the failure, if there is one, and returns the exit status.
pub fn report(result: Result<(), Failure>) -> ExitCode {
    let Err(failure) = result else {
        return ExitCode::SUCCESS;
    };
    if !failure.message.is_empty() {
        output::note(&failure.message);
    }
    ExitCode::from(failure.code as u8)
}

/// Prints what is wrong with the command line, or the help or version that was requested.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.render().to_string();
    let text = plain::lines(&text);
    let _ = match text.strip_prefix("error: ") {
        Some(what) => write!(io::stderr(), "tcasm: {what}"),
        None => write!(io::stderr(), "{text}"),
    };
    ExitCode::from(Code::Usage as u8)
}
