//! Manages a running region: waits for captures, returns memory, revokes leases, and ends the
//! stream.

use crate::producer::Producer;
use std::time::{Duration, Instant};
use tcasm_core::capture::Outcome;
use tcasm_core::format::stats::Counter;
use tcasm_core::sys::time::deadline;

impl Producer {
    /// Waits until no field is write-protected by a capture that goes on after
    /// [`publish`](Producer::publish), for at most `timeout`. Returns true if none is. Copies
    /// meanwhile, so this ends even if the copiers get no processor. Capture inside publish needs
    /// no wait, and gives true at once.
    ///
    /// A program that promised [`no_kernel_writes`](crate::Builder::no_kernel_writes) calls this
    /// before system calls that write into fields, such as `read` or receiving a message. Whether
    /// the version became visible is a matter of its receipt
    /// ([`Published::wait_visible`](crate::Published::wait_visible)).
    pub fn wait_captured(&self, timeout: Duration) -> bool {
        if self.forked() {
            return true; // a child does not inherit the fields
        }
        let sweep = self.store.lock().sweep().cloned();
        // Chunks that are only assembled are not write-protected.
        let Some(sweep) = sweep.filter(|s| s.has_live_pieces()) else {
            return true;
        };
        let end = deadline(timeout);
        sweep.help_until(end);
        let left = end.saturating_duration_since(Instant::now());
        sweep.wait(left) != Outcome::Running
    }

    /// Returns memory that no version uses to the system. Call it after a burst of pinned versions,
    /// or before a phase that needs memory. Returns the number of bytes.
    pub fn trim(&mut self) -> std::io::Result<u64> {
        if self.forked() {
            return Ok(0);
        }
        self.settle_last();
        let mut store = self.store.lock();
        let bytes = store.trim()? * self.live.span.page_size;
        let held = store.held_bytes();
        drop(store);
        self.count(|s| s.set(Counter::HeldBytes, held));
        Ok(bytes as u64)
    }

    /// Revokes the lease of every observer that runs as process `pid`, so that it leaves: its
    /// status says so, and it gets no more versions. Returns how many leases there were.
    ///
    /// The versions that such an observer holds stay as they are, and keep their memory, until it
    /// has dropped them and its connection, or its process has ended. No version ever changes while
    /// an observer may read it. To get memory back from a process that does not react, end that
    /// process.
    pub fn revoke(&mut self, pid: i32) -> usize {
        if self.forked() {
            return 0;
        }
        let revoked = self.service.revoke(pid);
        self.count(|s| s.add(Counter::Revoked, revoked as u64));
        revoked
    }

    /// Ends the stream: observers keep what they have, and learn that no version will follow.
    /// Dropping the producer does the same.
    pub fn close(&mut self) {
        if self.stream.closed || self.forked() {
            return;
        }
        self.stream.closed = true;
        self.end_capture();
        if let Some(keeper) = &mut self.keeper {
            keeper.stop();
        }
        if let Err(error) = self.store.lock().index().and_then(|index| index.close()) {
            log::warn!("the end of the stream could not be marked: {error}");
        }
        self.service.stop();
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.close();
    }
}
