//! Pointers that are stored in the region and mean the same in every process.

use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;

/// The address of a `T` in the region, as plain data. The region lies at one address in the producer, so a
/// pointer stored there can be followed by an observer: checked, by `View::deref`, wherever the view is mapped;
/// or as it stands, in a view at the producer's address.
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

    /// A pointer to `address`, an address in the producer's region.
    pub const fn new(address: u64) -> Self {
        Self {
            address,
            _type: PhantomData,
        }
    }

    /// A pointer to what `target` refers to (which should lie in the region: it is checked when followed).
    pub fn to(target: &T) -> Self {
        Self::new(std::ptr::from_ref(target) as u64)
    }

    /// The address in the producer.
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Whether this is the null pointer.
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

// SAFETY: a transparent u64; all zeros is the null pointer.
unsafe impl<T> Zeroable for RegionPtr<T> {}
// SAFETY: a transparent u64: any bits are a value, no padding, Copy, 'static when T is. It is never followed
// without a check of its range and alignment.
unsafe impl<T: 'static> Pod for RegionPtr<T> {}
// SAFETY: the address alone gives no access to anything.
unsafe impl<T> Send for RegionPtr<T> {}
// SAFETY: as for Send.
unsafe impl<T> Sync for RegionPtr<T> {}
