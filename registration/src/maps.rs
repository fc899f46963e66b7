//! Registering everything: the mappings of the process, now and from now on.

use crate::cache::RegistrationCache;
use crate::error::GetError;
use crate::inner::Inner;
use crate::registrar::Registrar;
use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;
use tcasm_core::sys::pinned;

/// What `follow_all` registers, and how often it looks for new mappings.
#[derive(Clone, Debug)]
pub struct Everything {
    except: Vec<Range<usize>>,
    every: Duration,
}

impl Default for Everything {
    fn default() -> Self {
        Everything {
            except: Vec::new(),
            every: Duration::from_millis(10),
        }
    }
}

impl Everything {
    /// Leaves out these addresses. A request for memory there is registered nevertheless.
    #[must_use]
    pub fn except(mut self, range: Range<usize>) -> Self {
        self.except.push(range);
        self
    }

    /// Sets how often new mappings are looked for.
    #[must_use]
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    pub(crate) fn period(&self) -> Duration {
        self.every.max(Duration::from_millis(1))
    }

    /// Returns the parts of the range outside the exceptions.
    fn wanted(&self, range: Range<usize>) -> Vec<Range<usize>> {
        self.except.iter().fold(vec![range], |parts, except| {
            let cut = |part: Range<usize>| {
                let before = part.start..part.end.min(except.start);
                let after = part.start.max(except.end)..part.end;
                [before, after]
            };
            let parts = parts.into_iter().flat_map(|part| {
                if except.is_empty() || except.end <= part.start || part.end <= except.start {
                    [part, 0..0]
                } else {
                    cut(part)
                }
            });
            parts.filter(|part| !part.is_empty()).collect()
        })
    }
}

/// Returns the writable mappings of the text of `/proc/self/maps`.
fn writable(maps: &str) -> impl Iterator<Item = Range<usize>> {
    maps.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let hex = |s| usize::from_str_radix(s, 16).ok();
        let access = rest.as_bytes();
        let wanted = access.first() == Some(&b'r') && access.get(1) == Some(&b'w');
        wanted.then_some(hex(start)?..hex(end)?)
    })
}

impl<R: Registrar> RegistrationCache<R> {
    /// Registers every mapping of the process that can be read and written, and from now on new
    /// ones too. Returns how many ranges could not be registered.
    ///
    /// The end of a mapping is followed as that of any other registration. The kernel does not tell
    /// of new mappings, so a thread looks for them; until it has, a request registers them. Without
    /// limits that keep unused registrations, nothing stays registered.
    pub fn follow_all(&self, everything: Everything) -> Result<usize, GetError> {
        self.inner.check_process()?;
        *self.inner.everything() = Some(everything);
        self.refresh()
    }

    /// Looks for new mappings now. Returns how many ranges could not be registered.
    pub fn refresh(&self) -> Result<usize, GetError> {
        self.inner.check_process()?;
        Ok(self.inner.refresh())
    }
}

impl<R: Registrar> Inner<R> {
    pub(crate) fn everything(&self) -> MutexGuard<'_, Option<Everything>> {
        self.everything
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers what is mapped and not registered yet, if everything is to be. Nothing is evicted
    /// for that.
    pub(crate) fn refresh(&self) -> usize {
        // Held meanwhile, so that nothing is registered any more when the cache has ended.
        let guard = self.everything();
        let Some(mut everything) = guard.clone() else {
            return 0;
        };
        everything.except.extend(pinned::owned());
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let wanted = writable(&maps).flat_map(|range| everything.wanted(range));
        wanted.map(|range| self.fill(&range)).sum()
    }

    /// Registers the parts of a mapping that are not registered. Returns how many could not be.
    fn fill(&self, mapping: &Range<usize>) -> usize {
        let gaps = self.lock().gaps(mapping);
        let mut refused = 0;
        for gap in gaps {
            let room = self.has_room(&self.lock(), &gap);
            match room.then(|| self.get(&gap)) {
                Some(Ok(entry)) => self.release(&entry),
                // It was unmapped since the list was made.
                Some(Err(GetError::Changed { .. })) => {}
                Some(Err(_)) | None => refused += 1,
            }
        }
        refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_cut_out_of_mappings() {
        let everything = Everything::default().except(20..30).except(5..10);
        assert_eq!(everything.wanted(0..40), [0..5, 10..20, 30..40]);
        assert!(everything.wanted(22..28).is_empty());
        assert_eq!(everything.wanted(25..32).pop(), Some(30..32));
    }

    #[test]
    fn only_mappings_that_can_be_written_are_listed() {
        let maps = "1000-3000 rw-p 00000000 00:00 0 [heap]\n3000-4000 r--p 00000000 00:00 0\n\
                    nonsense\n7000-8000 ---p 0 0:0 0\n";
        let listed: Vec<_> = writable(maps).collect();
        assert_eq!(listed.first(), Some(&(0x1000..0x3000)));
        assert_eq!(listed.len(), 1);
    }
}
