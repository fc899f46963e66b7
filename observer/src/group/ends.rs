//! The ranks of a group that publish no more.

use super::error::GroupError;
use super::observer::GroupObserver;

/// The attached ranks that publish no more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupEnds {
    /// The number of ranks that are attached.
    pub attached: usize,
    /// The ranks that have closed their regions, as they do at their end.
    pub closed: Vec<u32>,
    /// The ranks whose producers died without closing their regions.
    pub lost: Vec<u32>,
}

impl GroupEnds {
    /// Returns true if all ranks have closed their regions.
    pub fn all_closed(&self) -> bool {
        self.attached > 0 && self.closed.len() == self.attached
    }
}

impl GroupObserver {
    /// Returns which ranks publish no more. Waits for nobody, and attaches to none.
    pub fn ends(&self) -> Result<GroupEnds, GroupError> {
        let ends = self.members.ends()?;
        Ok(GroupEnds {
            attached: self.members.iter().len(),
            closed: ends.closed,
            lost: ends.lost,
        })
    }
}
