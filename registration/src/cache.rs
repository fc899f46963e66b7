//! The cache as its users see it, and the registrations that it gives out.

use crate::error::{BuildError, GetError};
use crate::follow::Follower;
use crate::inner::{Counters, Inner};
use crate::limits::Limits;
use crate::registrar::Registrar;
use crate::state::{Entry, State};
use crate::sweep;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::mem::page_size;

/// Keeps memory registered with one registrar.
///
/// All methods may be called by any thread, but not by signal handlers. Threads wait for each other
/// while one of them registers memory. Dropping the cache ends what nobody uses; a [`Registration`]
/// that is still used ends when it is dropped.
#[derive(Debug)]
pub struct RegistrationCache<R: Registrar> {
    pub(crate) inner: Arc<Inner<R>>,
}

/// Numbers about a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Requests that found a registration.
    pub hits: u64,
    /// Requests that registered memory.
    pub misses: u64,
    /// Registrations that ended for lack of room.
    pub evicted: u64,
    /// Registrations that ended, or will not be hit again, because their memory was gone.
    pub invalidated: u64,
    /// Requests for memory that the kernel does not let the cache follow. They are never kept.
    pub not_followed: u64,
    /// The registrations that there are.
    pub entries: usize,
    /// Of these, those that nobody uses.
    pub unused: usize,
    /// The bytes of all of them.
    pub bytes: usize,
}

impl<R: Registrar> RegistrationCache<R> {
    pub(crate) fn start(
        registrar: R,
        limits: Limits,
        follower: Option<Arc<Follower>>,
        by_hand: bool,
    ) -> Result<Self, BuildError> {
        let inner = Arc::new(Inner {
            registrar,
            limits,
            cursor: follower.as_ref().map(|f| f.watch.cursor()),
            follower,
            by_hand,
            state: Mutex::new(State::new()),
            freed: Condvar::new(),
            counters: Counters::default(),
            closed: AtomicBool::new(false),
            everything: Mutex::new(None),
            process: Process::current(),
        });
        sweep::start(&inner).map_err(BuildError::Thread)?;
        Ok(RegistrationCache { inner })
    }

    /// Returns a registration that covers `len` bytes at `addr`: one that there is, or a new one.
    ///
    /// All of that memory must stay mapped as long as the registration is used. If it does not,
    /// [`Registration::is_current`] becomes false. The caller must not be a thread that serves page
    /// faults of this memory, because registering can cause them.
    pub fn get(&self, addr: usize, len: usize) -> Result<Registration<R>, GetError> {
        let range = pages(addr, len)?;
        let entry = self.inner.get(&range)?;
        Ok(Registration {
            cache: self.inner.clone(),
            entry,
        })
    }

    /// Invalidates all registrations that touch `len` bytes at `addr`. Those that nobody uses end
    /// now. This is for programs that have hooks of their own, and must precede the moment at which
    /// the addresses can be mapped again.
    pub fn invalidate(&self, addr: usize, len: usize) -> Result<(), GetError> {
        let range = pages(addr, len)?;
        self.inner.check_process()?;
        let mut state = self.inner.lock();
        self.inner.gone(&mut state, &range);
        Ok(())
    }

    /// Returns the registrar.
    pub fn registrar(&self) -> &R {
        &self.inner.registrar
    }

    /// Returns true if the kernel tells the cache of forks too, which needs CAP_SYS_PTRACE and
    /// Linux 5.9.
    pub fn follows_forks(&self) -> bool {
        let follower = self.inner.follower.as_ref();
        follower.is_some_and(|f| f.watch.forks)
    }

    /// Returns numbers about the cache. In a forked child they are those at the fork.
    pub fn stats(&self) -> Stats {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = &self.inner.counters;
        let mut stats = Stats {
            hits: read(&counters.hits),
            misses: read(&counters.misses),
            evicted: read(&counters.evicted),
            invalidated: read(&counters.invalidated),
            not_followed: read(&counters.not_followed),
            ..Stats::default()
        };
        if self.inner.process.is_current() {
            let state = self.inner.lock();
            stats.entries = state.entries();
            stats.unused = state.unused();
            stats.bytes = state.bytes();
        }
        stats
    }
}

impl<R: Registrar> Drop for RegistrationCache<R> {
    fn drop(&mut self) {
        if self.inner.process.is_current() {
            self.inner.closed.store(true, Ordering::Release);
            // Waits until no thread looks for new mappings.
            *self.inner.everything() = None;
            let mut state = self.inner.lock();
            self.inner.catch_up(&mut state);
            while let Some(entry) = state.evict() {
                self.inner.end(&entry);
            }
        }
        self.inner.keep_in_child();
    }
}

/// Returns the pages that contain the bytes.
fn pages(addr: usize, len: usize) -> Result<Range<usize>, GetError> {
    if len == 0 {
        return Err(GetError::Empty { addr });
    }
    let size = page_size();
    let end = addr
        .checked_add(len)
        .and_then(|end| end.checked_next_multiple_of(size));
    let end = end.ok_or(GetError::Wraps { addr, len })?;
    Ok(addr / size * size..end)
}

/// Memory that is registered, and stays so at least until this is dropped.
#[derive(Debug)]
pub struct Registration<R: Registrar> {
    cache: Arc<Inner<R>>,
    entry: Arc<Entry<R::Handle>>,
}

impl<R: Registrar> Registration<R> {
    /// Returns what the device needs to know.
    pub fn handle(&self) -> &R::Handle {
        &self.entry.handle
    }

    /// Returns the registered addresses, which contain those that were asked for.
    pub fn range(&self) -> Range<usize> {
        self.entry.range.clone()
    }

    /// Returns false if the cache has learnt that some of the memory of [`Registration::range`] is
    /// gone, or cannot follow it any more. A device must not use the registration then. That can be
    /// memory which was not asked for: the caller asks again.
    pub fn is_current(&self) -> bool {
        self.entry.is_current() && self.cache.trusts(&self.entry)
    }
}

impl<R: Registrar> Drop for Registration<R> {
    fn drop(&mut self) {
        self.cache.release(&self.entry);
        self.cache.keep_in_child();
    }
}
