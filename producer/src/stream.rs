//! The state of the stream of versions, which `publish` keeps from one call to the next.

use std::time::{Duration, Instant};

/// The time after which publish helps a deferred capture that makes no progress.
const STALLED_AFTER: Duration = Duration::from_secs(1);

/// The state of the stream of versions.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The number of the version that is published next.
    pub(crate) next_version: u64,
    /// True if publish waits for the capture of the last version.
    pub(crate) wait_for_capture: bool,
    /// True if the last call of publish found no room under the bound on memory.
    pub(crate) tight: bool,
    /// Names of the fields that were lost since the last version.
    pub(crate) lost: Vec<String>,
    /// True if no version will follow.
    pub(crate) closed: bool,
    /// The progress of the running capture, and when a call of publish first found it there.
    stalled: Option<(Unsaved, Instant)>,
}

/// The progress of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unsaved {
    version: u64,
    /// Pieces that are not saved yet.
    left: usize,
}

impl Stream {
    /// Returns the stream that begins with number `first_version`.
    pub(crate) fn new(first_version: u64, wait_for_capture: bool) -> Self {
        Stream {
            next_version: first_version,
            wait_for_capture,
            tight: false,
            lost: Vec::new(),
            closed: false,
            stalled: None,
        }
    }

    /// Notes that the capture of `version` runs and has `left` pieces to save. Returns true if it
    /// has made no progress for a while.
    pub(crate) fn stalls(&mut self, version: u64, left: usize) -> bool {
        let now = Unsaved { version, left };
        match self.stalled {
            Some((then, since)) if then == now => since.elapsed() >= STALLED_AFTER,
            _ => {
                self.stalled = Some((now, Instant::now()));
                false
            }
        }
    }
}
