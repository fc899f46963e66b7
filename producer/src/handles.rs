//! Handles of fields and buffers. They are small, can be copied, and are typed by element and
//! dimension.

use std::fmt;
use std::marker::PhantomData;

macro_rules! handle {
    (
        $(#[$doc:meta])*
        $name:ident<$($p:ident $(= $default:ty)?),+> { $($field:ident: $t:ty),+ }
    ) => {
        $(#[$doc])*
        pub struct $name<$($p $(= $default)?),+> {
            pub(crate) region: u64,
            $(pub(crate) $field: $t,)+
            pub(crate) _type: PhantomData<fn() -> ($($p,)+)>,
        }
        impl<$($p),+> Clone for $name<$($p),+> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<$($p),+> Copy for $name<$($p),+> {}
        impl<$($p),+> PartialEq for $name<$($p),+> {
            fn eq(&self, other: &Self) -> bool {
                self.region == other.region $(&& self.$field == other.$field)+
            }
        }
        impl<$($p),+> fmt::Debug for $name<$($p),+> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &self.$field))+
                    .finish()
            }
        }
    };
}

/// Marks fields and buffers that are computed in place: written pages are captured.
#[derive(Debug)]
pub enum InPlace {}

/// Marks fields and buffers that are handed over: they are rewritten whole and captured without a
/// copy. See [`FieldBuilder::handed_over`](crate::FieldBuilder::handed_over).
#[derive(Debug)]
pub enum HandedOver {}

handle! {
    /// Memory of the region for an array of `T` with dimensions `D`. Observers see it while it is
    /// bound to a field.
    Buffer<T, D, M = InPlace> { buffer: usize }
}

handle! {
    /// A named field. Where a buffer is asked for, it stands for the buffer that it was made with,
    /// whatever it is bound to later.
    Field<T, D, M = InPlace> { field: usize, buffer: usize }
}

handle! {
    /// Named structures of plain data, always captured.
    Raw<T> { buffer: usize }
}

handle! {
    /// A buffer that is viewed for reading only: for
    /// [`Producer::views_mut`](crate::Producer::views_mut).
    Read<T, D, M = InPlace> { buffer: usize }
}

handle! {
    /// A buffer whose next rewriting begins: for
    /// [`Producer::views_mut`](crate::Producer::views_mut).
    Rewrite<T, D> { buffer: usize }
}

/// A named mesh, which fields can be [on](crate::FieldBuilder::on).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshHandle {
    pub(crate) region: u64,
    pub(crate) mesh: usize,
}

impl<T, D, M> Buffer<T, D, M> {
    /// Returns the buffer for reading, while other buffers are written:
    /// `producer.views_mut((now.read(), next))`.
    pub fn read(self) -> Read<T, D, M> {
        Read {
            region: self.region,
            buffer: self.buffer,
            _type: PhantomData,
        }
    }
}

impl<T, D> Buffer<T, D, HandedOver> {
    /// Returns the buffer for its next rewriting, while other buffers are viewed:
    /// `producer.views_mut((now.read(), next.rewrite()))`. To rewrite one buffer alone there is
    /// [`Producer::rewrite`](crate::Producer::rewrite).
    pub fn rewrite(self) -> Rewrite<T, D> {
        Rewrite {
            region: self.region,
            buffer: self.buffer,
            _type: PhantomData,
        }
    }
}

impl<T, D, M> Field<T, D, M> {
    /// Returns the buffer that the field was made with.
    pub fn buffer(self) -> Buffer<T, D, M> {
        Buffer {
            region: self.region,
            buffer: self.buffer,
            _type: PhantomData,
        }
    }
}

impl<T, D, M> From<Field<T, D, M>> for Buffer<T, D, M> {
    fn from(field: Field<T, D, M>) -> Self {
        field.buffer()
    }
}
