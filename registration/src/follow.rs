//! Follows the address space: the changes of registered memory that the kernel tells.
//!
//! Memory can be registered with one userfaultfd only, so all caches of a process share one
//! follower. It lives as long as the process (see `watch.rs`).
//!
//! # Why a hit is never stale
//!
//! Let a thread unmap registered memory. The kernel counts the change before the memory is gone,
//! and the thread waits until its event is read. [`Follower::settle`] asks for that count. Whoever
//! sees other memory at the same address runs after the first thread has unmapped, so one of these
//! holds: the count is not 0 yet; or the event is being read, which `reading` says, because it is
//! set before the read; or the event is in the ring. `settle` waits for the first two in this
//! order, and then the cache takes what is in the ring before it looks for a registration.
//!
//! # Why two caches do not disturb each other
//!
//! Two caches can register the same memory, and the kernel knows one registration of it. So the
//! follower counts how many registrations cover each address. It asks the kernel under the lock of
//! these counts: otherwise the last registration that ends could take from the kernel the memory
//! that another cache has begun to follow. No thread waits for the reading thread under this lock,
//! apart from an allocation that gives memory back, and the reading thread takes no lock.

use crate::coverage::Coverage;
use crate::error::{BuildError, RegisterError};
use crate::watch::Watch;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::mappings::{Mappings, Memory};
use tcasm_core::sys::per_process::PerProcess;
use tcasm_core::sys::uffd;

/// How often `settle` asks before it gives up, and how often of these it only yields. Threads that
/// unmap registered memory all the time could make it wait without end.
const ATTEMPTS: usize = 400;
const YIELDS: usize = 200;
const PAUSE: Duration = Duration::from_micros(50);

/// Follows the memory that is registered with it.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) watch: Arc<Watch>,
    /// The ranges that are registered with the descriptor, and how often.
    covered: Mutex<Coverage>,
    mappings: Mappings,
    process: Process,
}

/// The follower of this process.
static SHARED: PerProcess<Mutex<Option<Arc<Follower>>>> = PerProcess::new();

impl Follower {
    /// Returns the follower of this process, and starts it if there is none.
    pub(crate) fn shared() -> Result<Arc<Self>, BuildError> {
        let mut shared = SHARED.get().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(follower) = &*shared {
            return Ok(follower.clone());
        }
        let follower = Arc::new(Follower {
            // Before the thread, which never ends.
            mappings: Mappings::open().map_err(BuildError::Thread)?,
            watch: Watch::start()?,
            covered: Mutex::default(),
            process: Process::current(),
        });
        *shared = Some(follower.clone());
        Ok(follower)
    }

    /// Returns true in the process of the thread, while the thread can read events.
    pub(crate) fn works(&self) -> bool {
        self.process.is_current() && self.watch.works()
    }

    /// Waits until every change that the caller can know of is in the ring. Returns false if that
    /// cannot be said.
    pub(crate) fn settle(&self) -> bool {
        for attempt in 0..ATTEMPTS {
            if !self.works() {
                return false;
            }
            if self.watch.is_settled() {
                return true;
            }
            if attempt < YIELDS {
                std::thread::yield_now();
            } else {
                // The reading thread may have a lower priority than the caller.
                std::thread::sleep(PAUSE);
            }
        }
        false
    }

    /// Checks that all of the range is mapped.
    pub(crate) fn check_mapped(&self, range: &Range<usize>) -> Result<(), RegisterError> {
        mapped(range, &self.mappings.look(range))
    }

    /// Follows the memory of the range from now on. Returns false if the kernel does not let it:
    /// the memory may be read only, another userfaultfd may have it, it can be detached without
    /// an event, or the process has as many mappings as it may have. A range with a hole is an
    /// error: what is mapped there later is not followed.
    pub(crate) fn follow(&self, range: &Range<usize>) -> Result<bool, RegisterError> {
        let mut covered = self.covered();
        covered.add(range);
        let registered = uffd::register(&self.watch.uffd, range);
        // Looked at afterwards: what is mapped now and goes from now on is followed.
        let memory = self.mappings.look(range);
        if registered.is_ok() && matches!(memory, Ok(Memory::Mapped)) && self.works() {
            return Ok(true);
        }
        let bare = covered.remove(range);
        if may_be_registered(&registered) {
            self.unregister(&bare);
        }
        mapped(range, &memory)?;
        Ok(false)
    }

    /// Forgets a range that is gone. Nothing is unregistered: the range may belong to another
    /// userfaultfd by now, and kernels before 6.15 would unregister it there.
    pub(crate) fn forget(&self, range: &Range<usize>) {
        self.covered().remove(range);
    }

    /// Follows the range no more, apart from parts that other registrations cover. The memory of
    /// the range is still mapped.
    pub(crate) fn unfollow(&self, range: &Range<usize>) {
        let mut covered = self.covered();
        let bare = covered.remove(range);
        self.unregister(&bare);
    }

    /// The caller holds the lock of the counts.
    fn unregister(&self, parts: &[Range<usize>]) {
        for part in parts {
            // A failure means that the memory is gone by now.
            let _ = uffd::unwatch(&self.watch.uffd, part);
        }
    }

    fn covered(&self) -> MutexGuard<'_, Coverage> {
        self.covered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if the kernel may have registered a part of the range: it refuses all of it, unless
/// it has no memory or no mappings left halfway.
fn may_be_registered(registered: &io::Result<()>) -> bool {
    let error = registered.as_ref().err();
    error.is_none_or(|e| e.raw_os_error() == Some(libc::ENOMEM))
}

/// Returns an error if the range has a hole.
fn mapped(range: &Range<usize>, memory: &io::Result<Memory>) -> Result<(), RegisterError> {
    match memory {
        Ok(Memory::Hole(hole)) => Err(RegisterError::Unmapped {
            addr: range.start,
            len: range.len(),
            hole: *hole,
        }),
        _ => Ok(()),
    }
}
