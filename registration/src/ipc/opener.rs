//! The two requests of a cache to the driver.

use crate::ipc::exported::HANDLE;

/// The reason why a handle was not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Memory that is opened is in the way, or takes the room.
    Occupied(String),
    /// Another one.
    Other(String),
}

/// Opens handles of other processes, and closes what it has opened.
pub(crate) trait Opener {
    /// Maps the allocation with this handle, and returns its first address here.
    fn open(&self, handle: &[u8; HANDLE]) -> Result<u64, Refusal>;

    /// Closes what `open` has returned, once for each time.
    fn close(&self, address: u64);
}
