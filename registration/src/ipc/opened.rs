//! The memory of other processes that is opened: hits, stale entries, limits and evictions.
//!
//! Each peer has a [`State`] of its own, by the owner's addresses. Allocations of a process never
//! overlap at the same time. So memory that overlaps a request and is not the same allocation was
//! freed, and is never a hit again.

use crate::cache::Stats;
use crate::ipc::error::IpcError;
use crate::ipc::exported::{Exported, Identity};
use crate::ipc::opener::{Opener, Refusal};
use crate::ipc::peer::Peer;
use crate::limits::{AtLimit, Limits};
use crate::state::{Entry, State};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tcasm_core::sys::fork::Process;

/// An allocation that is opened.
#[derive(Debug)]
pub(crate) struct Mapped {
    /// The first address here.
    pub(crate) address: u64,
    identity: Identity,
}

/// The state under the lock.
#[derive(Debug, Default)]
struct Table {
    peers: HashMap<Peer, State<Mapped>>,
    counts: Stats,
}

/// The state that a cache shares with the memory that it has given out.
#[derive(Debug)]
pub(crate) struct Opened<O: Opener> {
    opener: O,
    limits: Limits,
    table: Mutex<Table>,
    /// Notified when memory is released.
    freed: Condvar,
    closed: AtomicBool,
    process: Process,
}

impl<O: Opener> Opened<O> {
    pub(crate) fn new(opener: O, limits: Limits) -> Self {
        Opened {
            opener,
            limits,
            table: Mutex::default(),
            freed: Condvar::new(),
            closed: AtomicBool::new(false),
            process: Process::current(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In a forked child the lock may be held by a thread that is not there, and CUDA does not
    /// work.
    fn is_usable(&self) -> bool {
        self.process.is_current()
    }

    /// In a forked child, keeps this for ever: its end would unload the driver there.
    pub(crate) fn keep_in_child(self: &Arc<Self>) {
        if !self.is_usable() {
            std::mem::forget(self.clone());
        }
    }

    /// Returns the opened allocation of this memory, with one more user.
    pub(crate) fn open(
        &self,
        peer: Peer,
        exported: &Exported,
    ) -> Result<Arc<Entry<Mapped>>, IpcError> {
        if !self.is_usable() {
            return Err(IpcError::Forked);
        }
        let mut table = self.lock();
        loop {
            match self.try_open(&mut table, peer, exported) {
                Err(IpcError::Full { .. }) if self.may_wait(exported) => {
                    let woken = self.freed.wait(table);
                    table = woken.unwrap_or_else(PoisonError::into_inner);
                }
                done => {
                    table.forget_if_empty(peer);
                    return done;
                }
            }
        }
    }

    fn may_wait(&self, exported: &Exported) -> bool {
        self.limits.at_limit == AtLimit::Wait && self.limits.allow(1, exported.allocated())
    }

    fn try_open(
        &self,
        table: &mut Table,
        peer: Peer,
        exported: &Exported,
    ) -> Result<Arc<Entry<Mapped>>, IpcError> {
        let Table { peers, counts } = table;
        let state = peers.entry(peer).or_insert_with(State::new);
        let range = exported.allocation();
        let known = state.peek(range);
        let same = known.is_some_and(|mapped| mapped.identity == *exported.identity());
        if let Some(entry) = same.then(|| state.hit(range)).flatten() {
            counts.hits += 1;
            return Ok(entry);
        }
        let (stale, gone) = state.invalidate(range);
        counts.invalidated += gone as u64;
        self.close_all(&stale);
        self.make_room(state, counts, exported)
            .map_err(|()| self.full(state, peer, exported))?;
        let address = self.map(state, counts, peer, exported)?;
        counts.misses += 1;
        let identity = *exported.identity();
        Ok(state.add(range.clone(), Mapped { address, identity }, true))
    }

    /// Closes what was not used for longest until the allocation fits.
    fn make_room(
        &self,
        state: &mut State<Mapped>,
        counts: &mut Stats,
        exported: &Exported,
    ) -> Result<(), ()> {
        let len = exported.allocated();
        if !self.limits.allow(1, len) {
            return Err(());
        }
        let fits = |state: &State<Mapped>| {
            let bytes = state.bytes().saturating_add(len);
            self.limits.allow(state.entries() + 1, bytes)
        };
        while !fits(state) {
            if !self.evict(state, counts) {
                return Err(());
            }
        }
        Ok(())
    }

    /// Closes what was not used for longest. Returns false if everything is in use.
    fn evict(&self, state: &mut State<Mapped>, counts: &mut Stats) -> bool {
        let entry = state.evict();
        self.close_all(entry.as_slice());
        counts.evicted += u64::from(entry.is_some());
        entry.is_some()
    }

    /// Opens the handle. As long as the driver has no room or other memory is in the way, what was
    /// not used for longest is closed.
    fn map(
        &self,
        state: &mut State<Mapped>,
        counts: &mut Stats,
        peer: Peer,
        exported: &Exported,
    ) -> Result<u64, IpcError> {
        let (address, len) = (exported.base(), exported.allocated());
        loop {
            match self.opener.open(exported.handle()) {
                Ok(address) => return Ok(address),
                Err(Refusal::Occupied(_)) if self.evict(state, counts) => {}
                Err(Refusal::Occupied(reason)) => {
                    return Err(IpcError::InUse {
                        peer,
                        address,
                        len,
                        reason,
                    });
                }
                Err(Refusal::Other(reason)) => {
                    return Err(IpcError::Driver {
                        call: "cuIpcOpenMemHandle",
                        address,
                        len,
                        reason,
                    });
                }
            }
        }
    }

    fn full(&self, state: &State<Mapped>, peer: Peer, exported: &Exported) -> IpcError {
        IpcError::Full {
            peer,
            entries: state.entries(),
            bytes: state.bytes(),
            len: exported.allocated(),
            max_entries: self.limits.entries,
            max_bytes: self.limits.bytes,
        }
    }

    /// Counts one user less.
    pub(crate) fn release(&self, peer: Peer, entry: &Entry<Mapped>) {
        if !self.is_usable() {
            return;
        }
        let mut table = self.lock();
        let keep = self.limits.leave_pinned && !self.closed.load(Ordering::Acquire);
        if let Some(state) = table.peers.get_mut(&peer) {
            self.close_all(state.release(entry.id, keep).as_slice());
        }
        table.forget_if_empty(peer);
        drop(table);
        self.freed.notify_all();
    }

    /// Closes everything of a peer that nobody uses. Nothing of it is a hit any more.
    pub(crate) fn forget(&self, peer: Peer) {
        if !self.is_usable() {
            return;
        }
        let mut table = self.lock();
        if let Some(state) = table.peers.get_mut(&peer) {
            let (ended, gone) = state.invalidate(&(0..usize::MAX));
            self.close_all(&ended);
            table.counts.invalidated += gone as u64;
        }
        table.forget_if_empty(peer);
    }

    /// Closes everything that nobody uses. What is in use is closed when it is released.
    pub(crate) fn end(&self) {
        if !self.is_usable() {
            return;
        }
        self.closed.store(true, Ordering::Release);
        let mut table = self.lock();
        for state in table.peers.values_mut() {
            while let Some(entry) = state.evict() {
                self.opener.close(entry.handle.address);
            }
        }
    }

    pub(crate) fn stats(&self) -> Stats {
        if !self.is_usable() {
            return Stats::default();
        }
        let table = self.lock();
        let mut stats = table.counts;
        for state in table.peers.values() {
            stats.entries += state.entries();
            stats.unused += state.unused();
            stats.bytes += state.bytes();
        }
        stats
    }

    fn close_all(&self, ended: &[Arc<Entry<Mapped>>]) {
        for entry in ended {
            self.opener.close(entry.handle.address);
        }
    }

    #[cfg(test)]
    pub(crate) fn opener(&self) -> &O {
        &self.opener
    }
}

impl Table {
    fn forget_if_empty(&mut self, peer: Peer) {
        if self.peers.get(&peer).is_some_and(|s| s.entries() == 0) {
            self.peers.remove(&peer);
        }
    }
}
