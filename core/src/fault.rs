//! Points at which tests kill the process: the steps of publish, and of checkpoints.
//!
//! With the feature `fault-points`, `TCASM_FAULT=<point>[:<count>]` makes the process kill itself with SIGKILL when
//! it passes the point for the `count`-th time (1 if not given); `TCASM_FAULT=panic@<point>[:<count>]` makes the thread
//! panic that does. `TCASM_FAULT=stop@<point>[:<count>]` makes the process stop there (SIGSTOP), so that a test can change
//! its limits, and let it go on (SIGCONT). Without the feature nothing of this is left.

/// The steps of publish, in order, and of what other threads do meanwhile.
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
    "resting",
    "rested",
    "gathering",
    "gathered",
];

/// The steps of a checkpoint, of its way to the slow tier, and of chains that are put together.
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

/// The process passes `point`.
#[cfg(feature = "fault-points")]
pub fn pass(point: &str) {
    use nix::sys::signal::{Signal, raise};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    /// What happens at the point.
    #[derive(Clone, Copy)]
    enum Fault {
        Signal(Signal),
        Panic,
    }
    static WANTED: OnceLock<Option<(String, u64, Fault)>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    debug_assert!(POINTS.contains(&point) || CHECKPOINT_POINTS.contains(&point));
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
            // To this thread: it does not take another step.
            Fault::Signal(signal) => drop(raise(*signal)),
        }
    }
}

/// The process passes `point`: nothing happens in a build without the feature `fault-points`.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub fn pass(_point: &str) {}

#[cfg(feature = "fault-points")]
mod lack {
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    /// Copies into fresh memory that still find some.
    static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

    /// Lets memory run out after so many copies into fresh memory; `u64::MAX`: never.
    pub fn run_out_of_memory_after(copies: u64) {
        LEFT.store(copies, SeqCst);
    }

    /// Whether the next copy into fresh memory is to find too little of it.
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

/// Whether the next copy into fresh memory is to find too little of it: not without the feature `fault-points`.
#[cfg(not(feature = "fault-points"))]
#[inline(always)]
pub fn lacks_memory() -> bool {
    false
}
