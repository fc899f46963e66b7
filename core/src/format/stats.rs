//! Counters of what the producer does. They are in the index, where observers read them without a
//! request.

use crate::format::words::{OutOfRange, Words};
use std::sync::atomic::Ordering::Relaxed;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// The counters, in the order of their words in the index.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter {$($(#[$doc])* $name),*}

        impl Counter {
            /// All counters, in order.
            pub const ALL: &[Counter] = &[$(Counter::$name),*];

            /// Returns the name of the counter.
            pub fn name(self) -> &'static str {
                match self {$(Counter::$name => stringify!($name)),*}
            }
        }
    };
}

counters! {
    /// Versions that were published.
    Publishes,
    /// Calls of publish that skipped their version.
    Skips,
    /// Skips because every version was pinned.
    SkipsVersions,
    /// Skips because of the bound on memory.
    SkipsBytes,
    /// Skips because the machine had no memory.
    SkipsNoMemory,
    /// Pages that were captured.
    Pages,
    /// Bytes that were captured.
    Bytes,
    /// Bytes of memory that planes hold now.
    HeldBytes,
    /// Errors of the tracker. Each one made every page a candidate.
    TrackerErrors,
    /// Observers that attached since the region was created.
    Attached,
    /// Observers that were refused.
    Refused,
    /// Leases that were revoked.
    Revoked,
    /// Total nanoseconds spent in publish.
    PublishNs,
    /// Nanoseconds of the longest publish.
    PublishMaxNs,
    /// Total nanoseconds spent harvesting.
    HarvestNs,
    /// Skips because the previous version was still being captured.
    SkipsCapturing,
    /// Versions with deferred capture.
    Deferred,
    /// Versions whose deferred capture was given up.
    GivenUp,
    /// Stores that waited because they came before their chunk was saved.
    EarlyStores,
    /// Total nanoseconds that such stores waited: of those to a chunk, the first.
    EarlyNs,
    /// Chunks that are captured deferred now.
    ChunksDeferred,
    /// Expected pages now, which are left unprotected.
    PagesExpected,
    /// Pages that were handed over, so that they became a version's without a copy.
    HandedOver,
    /// Bytes of live memory that are shared with planes now.
    SharedBytes,
    /// Pages that compaction copied next to their neighbours, so that observers need fewer
    /// mappings.
    PagesCompacted,
    /// Bytes of stray memory, which the producer did not allocate, that could not be returned to
    /// the system yet.
    StrayBytes,
    /// Total bytes of stray memory that were returned to the system.
    StrayBytesReturned,
    /// 1 if deferred capture works in user mode only now: a system call that writes into a chunk
    /// that is not saved yet fails.
    UserModeOnly,
}

/// The word of the first bucket of the histogram of publish durations.
const HISTOGRAM: usize = 64;
/// The number of buckets. Each power of two of nanoseconds has eight, so a percentile is off by at
/// most 1/8.
const BUCKETS: usize = 400;

/// The counters of one region.
#[derive(Clone, Copy, Debug)]
pub struct Stats<'a>(Words<'a>);

impl<'a> Stats<'a> {
    /// Returns the counters in the statistics words of an index.
    pub fn new(words: Words<'a>) -> Self {
        Stats(words)
    }

    /// Returns the value of one counter.
    pub fn get(&self, counter: Counter) -> Result<u64, OutOfRange> {
        self.0.get(counter as usize * 8)
    }

    /// Adds `n` to a counter. One thread of the producer at a time writes each counter.
    pub fn add(&self, counter: Counter, n: u64) -> Result<(), OutOfRange> {
        self.0.word(counter as usize * 8)?.fetch_add(n, Relaxed);
        Ok(())
    }

    /// Sets a counter to `n`.
    pub fn set(&self, counter: Counter, n: u64) -> Result<(), OutOfRange> {
        self.0.word(counter as usize * 8)?.store(n, Relaxed);
        Ok(())
    }

    /// Counts one publish that took `ns` nanoseconds.
    pub fn record_publish(&self, ns: u64) -> Result<(), OutOfRange> {
        self.add(Counter::PublishNs, ns)?;
        self.0
            .word(Counter::PublishMaxNs as usize * 8)?
            .fetch_max(ns, Relaxed);
        self.0
            .word((HISTOGRAM + bucket(ns)) * 8)?
            .fetch_add(1, Relaxed);
        Ok(())
    }

    /// Returns the duration in nanoseconds that the share `q` (0 to 1) of publishes did not exceed,
    /// or 0 if there were none. It can be up to 1/8 too large.
    pub fn publish_quantile_ns(&self, q: f64) -> Result<u64, OutOfRange> {
        let counts = (0..BUCKETS)
            .map(|b| self.0.get((HISTOGRAM + b) * 8))
            .collect::<Result<Vec<_>, _>>()?;
        // The sum saturates, because a damaged index may hold any counts.
        let all = counts.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        let wanted = (all as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0u64;
        for (b, n) in counts.iter().enumerate() {
            seen = seen.saturating_add(*n);
            if seen >= wanted {
                return Ok(upper_end(b).min(self.get(Counter::PublishMaxNs)?));
            }
        }
        Ok(0)
    }
}

/// Returns the bucket of a duration: its leading bit and the three bits below that select it.
fn bucket(ns: u64) -> usize {
    if ns < 8 {
        return ns as usize;
    }
    let shift = 60 - ns.leading_zeros();
    ((shift as usize + 1) * 8 + (ns >> shift) as usize - 8).min(BUCKETS - 1)
}

/// Returns the largest duration in a bucket.
fn upper_end(bucket: usize) -> u64 {
    if bucket < 8 {
        return bucket as u64;
    }
    let (shift, low) = (bucket / 8 - 1, bucket % 8 + 8);
    ((low as u64 + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicU64;

    proptest! {
        #[test]
        fn a_duration_lies_in_its_bucket(ns in 0u64..1 << 50) {
            let b = bucket(ns);
            prop_assert!(ns <= upper_end(b) && (b == 0 || ns > upper_end(b - 1)));
        }

        #[test]
        fn a_quantile_is_at_most_an_eighth_above_the_exact_one(
            mut ns in proptest::collection::vec(1u64..1 << 40, 1..200),
            q in 0.0f64..1.0,
        ) {
            let words: Vec<AtomicU64> = (0..512).map(|_| AtomicU64::new(0)).collect();
            let stats = Stats::new(Words::new(&words));
            ns.iter().for_each(|n| stats.record_publish(*n).unwrap());
            ns.sort_unstable();
            let exact = ns[((ns.len() as f64 * q).ceil() as usize).max(1) - 1];
            let got = stats.publish_quantile_ns(q).unwrap();
            let most = exact as f64 * 1.125 + 1.0;
            prop_assert!(got >= exact && got as f64 <= most, "{} {}", got, exact);
        }
    }
}
