//! Room for registrations: what ends so that another one fits into the limits.

use crate::error::GetError;
use crate::inner::{Inner, count};
use crate::registrar::Registrar;
use crate::state::State;
use std::ops::Range;

impl<R: Registrar> Inner<R> {
    /// Ends what the range touches, makes room, and returns what to register: the union, or the
    /// range alone if that would be too much.
    pub(crate) fn make_room(
        &self,
        state: &mut State<R::Handle>,
        range: &Range<usize>,
        union: &Range<usize>,
    ) -> Result<Range<usize>, GetError> {
        for entry in state.detach(range) {
            self.end(&entry);
        }
        let wanted = [union.clone(), range.clone()];
        let fits = wanted
            .into_iter()
            .find(|wanted| self.evict_for(state, wanted));
        fits.ok_or_else(|| self.full(state, range))
    }

    /// Evicts until the range fits. Returns false if it does not.
    fn evict_for(&self, state: &mut State<R::Handle>, range: &Range<usize>) -> bool {
        if !self.limits.allow(1, range.len()) {
            return false;
        }
        while !self.has_room(state, range) {
            if !self.evict(state) {
                return false;
            }
        }
        true
    }

    /// Ends what is gone by now, or else the registration that was not used for longest. Returns
    /// false if there is none.
    pub(crate) fn evict(&self, state: &mut State<R::Handle>) -> bool {
        let before = state.entries();
        // A registration that ends must know whether its memory is gone.
        self.catch_up(state);
        if state.entries() < before {
            return true;
        }
        let Some(entry) = state.evict() else {
            return false;
        };
        count(&self.counters.evicted);
        self.end(&entry);
        true
    }

    pub(crate) fn has_room(&self, state: &State<R::Handle>, range: &Range<usize>) -> bool {
        let bytes = state.bytes().saturating_add(range.len());
        self.limits.allow(state.entries() + 1, bytes)
    }

    fn full(&self, state: &State<R::Handle>, range: &Range<usize>) -> GetError {
        GetError::Full {
            entries: state.entries(),
            bytes: state.bytes(),
            len: range.len(),
            max_entries: self.limits.entries,
            max_bytes: self.limits.bytes,
        }
    }
}
