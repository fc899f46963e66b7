//! The cache: hits, misses, what is evicted, and what is invalidated.

use crate::builder::Builder;
use crate::error::{BuildError, GetError, RegisterError};
use crate::follow::Follower;
use crate::limits::{AtLimit, Limits};
use crate::maps::Everything;
use crate::registrar::{Memory, Registrar};
use crate::ring::{Change, Cursor};
use crate::state::{Entry, State};
use crate::sweep;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::mem::page_size;
use tcasm_core::sys::pinned;

/// Every address that a range can have.
const ALL: Range<usize> = 0..usize::MAX;

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

#[derive(Debug, Default)]
struct Counters {
    hits: AtomicU64,
    misses: AtomicU64,
    evicted: AtomicU64,
    invalidated: AtomicU64,
    not_followed: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// What a cache, its registrations and its thread share.
#[derive(Debug)]
pub(crate) struct Inner<R: Registrar> {
    pub(crate) registrar: R,
    pub(crate) limits: Limits,
    pub(crate) follower: Option<Arc<Follower>>,
    /// How far changes were taken. Used under the lock of the state.
    cursor: Option<Cursor>,
    by_hand: bool,
    state: Mutex<State<R::Handle>>,
    /// Notified whenever registrations end or are no longer used.
    freed: Condvar,
    counters: Counters,
    closed: AtomicBool,
    pub(crate) everything: Mutex<Option<Everything>>,
    process: Process,
}

impl<R: Registrar> RegistrationCache<R> {
    /// Begins a cache with this registrar.
    pub fn builder(registrar: R) -> Builder<R> {
        Builder::new(registrar)
    }

    pub(crate) fn start(
        registrar: R,
        limits: Limits,
        follower: Option<Arc<Follower>>,
        by_hand: bool,
    ) -> Result<Self, BuildError> {
        let inner = Arc::new(Inner {
            registrar,
            limits,
            cursor: follower.as_ref().map(|f| f.cursor()),
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
    /// [`Registration::is_current`] becomes false.
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

    /// Returns true if the kernel tells the cache of forks too, which needs CAP_SYS_PTRACE.
    pub fn follows_forks(&self) -> bool {
        let follower = self.inner.follower.as_ref();
        follower.is_some_and(|f| f.follows_forks())
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

impl<R: Registrar> Inner<R> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State<R::Handle>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a forked child the lock may be held by a thread that is not there.
    pub(crate) fn check_process(&self) -> Result<(), GetError> {
        let current = self.process.is_current();
        current.then_some(()).ok_or(GetError::Forked)
    }

    /// Returns a registration of whole pages, with one more user.
    pub(crate) fn get(&self, range: &Range<usize>) -> Result<Arc<Entry<R::Handle>>, GetError> {
        self.check_process()?;
        let mut state = self.lock();
        loop {
            let exact = self.catch_up(&mut state);
            if let Some(entry) = exact.then(|| state.hit(range)).flatten() {
                count(&self.counters.hits);
                return Ok(entry);
            }
            match self.make_room(&mut state, range) {
                Ok(wanted) => return self.register(&mut state, wanted, range),
                Err(error) if !self.may_wait(range) => return Err(error),
                Err(_) => {
                    let woken = self.freed.wait(state);
                    state = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn may_wait(&self, range: &Range<usize>) -> bool {
        self.limits.at_limit == AtLimit::Wait && self.limits.allow(1, range.len())
    }

    /// Takes all changes of the address space that the caller can know of. Returns false if some
    /// may be missing. Then nothing is a hit.
    pub(crate) fn catch_up(&self, state: &mut State<R::Handle>) -> bool {
        let (Some(follower), Some(cursor)) = (&self.follower, &self.cursor) else {
            return true;
        };
        let exact = follower.settle();
        while let Some(change) = follower.next(cursor) {
            match change {
                Change::Gone(range) => self.gone(state, &range),
                Change::Anything => self.gone(state, &ALL),
                Change::Forked if self.registrar.survives_fork() => {}
                Change::Forked => self.gone(state, &ALL),
            }
        }
        exact
    }

    /// Invalidates what the range touches.
    fn gone(&self, state: &mut State<R::Handle>, range: &Range<usize>) {
        let (ended, invalidated) = state.invalidate(range);
        self.counters
            .invalidated
            .fetch_add(invalidated as u64, Ordering::Relaxed);
        for entry in ended {
            self.end(&entry);
        }
    }

    /// Makes room for the range, and returns what to register for it: the range with all that it
    /// touches, or the range alone if that would be too much.
    fn make_room(
        &self,
        state: &mut State<R::Handle>,
        range: &Range<usize>,
    ) -> Result<Range<usize>, GetError> {
        let union = state.union(range);
        for entry in state.detach(range) {
            self.end(&entry);
        }
        let wanted = [union, range.clone()];
        let fits = wanted
            .into_iter()
            .find(|wanted| self.evict_for(state, wanted));
        fits.ok_or_else(|| self.full(state, range))
    }

    /// Evicts until the range fits. Returns false if it does not.
    fn evict_for(&self, state: &mut State<R::Handle>, range: &Range<usize>) -> bool {
        if !self.limits.allow(1, range.len()) {
            return false;
        }
        while !self.has_room(state, range) {
            let Some(entry) = state.evict() else {
                return false;
            };
            count(&self.counters.evicted);
            self.end(&entry);
        }
        true
    }

    pub(crate) fn has_room(&self, state: &State<R::Handle>, range: &Range<usize>) -> bool {
        let bytes = state.bytes().saturating_add(range.len());
        self.limits.allow(state.entries() + 1, bytes)
    }

    fn full(&self, state: &State<R::Handle>, range: &Range<usize>) -> GetError {
        GetError::Full {
            entries: state.entries(),
            bytes: state.bytes(),
            len: range.len(),
            max_entries: self.limits.entries,
            max_bytes: self.limits.bytes,
        }
    }

    /// Registers `wanted`, or if that fails the range alone.
    fn register(
        &self,
        state: &mut State<R::Handle>,
        mut wanted: Range<usize>,
        range: &Range<usize>,
    ) -> Result<Arc<Entry<R::Handle>>, GetError> {
        loop {
            match self.try_register(state, &wanted) {
                Ok(entry) => return self.unless_gone(state, entry),
                Err(error) => {
                    let limit = matches!(error, RegisterError::Limit { .. });
                    if let Some(entry) = limit.then(|| state.evict()).flatten() {
                        count(&self.counters.evicted);
                        self.end(&entry);
                    } else if wanted != *range {
                        wanted = range.clone();
                    } else {
                        return Err(error.into());
                    }
                }
            }
        }
    }

    fn try_register(
        &self,
        state: &mut State<R::Handle>,
        range: &Range<usize>,
    ) -> Result<Arc<Entry<R::Handle>>, RegisterError> {
        // Followed first, so that no change after the registration is missed.
        let followed = self.follower.as_ref().map(|f| f.follow(range));
        match self.registrar.register(range) {
            Ok(handle) => {
                count(&self.counters.misses);
                if self.registrar.device_may_write() {
                    pinned::announce(range);
                }
                let followed = followed.unwrap_or(self.by_hand);
                if !followed {
                    count(&self.counters.not_followed);
                }
                Ok(state.add(range.clone(), handle, followed))
            }
            Err(error) => {
                if let (Some(follower), Some(true)) = (&self.follower, followed) {
                    follower.unfollow(range);
                }
                Err(error)
            }
        }
    }

    /// Returns the new entry, unless its memory went while it was registered.
    fn unless_gone(
        &self,
        state: &mut State<R::Handle>,
        entry: Arc<Entry<R::Handle>>,
    ) -> Result<Arc<Entry<R::Handle>>, GetError> {
        self.catch_up(state);
        if entry.is_current() {
            return Ok(entry);
        }
        let addr = entry.range.start;
        if let Some(entry) = state.release(entry.id, false) {
            self.end(&entry);
        }
        Err(GetError::Changed { addr })
    }

    /// Counts one user less.
    pub(crate) fn release(&self, entry: &Entry<R::Handle>) {
        if !self.process.is_current() {
            return;
        }
        let mut state = self.lock();
        let keep = self.limits.leave_pinned && !self.closed.load(Ordering::Acquire);
        // A registration that ends must know whether its memory is gone.
        self.catch_up(&mut state);
        if let Some(entry) = state.release(entry.id, keep) {
            self.end(&entry);
        }
        drop(state);
        self.freed.notify_all();
    }

    /// Deregisters what the state has let go of.
    pub(crate) fn end(&self, entry: &Entry<R::Handle>) {
        let mapped = entry.is_current();
        let memory = if mapped { Memory::Mapped } else { Memory::Gone };
        self.registrar
            .deregister(&entry.range, &entry.handle, memory);
        match &self.follower {
            Some(follower) if entry.followed && mapped => follower.unfollow(&entry.range),
            Some(follower) if entry.followed => follower.forget(&entry.range),
            _ => {}
        }
        self.freed.notify_all();
    }
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

    /// Returns false if the cache has learnt that the memory is gone. A device must not use the
    /// registration then.
    pub fn is_current(&self) -> bool {
        self.entry.is_current()
    }
}

impl<R: Registrar> Drop for Registration<R> {
    fn drop(&mut self) {
        self.cache.release(&self.entry);
    }
}
