//! Typed views of live memory, several at once.

use super::part::{Access, Buffers, LiveBytes, Request, to_read};
use crate::error::ViewError;
use crate::handles::{Buffer, Field, HandedOver, Raw};
use crate::producer::Producer;
use crate::table::Memory;
use crate::write_only::WriteOnly;
use ndarray::{ArrayView, ArrayViewMut, Dimension};
use std::marker::PhantomData;
use tcasm_core::field::{Element, RegionPtr};

impl Producer {
    /// Returns live memory of one field or buffer, to compute in. A field stands for the buffer
    /// that it is bound to: of a variable field all that there is room for, because buffers have no
    /// length. A handed-over buffer can only be read from publish until
    /// [`Producer::rewrite`].
    pub fn view_mut<T: Element, D: Dimension, M>(
        &mut self,
        of: impl Viewable<T, D, M>,
    ) -> Result<ArrayViewMut<'_, T, D>, ViewError> {
        let buffer = of.buffer_in(self);
        let [view] = self.views_mut([buffer])?;
        Ok(view)
    }

    /// Returns live memory of one field or buffer, to read.
    pub fn view<T: Element, D: Dimension, M>(
        &self,
        of: impl Viewable<T, D, M>,
    ) -> Result<ArrayView<'_, T, D>, ViewError> {
        let buffer = of.buffer_in(self);
        self.check_view(buffer.region)?;
        let desc = &self.table.buffers[buffer.buffer].desc;
        to_read(desc, self.memory(buffer.buffer)?)
    }

    /// Returns live memory of several buffers at once, each of them once:
    /// `producer.views_mut([a, b])`, or a tuple if types or accesses differ:
    /// `producer.views_mut((a, b.read()))`. The views borrow the producer, so nothing can be
    /// published while the program may still write.
    pub fn views_mut<B: Buffers>(&mut self, buffers: B) -> Result<B::Views<'_>, ViewError> {
        let mut parts = self.parts_mut(&buffers.requests())?.into_iter();
        buffers.views(&mut || parts.next().expect("as many parts as requests"))
    }

    /// Begins the next rewriting of a handed-over field or buffer.
    ///
    /// If the buffer was published it gets other pages, so the pages that a version has stay
    /// untouched. The content of the new pages is undefined, so every element must be written
    /// before the next publish, ghost layers included. The returned view cannot be read. Once all
    /// is written, [`Producer::view_mut`] and the others work as for any buffer, until the next
    /// publish. To read other buffers meanwhile, use [`Producer::views_mut`]:
    /// `producer.views_mut((now.read(), next.rewrite()))`.
    ///
    /// Never waits and never runs out of pages: publish reserves them, and skips where it cannot.
    pub fn rewrite<T: Element, D: Dimension>(
        &mut self,
        of: impl Viewable<T, D, HandedOver>,
    ) -> Result<ArrayViewMut<'_, WriteOnly<T>, D>, ViewError> {
        let buffer = of.buffer_in(self);
        let [view] = self.views_mut([buffer.rewrite()])?;
        Ok(view)
    }

    /// Returns raw structures, to change.
    pub fn raw_mut<T: bytemuck::Pod>(&mut self, raw: Raw<T>) -> Result<&mut [T], ViewError> {
        let (region, buffer) = (raw.region, raw.buffer);
        Ok(bytemuck::cast_slice_mut(self.part_mut(region, buffer)?))
    }

    /// Returns the address of structure `i`, which other structures can point at.
    pub fn raw_ptr<T: bytemuck::Pod>(
        &self,
        raw: Raw<T>,
        i: usize,
    ) -> Result<RegionPtr<T>, ViewError> {
        self.check_view(raw.region)?;
        let items: &[T] = bytemuck::cast_slice(self.memory(raw.buffer)?);
        Ok(items.get(i).map_or(RegionPtr::NULL, RegionPtr::to))
    }

    pub(super) fn check_view(&self, region: u64) -> Result<(), ViewError> {
        match (self.forked(), region == self.id) {
            (true, _) => Err(ViewError::Forked),
            (_, false) => Err(ViewError::Foreign),
            _ => Ok(()),
        }
    }

    /// Returns the address of live memory of a buffer.
    pub(super) fn address_of(&self, buffer: usize) -> Result<usize, ViewError> {
        let info = &self.table.buffers[buffer];
        match info.memory {
            Memory::Adopted(address) => Ok(address),
            Memory::Gone => Err(ViewError::Gone),
            _ => Ok(self.base() + info.desc.offset as usize),
        }
    }

    #[allow(unsafe_code)]
    pub(super) fn memory(&self, buffer: usize) -> Result<&[u8], ViewError> {
        let address = self.address_of(buffer)?;
        let len = self.table.buffers[buffer].desc.bytes() as usize;
        let at = std::ptr::with_exposed_provenance(address);
        // SAFETY: live memory of the buffer was mapped readable at that address, for at least that
        // many bytes. No other process can write it, and writing it in this process needs
        // `&mut self`. Of adopted arrays, whoever adopted it has promised this while views exist.
        Ok(unsafe { std::slice::from_raw_parts(at, len) })
    }

    /// Returns live memory of one buffer, to change in place.
    pub(super) fn part_mut(&mut self, region: u64, buffer: usize) -> Result<&mut [u8], ViewError> {
        let access = Access::Write;
        let request = Request {
            region,
            buffer,
            access,
        };
        let mut parts = self.parts_mut(&[request])?;
        Ok(parts.remove(0).1)
    }

    /// Prepares a buffer for the requested access.
    #[allow(unsafe_code)]
    fn prepare(&mut self, request: &Request) -> Result<(), ViewError> {
        let Memory::HandedOver(number) = self.table.buffers[request.buffer].memory else {
            return Ok(());
        };
        match request.access {
            Access::Read => Ok(()),
            Access::Write if self.store.lock().is_frozen(number) => Err(ViewError::Frozen),
            Access::Write => Ok(()),
            Access::Rewrite => {
                // SAFETY: live memory is where it was for `hand_over`. Views of it borrow the
                // producer, which is borrowed mutably here, so nothing is borrowed from the buffer.
                unsafe { self.store.lock().rewrite(number) }.map_err(ViewError::Rewrite)
            }
        }
    }

    /// Returns the descriptions and live memory of buffers, in the order of `requests`, after
    /// preparing each for its access. Memory that is requested for reading must not be written.
    /// Fails if a buffer is requested twice.
    #[allow(unsafe_code)]
    pub(super) fn parts_mut(
        &mut self,
        requests: &[Request],
    ) -> Result<Vec<LiveBytes<'_>>, ViewError> {
        for (i, request) in requests.iter().enumerate() {
            self.check_view(request.region)?;
            if requests[..i].iter().any(|r| r.buffer == request.buffer) {
                return Err(ViewError::Twice);
            }
        }
        for request in requests {
            self.prepare(request)?;
        }
        let part = |request: &Request| {
            let desc = &self.table.buffers[request.buffer].desc;
            let at = std::ptr::with_exposed_provenance_mut(self.address_of(request.buffer)?);
            // SAFETY: as in `memory`. The memory is also mapped writable, except for frozen
            // buffers, which `prepare` has refused unless they are only read. Buffers do not
            // overlap, each is taken once, and the result borrows the producer mutably. So this is
            // the only reference to these bytes.
            let bytes = unsafe { std::slice::from_raw_parts_mut(at, desc.bytes() as usize) };
            Ok((desc, bytes))
        };
        requests.iter().map(part).collect()
    }
}

/// A handle that can be viewed: a buffer, or a field, which stands for the buffer that it is bound
/// to.
pub trait Viewable<T, D, M> {
    /// Returns the buffer.
    #[doc(hidden)]
    fn buffer_in(self, producer: &Producer) -> Buffer<T, D, M>;
}

impl<T, D, M> Viewable<T, D, M> for Buffer<T, D, M> {
    fn buffer_in(self, _: &Producer) -> Buffer<T, D, M> {
        self
    }
}

impl<T, D, M> Viewable<T, D, M> for Field<T, D, M> {
    fn buffer_in(self, producer: &Producer) -> Buffer<T, D, M> {
        let bound = producer
            .table
            .fields
            .get(self.field)
            .filter(|_| self.region == producer.id);
        let buffer = bound.map_or(self.buffer, |f| f.buffer);
        Buffer {
            region: self.region,
            buffer,
            _type: PhantomData,
        }
    }
}
