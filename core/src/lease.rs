//! The lease: one page of shared memory in which one observer, and only it, writes what it pins.
//!
//! The producer makes it (so its size and seals are beyond doubt), reads its pin words and believes nothing else of it (I8).

use crate::protocol;
use crate::sys::mem::{MapError, Mapping, page_size};
use crate::sys::object::{Object, sealed_len};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Pin words of a lease: versions that one observer can hold at once.
pub const PINS: usize = 64;
/// The word by which the producer tells that it has revoked the lease.
const REVOKED: usize = 0;
/// The first pin word.
const FIRST_PIN: usize = 8;

/// A mapped lease, on either side.
#[derive(Debug)]
pub struct Lease {
    map: Mapping,
}

/// Why a lease cannot be had.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum LeaseError {
    #[error("cannot create a lease: {0}")]
    Create(#[from] io::Error),
    #[error("cannot map a lease: {0}")]
    Map(#[from] MapError),
    #[error("a lease of {len} bytes is too small: the producer is damaged or another program")]
    TooSmall { len: u64 },
}

impl Lease {
    /// A fresh lease, and the object whose descriptor goes to the observer.
    pub fn create() -> Result<(Lease, Object), LeaseError> {
        let object = Object::create("tcasm-lease", page_size() as u64)?;
        let map = Mapping::shared(object.as_fd(), page_size(), true)?;
        map.dont_fork_or_dump()?;
        Ok((Lease { map }, object))
    }

    /// The lease that the producer sent.
    pub fn open(fd: BorrowedFd<'_>) -> Result<Lease, LeaseError> {
        let len = sealed_len(fd)?;
        if len < page_size() as u64 {
            return Err(LeaseError::TooSmall { len });
        }
        let map = Mapping::shared(fd, page_size(), true)?;
        map.dont_fork_or_dump()?;
        Ok(Lease { map })
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped whole and writable from an object of at least that size, sealed against shrinking.
        unsafe { self.map.words() }
    }

    /// The pin words.
    pub fn pins(&self) -> &[AtomicU64] {
        &self.words()[FIRST_PIN..FIRST_PIN + PINS]
    }

    /// The versions named, each once.
    pub fn pinned(&self) -> Vec<u64> {
        let mut out: Vec<u64> = self
            .pins()
            .iter()
            .map(|p| p.load(Ordering::Relaxed))
            .collect();
        out.retain(|n| *n != protocol::NO_PIN);
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Tell the observer that its pins no longer count.
    pub fn revoke(&self) {
        self.words()[REVOKED].store(1, Ordering::Release);
    }

    /// Whether the producer has revoked the lease.
    pub fn revoked(&self) -> bool {
        self.words()[REVOKED].load(Ordering::Acquire) != 0
    }
}
