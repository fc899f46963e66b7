//! The gate: write-protection of parts of live memory at which stores wait.
//!
//! Faults from inside system calls (read(2) into the memory, a message received into it) wait like any other: that takes a
//! userfaultfd for all faults, which the probe at start-up has to have found working.

use crate::sys::live::{gather, huge_pages, no_huge_pages};
use crate::sys::lock::Lock;
use crate::sys::uffd::{self, Faults, OpenError, WP_SYNC, WP_UNPOPULATED};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use userfaultfd::Uffd;

/// Times that a chunk is asked to become a huge page: where memory is too fragmented, later ones fail as well.
const GATHER_TRIES: u32 = 4;

/// Ranges of addresses that can be protected and released.
#[derive(Debug)]
pub struct Gate {
    uffd: Uffd,
    /// What is registered. Locked by the producer's thread, and when the gate is given up.
    watched: Lock<Vec<Range<usize>>>,
    /// How often chunks, by their address, have been asked to become huge pages.
    gathered: Lock<BTreeMap<usize, u32>>,
    given_up: AtomicBool,
    stop: EventFd,
}

impl Gate {
    /// A gate that watches nothing yet.
    pub fn open() -> Result<Self, OpenError> {
        // Pages that do not exist yet are captured as zeros: a store to them has to wait, too.
        let (uffd, _) = uffd::open(Faults::All, WP_SYNC | WP_UNPOPULATED)?;
        let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        Ok(Gate {
            uffd,
            watched: Lock::new(Vec::new()),
            gathered: Lock::new(BTreeMap::new()),
            given_up: AtomicBool::new(false),
            stop: stop.map_err(|e| OpenError::Syscall(e.into()))?,
        })
    }

    /// Whether it was given up: it holds nobody any more, and never will.
    pub fn given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }

    /// Make `range` one that can be protected. Nothing else may watch it.
    pub fn watch(&self, range: Range<usize>) -> io::Result<()> {
        if self.given_up() {
            return Err(io::Error::other("the gate was given up after an error"));
        }
        uffd::register(&self.uffd, &range)?;
        huge_pages(&range);
        self.watched.lock().push(range);
        Ok(())
    }

    /// Undo `watch` for a part of what is watched.
    pub fn unwatch(&self, range: &Range<usize>) -> io::Result<()> {
        let mut watched = self.watched.lock();
        let cut = |w: Range<usize>| {
            let (before, after) = (
                w.start..w.end.min(range.start),
                w.start.max(range.end)..w.end,
            );
            [before, after].into_iter().filter(|r| !r.is_empty())
        };
        *watched = watched.drain(..).flat_map(cut).collect();
        drop(watched);
        self.gathered
            .lock()
            .retain(|chunk, _| !range.contains(chunk));
        uffd::unwatch(&self.uffd, range)?;
        no_huge_pages(range);
        Ok(())
    }

    /// Let stores to `range` wait from now on.
    pub fn protect(&self, range: &Range<usize>) -> io::Result<()> {
        uffd::protect(&self.uffd, range)
    }

    /// Let stores to `range` through.
    pub fn release(&self, range: &Range<usize>) -> io::Result<()> {
        uffd::release(&self.uffd, range)
    }

    /// Make a chunk that is not protected one huge page, if the kernel has one: protecting it is then a matter of one entry,
    /// and the simulation keeps its translations. Stores to it wait a little meanwhile, once. For copier threads.
    pub fn gather(&self, chunk: &Range<usize>) {
        let tries = *self.gathered.lock().get(&chunk.start).unwrap_or(&0);
        if tries < GATHER_TRIES {
            let more = if gather(chunk).is_ok() {
                GATHER_TRIES
            } else {
                tries + 1
            };
            self.gathered.lock().insert(chunk.start, more);
        }
    }

    /// Let everybody through, for good. What was not saved by now may change under whoever copies it: sweeps must be marked
    /// as failed before.
    pub fn give_up(&self) {
        if self.given_up.swap(true, Ordering::SeqCst) {
            return;
        }
        for range in self.watched.lock().drain(..) {
            // A part of it may be unmapped: then nobody can wait there. What else could fail, closing cures below.
            let _ = uffd::unwatch(&self.uffd, &range);
            // Closing wakes nobody while a forked child still has the descriptor.
            let _ = uffd::wake(&self.uffd, &range);
        }
        uffd::close_in_place(&self.uffd);
        self.stop();
    }

    /// Serve faults until `stop`: call `early` with the address of each store that waits.
    pub fn serve(&self, mut early: impl FnMut(usize)) -> io::Result<()> {
        loop {
            let mut ready = [
                PollFd::new(self.uffd.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.stop.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut ready, PollTimeout::NONE) {
                Err(nix::errno::Errno::EINTR) => continue,
                result => result?,
            };
            if ready[1].any() == Some(true) {
                return Ok(());
            }
            while let Some(address) = uffd::next_fault(&self.uffd)? {
                early(address);
            }
        }
    }

    /// End `serve`.
    pub fn stop(&self) {
        let _ = self.stop.write(1);
    }
}
