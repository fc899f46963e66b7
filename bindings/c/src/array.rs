//! The structure in which C gets a field: its memory and its layout.

use crate::border::{Growing, Plain};
use crate::constants::{TCASM_MAX_RANK, centring_number, dtype_number, order_number};
use crate::status::Failure;
use std::ffi::{c_int, c_void};
use tcasm_core::field::{FieldDesc, Kind};

/// A field, or a part of one, in memory. Set `size` to `sizeof(tcasm_array)` before the call
/// (`tcasm_array a = TCASM_INIT(tcasm_array);`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct tcasm_array {
    /// The size of this structure in bytes. The caller sets it.
    pub size: usize,
    /// The first element. Null if there are no elements.
    pub data: *mut c_void,
    /// The bytes from the first to the end of the last element.
    pub bytes: usize,
    /// The type of the elements: `TCASM_F64` and the like.
    pub dtype: c_int,
    /// The number of dimensions, that of the components of a vector included.
    pub rank: c_int,
    /// The extent of each dimension, ghost layers included.
    pub shape: [usize; TCASM_MAX_RANK],
    /// The distance between neighbours along each dimension, in bytes.
    pub strides: [usize; TCASM_MAX_RANK],
    /// The ghost layers before and after the interior, for each dimension.
    pub ghosts: [[usize; 2]; TCASM_MAX_RANK],
    /// The components of a point, which are the last dimension. 1 for scalars, which have no such
    /// dimension.
    pub components: usize,
    /// `TCASM_ORDER_C` or `TCASM_ORDER_F`.
    pub order: c_int,
    /// `TCASM_ON_POINTS`, `TCASM_IN_CELLS` or `TCASM_NO_CENTRING`.
    pub centring: c_int,
    /// The most elements that there is room for along the slowest dimension of a field whose length
    /// may change, and 0 for other fields.
    pub capacity: usize,
    /// The extents of the global array of which this is a block, without components. Zeros if it is
    /// no block.
    pub global_shape: [usize; TCASM_MAX_RANK],
    /// The index there of the first value that is no ghost.
    pub global_offset: [usize; TCASM_MAX_RANK],
    /// For structures: the alignment of one in bytes. Then the dtype is `TCASM_U8`, and the last
    /// dimension is the bytes of a structure. 0 for arrays.
    pub alignment: usize,
}

impl Plain for tcasm_array {}
impl Growing for tcasm_array {
    const FIRST: usize = 832;
}

impl tcasm_array {
    /// Describes the field, whose memory begins at `data`.
    pub fn new(desc: &FieldDesc, data: *mut c_void) -> Result<Self, Failure> {
        let shape = desc.array_shape();
        let item = desc.dtype.size();
        let global = desc.global.as_ref();
        let strides: Vec<usize> = desc.array_strides().iter().map(|n| n * item).collect();
        if shape.len() > TCASM_MAX_RANK {
            return Err(Failure::other(format!(
                "field {:?} has {} dimensions, and a tcasm_array at most {TCASM_MAX_RANK}",
                desc.name,
                shape.len()
            )));
        }
        let mut array = tcasm_array {
            size: size_of::<Self>(),
            data,
            bytes: desc.bytes() as usize,
            dtype: dtype_number(desc.dtype),
            rank: shape.len() as c_int,
            shape: padded(&shape),
            strides: padded(&strides),
            ghosts: padded(&desc.ghosts),
            components: desc.components,
            order: order_number(desc.order),
            centring: centring_number(desc.centering),
            capacity: desc.capacity.unwrap_or(0),
            global_shape: padded(global.map_or(&[], |g| &g.shape)),
            global_offset: padded(global.map_or(&[], |g| &g.offset)),
            alignment: match desc.kind {
                Kind::Raw { align, .. } => align,
                Kind::Array => 0,
            },
        };
        if array.bytes == 0 {
            array.data = std::ptr::null_mut();
        }
        Ok(array)
    }
}

/// Returns the values, followed by the default as often as there is room.
pub fn padded<T: Copy + Default>(values: &[T]) -> [T; TCASM_MAX_RANK] {
    let mut all = [T::default(); TCASM_MAX_RANK];
    for (to, from) in all.iter_mut().zip(values) {
        *to = *from;
    }
    all
}
