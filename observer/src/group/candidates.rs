//! Any step of a group, for programs that follow several steps at a time.

use super::error::GroupError;
use super::observer::{GroupObserver, LATER_ATTACH};
use super::steps::{common, newest};
use super::version::GroupVersion;

/// The steps of a group on this host at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSteps {
    /// The steps that all attached ranks have, in ascending order.
    pub common: Vec<u64>,
    /// The attached ranks with the steps of their newest versions.
    pub newest: Vec<(u32, Option<u64>)>,
}

impl GroupObserver {
    /// Returns the steps that all attached ranks have now. They may be gone when this returns.
    ///
    /// Waits for no producer to publish, and attaches to ranks that have come, as
    /// [`latest`](Self::latest) does.
    pub fn steps(&mut self) -> Result<GroupSteps, GroupError> {
        self.members.refresh(LATER_ATTACH)?;
        let steps = self.members.steps()?;
        let of_newest = steps
            .iter()
            .map(|steps| newest(steps).map(|(step, _)| step));
        let ranks = self.members.iter().map(|(rank, _)| rank);
        let newest = ranks.zip(of_newest).collect();
        let mut common = common(&steps);
        common.sort_unstable();
        Ok(GroupSteps { common, newest })
    }

    /// Pins a step that all ranks of this host have. Returns `None` if a rank does not have it.
    pub fn version(&mut self, step: u64) -> Result<Option<GroupVersion>, GroupError> {
        let steps = self.members.steps()?;
        self.members.pin(step, &steps)
    }
}
