//! The tracker `compare`, which tracks nothing: every page is a candidate, and the capture compares
//! bytes.

use super::kind::TrackerKind;
use super::live::Live;
use super::tracker::{Harvest, Span, TrackError, Tracker};
use crate::pageset::PageSet;
use std::ops::Range;

/// The tracker `compare`. It works everywhere, and finds what no other tracker does (DMA), but
/// every capture has to read the whole memory.
pub(super) struct Compare {
    live: Live,
}

impl Compare {
    pub fn new(span: Span) -> Self {
        Compare {
            live: Live::new(span),
        }
    }
}

impl Tracker for Compare {
    fn kind(&self) -> TrackerKind {
        TrackerKind::Compare
    }

    fn tracked(&self) -> &PageSet {
        self.live.tracked()
    }

    fn beside(&self, span: Span) -> Box<dyn Tracker> {
        Box::new(Compare::new(span))
    }

    unsafe fn track(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.live.track(pages);
        Ok(())
    }

    fn harvest(&mut self, _expected: &PageSet, found: &mut Harvest) -> Result<(), TrackError> {
        self.live.check()?;
        found.maybe.union(self.live.tracked());
        found.unarmed.union(self.live.tracked());
        Ok(())
    }

    fn settle(&mut self, _captured: &PageSet) -> Result<(), TrackError> {
        self.live.check_process()
    }

    fn check(&mut self, pages: &Range<usize>) -> Result<(), TrackError> {
        self.live.check_pages(pages)
    }

    fn forget(&mut self, pages: &Range<usize>) {
        self.live.forget(pages);
    }

    fn pin(&mut self, pages: Range<usize>) {
        self.live.pin(pages); // changes nothing: all pages are candidates
    }
}
