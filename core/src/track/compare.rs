//! The tracker `compare`, which tracks nothing: every page is a candidate, and the capture compares
//! bytes.

use super::kind::TrackerKind;
use super::live::Live;
use super::tracker::{Harvest, Span, TrackError, Tracker};
use crate::pageset::PageSet;
use crate::sys::live::Backing;
use std::ops::Range;

/// The tracker `compare`. It works everywhere, and finds what no other tracker does (DMA), but
/// every capture has to read the whole memory.
pub(super) struct Compare {
    live: Live,
}

impl Compare {
    /// # Safety
    /// As for [`super::create`].
    pub unsafe fn new(span: Span) -> Self {
        // SAFETY: the obligations are the same as for this function.
        let live = unsafe { Live::new(span) };
        Compare { live }
    }
}

impl Tracker for Compare {
    fn kind(&self) -> TrackerKind {
        TrackerKind::Compare
    }

    fn map(&mut self, pages: Range<usize>) -> Result<(), TrackError> {
        self.live.map(pages, Backing::Zero, |_| Ok(()))
    }

    fn harvest(
        &mut self,
        _expected: &PageSet,
        written: &mut PageSet,
    ) -> Result<Harvest, TrackError> {
        self.live.check()?;
        written.union(self.live.mapped());
        Ok(Harvest::Candidates)
    }

    fn settle(&mut self, _captured: &PageSet) -> Result<(), TrackError> {
        self.live.check_process()
    }

    fn pin(&mut self, pages: Range<usize>) {
        self.live.pin(pages); // changes nothing: all pages are candidates
    }
}
