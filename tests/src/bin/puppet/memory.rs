//! Commands about the memory of the process as a whole: locking it, and dumping it.

use crate::answer::{Answer, failed};
use nix::sys::mman::{MlockAllFlags, mlockall};
use std::path::Path;
use tcasm_tests::core_file;

/// Obeys the command if it is one of these.
pub fn obey(verb: &str, arguments: &[&str]) -> Option<Answer> {
    Some(match (verb, arguments) {
        ("lock-memory", ["current"]) => lock(MlockAllFlags::MCL_CURRENT),
        ("lock-memory", ["future"]) => lock(MlockAllFlags::MCL_FUTURE),
        ("dump-core", [folder]) => core_file::dump(Path::new(folder))
            .map_err(failed)
            .map(|()| String::new()),
        _ => return None,
    })
}

fn lock(flags: MlockAllFlags) -> Answer {
    let locked = mlockall(flags);
    let unlimited = "needs root, CAP_IPC_LOCK, or a higher limit (ulimit -l)";
    locked
        .map(|()| String::new())
        .map_err(|error| format!("{}: {unlimited}", failed(error)))
}
