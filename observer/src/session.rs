//! One attachment: the producer's shared objects, this observer's lease, and the pins in it.

use crate::error::ObserveError;
use crate::sources::Sources;
use crate::table_cache::TableCache;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use tcasm_core::format::index::{HeaderInfo, Index, IndexError};
use tcasm_core::format::layout::Layout;
use tcasm_core::format::lease::{Lease, PINS};
use tcasm_core::format::protocol;
use tcasm_core::place::Extent;
use tcasm_core::sys::closer::Untrusted;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::process::Peer;
use tcasm_core::sys::socket;

/// The state of one attachment. Versions and views share it.
pub(crate) struct Session {
    /// The connection. It is untrusted, because the process that listened may not be the producer.
    pub(crate) socket: Untrusted<OwnedFd>,
    pub(crate) peer: Peer,
    index: Mapping,
    layout: Layout,
    pub(crate) info: HeaderInfo,
    /// Descriptors of the index, then of the planes.
    objects: Vec<OwnedFd>,
    lease: Lease,
    /// The pin words that are taken, one bit each.
    taken: AtomicU64,
    /// Page tables of planes that no window uses at the moment.
    pub(crate) table_cache: Mutex<TableCache>,
    /// Mappings of planes from which pages are copied.
    pub(crate) sources: Sources,
    process: Process,
}

/// Returns the words of an index that was mapped whole and checked to be sealed.
#[allow(unsafe_code)]
pub(crate) fn words(index: &Mapping) -> &[AtomicU64] {
    // SAFETY: `attach` maps the index whole and readable, after `sealed_len_of_pages` has shown
    // that it cannot shrink.
    unsafe { index.words() }
}

impl Session {
    pub(crate) fn new(
        socket: Untrusted<OwnedFd>,
        peer: Peer,
        (index, layout): (Mapping, Layout),
        info: HeaderInfo,
        objects: Vec<OwnedFd>,
        lease: Lease,
    ) -> Self {
        let sources = Sources::new(objects.len() - 1, layout.region_bytes());
        Session {
            socket,
            peer,
            index,
            layout,
            info,
            objects,
            lease,
            taken: AtomicU64::new(0),
            table_cache: Mutex::default(),
            sources,
            process: Process::current(),
        }
    }

    /// Returns the index, with the layout that attaching has checked. Fails in a forked child,
    /// which has not inherited the index.
    pub(crate) fn index(&self) -> Result<Index<'_>, IndexError> {
        match self.forked() {
            true => Err(IndexError::Forked),
            false => Index::with_layout(words(&self.index), self.layout),
        }
    }

    /// Returns the descriptors of the planes.
    pub(crate) fn planes(&self) -> &[OwnedFd] {
        &self.objects[1..]
    }

    /// Duplicates the descriptors of the index and the planes.
    pub(crate) fn objects(&self) -> io::Result<Vec<OwnedFd>> {
        self.objects.iter().map(OwnedFd::try_clone).collect()
    }

    /// Returns the address and the size of the region in the producer.
    pub(crate) fn extent(&self) -> Extent {
        Extent {
            base: self.info.base,
            bytes: self.layout.region_bytes() as u64,
        }
    }

    /// Returns true if this process is a forked child of the one that attached.
    pub(crate) fn forked(&self) -> bool {
        !self.process.is_current()
    }

    /// Returns an error unless this process has attached and the lease still stands.
    pub(crate) fn check(&self) -> Result<(), ObserveError> {
        if self.forked() {
            Err(ObserveError::Forked)
        } else if self.lease.revoked() {
            Err(ObserveError::Revoked)
        } else {
            Ok(())
        }
    }

    /// Returns true if the producer is gone: its process or its end of the connection has ended.
    pub(crate) fn producer_gone(&self) -> bool {
        socket::hung_up(&*self.socket) || !self.peer.alive()
    }

    /// Pins version `n`, which slot `slot` held a moment ago. Returns the pin word, or `None` if
    /// the version is gone.
    pub(crate) fn pin(&self, slot: usize, n: u64) -> Result<Option<usize>, ObserveError> {
        let index = self.index()?;
        let word = self.take_word()?;
        if protocol::pin(index.state(slot)?, &self.lease.pins()[word], n) {
            return Ok(Some(word));
        }
        self.give_word(word);
        Ok(None)
    }

    /// Reserves version `n`, which need not exist yet. Returns the pin word.
    pub(crate) fn reserve(&self, n: u64) -> Result<usize, ObserveError> {
        let word = self.take_word()?;
        protocol::reserve(&self.lease.pins()[word], n);
        Ok(word)
    }

    /// Returns true if slot `slot` holds version `n`, which this observer has reserved. Then it is
    /// pinned.
    pub(crate) fn confirm(&self, slot: usize, n: u64) -> Result<bool, ObserveError> {
        Ok(protocol::confirm(self.index()?.state(slot)?, n))
    }

    /// Releases the pin in `word`.
    pub(crate) fn unpin(&self, word: usize) {
        // A forked child shares the page of the lease, and the pin is the parent's.
        if !self.forked() {
            protocol::unpin(&self.lease.pins()[word]);
            self.give_word(word);
        }
    }

    fn take_word(&self) -> Result<usize, ObserveError> {
        const { assert!(PINS == 64, "one bit of `taken` for each pin word") };
        let mut taken = self.taken.load(Ordering::Relaxed);
        loop {
            let word = (!taken).trailing_zeros();
            if word == u64::BITS {
                return Err(ObserveError::TooManyPins { pins: PINS });
            }
            match self.taken.compare_exchange_weak(
                taken,
                taken | 1 << word,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(word as usize),
                Err(now) => taken = now,
            }
        }
    }

    fn give_word(&self, word: usize) {
        self.taken.fetch_and(!(1 << word), Ordering::AcqRel);
    }
}
