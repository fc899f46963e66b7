//! Dropping what strangers have had their hands on, on threads that may get stuck.
//!
//! Closing a file can take as long as whoever made it likes: a TCP socket with SO_LINGER waits until its data are read, a
//! file of a FUSE server waits for the server. A descriptor that another process has sent may be of such a file, and a
//! Unix socket closes all descriptors in its unread messages when it is closed itself. So neither may have its
//! last close on a thread that somebody waits for.

use super::thread;
use crate::sabotage::{Guard, off};
use std::ops::Deref;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

/// Most threads that may be stuck at once.
const MOST: u64 = 16;
/// Bytes of stack of such a thread, which calls `close` and nothing else.
const STACK: usize = 64 << 10;

/// How many threads are at it: the process id above, their number below. A forked child has none of its parent's.
static BUSY: AtomicU64 = AtomicU64::new(0);

/// Returns false if as many threads as there may be are at it already. Whoever lets strangers in waits until it is true
/// again, which bounds what can pile up.
pub fn has_room() -> bool {
    busy(BUSY.load(SeqCst)) < MOST
}

/// Drops `what` on a thread of its own. Returns it if there is no room for one more, or no thread can be started.
pub fn drop_elsewhere<T: Send + 'static>(what: T) -> Result<(), T> {
    if off(Guard::CloseElsewhere) {
        drop(what);
        return Ok(());
    }
    let begun = BUSY.fetch_update(SeqCst, SeqCst, |now| {
        (busy(now) < MOST).then(|| own_pid() | (busy(now) + 1))
    });
    if begun.is_err() {
        return Err(what);
    }
    // Shared, so that it comes back when the thread does not start.
    let shared = Arc::new(Mutex::new(Some(what)));
    let take = |from: &Mutex<Option<T>>| from.lock().unwrap_or_else(PoisonError::into_inner).take();
    let theirs = shared.clone();
    if start(move || drop(take(&theirs))).is_ok() {
        return Ok(());
    }
    BUSY.fetch_sub(1, SeqCst);
    take(&shared).map_or(Ok(()), Err)
}

fn start(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let named = Builder::new().name("tcasm-closer".into());
    let started = thread::spawn(named.stack_size(STACK), move || {
        work();
        BUSY.fetch_sub(1, SeqCst);
    });
    started.map(drop)
}

fn own_pid() -> u64 {
    u64::from(process::id()) << 32
}

fn busy(word: u64) -> u64 {
    match word >> 32 == u64::from(process::id()) {
        true => word & u64::from(u32::MAX),
        false => 0,
    }
}

/// Something that may block when it is dropped: [`drop_elsewhere`] does it, unless it is [cleared](Suspect::clear) before.
#[derive(Debug)]
pub struct Suspect<T: Send + 'static> {
    /// Always there, until it is dropped.
    what: Option<T>,
    cleared: bool,
}

impl<T: Send + 'static> Suspect<T> {
    /// Suspects `what`.
    pub fn new(what: T) -> Self {
        Suspect {
            what: Some(what),
            cleared: false,
        }
    }

    /// Notes that dropping it cannot block.
    pub fn clear(&mut self) {
        self.cleared = true;
    }

    /// Returns it, which is suspected no more.
    pub fn into_inner(mut self) -> T {
        self.what.take().expect("taken here and in drop only")
    }
}

impl<T: Send + 'static> Deref for Suspect<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.what.as_ref().expect("taken in drop only")
    }
}

impl<T: Send + 'static> Drop for Suspect<T> {
    fn drop(&mut self) {
        let Some(what) = self.what.take() else {
            return;
        };
        if self.cleared {
            return;
        }
        match drop_elsewhere(what) {
            // Stuck threads are many, so nothing new is let in, and what stays open is bounded.
            Err(what) if !has_room() => std::mem::forget(what),
            // No thread can be started here. That nobody can help with, and it may well not block.
            Err(_) | Ok(()) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    /// Stuck until the other end is dropped.
    struct Stuck(Receiver<()>);

    impl Drop for Stuck {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }

    #[test]
    fn stuck_drops_are_bounded_and_come_back_to_the_caller() {
        let (stuck, bounds): (Vec<_>, Vec<_>) = (0..MOST).map(|_| channel::<()>()).unzip();
        for bound in bounds {
            assert!(has_room());
            assert!(drop_elsewhere(Stuck(bound)).is_ok());
        }
        assert!(!has_room());
        assert_eq!(drop_elsewhere(7), Err(7));
        drop(stuck);
        while !has_room() {
            std::thread::yield_now();
        }
    }
}
