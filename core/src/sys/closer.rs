//! Threads that drop values from untrusted peers, because dropping them may block.
//!
//! The process that made a file can make closing it take any time. A TCP socket with SO_LINGER
//! waits until its data are read, and a file of a FUSE server waits for the server. A descriptor
//! that another process has sent may be of such a file. A Unix socket that is closed also closes
//! all descriptors in its unread messages. So the last close of either must not happen on a thread
//! that another thread waits for.

use super::thread;
use crate::testing::sabotage::{Guard, off};
use std::ops::Deref;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

/// The largest number of closing threads at once, all of which may be stuck.
const MOST: u64 = 16;
/// The stack size of such a thread in bytes. The thread calls `close` and nothing else.
const STACK: usize = 64 << 10;

/// The number of closing threads in the lower half, and the process id in the upper half. The id
/// tells a forked child that the threads counted are those of its parent, and not its own.
static BUSY: AtomicU64 = AtomicU64::new(0);

/// Returns true if one more closing thread may be started. A caller that accepts untrusted peers
/// accepts none while this is false, which bounds the number of open descriptors.
pub fn has_room() -> bool {
    busy(BUSY.load(SeqCst)) < MOST
}

/// Drops `what` on a thread of its own. Returns `what` as the error if the largest number of
/// threads runs already, or if no thread can be started.
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
    // Shared with the thread, so that it can be returned if the thread does not start.
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

/// A value that may block when it is dropped. [`drop_elsewhere`] drops it, unless it was
/// [cleared](Untrusted::clear) before.
#[derive(Debug)]
pub struct Untrusted<T: Send + 'static> {
    /// The value. It is `None` only while `into_inner` or `drop` runs.
    what: Option<T>,
    cleared: bool,
}

impl<T: Send + 'static> Untrusted<T> {
    /// Wraps `what`, which may block when it is dropped.
    pub fn new(what: T) -> Self {
        Untrusted {
            what: Some(what),
            cleared: false,
        }
    }

    /// Notes that dropping the value cannot block.
    pub fn clear(&mut self) {
        self.cleared = true;
    }

    /// Returns the value. From now on the caller drops it.
    pub fn into_inner(mut self) -> T {
        self.what.take().expect("taken here and in drop only")
    }
}

impl<T: Send + 'static> Deref for Untrusted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.what.as_ref().expect("taken in drop only")
    }
}

impl<T: Send + 'static> Drop for Untrusted<T> {
    fn drop(&mut self) {
        let Some(what) = self.what.take() else {
            return;
        };
        if self.cleared {
            return;
        }
        match drop_elsewhere(what) {
            // The largest number of threads is stuck, and callers accept no new peers while that
            // is so. Leaking the value keeps the number of open descriptors bounded.
            Err(what) if !has_room() => std::mem::forget(what),
            // No thread can be started, so the value was dropped here. It may not block.
            Err(_) | Ok(()) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    /// A value whose drop blocks until the other end of the channel is dropped.
    struct Stuck(Receiver<()>);

    impl Drop for Stuck {
        fn drop(&mut self) {
            let _ = self.0.recv();
        }
    }

    #[test]
    fn stuck_drops_are_bounded_and_further_values_are_returned_to_the_caller() {
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
