//! The state that the threads of a cache share: hits, misses, evictions and invalidations.

use crate::error::{GetError, RegisterError};
use crate::everything::Everything;
use crate::follow::Follower;
use crate::limits::{AtLimit, Limits};
use crate::registrar::{Memory, Registrar};
use crate::ring::{Change, Cursor};
use crate::state::{Entry, State};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::pinned;

/// Every address that a range can have.
const ALL: Range<usize> = 0..usize::MAX;

/// How often memory is registered again that changed meanwhile.
const TRIES: usize = 3;

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) hits: AtomicU64,
    pub(crate) misses: AtomicU64,
    pub(crate) evicted: AtomicU64,
    pub(crate) invalidated: AtomicU64,
    pub(crate) not_followed: AtomicU64,
}

pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The state that a cache, its registrations and its thread share.
#[derive(Debug)]
pub(crate) struct Inner<R: Registrar> {
    pub(crate) registrar: R,
    pub(crate) limits: Limits,
    pub(crate) follower: Option<Arc<Follower>>,
    /// How far changes were taken. Used under the lock of the state.
    pub(crate) cursor: Option<Cursor>,
    pub(crate) by_hand: bool,
    pub(crate) state: Mutex<State<R::Handle>>,
    /// Notified whenever registrations end or are no longer used.
    pub(crate) freed: Condvar,
    pub(crate) counters: Counters,
    pub(crate) closed: AtomicBool,
    pub(crate) everything: Mutex<Option<Everything>>,
    pub(crate) process: Process,
}

/// Returns true if a region has some of the memory.
fn is_owned(range: &Range<usize>) -> bool {
    let overlaps = |own: &Range<usize>| own.start < range.end && range.start < own.end;
    pinned::owned().iter().any(overlaps)
}

impl<R: Registrar> Drop for Inner<R> {
    fn drop(&mut self) {
        if let Some(follower) = &self.follower {
            // The thread of the cache ends.
            follower.watch.wake();
        }
    }
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

    /// In a forked child, keeps this for ever. The end of a registrar would give back what a driver
    /// has for the parent.
    pub(crate) fn keep_in_child(self: &Arc<Self>) {
        if !self.process.is_current() {
            std::mem::forget(self.clone());
        }
    }

    /// Returns a registration of whole pages, with one more user.
    pub(crate) fn get(&self, range: &Range<usize>) -> Result<Arc<Entry<R::Handle>>, GetError> {
        self.check_process()?;
        let mut state = self.lock();
        let mut tries = 0;
        loop {
            let exact = self.catch_up(&mut state);
            if let Some(entry) = exact.then(|| state.hit(range)).flatten() {
                count(&self.counters.hits);
                return Ok(entry);
            }
            // First, so that a request which is none ends nothing.
            self.check_mapped(range)?;
            match self.replace(&mut state, range) {
                // Memory beside the range may have gone, or an event of earlier memory came late.
                // The next try knows of everything that happened before.
                Err(GetError::Changed { .. }) if tries < TRIES => tries += 1,
                Err(GetError::Full { .. }) if self.may_wait(range) => {
                    let woken = self.freed.wait(state);
                    state = woken.unwrap_or_else(PoisonError::into_inner);
                }
                done => return done,
            }
        }
    }

    /// Replaces all that the range touches with one registration.
    ///
    /// The memory is followed without a break meanwhile. Otherwise the new registration could
    /// contain pages that were emptied or unmapped after the old ones had ended, and nobody would
    /// know.
    fn replace(
        &self,
        state: &mut State<R::Handle>,
        range: &Range<usize>,
    ) -> Result<Arc<Entry<R::Handle>>, GetError> {
        let union = state.union(range);
        let joins = union != *range && self.follow(&union).unwrap_or(false);
        let (union, changes) = (if joins { union } else { range.clone() }, state.changes);
        let wanted = self.make_room(state, range, &union);
        let wanted = wanted.map(|wanted| state.unless_changed(changes, wanted, range));
        let entry = wanted.and_then(|wanted| self.register(state, wanted, range));
        match (&self.follower, &entry) {
            (Some(follower), Err(GetError::Changed { .. })) if joins => follower.forget(&union),
            _ => self.unfollow(&union, joins),
        }
        entry
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
        while let Some(change) = follower.watch.next(cursor) {
            match change {
                Change::Gone(range) => self.gone(state, &range),
                Change::Emptied(range) => {
                    self.gone(state, &range);
                    state.emptied.add(range);
                }
                Change::Anything => {
                    self.gone(state, &ALL);
                    state.emptied.add(ALL);
                }
                Change::Forked if self.registrar.survives_fork() => {}
                Change::Forked => self.gone(state, &ALL),
            }
        }
        exact
    }

    /// Invalidates what the range touches.
    pub(crate) fn gone(&self, state: &mut State<R::Handle>, range: &Range<usize>) {
        state.changes += 1;
        let (ended, invalidated) = state.invalidate(range);
        self.counters
            .invalidated
            .fetch_add(invalidated as u64, Ordering::Relaxed);
        for entry in ended {
            self.end(&entry);
        }
    }

    /// Registers `wanted`, or if that fails the range alone.
    fn register(
        &self,
        state: &mut State<R::Handle>,
        mut wanted: Range<usize>,
        range: &Range<usize>,
    ) -> Result<Arc<Entry<R::Handle>>, GetError> {
        let changes = state.changes;
        loop {
            match self.try_register(state, &wanted) {
                Ok(entry) => return self.unless_gone(state, entry),
                Err(error) => {
                    let limit = matches!(error, RegisterError::Limit { .. });
                    if limit && self.evict(state) {
                        wanted = state.unless_changed(changes, wanted, range);
                        continue;
                    }
                    if wanted == *range {
                        return Err(error.into());
                    }
                    wanted = range.clone();
                }
            }
        }
    }

    pub(crate) fn try_register(
        &self,
        state: &mut State<R::Handle>,
        range: &Range<usize>,
    ) -> Result<Arc<Entry<R::Handle>>, RegisterError> {
        // Followed first, so that no change after the registration is missed.
        let followed = self.follow(range)?;
        let registered = self.registrar.register(range);
        let handle = registered.inspect_err(|_| self.unfollow(range, followed))?;
        count(&self.counters.misses);
        if self.registrar.device_may_write() {
            pinned::announce(range);
        }
        if !followed {
            count(&self.counters.not_followed);
        }
        Ok(state.add(range.clone(), handle, followed))
    }

    fn check_mapped(&self, range: &Range<usize>) -> Result<(), RegisterError> {
        let follower = self.follower.as_ref();
        follower.map_or(Ok(()), |f| f.check_mapped(range))
    }

    /// Follows the memory. Returns false if changes of it may be missed.
    fn follow(&self, range: &Range<usize>) -> Result<bool, RegisterError> {
        match &self.follower {
            None => Ok(self.by_hand),
            Some(_) if is_owned(range) => Ok(false),
            Some(follower) => follower.follow(range),
        }
    }

    fn unfollow(&self, range: &Range<usize>, followed: bool) {
        if let (Some(follower), true) = (&self.follower, followed) {
            follower.unfollow(range);
        }
    }

    /// Returns the new entry, unless its memory went while it was registered.
    pub(crate) fn unless_gone(
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
        if !(keep && state.may_be_hit(entry)) {
            // A registration that ends must know whether its memory is gone.
            self.catch_up(&mut state);
        }
        if let Some(entry) = state.release(entry.id, keep) {
            self.end(&entry);
        }
        drop(state);
        self.freed.notify_all();
    }

    /// Returns false if the memory of the entry was followed, and cannot be now.
    pub(crate) fn trusts(&self, entry: &Entry<R::Handle>) -> bool {
        let follower = self.follower.as_ref().filter(|_| entry.followed);
        follower.is_none_or(|f| f.works())
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
