//! What `publish` answers.

use std::sync::Arc;
use std::time::Duration;
use tcasm_core::capture::{Outcome, Sweep};
use tcasm_core::store::Skip;
use thiserror::Error;

/// A version that was published.
#[derive(Clone, Debug)]
pub struct Published {
    /// Number of the version.
    pub version: u64,
    /// Pages that were captured: those that changed since the version before, and all of the chunks that are captured later.
    pub pages: u64,
    /// Of these, the pages that are captured after the call; 0: the version is visible.
    pub later: u64,
    /// Of these, the pages that were handed over: they became the version's without a copy.
    pub handed_over: u64,
    /// Bytes copied, in the call or after it.
    pub bytes: u64,
    /// How long the call took.
    pub duration: Duration,
    pub(crate) sweep: Option<Arc<Sweep>>,
}

impl Published {
    /// Whether observers can see the version by now.
    pub fn is_visible(&self) -> bool {
        self.sweep
            .as_ref()
            .is_none_or(|s| s.state() == Outcome::Saved)
    }

    /// The chunks that are captured after the call: for tests.
    #[doc(hidden)]
    pub fn chunks_later(&self) -> Vec<usize> {
        let pieces = self.sweep.iter().flat_map(|s| s.changes());
        pieces.map(|(chunk, _)| chunk).collect()
    }

    /// Wait until observers can see the version, at most so long: whether they can. An error when its capture was given up:
    /// what it would have shown is in the next version.
    pub fn wait_visible(&self, timeout: Duration) -> Result<bool, GivenUp> {
        match self.sweep.as_ref().map(|s| s.wait(timeout)) {
            None | Some(Outcome::Saved) => Ok(true),
            Some(Outcome::Running) => Ok(false),
            Some(Outcome::GivenUp(why)) => Err(GivenUp {
                version: self.version,
                why,
            }),
        }
    }
}

/// A version that never became visible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the capture of version {version} was given up: {why}; its changes are in the next version"
)]
pub struct GivenUp {
    /// The version.
    pub version: u64,
    /// What happened.
    pub why: String,
}

/// What became of a call of `publish`.
#[derive(Clone, Debug)]
pub enum Receipt {
    /// Observers can see the version, or will when the rest of it is captured.
    Published(Published),
    /// Nothing was published; the changes are in the next version.
    Skipped {
        /// Why.
        reason: Skip,
        /// How long the call took.
        duration: Duration,
    },
}

impl Receipt {
    /// The version, if there is one.
    pub fn version(&self) -> Option<u64> {
        match self {
            Receipt::Published(p) => Some(p.version),
            Receipt::Skipped { .. } => None,
        }
    }

    /// Why there is none.
    pub fn skipped(&self) -> Option<&Skip> {
        match self {
            Receipt::Published(_) => None,
            Receipt::Skipped { reason, .. } => Some(reason),
        }
    }
}
