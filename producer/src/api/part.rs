//! The items that can be viewed, and how several of them are viewed at once.

use crate::error::ViewError;
use crate::handles::{Buffer, Read, Rewrite};
use crate::write_only::{WriteOnly, write_only};
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
    pub(super) region: u64,
    pub(super) buffer: usize,
    pub(super) access: Access,
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

pub(super) fn to_read<'a, T: Element, D: Dimension>(
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
pub(super) type LiveBytes<'a> = (&'a FieldDesc, &'a mut [u8]);

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
        memory: &mut dyn FnMut() -> LiveBytes<'a>,
    ) -> Result<Self::Views<'a>, ViewError>;
}

fn next_view<'a, P: Part>(
    memory: &mut dyn FnMut() -> LiveBytes<'a>,
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
        memory: &mut dyn FnMut() -> LiveBytes<'a>,
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
                memory: &mut dyn FnMut() -> LiveBytes<'a>,
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
