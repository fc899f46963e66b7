//! Follows the address space: a thread reads events of userfaultfd and passes them on.
//!
//! Memory can be registered with one userfaultfd only, so all caches of a process share one.
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
//! # Why nothing waits for itself
//!
//! The thread uses only memory that it had when it began: it neither allocates nor frees, takes no
//! lock, and runs no signal handler of the program. So it reads events whatever the other threads
//! hold. When it ends it closes the descriptor first, because the end of a thread unmaps memory.

use crate::coverage::Coverage;
use crate::error::{BuildError, RegisterError};
use crate::ring::{Change, Cursor, Ring};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tcasm_core::sys::fork::Process;
use tcasm_core::sys::mappings::{Mappings, Memory};
use tcasm_core::sys::uffd::{self, Uffd};
use tcasm_core::sys::uffd_events::{self, Event, Spare};
use tcasm_core::sys::{futex, thread};

/// How often `settle` asks before it gives up, and how often of these it only yields. Threads that
/// unmap registered memory all the time could make it wait without end.
const ATTEMPTS: usize = 400;
const YIELDS: usize = 200;
const PAUSE: Duration = Duration::from_micros(50);

/// What the thread and the cache share.
#[derive(Debug)]
struct Watch {
    uffd: Uffd,
    ring: Ring,
    /// Whether the thread has an event that is not in the ring yet, or may be about to read one.
    reading: AtomicBool,
    /// The number of changes.
    generation: AtomicU64,
    running: AtomicBool,
    stop: AtomicBool,
    /// Wakes the thread when it is to stop.
    bell: EventFd,
}

impl Watch {
    /// Reads all events that wait. Returns false if the descriptor can no longer be read.
    fn take(&self, spare: &mut Spare) -> bool {
        // Before the read: see the top of this file.
        self.reading.store(true, Ordering::SeqCst);
        let mut works = true;
        let mut took = false;
        loop {
            match uffd_events::next(&self.uffd, spare) {
                Ok(Some(event)) => self.pass(&event),
                Ok(None) => break,
                Err(_) => {
                    self.ring.lose();
                    works = false;
                    break;
                }
            }
            took = true;
        }
        self.reading.store(false, Ordering::SeqCst);
        if took {
            self.wake();
        }
        works
    }

    /// Wakes the threads that wait for changes.
    fn wake(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        futex::wake_private(&self.generation);
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

    /// Reads events until it is told to stop.
    fn run(&self, spare: &mut Spare) {
        self.running.store(true, Ordering::Release);
        while !self.stop.load(Ordering::Acquire) {
            let mut ready = [
                PollFd::new(self.uffd.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.bell.as_fd(), PollFlags::POLLIN),
            ];
            let _ = poll(&mut ready, PollTimeout::NONE);
            if !self.take(spare) {
                break;
            }
        }
        self.stop.store(true, Ordering::Release);
        // Before the thread ends. Threads that wait for an event continue. There may be no new
        // descriptor for this.
        uffd::replace_in_place(&self.uffd, self.bell.as_fd());
    }
}

/// Follows the memory that is registered with it.
#[derive(Debug)]
pub(crate) struct Follower {
    watch: Arc<Watch>,
    thread: Option<JoinHandle<()>>,
    /// What is registered with the descriptor, and how often.
    covered: Mutex<Coverage>,
    mappings: Mappings,
    forks: bool,
    process: Process,
}

/// The follower of this process, if a cache has it.
static SHARED: Mutex<Weak<Follower>> = Mutex::new(Weak::new());

impl Follower {
    /// Returns the follower of this process, and starts it if there is none.
    pub(crate) fn shared() -> Result<Arc<Self>, BuildError> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(follower) = shared.upgrade().filter(|f| f.works()) {
            return Ok(follower);
        }
        let follower = Arc::new(Follower::start()?);
        *shared = Arc::downgrade(&follower);
        Ok(follower)
    }

    /// Starts the thread.
    fn start() -> Result<Self, BuildError> {
        let (uffd, forks) = uffd_events::open().map_err(BuildError::NotFollowed)?;
        let bell = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC)
            .map_err(|e| BuildError::Thread(e.into()))?;
        let watch = Arc::new(Watch {
            uffd,
            ring: Ring::new(),
            reading: AtomicBool::new(false),
            generation: AtomicU64::new(0),
            running: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            bell,
        });
        let of_thread = watch.clone();
        let named = Builder::new().name("tcasm-follow".into());
        let mut spare = Spare::new().map_err(BuildError::Thread)?;
        let run = move || of_thread.run(&mut spare);
        let thread = thread::spawn(named, run).map_err(BuildError::Thread)?;
        // Before it runs, a thread allocates. No memory may be followed until that is over.
        while !watch.running.load(Ordering::Acquire) {
            std::thread::sleep(PAUSE);
        }
        Ok(Follower {
            watch,
            thread: Some(thread),
            covered: Mutex::default(),
            mappings: Mappings::open().map_err(BuildError::Thread)?,
            forks,
            process: Process::current(),
        })
    }

    /// Returns true in the process of the thread, while the thread reads events.
    fn works(&self) -> bool {
        self.process.is_current() && !self.watch.stop.load(Ordering::Acquire)
    }

    /// Returns true if forks are followed too.
    pub(crate) fn follows_forks(&self) -> bool {
        self.forks
    }

    /// Waits until every change that the caller can know of is in the ring. Returns false if that
    /// cannot be said.
    pub(crate) fn settle(&self) -> bool {
        for attempt in 0..ATTEMPTS {
            if !self.works() {
                return false;
            }
            if self.is_settled() {
                return true;
            }
            if attempt < YIELDS {
                std::thread::yield_now();
            } else {
                // The follower may have a lower priority than the caller.
                std::thread::sleep(PAUSE);
            }
        }
        false
    }

    fn is_settled(&self) -> bool {
        if !uffd_events::is_quiet(&self.watch.uffd) {
            return false;
        }
        // In this order: an event that is no longer counted is being read, or was. The kernel has
        // loaded its count without a barrier.
        fence(Ordering::SeqCst);
        !self.watch.reading.load(Ordering::SeqCst)
    }

    /// Returns a cursor for the changes from now on.
    pub(crate) fn cursor(&self) -> Cursor {
        self.watch.ring.cursor()
    }

    /// Takes the next change. No other thread may use the cursor meanwhile.
    pub(crate) fn next(&self, cursor: &Cursor) -> Option<Change> {
        self.watch.ring.pop(cursor)
    }

    /// Returns the number of changes so far.
    pub(crate) fn generation(&self) -> u64 {
        self.watch.generation.load(Ordering::SeqCst)
    }

    /// Wakes the threads that wait for changes, although there may be none.
    pub(crate) fn wake(&self) {
        self.watch.wake();
    }

    /// Returns what a thread needs to wait for changes.
    pub(crate) fn bell(&self) -> Bell {
        Bell(self.watch.clone())
    }

    /// Follows the memory of the range from now on. Returns false if the kernel does not let it:
    /// the memory may be read only, another userfaultfd may have it, or it can be detached without
    /// an event. A range with a hole is an error: what is mapped there later is not followed.
    pub(crate) fn follow(&self, range: &Range<usize>) -> Result<bool, RegisterError> {
        self.covered().add(range);
        let registered = uffd::register(&self.watch.uffd, range).is_ok();
        // Looked at afterwards: what is mapped now and goes from now on is followed.
        let memory = self.mappings.look(range);
        if registered && matches!(memory, Ok(Memory::Mapped)) {
            return Ok(true);
        }
        if registered {
            self.unfollow(range);
        } else {
            self.forget(range);
        }
        match memory {
            Ok(Memory::Hole(hole)) => Err(RegisterError::Unmapped {
                addr: range.start,
                len: range.len(),
                hole,
            }),
            _ => Ok(false),
        }
    }

    /// Forgets a range that is gone, or was refused. Nothing is unregistered: the range may belong
    /// to another userfaultfd by now, and kernels before 6.15 would unregister it there.
    pub(crate) fn forget(&self, range: &Range<usize>) {
        self.covered().remove(range);
    }

    /// Follows the range no more, apart from parts that other registrations cover. The memory of
    /// the range is still mapped.
    pub(crate) fn unfollow(&self, range: &Range<usize>) {
        let bare = self.covered().remove(range);
        for part in bare {
            // A failure means that the memory is gone by now.
            let _ = uffd::unwatch(&self.watch.uffd, &part);
        }
    }

    fn covered(&self) -> MutexGuard<'_, Coverage> {
        self.covered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // The thread is in the parent only.
            std::mem::forget(self.thread.take());
            return;
        }
        self.watch.stop.store(true, Ordering::Release);
        let _ = self.watch.bell.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.watch.wake();
    }
}

/// Waits for changes without keeping the cache alive.
#[derive(Clone, Debug)]
pub(crate) struct Bell(Arc<Watch>);

impl Bell {
    /// Waits until the number of changes differs from `seen`, the follower stops, or `timeout` has
    /// passed. Returns false if the follower has stopped.
    pub(crate) fn wait(&self, seen: u64, timeout: Duration) -> bool {
        if !self.0.stop.load(Ordering::Acquire) {
            futex::wait_private(&self.0.generation, seen, timeout);
        }
        !self.0.stop.load(Ordering::Acquire)
    }
}
