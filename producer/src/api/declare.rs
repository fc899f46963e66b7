//! Writes that no tracker sees: the program reports them here.

use super::views::Viewable;
use crate::handles::{Buffer, InPlace};
use crate::producer::Producer;
use crate::table::{BufferInfo, Memory};
use std::ops::Range;
use tcasm_core::pageset::PageSet;
use tcasm_core::testing::sabotage::{Guard, off};
use tcasm_core::track::TrackerKind;

impl Producer {
    /// Marks `buffer` as written. Call this after a write that no tracker sees: by a device, or
    /// through another mapping.
    ///
    /// Here and in the functions below a field stands for the buffer that it is bound to, as in
    /// [`Producer::view_mut`]. In a forked child this does nothing, because the region is the
    /// parent's.
    pub fn mark_dirty<T, D>(&mut self, buffer: impl Viewable<T, D, InPlace>) {
        if self.forked() {
            return;
        }
        let pages = self.pages_of(buffer.buffer_in(self));
        self.mark(pages);
    }

    /// Does the same as [`Producer::mark_dirty`] for bytes `range` of the buffer only.
    pub fn mark_dirty_bytes<T, D>(
        &mut self,
        buffer: impl Viewable<T, D, InPlace>,
        range: Range<usize>,
    ) {
        if self.forked() {
            return;
        }
        let buffer = buffer.buffer_in(self);
        let pages = self.pages_of(buffer);
        let size = self.live.span.page_size;
        // An adopted array may begin inside its first page.
        let offset = self.table.buffers.get(buffer.buffer);
        let skipped = offset.map_or(0, |b| b.desc.offset as usize % size);
        let page = |byte: usize| byte.saturating_add(skipped) / size;
        let end = match range.end {
            0 => pages.start,
            end => pages.start.saturating_add(page(end - 1) + 1).min(pages.end),
        };
        self.mark(pages.start.saturating_add(page(range.start)).min(end)..end);
    }

    /// Declares that devices write `buffer` from now on (RDMA, GPU, registered I/O buffers). The
    /// buffer is then captured in every version, and always inside publish. In a forked child this
    /// does nothing.
    ///
    /// Write protection does not stop a device, and a device would go on writing pages that a
    /// version has. So handed-over buffers are refused by their type.
    pub fn register_dma<T, D>(&mut self, buffer: impl Viewable<T, D, InPlace>) {
        if self.forked() {
            return;
        }
        let pages = self.pages_of(buffer.buffer_in(self));
        self.capture_always(pages);
    }

    fn capture_always(&mut self, pages: Range<usize>) {
        self.keep_from_gate(pages.clone());
        self.live.memory.pin(&pages);
        self.dirty.capture_always(pages);
    }

    /// Does what [`Producer::register_dma`] does for memory that was registered for devices since
    /// the last publish (`tcasm_core::sys::pinned`). Parts in handed-over buffers are left out.
    pub(crate) fn declare_announced(&mut self) {
        for part in self.live.announced.take() {
            let pages = self.live.span.pages_at(&part);
            for own in self.tracked_in(&pages) {
                self.capture_always(own);
            }
        }
    }

    /// Returns the parts of `pages` that tracked buffers have.
    fn tracked_in(&self, pages: &Range<usize>) -> Vec<Range<usize>> {
        let tracked = self
            .table
            .buffers
            .iter()
            .filter(|b| b.memory == Memory::Tracked);
        let parts = tracked.map(|b| b.pages.start.max(pages.start)..b.pages.end.min(pages.end));
        parts.filter(|part| !part.is_empty()).collect()
    }

    fn mark(&mut self, pages: Range<usize>) {
        self.keep_from_gate(pages.clone());
        // The `cow` tracker protects pages again by replacing them, and a device would still write
        // the old ones. So it must never do this here.
        if self.live.memory.kind() == TrackerKind::Cow {
            self.live.memory.tracker().pin(pages.clone());
        }
        let mut marked = PageSet::new(self.live.span.pages);
        marked.insert_range(pages);
        self.dirty.mark(&marked);
    }

    /// Makes publish capture these pages inside the call from now on, and shares none of them with
    /// a plane.
    fn keep_from_gate(&mut self, pages: Range<usize>) {
        if !off(Guard::SharedInPlace) {
            self.own_in_place(&pages);
        }
        if self.live.deferred.has(&pages) {
            self.end_capture();
            self.live.return_to_tracker(&pages);
        }
        self.dirty.add_devices(pages);
    }

    /// Returns the pages of a buffer, or none for a handle of another producer.
    fn pages_of<T, D>(&self, buffer: Buffer<T, D>) -> Range<usize> {
        let own = self
            .table
            .buffers
            .get(buffer.buffer)
            .filter(|_| buffer.region == self.id);
        own.map_or(0..0, BufferInfo::tracked)
    }
}
