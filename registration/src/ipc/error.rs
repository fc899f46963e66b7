//! The errors of exporting and opening memory.

use crate::ipc::peer::Peer;
use thiserror::Error;

/// The reason why memory of a device was not exported or opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IpcError {
    /// The range is empty, or not in one allocation.
    #[error(
        "{len} bytes at {address:#x} of the device are not in the allocation of {allocated} bytes \
         at {base:#x}; export memory that `cuMemAlloc` has returned, each allocation by itself"
    )]
    Outside {
        /// The first address.
        address: u64,
        /// The number of bytes.
        len: usize,
        /// The first address of the allocation that has the first byte.
        base: u64,
        /// Its number of bytes.
        allocated: usize,
    },
    /// The memory was exported by the process itself.
    #[error("this process has exported the memory at {address:#x} itself, and uses it there")]
    Own {
        /// The first address.
        address: u64,
    },
    /// All room for memory of this peer is in use.
    #[error(
        "the cache is full: {entries} allocations of {peer} with {bytes} bytes are in use, and \
         {len} more bytes exceed its limits of {max_entries} allocations and {max_bytes} bytes for \
         each peer; release some, raise the limits, or let callers wait"
    )]
    Full {
        /// The owner of the memory.
        peer: Peer,
        /// The allocations in use.
        entries: usize,
        /// Their bytes.
        bytes: usize,
        /// The bytes that were asked for.
        len: usize,
        /// The largest number of allocations.
        max_entries: usize,
        /// The largest number of bytes.
        max_bytes: usize,
    },
    /// The driver does not open the memory as long as other memory is in use.
    #[error(
        "the driver cannot open {len} bytes at {address:#x} of {peer} beside memory of it that is \
         in use ({reason}); release what the peer has freed, and open it again"
    )]
    InUse {
        /// The owner of the memory.
        peer: Peer,
        /// The first address of the allocation in the owner.
        address: u64,
        /// Its number of bytes.
        len: usize,
        /// The error of the driver.
        reason: String,
    },
    /// The driver refused.
    #[error("{call} refused {len} bytes at {address:#x}: {reason}")]
    Driver {
        /// The function of the driver.
        call: &'static str,
        /// The first address in the owner.
        address: u64,
        /// The number of bytes.
        len: usize,
        /// The error of the driver.
        reason: String,
    },
    /// The caller is a forked child, in which CUDA does not work.
    #[error("a forked child cannot use the CUDA driver of its parent; start another program")]
    Forked,
}

/// The reason why bytes are not those of exported memory.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// There are too few or too many bytes.
    #[error("exported memory has {expected} bytes, and not {found}")]
    Length {
        /// The number of bytes that there must be.
        expected: usize,
        /// The number of bytes.
        found: usize,
    },
    /// The bytes begin otherwise.
    #[error("the bytes are not exported memory, or that of another release of this package")]
    Unknown,
    /// The addresses make no sense.
    #[error(
        "{len} bytes at {address:#x} are not in an allocation of {allocated} bytes at {base:#x}"
    )]
    Range {
        /// The first address.
        address: u64,
        /// The number of bytes.
        len: u64,
        /// The first address of the allocation.
        base: u64,
        /// Its number of bytes.
        allocated: u64,
    },
}
