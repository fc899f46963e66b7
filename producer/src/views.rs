//! Typed views of live memory, several at once.

use crate::error::ViewError;
use crate::handles::{Buffer, Field, Raw, Read, Rewrite};
use crate::handover::{WriteOnly, write_only};
use crate::producer::Producer;
use ndarray::{ArrayBase, ArrayView, ArrayViewMut, Axis, Dimension, IxDyn, RawData};
use tcasm_core::field::{self, Element, FieldDesc};

mod sealed {
    /// Keeps other crates from implementing a trait whose functions get memory that only this crate
    /// can hand out.
    pub trait Sealed {}
}

/// An item that can be viewed together with others: a [`Buffer`], to compute in; [`Read`], to read
/// only; [`Rewrite`], to write anew.
pub trait Part: sealed::Sealed {
    /// The type of the view.
    type View<'a>;

    /// Returns the buffer, and how it is accessed.
    #[doc(hidden)]
    fn request(&self) -> Request;

    /// Returns the view of the memory in `bytes`.
    #[doc(hidden)]
    fn view<'a>(desc: &FieldDesc, bytes: &'a mut [u8]) -> Result<Self::View<'a>, ViewError>;
}

/// A buffer, by its region and number, and how it is accessed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub(crate) region: u64,
    pub(crate) buffer: usize,
    pub(crate) access: Access,
}

/// How a viewed buffer is accessed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The buffer is read.
    Read,
    /// The buffer is changed in place.
    Write,
    /// The next rewriting of the buffer begins.
    Rewrite,
}

macro_rules! part {
    ($name:ident<T, D $(, $m:ident)?>, $access:ident, $view:ty, $make:expr) => {
        impl<T: Element, D: Dimension $(, $m)?> sealed::Sealed for $name<T, D $(, $m)?> {}

        impl<T: Element, D: Dimension $(, $m)?> Part for $name<T, D $(, $m)?> {
            type View<'a> = $view;

            fn request(&self) -> Request {
                Request {
                    region: self.region,
                    buffer: self.buffer,
                    access: Access::$access,
                }
            }

            fn view<'a>(desc: &FieldDesc, bytes: &'a mut [u8]) -> Result<$view, ViewError> {
                $make(desc, bytes)
            }
        }
    };
}

part!(Buffer<T, D, M>, Write, ArrayViewMut<'a, T, D>, to_write);
part!(Read<T, D, M>, Read, ArrayView<'a, T, D>, to_read);
part!(Rewrite<T, D>, Rewrite, ArrayViewMut<'a, WriteOnly<T>, D>, to_rewrite);

fn to_write<'a, T: Element, D: Dimension>(
    desc: &FieldDesc,
    bytes: &'a mut [u8],
) -> Result<ArrayViewMut<'a, T, D>, ViewError> {
    Ok(of_dimension(field::view_mut::<T>(desc, bytes)?))
}

fn to_read<'a, T: Element, D: Dimension>(
    desc: &FieldDesc,
    bytes: &'a [u8],
) -> Result<ArrayView<'a, T, D>, ViewError> {
    Ok(of_dimension(field::view::<T>(desc, bytes)?))
}

fn to_rewrite<'a, T: Element, D: Dimension>(
    desc: &FieldDesc,
    bytes: &'a mut [u8],
) -> Result<ArrayViewMut<'a, WriteOnly<T>, D>, ViewError> {
    to_write(desc, bytes).map(write_only)
}

/// The description of a buffer, and its live memory.
type PartMemory<'a> = (&'a FieldDesc, &'a mut [u8]);

/// A set of buffers that can be viewed at once: an array or a tuple of up to eight [`Part`]s.
pub trait Buffers: sealed::Sealed {
    /// The types of the views.
    type Views<'a>;

    /// Returns the buffers, and how they are accessed.
    #[doc(hidden)]
    fn requests(&self) -> Vec<Request>;

    /// Returns views of the memory that `memory` returns, which it does in the order of `requests`.
    #[doc(hidden)]
    fn views<'a>(
        &self,
        memory: &mut dyn FnMut() -> PartMemory<'a>,
    ) -> Result<Self::Views<'a>, ViewError>;
}

fn next_view<'a, P: Part>(
    memory: &mut dyn FnMut() -> PartMemory<'a>,
) -> Result<P::View<'a>, ViewError> {
    let (desc, bytes) = memory();
    P::view(desc, bytes)
}

/// Returns the array with the dimension of its handle. (A vector of one component is stored as a
/// scalar, without that axis.)
fn of_dimension<S: RawData, D: Dimension>(array: ArrayBase<S, IxDyn>) -> ArrayBase<S, D> {
    let last = Axis(array.ndim());
    let array = if D::NDIM == Some(array.ndim() + 1) {
        array.insert_axis(last)
    } else {
        array
    };
    array
        .into_dimensionality::<D>()
        .expect("a handle's dimension is that of its buffer")
}

impl<P: Part, const N: usize> sealed::Sealed for [P; N] {}

impl<P: Part, const N: usize> Buffers for [P; N] {
    type Views<'a> = [P::View<'a>; N];

    fn requests(&self) -> Vec<Request> {
        self.iter().map(P::request).collect()
    }

    fn views<'a>(
        &self,
        memory: &mut dyn FnMut() -> PartMemory<'a>,
    ) -> Result<Self::Views<'a>, ViewError> {
        let views = (0..N)
            .map(|_| next_view::<P>(memory))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(views
            .try_into()
            .unwrap_or_else(|_| unreachable!("N views were made")))
    }
}

macro_rules! tuple {
    ($($p:ident $i:tt),+) => {
        impl<$($p: Part),+> sealed::Sealed for ($($p,)+) {}

        impl<$($p: Part),+> Buffers for ($($p,)+) {
            type Views<'a> = ($($p::View<'a>,)+);

            fn requests(&self) -> Vec<Request> {
                vec![$(self.$i.request()),+]
            }

            fn views<'a>(
                &self,
                memory: &mut dyn FnMut() -> PartMemory<'a>,
            ) -> Result<Self::Views<'a>, ViewError> {
                Ok(($(next_view::<$p>(memory)?,)+))
            }
        }
    };
}

tuple!(A 0);
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, E 3);
tuple!(A 0, B 1, C 2, E 3, F 4);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6);
tuple!(A 0, B 1, C 2, E 3, F 4, G 5, H 6, I 7);

impl Producer {
    /// Returns live memory of one field or buffer, to compute in. A field stands for the buffer
    /// that it is bound to. A handed-over buffer can only be read from publish until
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
        let desc = &self.buffers[buffer.buffer].desc;
        to_read(desc, self.memory(buffer.buffer))
    }

    /// Returns live memory of several buffers at once, each of them once:
    /// `producer.views_mut([a, b])`, or a tuple if types or accesses differ:
    /// `producer.views_mut((a, b.read()))`. The views borrow the producer, so nothing can be
    /// published while the program may still write.
    pub fn views_mut<B: Buffers>(&mut self, buffers: B) -> Result<B::Views<'_>, ViewError> {
        let mut parts = self.parts_mut(&buffers.requests())?.into_iter();
        buffers.views(&mut || parts.next().expect("as many parts as requests"))
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
    ) -> Result<crate::RegionPtr<T>, ViewError> {
        self.check_view(raw.region)?;
        let items: &[T] = bytemuck::cast_slice(self.memory(raw.buffer));
        Ok(items
            .get(i)
            .map_or(crate::RegionPtr::NULL, crate::RegionPtr::to))
    }

    pub(crate) fn check_view(&self, region: u64) -> Result<(), ViewError> {
        match (self.forked(), region == self.id) {
            (true, _) => Err(ViewError::Forked),
            (_, false) => Err(ViewError::Foreign),
            _ => Ok(()),
        }
    }

    #[allow(unsafe_code)]
    pub(crate) fn memory(&self, buffer: usize) -> &[u8] {
        let info = &self.buffers[buffer];
        let at = info.desc.offset as usize;
        // SAFETY: live memory of the buffer was mapped readable at that offset, for at least that
        // many bytes. No other process can write it, and writing it in this process needs
        // `&mut self`.
        unsafe { std::slice::from_raw_parts(self.live.ptr().add(at), info.desc.bytes() as usize) }
    }

    /// Returns live memory of one buffer, to change in place.
    pub(crate) fn part_mut(&mut self, region: u64, buffer: usize) -> Result<&mut [u8], ViewError> {
        let access = Access::Write;
        let request = Request {
            region,
            buffer,
            access,
        };
        let mut parts = self.parts_mut(&[request])?;
        Ok(parts.remove(0).1)
    }

    /// Returns the descriptions and live memory of buffers, in the order of `requests`, after
    /// preparing each for its access. Memory that is requested for reading must not be written.
    /// Fails if a buffer is requested twice.
    #[allow(unsafe_code)]
    fn parts_mut(&mut self, requests: &[Request]) -> Result<Vec<PartMemory<'_>>, ViewError> {
        for (i, request) in requests.iter().enumerate() {
            self.check_view(request.region)?;
            if requests[..i].iter().any(|r| r.buffer == request.buffer) {
                return Err(ViewError::Twice);
            }
        }
        for request in requests {
            self.prepare(request)?;
        }
        let live = self.live.ptr();
        let part = |request: &Request| {
            let desc = &self.buffers[request.buffer].desc;
            let (at, len) = (desc.offset as usize, desc.bytes() as usize);
            // SAFETY: as in `memory`. The memory is also mapped writable, except for frozen
            // buffers, which `prepare` has refused unless they are only read. Buffers do not
            // overlap, each is taken once, and the result borrows the producer mutably. So this is
            // the only reference to these bytes.
            (desc, unsafe {
                std::slice::from_raw_parts_mut(live.add(at), len)
            })
        };
        Ok(requests.iter().map(part).collect())
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
            .fields
            .get(self.field)
            .filter(|_| self.region == producer.id);
        let buffer = bound.map_or(self.buffer, |f| f.buffer);
        Buffer {
            region: self.region,
            buffer,
            _type: std::marker::PhantomData,
        }
    }
}
