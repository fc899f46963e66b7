//! The lease: one page of shared memory in which one observer, and only this observer, writes its
//! pins.
//!
//! The producer creates the lease, so it can rely on the size and the seals. It reads the pin words
//! and trusts nothing else in the lease (I8).

use crate::format::protocol;
use crate::sys::mem::{MapError, Mapping, page_size};
use crate::sys::object::{Object, sealed_len_of_pages};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of pin words in a lease: the most versions that one observer can pin at once.
pub const PINS: usize = 64;
/// The number of the word that the producer sets when it revokes the lease.
const REVOKED: usize = 0;
/// The number of the first pin word.
const FIRST_PIN: usize = 8;

/// A mapped lease, in the producer or in the observer.
#[derive(Debug)]
pub struct Lease {
    map: Mapping,
}

/// The reason why a lease cannot be created, opened or mapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The shared object of the lease cannot be created.
    #[error("cannot create a lease: {0}")]
    Create(io::Error),
    /// The shared object that the producer sent cannot be examined, is not sealed, or is of huge
    /// pages.
    #[error("cannot open the lease that the producer sent: {0}")]
    Open(io::Error),
    /// The lease cannot be mapped.
    #[error("cannot map a lease: {0}")]
    Map(#[from] MapError),
    /// The lease that the producer sent is shorter than a page.
    #[error("a lease of {len} bytes is too small: the producer is damaged or another program")]
    TooSmall {
        /// The size of the lease in bytes.
        len: u64,
    },
}

impl Lease {
    /// Creates a lease, and returns it with the object whose descriptor goes to the observer.
    pub fn create() -> Result<(Lease, Object), LeaseError> {
        let object =
            Object::create("tcasm-lease", page_size() as u64).map_err(LeaseError::Create)?;
        let map = Mapping::shared(object.as_fd(), page_size(), true)?;
        map.dont_fork_or_dump()?;
        Ok((Lease { map }, object))
    }

    /// Maps the lease that the producer sent.
    pub fn open(fd: BorrowedFd<'_>) -> Result<Lease, LeaseError> {
        let len = sealed_len_of_pages(fd).map_err(LeaseError::Open)?;
        if len < page_size() as u64 {
            return Err(LeaseError::TooSmall { len });
        }
        let map = Mapping::shared(fd, page_size(), true)?;
        map.dont_fork_or_dump()?;
        Ok(Lease { map })
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the whole mapping is readable and writable. Its object is at least that long, and
        // is sealed against shrinking.
        unsafe { self.map.words() }
    }

    /// Returns the pin words.
    pub fn pins(&self) -> &[AtomicU64] {
        &self.words()[FIRST_PIN..FIRST_PIN + PINS]
    }

    /// Returns the pinned versions in ascending order, each once.
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

    /// Revokes the lease: tells the observer to drop its versions and to leave. Its pins go on
    /// counting until it has left.
    pub fn revoke(&self) {
        self.words()[REVOKED].store(1, Ordering::Release);
    }

    /// Returns true if the producer has revoked the lease.
    pub fn revoked(&self) -> bool {
        self.words()[REVOKED].load(Ordering::Acquire) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::object::tests::huge_object;

    #[test]
    fn lease_of_huge_pages_is_refused_before_it_is_mapped() {
        let huge = huge_object();
        let error = Lease::open(huge.as_fd()).unwrap_err();
        assert!(matches!(error, LeaseError::Open(_)), "{error}");
        let (_, object) = Lease::create().unwrap();
        Lease::open(object.as_fd()).unwrap();
    }
}
