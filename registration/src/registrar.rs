//! The requests of a cache to the driver that registers memory.

use crate::error::RegisterError;
use std::ops::Range;

/// The fate of the memory of a registration that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// It is still mapped.
    Mapped,
    /// It was unmapped, moved or emptied. Other memory may be mapped at its addresses, which the
    /// registrar must leave alone.
    Gone,
}

/// Registers memory for one device.
///
/// The cache calls these methods while it holds its lock, so they must not call the cache. Ranges
/// begin and end at pages, and are not empty. They may overlap ranges that are still in use.
pub trait Registrar: Send + Sync + 'static {
    /// The facts that a device needs to know of registered memory.
    type Handle: Send + Sync + std::fmt::Debug;

    /// Registers the memory at these addresses.
    fn register(&self, range: &Range<usize>) -> Result<Self::Handle, RegisterError>;

    /// Ends a registration. Nobody uses its handle any more.
    fn deregister(&self, range: &Range<usize>, handle: &Self::Handle, memory: Memory);

    /// Returns true if a device still writes to the parent's memory after a fork. Registrations of
    /// other registrars end at a fork, where forks can be followed.
    fn survives_fork(&self) -> bool {
        true
    }

    /// Returns true if a device may write to the memory. Producers capture such memory of their
    /// regions in every version.
    fn device_may_write(&self) -> bool {
        true
    }
}
