//! Pointers that are stored in the region and have the same meaning in every process.

use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;

/// The address of a `T` in the region, as plain data.
///
/// The region lies at a fixed address in the producer, so an observer can follow a pointer that is
/// stored there. `View::deref` follows it with a check, wherever the view is mapped. In a view at
/// the producer's address it can also be used as it is.
#[repr(transparent)]
pub struct RegionPtr<T> {
    address: u64,
    _type: PhantomData<*const T>,
}

impl<T> RegionPtr<T> {
    /// The null pointer.
    pub const NULL: Self = Self {
        address: 0,
        _type: PhantomData,
    };

    /// Returns a pointer to `address`, an address in the producer's region.
    pub const fn new(address: u64) -> Self {
        Self {
            address,
            _type: PhantomData,
        }
    }

    /// Returns a pointer to `target`, which should lie in the region. This is checked when the
    /// pointer is followed.
    pub fn to(target: &T) -> Self {
        Self::new(std::ptr::from_ref(target) as u64)
    }

    /// Returns the address in the producer.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Returns true if this is the null pointer.
    pub const fn is_null(self) -> bool {
        self.address == 0
    }
}

impl<T> Clone for RegionPtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for RegionPtr<T> {}
impl<T> PartialEq for RegionPtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}
impl<T> std::fmt::Debug for RegionPtr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RegionPtr({:#x})", self.address)
    }
}

// SAFETY: the type is a transparent u64, for which all zeros is a value: the null pointer.
unsafe impl<T> Zeroable for RegionPtr<T> {}
// SAFETY: the type is a transparent u64. Any bits are a value, there is no padding, it is Copy, and
// it is 'static if T is. It is never followed without a check of its range and alignment.
unsafe impl<T: 'static> Pod for RegionPtr<T> {}
// SAFETY: the address alone gives no access to memory.
unsafe impl<T> Send for RegionPtr<T> {}
// SAFETY: as for Send.
unsafe impl<T> Sync for RegionPtr<T> {}
