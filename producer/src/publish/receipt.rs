//! The receipt that `publish` returns.

use std::sync::Arc;
use std::time::Duration;
use tcasm_core::capture::{Ending, Outcome};
use tcasm_core::store::Skip;
#[cfg(feature = "test-knobs")]
use tcasm_core::store::Visibility;
use thiserror::Error;

/// A version that was published.
#[derive(Clone, Debug)]
pub struct Published {
    /// Number of the version.
    pub version: u64,
    /// Pages that were captured: those that changed since the version before, and all pages of
    /// deferred chunks.
    pub pages: u64,
    /// Of these, the pages that are captured after the call. Also if it is 0, the version may
    /// become visible after the call: see [`Published::is_visible`].
    pub deferred: u64,
    /// Of these, the pages that were handed over: they became part of the version without a copy.
    pub handed_over: u64,
    /// Bytes copied, in the call or after it.
    pub bytes: u64,
    /// Names of the adopted fields that are lost since the last version: their memory was unmapped,
    /// moved or replaced. This version has no values of them. [`Producer::lost`] returns all that
    /// are lost.
    ///
    /// [`Producer::lost`]: crate::Producer::lost
    pub lost: Vec<String>,
    /// How long the call took.
    pub duration: Duration,
    /// How the capture ends, if it goes on after the call.
    pub(crate) ending: Option<Arc<Ending>>,
    /// The chunks that are captured, and those that are assembled, after the call.
    #[cfg(feature = "test-knobs")]
    pub(crate) chunks: (Vec<usize>, Vec<usize>),
}

impl Published {
    /// Returns true if observers can see the version by now.
    pub fn is_visible(&self) -> bool {
        let ending = self.ending.as_ref();
        ending.is_none_or(|ending| ending.state() == Outcome::Saved)
    }

    /// Returns the chunks that are captured after the call. For tests.
    #[cfg(feature = "test-knobs")]
    pub fn chunks_deferred(&self) -> Vec<usize> {
        self.chunks.0.clone()
    }

    /// Returns the chunks that are assembled after the call. For tests.
    #[cfg(feature = "test-knobs")]
    pub fn chunks_assembled(&self) -> Vec<usize> {
        self.chunks.1.clone()
    }

    /// Waits until observers can see the version, for at most `timeout`. Returns true if they can.
    /// It is an error if the capture was given up: the changes of the version are then in the next
    /// one.
    pub fn wait_visible(&self, timeout: Duration) -> Result<bool, GivenUp> {
        match self.ending.as_ref().map(|ending| ending.wait(timeout)) {
            None | Some(Outcome::Saved) => Ok(true),
            Some(Outcome::Running) => Ok(false),
            Some(Outcome::GivenUp(why)) => Err(GivenUp {
                version: self.version,
                why,
            }),
        }
    }
}

/// Returns the chunks of a version that are captured, and those that are assembled, after the call.
#[cfg(feature = "test-knobs")]
pub(super) fn chunks(visibility: &Visibility) -> (Vec<usize>, Vec<usize>) {
    let Visibility::Deferred(sweep) = visibility else {
        return Default::default();
    };
    let captured = sweep.changes().map(|(chunk, _)| chunk);
    (captured.collect(), sweep.assembled().collect())
}

/// A version that never became visible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "the capture of version {version} was given up: {why}; its changes are in the next version"
)]
pub struct GivenUp {
    /// Number of the version.
    pub version: u64,
    /// The error.
    pub why: String,
}

/// The result of a call of `publish`.
#[derive(Clone, Debug)]
pub enum Receipt {
    /// Observers can see the version, or will when the rest of it is captured.
    Published(Published),
    /// Nothing was published. The changes go into the next version.
    Skipped {
        /// Why the version was skipped.
        reason: Skip,
        /// How long the call took.
        duration: Duration,
    },
}

impl Receipt {
    /// Returns the number of the version, if one was published.
    pub fn version(&self) -> Option<u64> {
        match self {
            Receipt::Published(p) => Some(p.version),
            Receipt::Skipped { .. } => None,
        }
    }

    /// Returns why the version was skipped, if it was.
    pub fn skipped(&self) -> Option<&Skip> {
        match self {
            Receipt::Published(_) => None,
            Receipt::Skipped { reason, .. } => Some(reason),
        }
    }
}
