//! Writes that no tracker sees: what the program says about them.

use crate::fields::Memory;
use crate::handles::{Buffer, InPlace};
use crate::producer::Producer;
use crate::views::Viewable;
use std::ops::Range;
use tcasm_core::sabotage::{Guard, off};
use tcasm_core::track::TrackerKind;

impl Producer {
    /// Say that `buffer` was written in a way that no tracker sees: by a device, or through another mapping. Here and below
    /// a field stands for the buffer that it is bound to, as in [`Producer::view_mut`]. In a forked child this does
    /// nothing: the region is the parent's.
    pub fn mark_dirty<T, D>(&mut self, buffer: impl Viewable<T, D, InPlace>) {
        if self.forked() {
            return;
        }
        let pages = self.pages_of(buffer.buffer_in(self));
        self.mark(pages);
    }

    /// As [`Producer::mark_dirty`], for bytes `range` of the buffer only.
    pub fn mark_dirty_bytes<T, D>(
        &mut self,
        buffer: impl Viewable<T, D, InPlace>,
        range: Range<usize>,
    ) {
        if self.forked() {
            return;
        }
        let pages = self.pages_of(buffer.buffer_in(self));
        let size = self.region.span.page_size;
        let end = pages
            .start
            .saturating_add(range.end.div_ceil(size))
            .min(pages.end);
        self.mark((pages.start + range.start / size).min(end)..end);
    }

    /// Devices write `buffer` from now on (RDMA, GPU, registered I/O buffers): it is captured in every version, and always
    /// inside publish. In a forked child this does nothing. (Protected pages stop no device. Nor do versions: so handed-over buffers, which a device would go on
    /// writing when a version has them, are refused by type.)
    pub fn register_dma<T, D>(&mut self, buffer: impl Viewable<T, D, InPlace>) {
        if self.forked() {
            return;
        }
        let pages = self.pages_of(buffer.buffer_in(self));
        self.keep_from_gate(pages.clone());
        self.region.tracker.pin(pages.clone());
        self.always.insert_range(pages);
    }

    fn mark(&mut self, pages: Range<usize>) {
        self.keep_from_gate(pages.clone());
        // The `cow` tracker re-arms by replacing pages, under a device that still writes the old one: never here.
        if self.region.tracker.kind() == TrackerKind::Cow {
            self.region.tracker.pin(pages.clone());
        }
        self.pending.insert_range(pages);
    }

    /// Capture these pages inside publish from now on, and let none rest on a plane.
    fn keep_from_gate(&mut self, pages: Range<usize>) {
        if !off(Guard::RestsInPlace) {
            self.own_in_place(&pages);
        }
        if !self.adaptive.has_later(&pages) {
            return self.devices.insert_range(pages);
        }
        self.end_capture();
        self.adaptive
            .expel(&pages, &mut self.region, &mut self.suspect);
        self.devices.insert_range(pages);
    }

    /// Pages of a buffer; none for a handle of another producer.
    fn pages_of<T, D>(&self, buffer: Buffer<T, D>) -> Range<usize> {
        let own = self
            .buffers
            .get(buffer.buffer)
            .filter(|b| buffer.region == self.id && b.memory == Memory::Tracked);
        own.map_or(0..0, |b| b.pages.clone())
    }
}
