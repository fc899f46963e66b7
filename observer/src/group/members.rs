//! The ranks of a group on this host: finds their regions, attaches once to each, and pins versions
//! of all of them.

use super::error::GroupError;
use super::runs::whole_run;
use super::seen::Seen;
use super::steps::{Steps, newest};
use super::version::GroupVersion;
use crate::error::{AttachError, ObserveError};
use crate::observer::Observer;
use crate::sockets::sockets;
use crate::version::Version;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tcasm_core::group::{rank_of, region_name};
use tcasm_core::place::runtime_dir;
use tcasm_core::sys::futex;

/// The attached ranks.
pub(super) struct Members {
    group: String,
    ranks: BTreeMap<u32, Observer>,
    /// The ranks whose regions could not be attached to, although there are sockets.
    absent: BTreeMap<u32, AttachError>,
    /// The number of ranks on this host, once a version of the attached regions has told it.
    local_ranks: Option<u32>,
    /// The publishes of all ranks at the last search for ranks of an earlier run.
    looked: Vec<Publishes>,
}

/// A rank, when its region was created, and the events of its region until now.
type Publishes = (u32, u64, u64);

/// The ranks that publish no more.
#[derive(Default)]
pub(super) struct Ends {
    pub(super) closed: Vec<u32>,
    pub(super) lost: Vec<u32>,
}

/// The rank that publishes last, at a moment.
pub(super) struct Last {
    rank: u32,
    /// The events of its region until then.
    events: u64,
}

impl Members {
    pub(super) fn new(group: &str) -> Self {
        Members {
            group: group.to_owned(),
            ranks: BTreeMap::new(),
            absent: BTreeMap::new(),
            local_ranks: None,
            looked: Vec::new(),
        }
    }

    pub(super) fn group(&self) -> &str {
        &self.group
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (u32, &Observer)> {
        self.ranks.iter().map(|(rank, observer)| (*rank, observer))
    }

    /// Attaches to the regions of ranks that have come, or were started again, since the last call,
    /// and forgets those that a later run on this host does not have. Does nothing if all ranks are
    /// there and their producers live. Waits at most `timeout` for the answer of each producer.
    pub(super) fn refresh(&mut self, timeout: Duration) -> Result<(), GroupError> {
        let complete = self
            .local_ranks
            .is_some_and(|n| n as usize == self.ranks.len());
        if complete && self.live().len() == self.ranks.len() {
            return Ok(());
        }
        self.absent.clear();
        for rank in self.found()? {
            let old = self.ranks.get(&rank);
            if !old.is_some_and(Observer::producer_alive) {
                self.attach(rank, timeout)?;
            }
        }
        self.forget_earlier_run()
    }

    /// Returns the ranks whose producers live.
    fn live(&self) -> Vec<u32> {
        let live = self.iter().filter(|(_, member)| member.producer_alive());
        live.map(|(rank, _)| rank).collect()
    }

    /// Forgets ranks that have ended, once either the ranks that live or those of the latest run
    /// are all that their run has on this host. A run that is started again may have other ranks
    /// here than before.
    fn forget_earlier_run(&mut self) -> Result<(), GroupError> {
        let live = self.live();
        if live.len() == self.ranks.len() {
            return Ok(());
        }
        let publishes = self.publishes()?;
        if publishes == self.looked {
            return Ok(());
        }
        self.looked = publishes;
        let newest = self.newest_versions()?;
        if let Some(run) = whole_run(&self.group, &newest, &live) {
            let stays = |rank: &u32| live.contains(rank) || run.contains(rank);
            self.ranks.retain(|rank, _| stays(rank));
        }
        Ok(())
    }

    /// Returns how much each rank has published.
    fn publishes(&self) -> Result<Vec<Publishes>, GroupError> {
        let of_rank = |(rank, observer): (u32, &Observer)| {
            let created = observer.session.info.created;
            let events = events(observer).map_err(|source| self.failed(rank, source))?;
            Ok((rank, created, events))
        };
        self.iter().map(of_rank).collect()
    }

    /// Pins the newest version of each rank that has one.
    fn newest_versions(&self) -> Result<Vec<(u32, Version)>, GroupError> {
        let mut pinned = Vec::new();
        for (rank, observer) in self.iter() {
            let version = match newest(&self.steps_of(rank, observer)?) {
                Some((_, number)) => observer.pin(number),
                None => Ok(None),
            };
            let version = version.map_err(|source| self.failed(rank, source))?;
            pinned.extend(version.map(|version| (rank, version)));
        }
        Ok(pinned)
    }

    /// Returns the ranks that have a socket.
    fn found(&self) -> Result<Vec<u32>, GroupError> {
        let folder = runtime_dir();
        let found = sockets(&folder).map_err(|source| GroupError::Folder { folder, source })?;
        let own = found.iter().filter(|socket| !socket.kept);
        let ranks = own.filter_map(|socket| rank_of(&self.group, &socket.name));
        Ok(ranks.collect())
    }

    /// Attaches to the region of `rank`. If its producer is dead, or does not answer, what is left
    /// of the rank stays as it is.
    fn attach(&mut self, rank: u32, timeout: Duration) -> Result<(), GroupError> {
        match Observer::attach_within(&region_name(&self.group, rank), timeout) {
            Ok(observer) => {
                self.ranks.insert(rank, observer);
                // Its run may have another number of ranks here than the one before.
                self.local_ranks = None;
            }
            Err(
                error @ (AttachError::NotFound { .. }
                | AttachError::Dead { .. }
                | AttachError::Ended { .. }
                | AttachError::NoAnswer { .. }),
            ) => drop(self.absent.insert(rank, error)),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Returns the error for a group of which nothing is attached.
    pub(super) fn none(&mut self) -> GroupError {
        match self.absent.pop_first() {
            Some((_, error)) => error.into(),
            None => GroupError::NotFound {
                group: self.group.clone(),
                folder: runtime_dir(),
            },
        }
    }

    /// Says why ranks are absent.
    fn absence(&self) -> String {
        let text = |error: &AttachError| format!("; {error}");
        self.absent.values().map(text).collect()
    }

    /// Returns the steps of all versions of each rank, in the order of ranks. A version may be gone
    /// when this returns, so the steps must be compared again when versions are pinned.
    pub(super) fn steps(&self) -> Result<Vec<Steps>, GroupError> {
        let all = self.iter();
        all.map(|(rank, observer)| self.steps_of(rank, observer))
            .collect()
    }

    fn steps_of(&self, rank: u32, observer: &Observer) -> Result<Steps, GroupError> {
        steps(observer).map_err(|source| self.failed(rank, source))
    }

    /// Pins the versions of all ranks that have this step. Returns `None` if one of them is gone.
    /// Then none stays pinned.
    pub(super) fn pin(
        &mut self,
        step: u64,
        steps: &[Steps],
    ) -> Result<Option<GroupVersion>, GroupError> {
        let mut pinned = Vec::new();
        for ((rank, observer), steps) in self.iter().zip(steps) {
            let version = match steps.get(&step) {
                Some(number) => observer.pin(*number),
                None => Ok(None),
            };
            match version.map_err(|source| self.failed(rank, source))? {
                Some(version) if version.step() == step => pinned.push((rank, version)),
                _ => return Ok(None),
            }
        }
        let version = GroupVersion::new(&self.group, pinned, || self.absence())?;
        self.local_ranks = u32::try_from(version.members().len()).ok();
        Ok(Some(version))
    }

    /// Returns the ranks that publish no more.
    pub(super) fn ends(&self) -> Result<Ends, GroupError> {
        let mut ends = Ends::default();
        for (rank, observer) in self.iter() {
            // A producer that ends as it should closes its region before.
            let gone = !observer.producer_alive();
            match closed(observer).map_err(|source| self.failed(rank, source))? {
                true => ends.closed.push(rank),
                false if gone => ends.lost.push(rank),
                false => {}
            }
        }
        Ok(ends)
    }

    /// Returns why there is no version that is newer than `seen`, or none at all. The ends must be
    /// older than the search for one. So a version that came before the end was not missed.
    pub(super) fn why_nothing(
        &self,
        ends: &Ends,
        seen: Option<&Seen>,
    ) -> Result<GroupError, GroupError> {
        let group = self.group.clone();
        if !ends.lost.is_empty() {
            let ranks = ends.lost.clone();
            return Ok(GroupError::Lost { group, ranks });
        }
        let newest: Vec<_> = self.steps()?.iter().map(newest).collect();
        Ok(match self.over(ends, &newest, seen) {
            Some(rank) => GroupError::EndOfStream { group, rank },
            None => GroupError::NotReady {
                newest: self.with_steps(&newest),
            },
        })
    }

    /// Returns a rank that keeps any newer step than `seen` from becoming one of all ranks: it has
    /// closed its region, and has nothing newer itself. The others may still come to a step that a
    /// rank had before its end.
    fn over(&self, ends: &Ends, newest: &[Option<(u64, u64)>], seen: Option<&Seen>) -> Option<u32> {
        let all_closed = ends.closed.len() == self.ranks.len();
        let nothing_left = |rank: u32, observer: &Observer, newest: Option<(u64, u64)>| {
            let region = (rank, observer.session.info.created);
            newest.is_none_or(|(_, number)| seen.is_some_and(|seen| seen.has(region, number)))
        };
        let mut members = self.iter().zip(newest);
        let found = members.find(|((rank, observer), newest)| {
            let closed = ends.closed.contains(rank);
            closed && (all_closed || nothing_left(*rank, observer, **newest))
        });
        found.map(|((rank, _), _)| rank)
    }

    /// Returns the ranks with the steps of their newest versions.
    fn with_steps(&self, newest: &[Option<(u64, u64)>]) -> Vec<(u32, Option<u64>)> {
        let steps = newest.iter().map(|newest| newest.map(|(step, _)| step));
        self.ranks.keys().copied().zip(steps).collect()
    }

    /// Returns the rank with the oldest newest step. As long as steps ascend in each rank, there is
    /// no newer step of all ranks before this rank publishes again.
    pub(super) fn last(&self) -> Result<Option<Last>, GroupError> {
        let publishes = self.publishes()?;
        let events = publishes.into_iter().map(|(_, _, events)| events);
        // The steps are read after the events. So a version that comes later changes an event.
        let newest = self.steps()?.into_iter().map(|steps| newest(&steps));
        let ranks = self.ranks.keys().zip(newest).zip(events);
        let last = ranks.min_by_key(|((_, newest), _)| *newest);
        Ok(last.map(|((rank, _), events)| Last {
            rank: *rank,
            events,
        }))
    }

    /// Waits until the rank has published since then, or `timeout` is over. If ranks return to an
    /// earlier step, another rank may be the one to wait for, so the timeout must be short.
    pub(super) fn wait(&self, last: Option<&Last>, timeout: Duration) {
        let event = last.and_then(|last| {
            let index = self.ranks.get(&last.rank)?.session.index().ok()?;
            Some((index.event().ok()?, last.events))
        });
        match event {
            Some((event, events)) => futex::wait(event, events, timeout),
            None => std::thread::sleep(timeout),
        }
    }

    fn failed(&self, rank: u32, source: ObserveError) -> GroupError {
        GroupError::Member {
            group: self.group.clone(),
            rank,
            source: Box::new(source),
        }
    }
}

/// Returns the steps of the versions of one rank.
fn steps(observer: &Observer) -> Result<Steps, ObserveError> {
    let session = &observer.session;
    session.check()?;
    let index = session.index()?;
    let mut steps = Steps::new();
    for number in index.versions()? {
        if let Some(slot) = index.slot_of(number)? {
            steps.insert(index.stamp(slot)?.step, number);
        }
    }
    Ok(steps)
}

/// Returns the number of events of one rank: it grows with each version.
fn events(observer: &Observer) -> Result<u64, ObserveError> {
    Ok(observer.session.index()?.event()?.load(Ordering::SeqCst))
}

/// Returns true if the producer of one rank has closed its region.
fn closed(observer: &Observer) -> Result<bool, ObserveError> {
    Ok(observer.session.index()?.closed()?)
}
