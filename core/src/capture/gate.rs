//! The gate write-protects parts of live memory. Stores to them wait until they are released.
//!
//! Faults inside system calls wait too, for example when read(2) stores into the memory or a
//! message is received into it. This takes a userfaultfd that handles all faults. A gate for faults
//! of user code only, which every user can have, makes such calls fail with EFAULT: nothing of
//! protected memory changes. The probe at start-up must have found that the kind of gate works.

use crate::sys::live::{gather, huge_pages, no_huge_pages};
use crate::sys::lock::Lock;
use crate::sys::uffd::{self, Faults, OpenError, Uffd, WP_SYNC, WP_UNPOPULATED};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// The largest number of attempts to make a chunk a huge page. Where memory is too fragmented,
/// later attempts fail as well.
const GATHER_TRIES: u32 = 4;

/// Ranges of addresses that can be protected and released.
#[derive(Debug)]
pub struct Gate {
    uffd: Uffd,
    faults: Faults,
    /// The ranges that are registered. Locked by the producer's thread, and when the gate is given
    /// up.
    watched: Lock<Vec<Range<usize>>>,
    /// The number of attempts to make each chunk, by its address, a huge page.
    gathered: Lock<BTreeMap<usize, u32>>,
    /// True if memory may have huge pages while the gate does not watch it.
    huge: bool,
    given_up: AtomicBool,
    stop: EventFd,
}

impl Gate {
    /// Creates a gate at which `faults` wait, and that watches nothing yet. `huge` says that memory
    /// that it does not watch may have huge pages.
    pub fn open(faults: Faults, huge: bool) -> Result<Self, OpenError> {
        // Pages that do not exist yet are captured as zeros, so stores to them must wait too.
        let (uffd, _) = uffd::open(faults, WP_SYNC | WP_UNPOPULATED)?;
        let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        Ok(Gate {
            uffd,
            faults,
            watched: Lock::new(Vec::new()),
            gathered: Lock::new(BTreeMap::new()),
            huge,
            given_up: AtomicBool::new(false),
            stop: stop.map_err(|e| OpenError::Syscall(e.into()))?,
        })
    }

    /// Returns true if only stores of user code wait. System calls that write into protected memory
    /// fail.
    pub fn user_mode_only(&self) -> bool {
        self.faults == Faults::User
    }

    /// Returns true if the gate was given up. Then no store waits any more.
    pub fn given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }

    /// Registers `range`, so that it can be protected. No other userfaultfd may watch it.
    pub fn watch(&self, range: Range<usize>) -> io::Result<()> {
        if self.given_up() {
            return Err(io::Error::other("the gate was given up after an error"));
        }
        uffd::register(&self.uffd, &range)?;
        if !self.huge {
            huge_pages(&range);
        }
        self.watched.lock().push(range);
        Ok(())
    }

    /// Undoes [`Gate::watch`] for a part of what is watched.
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
        if !self.huge {
            no_huge_pages(range);
        }
        Ok(())
    }

    /// Makes stores to `range` wait from now on.
    pub fn protect(&self, range: &Range<usize>) -> io::Result<()> {
        uffd::protect(&self.uffd, range)
    }

    /// Lets stores to `range` through, also those that wait.
    pub fn release(&self, range: &Range<usize>) -> io::Result<()> {
        uffd::release(&self.uffd, range)
    }

    /// Makes a chunk one huge page, if the kernel has one. It takes one entry then to protect the
    /// chunk instead of 512, and the simulation needs fewer address translations. The chunk must
    /// not be protected. Stores to it wait during each of at most `GATHER_TRIES` attempts. Called
    /// by each thread that saves pieces of a sweep.
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

    /// Lets all stores through from now on, for good. Memory that is not saved by now may change
    /// while it is copied. So the caller must first mark the current sweep as failed.
    pub fn give_up(&self) {
        if self.given_up.swap(true, Ordering::SeqCst) {
            return;
        }
        for range in self.watched.lock().drain(..) {
            // A part of the range may be unmapped; no store can wait there. Closing the descriptor
            // below undoes the registration if this fails for another reason.
            let _ = uffd::unwatch(&self.uffd, &range);
            // Closing wakes no thread while a forked child still has the descriptor.
            let _ = uffd::wake(&self.uffd, &range);
        }
        uffd::close_in_place(&self.uffd);
        self.stop();
    }

    /// Serves faults until [`Gate::stop`] is called. Calls `early` with the address of each store
    /// that waits. `early` must make sure that the address is released.
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

    /// Ends [`Gate::serve`].
    pub fn stop(&self) {
        let _ = self.stop.write(1);
    }
}
