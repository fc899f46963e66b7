//! Handles of fields and buffers: small, copyable, typed by element and dimension.

use std::fmt;
use std::marker::PhantomData;

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident<$($p:ident),+> { $($field:ident: $t:ty),+ }) => {
        $(#[$doc])*
        pub struct $name<$($p),+> {
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
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))+.finish()
            }
        }
    };
}

handle! {
    /// Memory of the region for an array of `T` with dimensions `D`. It is seen by observers while it is bound to a field.
    Buffer<T, D> { buffer: usize }
}

handle! {
    /// A named field. As a buffer it stands for the one it was made with, whatever it is bound to later.
    Field<T, D> { field: usize, buffer: usize }
}

handle! {
    /// Named structures of plain data, always captured.
    Raw<T> { buffer: usize }
}

impl<T, D> Field<T, D> {
    /// The buffer that the field was made with.
    pub fn buffer(self) -> Buffer<T, D> {
        Buffer {
            region: self.region,
            buffer: self.buffer,
            _type: PhantomData,
        }
    }
}

impl<T, D> From<Field<T, D>> for Buffer<T, D> {
    fn from(field: Field<T, D>) -> Self {
        field.buffer()
    }
}
