//! Checks that the process has room for a new thread.
//!
//! A thread maps a stack for signal handlers when it begins, and its allocator may map memory too.
//! The standard library ends the whole process if the first fails. So this is tried before, when an
//! error can still be returned.

use super::mem::{MapError, Mapping};
use super::page::page_size;

/// More bytes than a thread maps, apart from memory that its allocator can do without: 2 MiB for
/// its stack, if the program does not want more.
const BYTES: usize = 3 << 20;
/// The pages that become mappings of their own. Those between them do so too. A thread needs 8: its
/// two stacks and the memory of its allocator, each with a guard.
const PARTS: usize = 4;

/// Returns an error if there is no room for a thread. Other threads may take the room afterwards.
pub(super) fn check() -> Result<(), MapError> {
    let trial = Mapping::reserve(BYTES)?;
    for part in 0..PARTS {
        // SAFETY: nobody else knows the reservation, so nothing is borrowed from it.
        unsafe { trial.protect((2 * part + 1) * page_size(), page_size(), false) }?;
    }
    Ok(())
}
