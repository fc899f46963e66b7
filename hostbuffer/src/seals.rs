//! The sections that are being sealed, and when to try.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How long a section is tried to be sealed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
/// The first and the longest pause between two tries. Each pause is twice as long as the one
/// before.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The state of the sections that are being sealed, as a process knows it.
#[derive(Debug, Default)]
pub(crate) struct Seals {
    /// The sections that this process can no longer write.
    pub closed: BTreeSet<usize>,
    /// The sections that other processes have asked to seal, until that begins.
    pub asked: BTreeSet<usize>,
    /// The sections that a process could not make read-only, with its reason, until all know it.
    pub failed: Vec<(usize, String)>,
    /// The sections that are being sealed, by this process or the one that leads.
    begun: BTreeMap<usize, Tries>,
}

/// The next thing to do for a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing.
    Wait,
    /// Try to seal it.
    Try,
    /// Try for the last time.
    Last,
}

#[derive(Debug)]
struct Tries {
    /// When to try again, or `None` if processes must answer first.
    next: Option<Instant>,
    pause: Duration,
    end: Instant,
}

impl Seals {
    /// Begins with the sections that are sealed already.
    pub(crate) fn new(sealed: BTreeSet<usize>) -> Self {
        Seals {
            closed: sealed,
            ..Seals::default()
        }
    }

    pub(crate) fn begin(&mut self, section: usize, now: Instant) {
        let tries = Tries {
            next: None,
            pause: FIRST_PAUSE,
            end: now + PATIENCE,
        };
        self.begun.insert(section, tries);
    }

    /// Ends the sealing of a section. Returns false if it had not begun.
    pub(crate) fn end(&mut self, section: usize) -> bool {
        self.begun.remove(&section).is_some()
    }

    pub(crate) fn is_begun(&self, section: usize) -> bool {
        self.begun.contains_key(&section)
    }

    /// Returns the sections whose sealing has begun and not ended.
    pub(crate) fn unfinished(&self) -> Vec<usize> {
        self.begun.keys().copied().collect()
    }

    /// Begins anew what the process that led before has begun.
    pub(crate) fn lead(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        self.asked.extend(begun.into_keys());
    }

    /// Returns what to do for a section. If it `waits`, a process can still write it.
    pub(crate) fn turn(&mut self, section: usize, waits: bool, now: Instant) -> Turn {
        let Some(tries) = self.begun.get_mut(&section) else {
            return Turn::Wait;
        };
        if now >= tries.end {
            return Turn::Last;
        }
        if waits {
            tries.next = None;
            return Turn::Wait;
        }
        if tries.next.is_some_and(|next| now < next) {
            return Turn::Wait;
        }
        tries.next = Some(now + tries.pause);
        tries.pause = (tries.pause * 2).min(LONGEST_PAUSE);
        Turn::Try
    }

    /// Returns how long the process that leads may sleep.
    pub(crate) fn pause(&self, now: Instant) -> Duration {
        let all = self.begun.values();
        let next = all.map(|tries| tries.next.map_or(tries.end, |next| next.min(tries.end)));
        let next = next.min().map(|next| next.saturating_duration_since(now));
        next.unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_between_tries_grow_and_the_tries_end() {
        let (mut seals, begin) = (Seals::default(), Instant::now());
        seals.begin(3, begin);
        let (mut now, mut pauses, mut last) = (begin, Vec::new(), false);
        while !last && pauses.len() < 1000 {
            match seals.turn(3, false, now) {
                Turn::Last => last = true,
                turn => assert_eq!(turn, Turn::Try),
            }
            assert!(last || seals.turn(3, false, now) == Turn::Wait);
            pauses.push(seals.pause(now));
            now += seals.pause(now);
        }
        assert!(last && now == begin + PATIENCE && pauses.len() < 60);
        assert!(pauses[..5].windows(2).all(|two| two[1] == two[0] * 2));
    }

    #[test]
    fn section_that_a_process_can_write_is_not_tried_until_it_answers() {
        let (mut seals, now) = (Seals::default(), Instant::now());
        seals.begin(0, now);
        assert_eq!(seals.turn(0, true, now), Turn::Wait);
        assert_eq!(seals.pause(now), PATIENCE);
        assert_eq!(seals.turn(0, false, now), Turn::Try);
        assert_eq!(seals.turn(0, true, now + PATIENCE), Turn::Last);
        assert!(seals.end(0) && !seals.end(0));
        assert_eq!(seals.turn(0, false, now + PATIENCE), Turn::Wait);
    }

    #[test]
    fn next_leader_begins_anew_what_had_begun() {
        let mut seals = Seals::default();
        seals.begin(1, Instant::now());
        assert_eq!(seals.unfinished(), [1]);
        seals.lead();
        assert!(seals.unfinished().is_empty() && seals.asked.contains(&1));
    }
}
