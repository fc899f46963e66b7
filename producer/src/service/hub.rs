//! The state that the producer's thread and the service thread share.

use arc_swap::ArcSwap;
use nix::sys::eventfd::EventFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tcasm_core::format::lease::Lease;
use tcasm_core::format::protocol::is_pinned;

/// An attached observer, as `publish` sees it.
#[derive(Debug)]
pub(super) struct Attached {
    pub(super) pid: i32,
    pub(super) uid: u32,
    pub(super) lease: Lease,
}

/// State that the producer's thread and the service thread share.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) attached: ArcSwap<Vec<Arc<Attached>>>,
    pub(super) wake: EventFd,
    pub(super) stop: AtomicBool,
}

impl Hub {
    /// Returns true if any lease names version `n`.
    pub(super) fn pinned(&self, n: u64) -> bool {
        let attached = self.attached.load();
        attached.iter().any(|a| is_pinned(a.lease.pins(), n))
    }
}
