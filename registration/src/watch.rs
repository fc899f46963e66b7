//! The thread that reads events of userfaultfd, and what it shares with the caches.
//!
//! # Why nothing waits for the thread
//!
//! The kernel lets a thread that unmaps registered memory wait until its event is read, and lets a
//! fork wait too. So the thread uses only memory that it had when it began: it neither allocates
//! nor frees, takes no lock, and runs no signal handler of the program. It reads events whatever
//! the other threads hold.
//!
//! It never ends. Parts of memory can stay registered when the last cache has ended, and closing
//! the descriptor would not change that: a forked child may have it too, and then the kernel goes
//! on sending events which nobody reads.
//!
//! The event of a fork brings a descriptor for the memory of the child. The thread closes it, which
//! ends the registration there. The thread has a table of descriptors of its own for that: it needs
//! a free number, and a child that another thread forks meanwhile must not inherit the descriptor.
//! Where there can be no such table, forks are not followed.

use crate::error::BuildError;
use crate::ring::{Change, Cursor, Ring};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, sleep};
use std::time::Duration;
use tcasm_core::sys::uffd::{OpenError, Uffd};
use tcasm_core::sys::uffd_events::{self, Event};
use tcasm_core::sys::{futex, own_table, thread};

/// How long the thread waits after an error before it tries again.
const AFTER_ERROR: Duration = Duration::from_millis(1);
/// How long others wait before they ask again whether the thread runs.
const PAUSE: Duration = Duration::from_micros(50);

/// Tells a limit of the process from a kernel that does not allow userfaultfd.
fn not_opened(error: OpenError) -> BuildError {
    match error {
        OpenError::Syscall(error) if is_limit(&error) => BuildError::Thread(error),
        other => BuildError::NotFollowed(other),
    }
}

fn is_limit(error: &io::Error) -> bool {
    let limits = [libc::EMFILE, libc::ENFILE, libc::ENOMEM];
    error.raw_os_error().is_some_and(|e| limits.contains(&e))
}

/// The state that the thread and the caches share.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) uffd: Uffd,
    /// True if the kernel tells of forks.
    pub(crate) forks: bool,
    ring: Ring,
    /// True if the thread has an event that is not in the ring yet, or may be about to read one.
    reading: AtomicBool,
    /// True if events could not be read the last time.
    failing: AtomicBool,
    /// The number of changes.
    generation: AtomicU64,
}

impl Watch {
    /// Starts the thread.
    pub(crate) fn start() -> Result<Arc<Self>, BuildError> {
        let alone = own_table::is_possible();
        let (uffd, forks) = uffd_events::open(alone).map_err(not_opened)?;
        let watch = Arc::new(Watch {
            uffd,
            forks,
            ring: Ring::new(),
            reading: AtomicBool::new(false),
            failing: AtomicBool::new(false),
            generation: AtomicU64::new(0),
        });
        watch.spawn(alone).map_err(BuildError::Thread)?;
        Ok(watch)
    }

    fn spawn(self: &Arc<Self>, alone: bool) -> io::Result<()> {
        let (watch, begun) = (self.clone(), Arc::new(OnceLock::new()));
        let told = begun.clone();
        let named = Builder::new().name("tcasm-follow".into());
        let run = move || {
            let ready = watch.prepare(alone);
            let fails = ready.is_err();
            let _ = told.set(ready);
            if fails {
                return;
            }
            loop {
                watch.read();
            }
        };
        thread::spawn(named, run)?;
        // Before it runs, a thread allocates. No memory may be followed until that is over.
        while begun.get().is_none() {
            sleep(PAUSE);
        }
        match begun.get() {
            Some(Err(error)) => Err(error
                .raw_os_error()
                .map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)),
            _ => Ok(()),
        }
    }

    #[allow(unsafe_code)]
    fn prepare(&self, alone: bool) -> io::Result<()> {
        if !alone {
            return Ok(());
        }
        // SAFETY: the thread uses this descriptor, and those that events bring. It ends none of
        // the others, because it never ends once it has the table.
        unsafe { own_table::take(self.uffd.as_fd()) }
    }

    /// Waits for events and reads them.
    fn read(&self) {
        let mut ready = [PollFd::new(self.uffd.as_fd(), PollFlags::POLLIN)];
        // A process that may have no descriptors (RLIMIT_NOFILE) cannot wait for one either.
        let waited = poll(&mut ready, PollTimeout::NONE);
        if !self.take() || waited.is_err() {
            sleep(AFTER_ERROR);
        }
    }

    /// Reads all events that wait. Returns false if that fails.
    fn take(&self) -> bool {
        // Before the read: see `Follower::settle`.
        self.reading.store(true, Ordering::SeqCst);
        let mut took = false;
        let works = loop {
            match uffd_events::next(&self.uffd) {
                Ok(Some(event)) => self.pass(&event),
                Ok(None) => break true,
                Err(_) => break false,
            }
            took = true;
        };
        self.told(works);
        self.reading.store(false, Ordering::SeqCst);
        if took {
            self.wake();
        }
        works
    }

    /// Notes whether events can be read. If not, everything counts as changed.
    fn told(&self, works: bool) {
        if works {
            self.failing.store(false, Ordering::SeqCst);
        } else if self.works() {
            self.ring.lose();
            self.failing.store(true, Ordering::SeqCst);
            self.wake();
        }
    }

    fn pass(&self, event: &Event) {
        match event {
            Event::Unmapped(range) => self.ring.push(range),
            Event::Removed(range) => self.ring.push_emptied(range),
            Event::Moved { from, to } => {
                self.ring.push(from);
                self.ring.push(&(*to..to.saturating_add(from.len())));
            }
            Event::Forked => self.ring.push_fork(),
            Event::Other => {}
        }
    }

    /// Returns true unless events could not be read the last time.
    pub(crate) fn works(&self) -> bool {
        !self.failing.load(Ordering::SeqCst)
    }

    /// Returns true if every change that the caller can know of is in the ring.
    pub(crate) fn is_settled(&self) -> bool {
        if !uffd_events::is_quiet(&self.uffd) {
            return false;
        }
        // In this order: an event that is no longer counted is being read, or was. The kernel has
        // loaded its count without a barrier.
        fence(Ordering::SeqCst);
        !self.reading.load(Ordering::SeqCst)
    }

    /// Returns a cursor for the changes from now on.
    pub(crate) fn cursor(&self) -> Cursor {
        self.ring.cursor()
    }

    /// Takes the next change. No other thread may use the cursor meanwhile.
    pub(crate) fn next(&self, cursor: &Cursor) -> Option<Change> {
        self.ring.pop(cursor)
    }

    /// Returns the number of changes so far.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Wakes the threads that wait for changes.
    pub(crate) fn wake(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        futex::wake_private(&self.generation);
    }

    /// Waits until the number of changes differs from `seen`, or `timeout` has passed.
    pub(crate) fn wait(&self, seen: u64, timeout: Duration) {
        futex::wait_private(&self.generation, seen, timeout);
    }
}
