//! The thread that ends registrations whose memory is gone although nobody calls the cache, and
//! that looks for new mappings.
//!
//! It allocates and takes the lock of the cache. So it must not be the thread that reads events.

use crate::inner::Inner;
use crate::registrar::Registrar;
use crate::watch::Watch;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tcasm_core::sys::thread;

/// The longest time that the thread waits for a change.
const LONG: Duration = Duration::from_secs(60);

/// Starts the thread, if the cache follows the address space. It ends with the cache.
pub(crate) fn start<R: Registrar>(inner: &Arc<Inner<R>>) -> io::Result<()> {
    let Some(follower) = &inner.follower else {
        return Ok(());
    };
    let (watch, inner) = (follower.watch.clone(), Arc::downgrade(inner));
    let named = Builder::new().name("tcasm-sweep".into());
    thread::spawn(named, move || run(&inner, &watch)).map(drop)
}

fn run<R: Registrar>(inner: &Weak<Inner<R>>, watch: &Watch) {
    let mut looked: Option<Instant> = None;
    loop {
        let (seen, pause) = {
            let Some(inner) = inner.upgrade() else {
                return;
            };
            // First: `follow_all` wakes this thread after it has set the period.
            let seen = inner.sweep();
            let period = inner.everything().as_ref().map(|e| e.period());
            if period.is_some_and(|p| looked.is_none_or(|at| at.elapsed() >= p)) {
                inner.refresh();
                looked = Some(Instant::now());
            }
            (seen, period.unwrap_or(LONG))
        };
        watch.wait(seen, pause);
    }
}

impl<R: Registrar> Inner<R> {
    /// Ends what is gone. Returns the number of changes before.
    fn sweep(&self) -> u64 {
        let Some(follower) = &self.follower else {
            return 0;
        };
        let seen = follower.watch.generation();
        self.catch_up(&mut self.lock());
        seen
    }
}
