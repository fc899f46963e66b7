//! Typed views of live memory, several at once.

use crate::error::ViewError;
use crate::handles::{Buffer, Field, Raw};
use crate::producer::Producer;
use ndarray::{ArrayBase, ArrayView, ArrayViewMut, Axis, Dimension, IxDyn, RawData};
use tcasm_core::field::{self, Element};

/// A set of buffers that can be viewed at once: arrays of buffers, and tuples of up to six with types of their own.
pub trait Buffers {
    /// The views.
    type Views<'a>;

    /// Numbers of the buffers, with the regions they belong to.
    #[doc(hidden)]
    fn handles(&self) -> Vec<(u64, usize)>;

    /// Views of the memory in `bytes`, in the order of `handles`.
    #[doc(hidden)]
    fn views<'a>(
        &self,
        memory: &mut dyn FnMut() -> (&'a field::FieldDesc, &'a mut [u8]),
    ) -> Result<Self::Views<'a>, ViewError>;
}

fn typed<'a, T: Element, D: Dimension>(
    (desc, bytes): (&'a field::FieldDesc, &'a mut [u8]),
) -> Result<ArrayViewMut<'a, T, D>, ViewError> {
    Ok(of_dimension(field::view_mut::<T>(desc, bytes)?))
}

/// The array with the dimension of its handle. (A vector of one component is stored as a scalar, without that axis.)
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

impl<T: Element, D: Dimension, const N: usize> Buffers for [Buffer<T, D>; N] {
    type Views<'a> = [ArrayViewMut<'a, T, D>; N];

    fn handles(&self) -> Vec<(u64, usize)> {
        self.iter().map(|b| (b.region, b.buffer)).collect()
    }

    fn views<'a>(
        &self,
        memory: &mut dyn FnMut() -> (&'a field::FieldDesc, &'a mut [u8]),
    ) -> Result<Self::Views<'a>, ViewError> {
        let views = (0..N)
            .map(|_| typed(memory()))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(views
            .try_into()
            .unwrap_or_else(|_| unreachable!("N views were made")))
    }
}

macro_rules! tuple {
    ($($t:ident $d:ident $i:tt),+) => {
        impl<$($t: Element, $d: Dimension),+> Buffers for ($(Buffer<$t, $d>,)+) {
            type Views<'a> = ($(ArrayViewMut<'a, $t, $d>,)+);

            fn handles(&self) -> Vec<(u64, usize)> {
                vec![$((self.$i.region, self.$i.buffer)),+]
            }

            fn views<'a>(&self, memory: &mut dyn FnMut() -> (&'a field::FieldDesc, &'a mut [u8])) -> Result<Self::Views<'a>, ViewError> {
                Ok(($(typed::<$t, $d>(memory())?,)+))
            }
        }
    };
}

tuple!(A AD 0);
tuple!(A AD 0, B BD 1);
tuple!(A AD 0, B BD 1, C CD 2);
tuple!(A AD 0, B BD 1, C CD 2, E ED 3);
tuple!(A AD 0, B BD 1, C CD 2, E ED 3, F FD 4);
tuple!(A AD 0, B BD 1, C CD 2, E ED 3, F FD 4, G GD 5);

impl Producer {
    /// Live memory of one field or buffer, to compute in. A field stands for the buffer that it is bound to.
    pub fn view_mut<T: Element, D: Dimension>(
        &mut self,
        of: impl Viewable<T, D>,
    ) -> Result<ArrayViewMut<'_, T, D>, ViewError> {
        let buffer = of.buffer_in(self);
        let [view] = self.views_mut([buffer])?;
        Ok(view)
    }

    /// Live memory of one field or buffer, to read.
    pub fn view<T: Element, D: Dimension>(
        &self,
        of: impl Viewable<T, D>,
    ) -> Result<ArrayView<'_, T, D>, ViewError> {
        let buffer = of.buffer_in(self);
        self.check_view(buffer.region)?;
        let desc = &self.buffers[buffer.buffer].desc;
        Ok(of_dimension(field::view::<T>(
            desc,
            self.memory(buffer.buffer),
        )?))
    }

    /// Live memory of several buffers at once, each of them once: `producer.views_mut([a, b])`, or a tuple where types
    /// differ. The views borrow the producer, so nothing can be published while somebody may still write.
    pub fn views_mut<B: Buffers>(&mut self, buffers: B) -> Result<B::Views<'_>, ViewError> {
        let handles = buffers.handles();
        for (i, (region, buffer)) in handles.iter().enumerate() {
            self.check_view(*region)?;
            if handles[..i].iter().any(|(_, b)| b == buffer) {
                return Err(ViewError::Twice);
            }
        }
        let mut next = handles.iter().map(|(_, b)| *b);
        let producer: &Producer = self;
        buffers.views(&mut || {
            let buffer = next.next().expect("as many views as handles");
            (&producer.buffers[buffer].desc, producer.memory_mut(buffer))
        })
    }

    /// Raw structures, to change.
    pub fn raw_mut<T: bytemuck::Pod>(&mut self, raw: Raw<T>) -> Result<&mut [T], ViewError> {
        self.check_view(raw.region)?;
        Ok(bytemuck::cast_slice_mut(self.memory_mut(raw.buffer)))
    }

    /// The address of structure `i`, for others to point at.
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

    fn check_view(&self, region: u64) -> Result<(), ViewError> {
        match (self.forked(), region == self.id) {
            (true, _) => Err(ViewError::Forked),
            (_, false) => Err(ViewError::Foreign),
            _ => Ok(()),
        }
    }

    #[allow(unsafe_code)]
    fn memory(&self, buffer: usize) -> &[u8] {
        let info = &self.buffers[buffer];
        let at = info.desc.offset as usize;
        // SAFETY: live memory of a buffer that was mapped readable at that offset for at least that many bytes, private to
        // this process; writing it needs `&mut self`.
        unsafe { std::slice::from_raw_parts(self.region.ptr().add(at), info.desc.bytes() as usize) }
    }

    /// Only for callers that hold `&mut self` and ask for each buffer once.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    fn memory_mut(&self, buffer: usize) -> &mut [u8] {
        let info = &self.buffers[buffer];
        let at = info.desc.offset as usize;
        // SAFETY: as in `memory`, and mapped writable; buffers lie apart from each other, and the callers hold `&mut self`
        // and take each buffer once, so this is the only reference to its bytes.
        unsafe {
            std::slice::from_raw_parts_mut(self.region.ptr().add(at), info.desc.bytes() as usize)
        }
    }
}

/// What can be viewed: a buffer, or a field through the buffer it is bound to.
pub trait Viewable<T, D> {
    /// The buffer.
    #[doc(hidden)]
    fn buffer_in(self, producer: &Producer) -> Buffer<T, D>;
}

impl<T, D> Viewable<T, D> for Buffer<T, D> {
    fn buffer_in(self, _: &Producer) -> Buffer<T, D> {
        self
    }
}

impl<T, D> Viewable<T, D> for Field<T, D> {
    fn buffer_in(self, producer: &Producer) -> Buffer<T, D> {
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
