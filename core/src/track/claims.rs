//! The memory of adopted arrays that trackers of this process have registered.
//!
//! The kernel lets one userfaultfd register a range at a time. So when another tracker could
//! register memory at the addresses of an array, the array was unmapped before, and the memory is
//! that of the other tracker. A scan by the tracker of the array would not fail there. It would
//! take the writes that the other one has to find.

use super::tracker::{TrackError, failed};
use crate::sys::lock::Lock;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, Weak};

static ALL: LazyLock<Lock<Vec<Entry>>> = LazyLock::new(|| Lock::new(Vec::new()));

/// A range, and the flag of the tracker that has registered it.
struct Entry {
    range: Range<usize>,
    taken: Weak<AtomicBool>,
}

/// The ranges that one tracker has registered. Dropping this takes no lock, so a forked child may
/// do it at any time.
#[derive(Default)]
pub(super) struct Claims {
    /// True when another tracker has registered a part of a range since.
    taken: Arc<AtomicBool>,
}

impl Claims {
    /// Notes that a tracker was able to register `range`. Others that had registered a part of it
    /// have lost theirs.
    pub fn take_from_others(range: &Range<usize>) {
        ALL.lock().retain(|entry| {
            let Some(taken) = entry.taken.upgrade() else {
                return false;
            };
            let overlaps = entry.range.start < range.end && range.start < entry.range.end;
            if overlaps {
                taken.store(true, SeqCst);
            }
            !overlaps
        });
    }

    /// Notes that this tracker has registered `range`.
    pub fn add(&self, range: Range<usize>) {
        let taken = Arc::downgrade(&self.taken);
        ALL.lock().push(Entry { range, taken });
    }

    /// Returns an error if another tracker has registered a part of the ranges since.
    pub fn check(&self) -> Result<(), TrackError> {
        match self.taken.load(SeqCst) {
            true => Err(failed("looking whose memory it is")(io::Error::other(
                "another region tracks memory at these addresses, so the array was unmapped before",
            ))),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracker_loses_its_claims_where_another_one_registers_memory() {
        let [first, second] = [(); 2].map(|()| Claims::default());
        first.add(1000..2000);
        second.add(2000..3000);
        Claims::take_from_others(&(0..1000));
        assert!(first.check().is_ok());
        Claims::take_from_others(&(1999..2000));
        assert!(first.check().is_err() && second.check().is_ok());
        Claims::take_from_others(&(2500..2501));
        assert!(second.check().is_err());
    }

    #[test]
    fn dropped_trackers_are_forgotten() {
        Claims::default().add(5000..6000);
        Claims::take_from_others(&(10..11));
        assert!(ALL.lock().iter().all(|entry| entry.range.start != 5000));
    }
}
