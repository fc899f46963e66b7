//! The regions of a group on this host, seen by observers.

use super::{Look, Regions, Roster, RunId, Span};
use tcasm_observer::{
    AttachError, GroupEnds, GroupError, GroupObserver, GroupVersion, ObserveError,
};
use thiserror::Error;

/// Why the regions of a group cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ObservedError {
    /// The group cannot be observed.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// One of the regions cannot be read.
    #[error(transparent)]
    Region(#[from] ObserveError),
}

/// The regions of a group on this host.
///
/// A group without regions is an agent's to wait for, not an error. Ranks that come later, and
/// those that were started again, are found by the next [`look`](Regions::look).
#[derive(Debug)]
pub struct Observed {
    group: Option<String>,
    observer: Option<GroupObserver>,
    /// The ranks, as long as no region is replaced by another one.
    known: Option<Known>,
}

/// The ranks of certain regions.
#[derive(Debug)]
struct Known {
    /// When each region was created.
    regions: Vec<(u32, u64)>,
    versions: usize,
    roster: Roster,
}

impl Observed {
    /// Observes the group with this name.
    pub fn new(group: &str) -> Observed {
        Observed {
            group: Some(group.to_owned()),
            observer: None,
            known: None,
        }
    }

    /// Observes nothing: for a node that must have no ranks.
    pub fn nothing() -> Observed {
        Observed {
            group: None,
            observer: None,
            known: None,
        }
    }

    /// Returns which of the ranks that were found publish no more.
    pub fn ends(&self) -> Result<GroupEnds, ObservedError> {
        match &self.observer {
            Some(observer) => Ok(observer.ends()?),
            None => Ok(GroupEnds::default()),
        }
    }
}

impl Regions for Observed {
    type Pin = GroupVersion;
    type Error = ObservedError;

    fn look(&mut self) -> Result<Look, ObservedError> {
        if let (None, Some(group)) = (&self.observer, &self.group) {
            self.observer = may_wait(GroupObserver::attach(group))?;
        }
        let Some(observer) = &mut self.observer else {
            return Ok(Look::nothing());
        };
        let steps = observer.steps()?;
        let (regions, versions) = regions(observer)?;
        let newest: Option<Vec<u64>> = steps.newest.iter().map(|(_, step)| *step).collect();
        let newest = newest.unwrap_or_default();
        self.known = self.known.take().filter(|known| known.regions == regions);
        if let (None, Some(step)) = (&self.known, steps.common.last()) {
            let version = may_wait(observer.version(*step))?.flatten();
            self.known = version.map(|version| Known {
                regions,
                versions,
                roster: roster(&version),
            });
        }
        Ok(match &self.known {
            None => Look::nothing(),
            Some(known) => Look {
                roster: Some(known.roster),
                newest: newest.into_iter().collect::<Span>(),
                steps: steps.common,
                versions: known.versions,
            },
        })
    }

    fn pin(&mut self, step: u64) -> Result<Option<GroupVersion>, ObservedError> {
        let (Some(observer), Some(known)) = (&mut self.observer, &self.known) else {
            return Ok(None);
        };
        let version = may_wait(observer.version(step))?.flatten();
        Ok(version.filter(|version| roster(version) == known.roster))
    }
}

/// Returns when each region was created, and the fewest versions of one.
fn regions(observer: &GroupObserver) -> Result<(Vec<(u32, u64)>, usize), ObserveError> {
    let mut regions = Vec::new();
    let mut versions = usize::MAX;
    for (rank, member) in observer.members() {
        let info = member.info()?;
        regions.push((rank, info.created));
        versions = versions.min(info.max_versions);
    }
    Ok((regions, versions))
}

fn roster(version: &GroupVersion) -> Roster {
    let local = version.members().map(|(rank, _)| rank);
    Roster::new(RunId::of(version.run()), version.ranks(), local)
}

/// Returns `None` instead of errors that pass when ranks have started.
fn may_wait<V>(result: Result<V, GroupError>) -> Result<Option<V>, GroupError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(
            GroupError::NotFound { .. }
            | GroupError::NotReady { .. }
            | GroupError::Absent { .. }
            | GroupError::OtherRun { .. }
            | GroupError::Attach(
                AttachError::NotFound { .. }
                | AttachError::Dead { .. }
                | AttachError::Ended { .. }
                | AttachError::NoAnswer { .. },
            ),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
