//! The observer of a group.

use super::error::GroupError;
use super::members::Members;
use super::seen::Seen;
use super::steps::common;
use super::version::GroupVersion;
use crate::observer::{ATTACH_TIMEOUT, LIVENESS, Observer};
use std::time::{Duration, Instant};
use tcasm_core::place::check_name;
use tcasm_core::sys::time::deadline;

/// How long a producer that has just started may take to answer. One that takes longer is asked
/// again at the next call.
pub(super) const LATER_ATTACH: Duration = Duration::from_millis(250);
/// How often this looks for a step again if versions were reclaimed before they were pinned.
pub(super) const LOOKS: usize = 8;

/// An attachment to all regions of a group on this host.
///
/// Each rank of a parallel program publishes a region of its own (`Builder::group` of
/// tcasm-producer), at its own speed. This gives one version per step of all ranks. No rank waits
/// for another one, or for this observer.
///
/// ```no_run
/// use std::time::Duration;
/// use tcasm_observer::GroupObserver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut group = GroupObserver::attach("heat")?;
/// while let Ok(version) = group.wait_newer(Duration::from_secs(10)) {
///     for block in version.blocks("t") {
///         let view = block.version.view_of(&["t"])?;
///         let mean = view.array::<f64>("t")?.mean();
///         println!("step {}, rank {}: {mean:?}", version.step(), block.rank);
///     }
/// }
/// # Ok(())
/// # }
/// ```
pub struct GroupObserver {
    pub(super) members: Members,
    /// The newest version that was returned.
    seen: Option<Seen>,
    /// The region of the agent of this host.
    pub(super) agent: Option<Observer>,
}

impl GroupObserver {
    /// Attaches to the group `name`: to all regions `<name>.<rank>` of this host. Ranks that start
    /// later are attached to when a version is asked for. If a later run has other ranks on this
    /// host, those of the run before are forgotten when they have ended and all of the later ones
    /// have published.
    pub fn attach(name: &str) -> Result<GroupObserver, GroupError> {
        check_name(name)?;
        let mut members = Members::new(name);
        members.refresh(ATTACH_TIMEOUT)?;
        if members.iter().len() == 0 {
            return Err(members.none());
        }
        Ok(GroupObserver {
            members,
            seen: None,
            agent: None,
        })
    }

    /// Returns the name of the group.
    pub fn name(&self) -> &str {
        self.members.group()
    }

    /// Returns the ranks that are attached, in ascending order.
    pub fn members(&self) -> impl ExactSizeIterator<Item = (u32, &Observer)> {
        self.members.iter()
    }

    /// Returns the newest step that all ranks of this host have, also after the death of some.
    ///
    /// Waits for no producer to publish. If some ranks are not there yet, or have ended, attaches
    /// to those that have come since, and waits at most 250 ms for the answer of each. Versions of
    /// a rank from before its restart count until the new process has a region.
    pub fn latest(&mut self) -> Result<GroupVersion, GroupError> {
        self.members.refresh(LATER_ATTACH)?;
        let ends = self.members.ends()?;
        match self.newest()? {
            Some(version) => Ok(self.saw(version)),
            None => Err(self.members.why_nothing(&ends, None)?),
        }
    }

    /// Waits up to `timeout` until there is a newer step of all ranks than all that were returned
    /// before. Returns the newest one. If the job was started again, under the name of another run
    /// or in all ranks, its first step is newer than all before.
    ///
    /// While ranks have no region or no version yet, or begin another run one after the other, this
    /// waits for them. If a rank is lost, and there is no newer step, the error names it. Call this
    /// again after the rank was restarted.
    pub fn wait_newer(&mut self, timeout: Duration) -> Result<GroupVersion, GroupError> {
        let deadline = deadline(timeout);
        loop {
            self.members.refresh(LATER_ATTACH)?;
            let last = self.members.last()?;
            let why = match self.newer() {
                Ok(version) => return Ok(version),
                Err(error) if !error.may_pass() => return Err(error),
                Err(error) => error,
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(why);
            }
            self.members.wait(last.as_ref(), left.min(LIVENESS));
        }
    }

    /// Returns the newest step if it is newer than all that were returned.
    fn newer(&mut self) -> Result<GroupVersion, GroupError> {
        let ends = self.members.ends()?;
        let newest = self.newest()?;
        match newest.filter(|version| self.is_newer(version)) {
            Some(version) => Ok(self.saw(version)),
            None => Err(self.members.why_nothing(&ends, self.seen.as_ref())?),
        }
    }

    /// Returns true if `version` is newer than all that were returned.
    fn is_newer(&self, version: &GroupVersion) -> bool {
        let seen = self.seen.as_ref();
        seen.is_none_or(|seen| seen.is_before(version))
    }

    /// Notes that a version is returned.
    fn saw(&mut self, version: GroupVersion) -> GroupVersion {
        if self.is_newer(&version) {
            self.seen = Some(Seen::of(&version));
        }
        version
    }

    /// Pins the newest step that all ranks have. Looks again if versions were reclaimed meanwhile,
    /// but not for ever.
    fn newest(&mut self) -> Result<Option<GroupVersion>, GroupError> {
        for _ in 0..LOOKS {
            let steps = self.members.steps()?;
            let common = common(&steps);
            if common.is_empty() {
                break;
            }
            for step in common {
                if let Some(version) = self.members.pin(step, &steps)? {
                    return Ok(Some(version));
                }
            }
        }
        Ok(None)
    }
}

impl std::fmt::Debug for GroupObserver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ranks: Vec<u32> = self.members().map(|(rank, _)| rank).collect();
        f.debug_struct("GroupObserver")
            .field("group", &self.name())
            .field("ranks", &ranks)
            .finish()
    }
}
