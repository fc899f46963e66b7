//! Counters of everything, in the index, where observers read them without asking.

use crate::words::{OutOfRange, Words};
use std::sync::atomic::Ordering::Relaxed;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What is counted, in the order of the words in the index.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter {$($(#[$doc])* $name),*}

        impl Counter {
            /// All counters, in order.
            pub const ALL: &[Counter] = &[$(Counter::$name),*];

            /// The counter's name.
            pub fn name(self) -> &'static str {
                match self {$(Counter::$name => stringify!($name)),*}
            }
        }
    };
}

counters! {
    /// Versions published.
    Publishes,
    /// Calls of publish that were skipped.
    Skips,
    /// ... because every version was pinned.
    SkipsVersions,
    /// ... because of the bound on memory.
    SkipsBytes,
    /// ... because the machine gave no memory.
    SkipsNoMemory,
    /// Pages captured.
    Pages,
    /// Bytes captured.
    Bytes,
    /// Bytes of memory held by planes now.
    HeldBytes,
    /// Errors of the tracker, each of which made every page a candidate.
    TrackerErrors,
    /// Observers that ever attached.
    Attached,
    /// Observers turned away.
    Refused,
    /// Leases revoked.
    Ousted,
    /// Nanoseconds spent in publish, in all.
    PublishNs,
    /// Nanoseconds of the longest publish.
    PublishMaxNs,
    /// Nanoseconds spent harvesting, in all.
    HarvestNs,
    /// Skips because the version before was still being captured.
    SkipsCapturing,
    /// Versions whose capture went on after publish.
    Later,
    /// ... and was given up.
    GivenUp,
    /// Stores that waited because they came before their chunk was saved.
    EarlyStores,
    /// Nanoseconds that they waited, in all.
    EarlyNs,
    /// Chunks that are captured later now.
    ChunksLater,
    /// Pages that are expected to be written now, and not protected.
    PagesExpected,
    /// Pages handed over: they became a version's without a copy.
    HandedOver,
    /// Bytes of live memory that rest on planes now.
    RestingBytes,
    /// Pages copied next to their neighbours, so that observers need fewer mappings.
    PagesCompacted,
    /// Bytes of memory in planes that the producer did not allocate, and that could not be given back so far.
    StrayBytes,
    /// Bytes of such memory that were given back, in all.
    StrayBytesReturned,
}

/// Word of the first bucket of the histogram of publish durations.
const HISTOGRAM: usize = 64;
/// Buckets: eight to each power of two of nanoseconds, so a percentile is off by at most 1/8.
const BUCKETS: usize = 400;

/// The counters of one region.
#[derive(Clone, Copy, Debug)]
pub struct Stats<'a>(Words<'a>);

impl<'a> Stats<'a> {
    /// The counters in the statistics words of an index.
    pub fn new(words: Words<'a>) -> Self {
        Stats(words)
    }

    /// One counter.
    pub fn get(&self, counter: Counter) -> Result<u64, OutOfRange> {
        self.0.get(counter as usize * 8)
    }

    /// Add to a counter. Each is written by one thread of the producer at a time.
    pub fn add(&self, counter: Counter, n: u64) -> Result<(), OutOfRange> {
        self.0.word(counter as usize * 8)?.fetch_add(n, Relaxed);
        Ok(())
    }

    /// Set a counter.
    pub fn set(&self, counter: Counter, n: u64) -> Result<(), OutOfRange> {
        self.0.word(counter as usize * 8)?.store(n, Relaxed);
        Ok(())
    }

    /// Count one publish of `ns` nanoseconds.
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

    /// The duration in nanoseconds below which the share `q` (0 to 1) of publishes stayed; 0 when there were none.
    pub fn publish_quantile_ns(&self, q: f64) -> Result<u64, OutOfRange> {
        let counts = (0..BUCKETS)
            .map(|b| self.0.get((HISTOGRAM + b) * 8))
            .collect::<Result<Vec<_>, _>>()?;
        // Saturating: the counts of a damaged index may be anything.
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

/// The bucket of a duration: three bits below the leading one.
fn bucket(ns: u64) -> usize {
    if ns < 8 {
        return ns as usize;
    }
    let shift = 60 - ns.leading_zeros();
    ((shift as usize + 1) * 8 + (ns >> shift) as usize - 8).min(BUCKETS - 1)
}

/// The largest duration in a bucket.
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
        fn a_quantile_is_at_most_an_eighth_above_the_exact_one(mut ns in proptest::collection::vec(1u64..1 << 40, 1..200), q in 0.0f64..1.0) {
            let words: Vec<AtomicU64> = (0..512).map(|_| AtomicU64::new(0)).collect();
            let stats = Stats::new(Words::new(&words));
            ns.iter().for_each(|n| stats.record_publish(*n).unwrap());
            ns.sort_unstable();
            let exact = ns[((ns.len() as f64 * q).ceil() as usize).max(1) - 1];
            let got = stats.publish_quantile_ns(q).unwrap();
            prop_assert!(got >= exact && got as f64 <= exact as f64 * 1.125 + 1.0, "{} {}", got, exact);
        }
    }
}
