//! Fault points, at which tests kill the process: the steps of publish, of checkpoints, and of host
//! buffers.
//!
//! With the feature `fault-points`, the environment variable `TCASM_FAULT` selects a point. The
//! fault happens when the process passes the point for the `count`-th time (1 if not given):
//!
//! - `<point>[:<count>]`: the process kills itself with SIGKILL.
//! - `panic@<point>[:<count>]`: the thread that passes the point panics.
//! - `stop@<point>[:<count>]`: the process stops (SIGSTOP), so that a test can change its limits
//!   and let it continue (SIGCONT).
//!
//! Tests can also let memory run out (`run_out_of_memory_after`), and hold the copier threads
//! (`hold_copiers`).
//!
//! Without the feature, no code of this module remains.

/// The steps of publish and of the threads that work for it, in order.
pub const POINTS: [&str; 15] = [
    "harvested",
    "reclaimed",
    "half-copied",
    "copied",
    "mapped",
    "protected",
    "early",
    "saving",
    "saved",
    "visible",
    "notified",
    "sharing",
    "shared",
    "gathering",
    "gathered",
];

/// The steps of writing a checkpoint, of draining it to the slow tier, and of compacting chains of
/// checkpoints.
pub const CHECKPOINT_POINTS: [&str; 10] = [
    "filled",
    "named",
    "entered",
    "removing",
    "copied-file",
    "copy-named",
    "copy-entered",
    "drained",
    "compacted",
    "replacing",
];

/// The steps of a node in writing a checkpoint of a job, in order. Only node 0 passes `job-voted`,
/// `job-committed`, `job-drained`, `job-showing`, and the last two: these only if the manifest is
/// long.
pub const JOB_POINTS: [&str; 14] = [
    "job-filled",
    "job-named",
    "job-protected",
    "job-prepared",
    "job-voted",
    "job-committed",
    "job-noted",
    "job-copying",
    "job-copied",
    "job-drained",
    "job-showing",
    "job-removing",
    "job-rewritten",
    "job-replaced",
];

/// The steps of agreeing on a host buffer, in order.
pub const HOST_BUFFER_POINTS: [&str; 9] = [
    "leading",
    "assembled",
    "proposed",
    "chosen",
    "made",
    "committed",
    "agreed",
    "sealing",
    "closing",
];

/// Passes `point`, and causes the fault if one is selected for it.
#[cfg(feature = "fault-points")]
pub fn pass(point: &str) {
    use nix::sys::signal::{Signal, raise};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    /// The fault that happens at the point.
    #[derive(Clone, Copy)]
    enum Fault {
        Signal(Signal),
        Panic,
    }
    static WANTED: OnceLock<Option<(String, u64, Fault)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    debug_assert!(
        POINTS.contains(&point)
            || CHECKPOINT_POINTS.contains(&point)
            || JOB_POINTS.contains(&point)
            || HOST_BUFFER_POINTS.contains(&point)
    );
    let wanted = WANTED.get_or_init(|| {
        let value = std::env::var("TCASM_FAULT").ok()?;
        let (name, count) = value.split_once(':').unwrap_or((&value, "1"));
        let (fault, name) = match name.split_once('@') {
            Some(("panic", name)) => (Fault::Panic, name),
            Some(("stop", name)) => (Fault::Signal(Signal::SIGSTOP), name),
            _ => (Fault::Signal(Signal::SIGKILL), name),
        };
        Some((name.to_owned(), count.parse().ok()?, fault))
    });
    if let Some((name, count, fault)) = wanted
        && name == point
        && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *count
    {
        match fault {
            Fault::Panic => panic!("this thread was told to panic at {point:?}"),
            // `raise` signals this thread, so it does not execute anything more.
            Fault::Signal(signal) => drop(raise(*signal)),
        }
    }
}

/// Passes `point`. Does nothing in a build without the feature `fault-points`.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub fn pass(_point: &str) {}

#[cfg(feature = "fault-points")]
mod lack {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    /// The number of copies into fresh memory that still succeed; `u64::MAX` means no limit.
    static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

    /// Makes memory run out after `copies` copies into fresh memory, or never for `u64::MAX`.
    pub fn run_out_of_memory_after(copies: u64) {
        LEFT.store(copies, SeqCst);
    }

    /// Returns true if the next copy into fresh memory must fail for lack of memory. Counts the
    /// copy.
    pub fn lacks_memory() -> bool {
        let take = |left: u64| match left {
            u64::MAX => None,
            left => Some(left.saturating_sub(1)),
        };
        LEFT.fetch_update(SeqCst, SeqCst, take) == Ok(0)
    }
}

#[cfg(feature = "fault-points")]
pub use lack::{lacks_memory, run_out_of_memory_after};

#[cfg(feature = "fault-points")]
mod hold {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::time::Duration;

    /// The number of tests that hold the copiers now.
    static HOLDS: AtomicU64 = AtomicU64::new(0);

    /// Holds the copier threads of all producers of this process before their next sweep, until the
    /// result is dropped. All other threads save chunks as before: the fault thread, and those that
    /// help. A producer that is dropped waits for its copiers, so drop the result first.
    pub fn hold_copiers() -> Held {
        HOLDS.fetch_add(1, SeqCst);
        Held(())
    }

    /// Lets the copiers continue when dropped.
    #[derive(Debug)]
    pub struct Held(());

    impl Drop for Held {
        fn drop(&mut self) {
            HOLDS.fetch_sub(1, SeqCst);
        }
    }

    /// Waits as long as the copiers are held.
    pub fn wait_while_held() {
        while HOLDS.load(SeqCst) != 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[cfg(feature = "fault-points")]
pub use hold::{Held, hold_copiers, wait_while_held};

/// Waits as long as a test holds the copiers, which never happens in a build without the feature
/// `fault-points`.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub fn wait_while_held() {}

/// Returns true if the next copy into fresh memory must fail for lack of memory, which never
/// happens without the feature `fault-points`.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub fn lacks_memory() -> bool {
    false
}

#[cfg(feature = "fault-points")]
mod refusal {
    use std::cell::Cell;

    thread_local! {
        /// The number of direct operations of this thread that are still accepted; `u64::MAX`
        /// means no limit.
        static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    }

    /// Makes file systems refuse direct I/O of this thread after `operations` openings and writes,
    /// or never for `u64::MAX`.
    pub fn refuse_direct_io_after(operations: u64) {
        LEFT.set(operations);
    }

    /// Returns true if the next direct operation must be refused. Counts the operation.
    pub fn refuses_direct_io() -> bool {
        let left = LEFT.get();
        if left != u64::MAX {
            LEFT.set(left.saturating_sub(1));
        }
        left == 0
    }
}

#[cfg(feature = "fault-points")]
pub use refusal::{refuse_direct_io_after, refuses_direct_io};

/// Returns true if the next direct operation must be refused, which never happens without the
/// feature `fault-points`.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub fn refuses_direct_io() -> bool {
    false
}
