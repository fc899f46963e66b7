//! `tcasm checkpoint`: writes versions of running simulations to files.
//!
//! A version is pinned only while it is written. With increments, the version of the last
//! checkpoint stays pinned as well. A file that cannot be written does not end the program: it runs
//! until the simulations end.

mod progress;
mod watch;
mod writer;

use crate::failure::Failure;
use crate::files::args::CheckpointArgs;
use crate::several;
use crate::signals::Signals;
use progress::Output;

pub fn run(args: &CheckpointArgs) -> Result<(), Failure> {
    let (signals, progress) = (Signals::catch()?, Output::new());
    several::each(&args.names, |name| {
        watch::run(name, args, &signals, &progress)
    })
}
