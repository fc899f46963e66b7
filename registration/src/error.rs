//! The errors of this package.

use std::io;
use tcasm_core::sys::uffd::OpenError;
use thiserror::Error;

/// The reason why a registrar did not register memory.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// A limit is reached. The cache tries again after it has ended registrations that nobody uses.
    #[error("no room to register {len} bytes at {addr:#x} ({limit}): {source}; raise the limit")]
    Limit {
        /// The first address.
        addr: usize,
        /// The number of bytes.
        len: usize,
        /// The limit.
        limit: &'static str,
        /// The error of the system or of the driver.
        source: io::Error,
    },
    /// A part of the range is not mapped.
    #[error("cannot register {len} bytes at {addr:#x}: nothing is mapped at {hole:#x}")]
    Unmapped {
        /// The first address.
        addr: usize,
        /// The number of bytes.
        len: usize,
        /// The first address at which nothing is mapped.
        hole: usize,
    },
    /// The memory cannot be registered.
    #[error(
        "cannot register {len} bytes at {addr:#x} by {how}: {source}; check that all of it is \
         mapped and may be written"
    )]
    Refused {
        /// The first address.
        addr: usize,
        /// The number of bytes.
        len: usize,
        /// The system call or the function of the driver.
        how: &'static str,
        /// The error of the system or of the driver.
        source: io::Error,
    },
}

/// The reason why a cache has no registration of some memory.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GetError {
    /// The range is empty.
    #[error("a range of 0 bytes at {addr:#x} cannot be registered")]
    Empty {
        /// The address.
        addr: usize,
    },
    /// The range ends beyond the last address.
    #[error("{len} bytes at {addr:#x} end beyond the last address")]
    Wraps {
        /// The first address.
        addr: usize,
        /// The number of bytes.
        len: usize,
    },
    /// All room of the cache is in use.
    #[error(
        "the cache is full: {entries} registrations with {bytes} bytes are in use, and {len} more \
         bytes exceed its limits of {max_entries} registrations and {max_bytes} bytes; release \
         some, raise the limits, or let callers wait"
    )]
    Full {
        /// The registrations in use.
        entries: usize,
        /// Their bytes.
        bytes: usize,
        /// The bytes that were asked for.
        len: usize,
        /// The largest number of registrations.
        max_entries: usize,
        /// The largest number of bytes.
        max_bytes: usize,
    },
    /// The memory was unmapped while it was registered.
    #[error("the memory at {addr:#x} was unmapped or moved while it was being registered")]
    Changed {
        /// The first address.
        addr: usize,
    },
    /// The limits keep nothing that nobody uses, so not everything can stay registered.
    #[error(
        "memory that nobody uses stays registered only with limits that keep it; choose \
         Limits::keep or Limits::keep_at_most"
    )]
    KeepsNothing,
    /// The caller is a forked child. Registrations belong to its parent.
    #[error("a forked child cannot use the registrations of its parent; build a new cache")]
    Forked,
    /// The registrar did not register the memory.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// The reason why a cache cannot be built.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The address space cannot be followed, so no registration can be kept.
    #[error(
        "mappings cannot be followed ({0}); keep nothing, or call `invalidate` from hooks of your \
         own and choose Following::ByHand"
    )]
    NotFollowed(OpenError),
    /// A thread or a descriptor could not be made.
    #[error(
        "cannot make the threads and descriptors that follow mappings: {0}; see the limits of the \
         process (ulimit -n, -u, -v, and vm.max_map_count)"
    )]
    Thread(io::Error),
}
