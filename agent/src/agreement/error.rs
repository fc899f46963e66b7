//! The errors of an agent.

use crate::offer::BadOffer;
use crate::transport::Suspicion;
use std::error::Error as StdError;
use thiserror::Error;

/// Why an agent cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgentError<E: StdError + 'static> {
    /// A round failed. The agent keeps what it has pinned. It follows its regions, but takes part
    /// in no round until [`Agent::rejoin`](super::Agent::rejoin).
    #[error(transparent)]
    Suspicion(#[from] Suspicion),
    /// The agents are not all of one program. This is a suspicion too.
    #[error(transparent)]
    Offer(#[from] BadOffer),
    /// A region cannot be read.
    #[error(transparent)]
    Regions(E),
    /// The regions have too few versions.
    #[error(
        "a region of this node has {versions} versions, and a window of {window} needs {}: set \
         Builder::versions to that, or make the window smaller", window + super::holdings::SPARE
    )]
    TooFewVersions {
        /// The versions of the region.
        versions: usize,
        /// The window of the agent.
        window: usize,
    },
}
