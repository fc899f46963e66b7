//! How the command ends. Every error is printed as `tcasm: what happened; what to do`.

use crate::failure::{Code, Failure};
use crate::{output, plain};
use signal_hook::consts::SIGPIPE;
use signal_hook::low_level::emulate_default_handler;
use std::io::{self, Write, stdout};
use std::process::ExitCode;

/// The exit statuses and environment variables, as `--help` prints them.
pub const TABLE: &str = "\
Exit status:
    0  success
    1  any error that is not listed here
    2  the command line is wrong
    3  there is no such region
    4  the producer is dead, or died during the command
    5  this user may not attach, another user owns the producer, the lease was revoked, or the
       token is not that of the server
    6  the producer uses another layout version
    7  there is no such field
    8  there is no such version, or none is published yet
    9  input or output failed: the folder does not exist, the file exists, no space is left, or
       access is denied
   10  the producer cannot take another observer, or does not answer; or the connection to another
       machine cannot be made, or is broken
   11  the checkpoints or time series belong to another run or have later steps, or another program
       writes them
  130  interrupted
  141  the reader of the output has closed the pipe (SIGPIPE)

Environment:
  TCASM_RUNTIME_DIR  the folder of the regions [$XDG_RUNTIME_DIR/tcasm, else /tmp/tcasm-<uid>]
  TCASM_TRACKER      the tracker of writes that producers use: uffd-async, cow, compare, auto
  TCASM_LOG          the level of the log on standard error: error, warn, info, debug, trace
  NO_COLOR           if set, do not use colours";

/// Prints the failure, if there is one, and returns the exit status. If the reader of the output
/// has closed the pipe, ends this process as SIGPIPE ends other programs. (Rust ignores that
/// signal, so that writing is an error instead.) By now the command has cleaned up.
pub fn report(result: Result<(), Failure>) -> ExitCode {
    let Err(failure) = result else {
        return ExitCode::SUCCESS;
    };
    if !failure.message.is_empty() {
        output::note(&failure.message);
    }
    if failure.code == Code::ClosedPipe {
        // This returns only if the system refuses to end the process.
        let _ = emulate_default_handler(SIGPIPE);
    }
    ExitCode::from(failure.code as u8)
}

/// Prints what is wrong with the command line, or the help or version that was requested.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let printed = error.print().and_then(|()| stdout().flush());
        return report(printed.map_err(Failure::from));
    }
    let text = error.render().to_string();
    let text = plain::lines(&text);
    let _ = match text.strip_prefix("error: ") {
        Some(what) => write!(io::stderr(), "tcasm: {what}"),
        None => write!(io::stderr(), "{text}"),
    };
    ExitCode::from(Code::Usage as u8)
}
