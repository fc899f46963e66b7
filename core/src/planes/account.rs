//! The account of one plane: which slots have memory.
//!
//! This is the only place that reckons memory of planes. Everything else asks here, and the audit
//! ([`super::audit`]) compares the sum with what the kernel has allocated.

use crate::pageset::PageSet;
use std::ops::Range;

/// Slots of a plane that have memory, and those whose memory is on its way out.
#[derive(Debug)]
pub(super) struct Account {
    held: PageSet,
    leaving: PageSet,
    /// Slots with memory: the held ones, and those of the leaving ones that were.
    count: usize,
}

impl Account {
    pub(super) fn new(pages: usize) -> Self {
        Account {
            held: PageSet::new(pages),
            leaving: PageSet::new(pages),
            count: 0,
        }
    }

    /// Slots that have memory and can be used.
    pub(super) fn held(&self) -> &PageSet {
        &self.held
    }

    /// Slots that nobody may use until their memory is gone.
    pub(super) fn leaving(&self) -> &PageSet {
        &self.leaving
    }

    /// Pages of memory, those that are leaving included: they count under the bound (I7) until they
    /// are gone.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Enters slots that have memory, or are about to get some. Returns those that had none.
    pub(super) fn enter(&mut self, pages: &PageSet) -> PageSet {
        let mut new = pages.clone();
        new.subtract(&self.held);
        self.held.union(pages);
        self.count += new.len();
        new
    }

    /// Strikes slots whose memory is gone, or never came. All of them must be held.
    pub(super) fn strike(&mut self, pages: &PageSet) {
        self.held.subtract(pages);
        self.count -= pages.len();
    }

    /// Keeps everybody from `pages` while their memory is given back. Returns how many of them have
    /// memory by this account: all, or none.
    pub(super) fn leave(&mut self, pages: &Range<usize>) -> usize {
        let counted = self.held.count_in(pages.clone());
        debug_assert!(counted == 0 || counted == pages.len());
        self.held.remove_range(pages.clone());
        self.leaving.insert_range(pages.clone());
        counted
    }

    /// Lets `pages` be used again, of which `counted` had memory. They have none any more if it
    /// could be given back.
    pub(super) fn left(&mut self, pages: &Range<usize>, counted: usize, gone: bool) {
        self.leaving.remove_range(pages.clone());
        match gone {
            true => self.count -= counted,
            false if counted != 0 => self.held.insert_range(pages.clone()),
            false => {}
        }
    }
}
