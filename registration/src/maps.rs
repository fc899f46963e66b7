//! Registering everything: the mappings of the process, now and from now on.

use crate::cache::RegistrationCache;
use crate::error::{GetError, RegisterError};
use crate::everything::Everything;
use crate::inner::Inner;
use crate::registrar::Registrar;
use crate::state::State;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{MutexGuard, PoisonError};
use tcasm_core::sys::pinned;

/// Returns the parts of the ranges outside another one.
fn without(parts: Vec<Range<usize>>, except: &Range<usize>) -> Vec<Range<usize>> {
    let cut = |part: Range<usize>| {
        if except.is_empty() || except.end <= part.start || part.end <= except.start {
            return [part, 0..0];
        }
        let before = part.start..part.end.min(except.start);
        let after = part.start.max(except.end)..part.end;
        [before, after]
    };
    let parts = parts.into_iter().flat_map(cut);
    parts.filter(|part| !part.is_empty()).collect()
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
    /// ones too. Returns how many ranges could not be registered or are not followed.
    ///
    /// The end of a mapping is followed as that of any other registration. The kernel does not tell
    /// of new mappings, so a thread looks for them; until it has, a request registers them. This
    /// needs limits that keep what nobody uses.
    pub fn follow_all(&self, everything: Everything) -> Result<usize, GetError> {
        self.inner.check_process()?;
        if !self.inner.limits.leave_pinned {
            return Err(GetError::KeepsNothing);
        }
        *self.inner.everything() = Some(everything);
        if let Some(follower) = &self.inner.follower {
            // The thread may be waiting for a longer time than the new period.
            follower.watch.wake();
        }
        self.refresh()
    }

    /// Looks for new mappings now, and tries again what was refused. Returns how many ranges could
    /// not be registered or are not followed.
    pub fn refresh(&self) -> Result<usize, GetError> {
        self.inner.check_process()?;
        if let Some(everything) = self.inner.everything().as_mut() {
            everything.refused.clear();
        }
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
        let mut guard = self.everything();
        let Some(everything) = guard.as_mut() else {
            return 0;
        };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut refused = HashSet::new();
        for mapping in writable(&maps) {
            self.fill(everything, &mapping, &mut refused);
        }
        everything.refused = refused;
        everything.refused.len()
    }

    /// Registers the parts of a mapping that are not registered. Each part is tried once, so this
    /// ends.
    fn fill(&self, all: &Everything, mapping: &Range<usize>, refused: &mut HashSet<Range<usize>>) {
        let mut tried = HashSet::new();
        loop {
            let mut state = self.lock();
            // What was emptied is known before the parts are chosen, and what is emptied from now
            // on ends what is registered.
            self.catch_up(&mut state);
            let parts = self.parts(&mut state, all, mapping);
            let Some(part) = parts.into_iter().find(|part| !tried.contains(part)) else {
                return;
            };
            tried.insert(part.clone());
            if all.refused.contains(&part) || !self.fill_part(&mut state, &part) {
                refused.insert(part);
            }
        }
    }

    /// Returns the parts of a mapping that are to be registered, and are not.
    fn parts(
        &self,
        state: &mut State<R::Handle>,
        all: &Everything,
        mapping: &Range<usize>,
    ) -> Vec<Range<usize>> {
        let gaps = all.except.iter().fold(state.gaps(mapping), without);
        let gaps = pinned::owned().iter().fold(gaps, without);
        state.emptied.ranges().fold(gaps, without)
    }

    /// Registers memory that no registration covers. Returns false if that is refused.
    fn fill_part(&self, state: &mut State<R::Handle>, part: &Range<usize>) -> bool {
        if !self.has_room(state, part) {
            return false;
        }
        let entry = self.try_register(state, part).map_err(GetError::from);
        match entry.and_then(|entry| self.unless_gone(state, entry)) {
            Ok(entry) => {
                if let Some(ended) = state.release(entry.id, true) {
                    self.end(&ended);
                }
                entry.followed
            }
            // It was unmapped since the list was made.
            Err(GetError::Changed { .. } | GetError::Register(RegisterError::Unmapped { .. })) => {
                true
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_are_cut_out_of_mappings() {
        let wanted = |range| [20..30, 5..10].iter().fold(vec![range], without);
        assert_eq!(wanted(0..40), [0..5, 10..20, 30..40]);
        assert!(wanted(22..28).is_empty());
        assert_eq!(wanted(25..32).pop(), Some(30..32));
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
