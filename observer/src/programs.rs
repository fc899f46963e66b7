//! The names of the programs that observe a region.

use crate::observer::Observer;
use tcasm_core::format::wire::ObserverRow;
use tcasm_core::sys::process;

impl Observer {
    /// Returns the name of the program of an attached observer, as the kernel has it: at most 15
    /// bytes, which that program can choose. Returns `None` if the process has ended, or cannot be
    /// seen from here, for example because it is in another PID namespace.
    pub fn program(&self, row: &ObserverRow) -> Option<String> {
        // The producer counts processes in its own namespace. Here these numbers mean the same only
        // if the producer has the same number in both.
        let here = u64::try_from(self.session.peer.pid).ok()?;
        let same = self.session.info.pid == here;
        same.then(|| process::program(row.pid)).flatten()
    }
}
