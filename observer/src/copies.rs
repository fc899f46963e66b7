//! A window's own memory, for chunks that are too scattered to be mapped.
//!
//! A copy is private memory at the place of its chunk in the window. The window writes it, and
//! hands it out only as shared slices. So a copy is renewed page by page without a system call, and
//! it can be in huge pages, which a shared object gets on few machines. Pages that are in no plane
//! are not written, and take no memory.

use crate::chunk::{Change, Shown};
use crate::error::ViewError;
use crate::session::Session;
use crate::window::Window;
use tcasm_core::format::pagemap::{Run, Runs, ZERO};
use tcasm_core::pageset::runs_of;

impl Window {
    /// Maps new memory for the copy of a chunk, all zeros.
    #[allow(unsafe_code)]
    fn put_copy(&mut self, change: &Change) -> Result<(), ViewError> {
        let (at, len) = self.span(&self.pages(change.chunk));
        match (self.flat, self.chunks[change.chunk].shown.whole()) {
            (true, Some(ZERO)) => return Ok(()),
            (true, _) => return self.put_zero(at, len),
            (false, _) => {}
        }
        // SAFETY: `&mut self`, so nothing is borrowed from the window.
        unsafe { self.range.put_zero(at, len, true)? };
        // Before any page is touched, because then the kernel joins neighbouring copies.
        self.range.dont_fork_or_dump_part(at, len)?;
        if change.copied.huge {
            self.range.huge_pages_part(at, len);
            // If this fails, each page takes a fault when it is filled.
            let _ = self.range.populate(at, len);
        } else {
            self.range.no_huge_pages_part(at, len);
        }
        Ok(())
    }

    /// Makes or renews copies.
    pub(crate) fn copy(&mut self, changes: &[Change], session: &Session) -> Result<(), ViewError> {
        let mut copies = changes.iter().filter(|change| change.copy);
        copies.try_for_each(|change| self.renew(change, session))
    }

    /// Makes or renews the copy of a chunk. If the changed pages are known only these are copied,
    /// otherwise all are. The place of a page does not say whether it changed: its frame may have
    /// been written anew after the version that was shown.
    fn renew(&mut self, change: &Change, session: &Session) -> Result<(), ViewError> {
        let pages = self.pages(change.chunk);
        let (known, kept) = match &self.chunks[change.chunk].shown {
            // Zeros in all pages of a small copy would take more memory than new pages do.
            Shown::Copied(copied) => (change.changed, copied.huge || change.changed.is_some()),
            Shown::Mapped(_) => (None, false),
        };
        if !kept {
            self.put_copy(change)?;
        }
        let mut runs = Runs::default();
        match known {
            Some(bits) => {
                for run in runs_of(&bits) {
                    let part = pages.start + run.start..(pages.start + run.end).min(pages.end);
                    runs.push_chunk(&change.want, pages.start, part);
                }
            }
            None => runs.push_chunk(&change.want, pages.start, pages),
        }
        let mut runs = runs.runs.iter();
        runs.try_for_each(|run| self.fill(run, kept, session))
    }

    /// Copies the pages of `run` from their plane. If the memory of the copy was not `kept`, it has
    /// only zeros.
    #[allow(unsafe_code)]
    fn fill(&mut self, run: &Run, kept: bool, session: &Session) -> Result<(), ViewError> {
        let (at, len) = self.span(&run.pages);
        assert!(at + len <= self.range.len(), "runs lie in the region");
        // SAFETY: the range is inside the window, and `put_copy` has mapped private memory there
        // that is writable. `&mut self`, so nothing is borrowed from the window.
        let part = unsafe { std::slice::from_raw_parts_mut(self.range.ptr().add(at), len) };
        match run.plane() {
            Some(plane) => {
                let fd = &session.planes()[plane];
                session.sources.copy((plane, fd), at, part)?;
            }
            None if kept => part.fill(0),
            None => {}
        }
        Ok(())
    }
}
