//! Pages of the region that adopted arrays have left. They are zeros, without memory, from the next
//! version on, and other arrays can then take them.

use std::ops::Range;

/// The pages that adopted arrays have left.
#[derive(Debug, Default)]
pub(crate) struct Vacated {
    /// Pages that the newest version still has.
    waiting: Vec<Range<usize>>,
    /// Pages that a version leaves out which is still being captured.
    in_flight: Vec<Range<usize>>,
    /// Pages that no field has, and that are zeros in the newest version.
    free: Vec<Range<usize>>,
}

impl Vacated {
    /// Records that an array has left `pages`.
    pub(crate) fn add(&mut self, pages: Range<usize>) {
        self.waiting.push(pages);
    }

    /// Returns the pages that the next version leaves out.
    pub(crate) fn waiting(&self) -> &[Range<usize>] {
        &self.waiting
    }

    /// Records that a version leaves the waiting pages out. It is visible, or is still being
    /// captured.
    pub(crate) fn published(&mut self, visible: bool) {
        self.in_flight.append(&mut self.waiting);
        if visible {
            self.settled(true);
        }
    }

    /// Records that the capture of the last version has ended, and whether it is visible.
    pub(crate) fn settled(&mut self, visible: bool) {
        match visible {
            false => self.waiting.append(&mut self.in_flight),
            true => self.free.append(&mut self.in_flight),
        }
        self.merge();
    }

    /// Records that nothing has taken `pages`, which are zeros in all versions.
    pub(super) fn give_back(&mut self, pages: Range<usize>) {
        self.free.push(pages);
        self.merge();
    }

    /// Takes `count` free pages for which `fits` returns the first possible one at or after a page.
    pub(super) fn take(
        &mut self,
        count: usize,
        fits: impl Fn(usize) -> usize,
    ) -> Option<Range<usize>> {
        let (at, first) = self.free.iter().enumerate().find_map(|(at, free)| {
            let first = fits(free.start);
            (first + count <= free.end).then_some((at, first))
        })?;
        let free = self.free.swap_remove(at);
        let rest = [free.start..first, first + count..free.end];
        self.free
            .extend(rest.into_iter().filter(|rest| !rest.is_empty()));
        self.merge();
        Some(first..first + count)
    }

    /// Joins free ranges that touch.
    fn merge(&mut self) {
        self.free.sort_by_key(|free| free.start);
        self.free.dedup_by(|next, before| {
            let touch = before.end == next.start;
            if touch {
                before.end = next.end;
            }
            touch
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_free_once_a_version_without_them_is_visible() {
        let mut vacated = Vacated::default();
        vacated.add(10..20);
        assert_eq!(vacated.take(1, |page| page), None);
        vacated.published(false);
        assert_eq!(vacated.take(1, |page| page), None);
        vacated.settled(false); // given up
        assert!(vacated.waiting().iter().eq(&[10..20; 1]));
        vacated.add(20..30);
        vacated.published(true);
        assert!(vacated.waiting().is_empty());
        assert_eq!(vacated.take(20, |page| page), Some(10..30));
        assert_eq!(vacated.take(1, |page| page), None);
    }

    #[test]
    fn arrays_take_the_pages_that_fit_and_leave_the_rest() {
        let mut vacated = Vacated::default();
        vacated.add(5..30);
        vacated.published(true);
        let aligned = |page: usize| page.next_multiple_of(8);
        assert_eq!(vacated.take(10, aligned), Some(8..18));
        assert_eq!(vacated.take(10, aligned), None);
        assert_eq!(vacated.take(3, |page| page), Some(5..8));
        assert_eq!(vacated.take(12, |page| page), Some(18..30));
    }
}
