//! Pins on versions that are not published yet.
//!
//! A pin word may name a version that does not exist yet. When the producer has published it and
//! wants its slot back, it finds the pin. So the version stays until this observer has taken and
//! dropped it, however late it looks. No more versions exist at once than the ring has slots, so
//! that many reservations are enough.
//!
//! Nothing that the index says makes a call run for ever: each looks a bounded number of times.

use crate::error::{ObserveError, no_such_version};
use crate::pin::Pin;
use crate::session::Session;
use crate::version::Version;
use crate::windows::Windows;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tcasm_core::format::lease::PINS;
use tcasm_core::format::protocol;

/// The number of looks at a state that the producer may be changing. It may mark a version retired
/// for a moment, until it sees the pin, and may publish while versions are reserved.
const LOOKS: usize = 3;

/// A version that is pinned, although it may not exist yet.
#[derive(Clone, Copy)]
struct Reserved {
    version: u64,
    /// The pin word.
    word: usize,
}

/// The versions that an observer takes next, each with its pin.
pub(crate) struct Reservations {
    session: Arc<Session>,
    windows: Arc<Windows>,
    /// The largest number of versions that exist at once.
    most: usize,
    /// The reservations, in ascending order of versions.
    reserved: VecDeque<Reserved>,
    /// The version that is reserved next.
    next: u64,
    /// The last version that was taken, or that the observer had seen before.
    taken: u64,
    /// The newest version at the beginning. Only later ones count as missed. `None` if there was
    /// none, and its number is not known either.
    begun: Option<u64>,
    missed: Vec<RangeInclusive<u64>>,
}

impl Reservations {
    /// Reserves the versions after `seen`.
    pub(crate) fn after(
        seen: u64,
        session: Arc<Session>,
        windows: Arc<Windows>,
    ) -> Result<Self, ObserveError> {
        let most = session.index()?.layout().slots;
        let mut all = Reservations {
            session,
            windows,
            most,
            reserved: VecDeque::new(),
            next: 0,
            taken: seen,
            begun: None,
            missed: Vec::new(),
        };
        all.begin()?;
        match all.reserved.is_empty() {
            true => Err(ObserveError::TooManyPins { pins: PINS }),
            false => Ok(all),
        }
    }

    /// Takes the next version, if it exists.
    pub(crate) fn take(&mut self) -> Result<Option<Version>, ObserveError> {
        if self.begun.is_none() && self.newest()?.is_some() {
            self.begin()?;
        }
        // Some words may be free again.
        self.reserve_more()?;
        for _ in 0..=self.most {
            let Some(first) = self.pop(self.latest()?)? else {
                return Ok(None);
            };
            if let Some(version) = self.pin(first)? {
                self.took(version.number());
                self.reserve_more()?;
                return Ok(Some(version));
            }
            self.plan()?;
        }
        Ok(None)
    }

    /// Returns the numbers of later versions than at the beginning that were not taken, although a
    /// version after them was.
    pub(crate) fn missed(&self) -> &[RangeInclusive<u64>] {
        &self.missed
    }

    /// Plans the first time. A version that is published meanwhile may be reclaimed before it is
    /// reserved, so this plans again then.
    fn begin(&mut self) -> Result<(), ObserveError> {
        for _ in 0..LOOKS {
            let before = self.newest()?;
            self.plan()?;
            self.begun = self.newest()?;
            if self.begun == before {
                break;
            }
        }
        Ok(())
    }

    /// Reserves the versions that exist and were not taken yet, and as many of those that come as
    /// can exist beside them. Releases all others.
    fn plan(&mut self) -> Result<(), ObserveError> {
        let taken = self.taken;
        let newest = self.newest()?.unwrap_or(0).max(taken);
        let mut wanted = self.session.index()?.versions()?;
        wanted.retain(|n| *n > taken && *n <= newest);
        let more = self.most.saturating_sub(wanted.len());
        wanted.extend((newest.saturating_add(1)..=u64::MAX).take(more));
        self.release_except(&wanted);
        wanted.retain(|n| self.reserved.iter().all(|r| r.version != *n));
        for n in wanted {
            self.reserve(n)?;
        }
        let all = self.reserved.make_contiguous();
        all.sort_unstable_by_key(|r| r.version);
        let last = all.last().map_or(taken, |r| r.version);
        self.next = last.saturating_add(1);
        Ok(())
    }

    /// Returns the number of the newest version. If none is published yet, returns the number
    /// before that of the first one. That is `None` if the producer is older and does not tell it.
    fn newest(&self) -> Result<Option<u64>, ObserveError> {
        Ok(match (self.latest()?, self.session.info.first_version) {
            (0, 0) => None,
            (0, first) => Some(first - 1),
            (latest, _) => Some(latest),
        })
    }

    /// Returns the number of the newest version, or 0 if there is none yet.
    fn latest(&self) -> Result<u64, ObserveError> {
        let latest = self.session.index()?.latest()?;
        match latest == 0 || protocol::is_version(latest) {
            true => Ok(latest),
            false => Err(no_such_version(latest).into()),
        }
    }

    /// Takes the first reservation out, if it is that of a version up to `latest`.
    fn pop(&mut self, latest: u64) -> Result<Option<Reserved>, ObserveError> {
        match self.reserved.front() {
            None if latest > self.taken => Err(ObserveError::TooManyPins { pins: PINS }),
            Some(first) if first.version <= latest => Ok(self.reserved.pop_front()),
            _ => Ok(None),
        }
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

    /// Notes that version `n` is taken, and that those before it which were not taken are missed.
    fn took(&mut self, n: u64) {
        let from = self.begun.map_or(n, |begun| begun.max(self.taken) + 1);
        if from < n {
            self.missed.push(from..=n - 1);
        }
        self.taken = n;
    }

    /// Reserves further versions, as long as pin words are left.
    fn reserve_more(&mut self) -> Result<(), ObserveError> {
        while self.reserved.len() < self.most && self.reserve(self.next)? {
            self.next = self.next.saturating_add(1);
        }
        Ok(())
    }

    /// Reserves a version. Returns false if no pin word is left for it.
    fn reserve(&mut self, version: u64) -> Result<bool, ObserveError> {
        match self.session.reserve(version) {
            Ok(word) => self.reserved.push_back(Reserved { version, word }),
            Err(ObserveError::TooManyPins { .. }) => return Ok(false),
            Err(error) => return Err(error),
        }
        Ok(true)
    }

    /// Releases the reservations of all versions except `wanted`.
    fn release_except(&mut self, wanted: &[u64]) {
        self.reserved.retain(|r| {
            let stays = wanted.contains(&r.version);
            if !stays {
                self.session.unpin(r.word);
            }
            stays
        });
    }
}

impl Drop for Reservations {
    fn drop(&mut self) {
        self.release_except(&[]);
    }
}
