//! The settings of registering everything.

use std::collections::HashSet;
use std::ops::Range;
use std::time::Duration;

/// The memory that `follow_all` registers, and how often it looks for new mappings.
#[derive(Clone, Debug)]
pub struct Everything {
    pub(crate) except: Vec<Range<usize>>,
    pub(crate) every: Duration,
    /// The mappings that could not be registered or followed the last time.
    pub(crate) refused: HashSet<Range<usize>>,
}

impl Default for Everything {
    fn default() -> Self {
        Everything {
            except: Vec::new(),
            every: Duration::from_millis(10),
            refused: HashSet::new(),
        }
    }
}

impl Everything {
    /// Leaves out these addresses. A request for memory there is registered nevertheless.
    #[must_use]
    pub fn except(mut self, range: Range<usize>) -> Self {
        self.except.push(range);
        self
    }

    /// Sets how often new mappings are looked for.
    #[must_use]
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    pub(crate) fn period(&self) -> Duration {
        self.every.max(Duration::from_millis(1))
    }
}
