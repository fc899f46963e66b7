//! The newest version of a group that a caller has.

use super::version::GroupVersion;
use std::collections::BTreeMap;

/// A region of a rank: the rank, and the time when its region was created.
type Region = (u32, u64);

/// A description of a version of a group that was returned, without its pins.
#[derive(Debug)]
pub(super) struct Seen {
    run: String,
    step: u64,
    /// The number of the version in each region.
    numbers: BTreeMap<Region, u64>,
}

impl Seen {
    pub(super) fn of(version: &GroupVersion) -> Self {
        Seen {
            run: version.run().to_owned(),
            step: version.step(),
            numbers: regions(version).collect(),
        }
    }

    /// Returns true if `version` is newer: of a later step, or of another run, or of another start
    /// of all ranks. The steps of another run or start may begin anew.
    pub(super) fn is_before(&self, version: &GroupVersion) -> bool {
        let is_known = |(region, _): (Region, u64)| self.numbers.contains_key(&region);
        self.step < version.step() || self.run != version.run() || !regions(version).any(is_known)
    }

    /// Returns true if version `number` of a region is not newer than the one that was returned.
    pub(super) fn has(&self, region: Region, number: u64) -> bool {
        self.numbers
            .get(&region)
            .is_some_and(|seen| number <= *seen)
    }
}

fn regions(version: &GroupVersion) -> impl Iterator<Item = (Region, u64)> {
    let all = version.members();
    all.map(|(rank, member)| ((rank, member.session().info.created), member.number()))
}
