//! Every version in order: pins on versions that are not published yet.
//!
//! A pin word may name a version that does not exist yet. When the producer has published it and
//! wants its slot back, it finds the pin. So the version stays until this observer has taken and
//! dropped it, however late it looks. No more versions exist at once than the ring has slots, so
//! that many reservations are enough.

use crate::error::ObserveError;
use crate::observer::Observer;
use crate::pin::Pin;
use crate::session::Session;
use crate::version::Version;
use crate::windows::Windows;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

/// The number of looks at a version before it counts as gone. The producer may mark a version
/// retired for a moment, until it sees the pin.
const LOOKS: usize = 3;

/// Takes every version in order: see [`Observer::every_version`].
pub struct EveryVersion<'o> {
    observer: &'o mut Observer,
    line: Line,
}

impl Observer {
    /// Takes every version from now on, in order, beginning with the oldest that exists. While the
    /// result lives, the producer reclaims no version that it has not returned yet.
    ///
    /// So the versions that are not taken yet fill the bounds of the producer. At the bound
    /// `publish` skips: it publishes no version, and the changes are in the next one. A producer
    /// that calls `publish_wait` instead waits for this observer, as long as its timeout says. Then
    /// each of its steps is a version, and none is missed.
    ///
    /// It pins as many versions as the region can have at once, so this observer can hold fewer
    /// others.
    pub fn every_version(&mut self) -> Result<EveryVersion<'_>, ObserveError> {
        let mut line = Line::new(self.session.clone(), self.windows.clone())?;
        line.plan(self.seen())?;
        let observer = self;
        Ok(EveryVersion { observer, line })
    }
}

impl EveryVersion<'_> {
    /// Waits up to `timeout` for the next version.
    pub fn next(&mut self, timeout: Duration) -> Result<Version, ObserveError> {
        let EveryVersion { observer, line } = self;
        observer.wait(timeout, |observer| {
            observer.acknowledge();
            line.session.check()?;
            let version = line.take(observer.seen())?;
            if let Some(version) = &version {
                observer.saw(version.number());
            }
            Ok(version)
        })
    }

    /// Returns the numbers of the versions that came after the first one and were gone before they
    /// could be taken. These are only versions whose capture the producer gave up, and versions
    /// beyond the number that could be reserved, because this observer held many others.
    pub fn missed(&self) -> &[RangeInclusive<u64>] {
        &self.line.missed
    }

    /// Returns the observer, to ask for other versions.
    pub fn observer(&mut self) -> &mut Observer {
        self.observer
    }
}

impl std::fmt::Debug for EveryVersion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EveryVersion")
            .field("observer", &self.observer)
            .field("missed", &self.line.missed)
            .finish_non_exhaustive()
    }
}

/// A version that is pinned, although it may not exist yet.
#[derive(Clone, Copy)]
struct Reserved {
    version: u64,
    /// The pin word.
    word: usize,
}

/// The versions that are taken next.
struct Line {
    session: Arc<Session>,
    windows: Arc<Windows>,
    /// The largest number of versions that exist at once.
    most: usize,
    /// The reservations, in ascending order of versions.
    reserved: VecDeque<Reserved>,
    /// The version that is reserved next.
    next: u64,
    /// The newest version when the line was planned, or 0 if there was none. Only versions after it
    /// count as missed.
    begun: u64,
    missed: Vec<RangeInclusive<u64>>,
}

impl Line {
    fn new(session: Arc<Session>, windows: Arc<Windows>) -> Result<Self, ObserveError> {
        let most = session.index()?.layout().slots;
        Ok(Line {
            session,
            windows,
            most,
            reserved: VecDeque::new(),
            next: 0,
            begun: 0,
            missed: Vec::new(),
        })
    }

    /// Reserves the versions after `seen` that exist, and as many of those that come as can exist
    /// beside them. Releases all others.
    fn plan(&mut self, seen: u64) -> Result<(), ObserveError> {
        let latest = self.session.index()?.latest()?;
        let mut wanted = self.session.index()?.versions()?;
        wanted.retain(|n| *n > seen && *n <= latest);
        let more = self.most.saturating_sub(wanted.len());
        wanted.extend((latest.saturating_add(1)..=u64::MAX).take(more));
        let there = self.reserved.drain(..);
        let (stay, go): (VecDeque<_>, _) = there.partition(|r| wanted.contains(&r.version));
        self.reserved = stay;
        self.release(go);
        wanted.retain(|n| self.reserved.iter().all(|r| r.version != *n));
        for n in wanted {
            self.reserve(n)?;
        }
        let all = self.reserved.make_contiguous();
        all.sort_unstable_by_key(|r| r.version);
        let last = all.last().map_or(latest, |r| r.version);
        self.next = last.saturating_add(1);
        if self.begun == 0 && latest != 0 {
            // What was published meanwhile may be gone, too.
            self.begun = self.session.index()?.latest()?;
        }
        Ok(())
    }

    /// Takes the next version, if it exists. Versions up to `seen` are not taken again.
    fn take(&mut self, seen: u64) -> Result<Option<Version>, ObserveError> {
        let latest = self.session.index()?.latest()?;
        if self.begun == 0 && latest != 0 {
            // Only now the number of the first version is known.
            self.plan(seen)?;
        }
        while let Some(first) = self.reserved.front().copied()
            && first.version <= latest
        {
            self.reserved.pop_front();
            if let Some(version) = self.pin(first)? {
                self.reserve_more()?;
                return Ok(Some(version));
            }
            self.plan(first.version)?;
            let next = self.reserved.front().map_or(latest, |r| r.version);
            self.miss(first.version, next.saturating_sub(1));
        }
        Ok(None)
    }

    /// Makes a reservation the pin of a version. Releases it if the version is gone.
    fn pin(&self, reserved: Reserved) -> Result<Option<Version>, ObserveError> {
        let Reserved { version, word } = reserved;
        for _ in 0..LOOKS {
            if let Some(slot) = self.session.index()?.slot_of(version)?
                && self.session.confirm(slot, version)?
            {
                let pin = Pin::new(self.session.clone(), slot, version, word)?;
                return Ok(Some(Version::new(pin, self.windows.clone())));
            }
            std::thread::yield_now();
        }
        self.session.unpin(word);
        Ok(None)
    }

    /// Reserves further versions.
    fn reserve_more(&mut self) -> Result<(), ObserveError> {
        while self.reserved.len() < self.most && self.reserve(self.next)? {
            self.next = self.next.saturating_add(1);
        }
        Ok(())
    }

    /// Reserves a version. Returns false if no pin word is left for it, but another version is
    /// reserved.
    fn reserve(&mut self, version: u64) -> Result<bool, ObserveError> {
        match self.session.reserve(version) {
            Ok(word) => self.reserved.push_back(Reserved { version, word }),
            Err(ObserveError::TooManyPins { .. }) if !self.reserved.is_empty() => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    fn release(&self, reserved: impl IntoIterator<Item = Reserved>) {
        for Reserved { word, .. } in reserved {
            self.session.unpin(word);
        }
    }

    /// Notes that versions from `first` to `last` are gone.
    fn miss(&mut self, first: u64, last: u64) {
        let first = first.max(self.begun.saturating_add(1));
        if first > last {
            return;
        }
        match self.missed.last_mut() {
            Some(before) if before.end().saturating_add(1) == first => {
                *before = *before.start()..=last;
            }
            _ => self.missed.push(first..=last),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let reserved = std::mem::take(&mut self.reserved);
        self.release(reserved);
    }
}
