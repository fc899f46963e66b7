//! Parts of fields as fields of their own: a sub-volume, every n-th value, or values of half the
//! size. Exports store them.
//!
//! A part has no ghost layers. Its mesh says where its values lie, so that it can be shown together
//! with the whole field. For that an index keeps its axis, with extent 1. (In a slice for numpy the
//! axis would be dropped.)

use crate::dynamic::AnalyticsError;
use crate::slice::{Selection, SliceError};
use crate::taken::Taken;
use ndarray::{ArrayViewD, Axis, IxDyn, Slice, SliceInfoElem};
use num_complex::Complex;
use tcasm_core::field::{
    self, ArrayError, Centering, DType, Element, FieldDesc, Kind, Mesh, Order,
};
use tcasm_core::with_dtype;

/// The part of fields that is taken, and the type of its values.
///
/// ```
/// use tcasm_analytics::Extract;
/// use tcasm_core::field::{DType, FieldDesc};
/// let desc = FieldDesc::new("t", DType::F64, &[2, 4]);
/// let data: Vec<f64> = (0..8).map(f64::from).collect();
/// let extract = Extract { selection: "1".parse().unwrap(), stride: 2, single: true };
/// let part = extract.describe([&desc]).unwrap().remove(0);
/// assert_eq!((part.shape, part.dtype), (vec![1, 2], DType::F32));
/// assert_eq!(part.mesh.unwrap().origin, [0.0, 1.0, 0.0]); // x, y, z
/// let values = extract.values(&desc, bytemuck::cast_slice(&data)).unwrap();
/// assert_eq!(values, [4f32.to_le_bytes(), 6f32.to_le_bytes()].concat());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// The indices along each axis, which do not count ghost layers. Steps must be at least 1.
    pub selection: Selection,
    /// Of these indices, every `stride`-th is taken (1: all; 0 is taken for 1).
    pub stride: usize,
    /// True if numbers of 64 bits with a fraction are stored as those of 32 bits: `f64` as `f32`,
    /// and complex numbers of the one as those of the other. Larger numbers become infinite.
    pub single: bool,
}

impl Default for Extract {
    fn default() -> Self {
        Extract {
            selection: Selection::all(),
            stride: 1,
            single: false,
        }
    }
}

impl Extract {
    /// Returns true if all of `desc` is taken as it is, with its ghost layers.
    pub fn is_whole(&self, desc: &FieldDesc) -> bool {
        self.is_all() && self.dtype(desc) == desc.dtype
    }

    /// Returns the descriptions of the parts of `fields`, which are stored together. If a part is
    /// taken and no field has a mesh, each part gets the mesh of its indices.
    pub fn describe<'f>(
        &self,
        fields: impl IntoIterator<Item = &'f FieldDesc> + Clone,
    ) -> Result<Vec<FieldDesc>, AnalyticsError> {
        let placed = fields
            .clone()
            .into_iter()
            .any(|desc| desc.usable_mesh().is_some());
        let default = (!placed).then(Mesh::default);
        let parts = fields.into_iter().map(|desc| self.part(desc, default));
        parts.collect()
    }

    /// Returns the indices that are taken along each axis of the interior of `desc`.
    pub fn taken(&self, desc: &FieldDesc) -> Result<Vec<Taken>, AnalyticsError> {
        let slices = self.slices(desc)?;
        Ok(slices.iter().map(Taken::of).collect())
    }

    /// Returns the extract that takes the indices `taken` along the axes of a field, which must
    /// have them, and the same type of values as this one.
    ///
    /// ```
    /// use tcasm_analytics::Extract;
    /// use tcasm_core::field::{DType, FieldDesc};
    /// let extract = Extract { selection: "1:,3".parse().unwrap(), stride: 2, single: false };
    /// // The rows of a table are cut like the first axis of a field.
    /// let mut taken = extract.taken(&FieldDesc::new("t", DType::F64, &[4, 8])).unwrap();
    /// let rows = extract.with_indices(&[taken.remove(0)]);
    /// let table = FieldDesc::new("rows", DType::U8, &[4]);
    /// assert_eq!(rows.values(&table, &[10, 11, 12, 13]).unwrap(), [11, 13]);
    /// ```
    pub fn with_indices(&self, taken: &[Taken]) -> Extract {
        Extract {
            selection: Selection::new(taken.iter().map(|along| along.pick())),
            stride: 1,
            single: self.single,
        }
    }

    /// Returns the values of the part of `desc`, whose bytes are `bytes`, as they lie in memory.
    pub fn values(&self, desc: &FieldDesc, bytes: &[u8]) -> Result<Vec<u8>, AnalyticsError> {
        match (desc.dtype, self.dtype(desc)) {
            (DType::F64, DType::F32) => self.gather(desc, bytes, |v: f64| v as f32),
            (DType::C64, DType::C32) => self.gather(desc, bytes, |v: Complex<f64>| {
                Complex::new(v.re as f32, v.im as f32)
            }),
            (dtype, _) => with_dtype!(dtype, T => self.gather(desc, bytes, |v: T| v)),
        }
    }

    /// Returns true if all indices are taken.
    fn is_all(&self) -> bool {
        self.selection.is_all() && self.stride <= 1
    }

    /// Returns the dtype of the part of `desc`.
    fn dtype(&self, desc: &FieldDesc) -> DType {
        match desc.dtype {
            DType::F64 if self.single => DType::F32,
            DType::C64 if self.single => DType::C32,
            dtype => dtype,
        }
    }

    /// Returns the description of the part of `desc`. If a part is taken of a field without a mesh,
    /// its indices are those of the mesh `default`.
    pub fn part(
        &self,
        desc: &FieldDesc,
        default: Option<Mesh>,
    ) -> Result<FieldDesc, AnalyticsError> {
        let mut part = FieldDesc {
            dtype: self.dtype(desc),
            ..desc.clone()
        };
        if self.is_all() {
            return Ok(part);
        }
        let slices = self.slices(desc)?;
        part.shape = slices.iter().map(|slice| Taken::of(slice).count).collect();
        part.ghosts = vec![[0, 0]; slices.len()];
        part.global = None; // a part of a block may leave values out
        let mesh = desc.usable_mesh().or(default);
        part.mesh = mesh.map(|mesh| placed(mesh, desc, &slices));
        Ok(part)
    }

    /// Returns the indices that are taken along each axis of the interior of `desc`.
    fn slices(&self, desc: &FieldDesc) -> Result<Vec<Slice>, AnalyticsError> {
        if let Kind::Raw { type_name, .. } = &desc.kind {
            let (name, type_name) = (desc.name.clone(), type_name.clone());
            return Err(ArrayError::NotAnArray { name, type_name }.into());
        }
        let failed = |source| AnalyticsError::Slice {
            name: desc.name.clone(),
            source,
        };
        let elems = self.selection.elems(&desc.interior_shape());
        let elems = elems.map_err(failed)?.into_iter().enumerate();
        let slices = elems.map(|(axis, elem)| self.slice(axis, elem));
        slices.collect::<Result<_, _>>().map_err(failed)
    }

    fn slice(&self, axis: usize, elem: SliceInfoElem) -> Result<Slice, SliceError> {
        let stride = isize::try_from(self.stride.max(1)).unwrap_or(isize::MAX);
        match elem {
            SliceInfoElem::Index(at) => Ok(Slice::new(at, Some(at + 1), 1)),
            SliceInfoElem::Slice { step, .. } if step < 0 => {
                Err(SliceError::Backwards { axis, step })
            }
            SliceInfoElem::Slice { start, end, step } => {
                Ok(Slice::new(start, end, step.saturating_mul(stride)))
            }
            SliceInfoElem::NewAxis => unreachable!("no pick is a new axis"),
        }
    }

    /// Converts the values of the part and returns their bytes.
    fn gather<T: Element, U: Element>(
        &self,
        desc: &FieldDesc,
        bytes: &[u8],
        convert: impl Fn(T) -> U,
    ) -> Result<Vec<u8>, AnalyticsError> {
        desc.check()?;
        let mut values = field::view::<T>(desc, bytes)?;
        if !self.is_all() {
            values = values.slice_move(field::interior(desc).as_slice());
            for (axis, slice) in self.slices(desc)?.into_iter().enumerate() {
                values.slice_axis_inplace(Axis(axis), slice);
            }
        }
        let values = slowest_first(desc, values);
        let size = size_of::<U>();
        let mut out = vec![0; values.len() * size];
        let from = values.rows().into_iter().flatten();
        for (to, value) in out.chunks_exact_mut(size).zip(from) {
            to.copy_from_slice(bytemuck::bytes_of(&convert(*value)));
        }
        Ok(out)
    }
}

/// Returns the mesh of the indices `slices` of `desc`, whose own mesh is `mesh`. The value of a
/// cell lies in its middle, so with a step the first cell of the part begins before that of the
/// field.
fn placed(mut mesh: Mesh, desc: &FieldDesc, slices: &[Slice]) -> Mesh {
    let middle = match desc.centering {
        Centering::Point | Centering::None => 0.0,
        Centering::Cell => 0.5,
    };
    for (axis, slice) in slices.iter().enumerate() {
        let from_fastest = match desc.order {
            Order::C => slices.len() - 1 - axis,
            Order::F => axis,
        };
        // The coordinates are x, y, z. Further axes have none.
        if from_fastest < 3 {
            let (start, step) = (slice.start as f64, slice.step as f64);
            let first = start + middle - middle * step;
            mesh.origin[from_fastest] += first * mesh.spacing[from_fastest];
            mesh.spacing[from_fastest] *= step;
        }
    }
    mesh
}

/// Returns `values`, of all or a part of `desc`, with the axes in the order in which they lie in
/// memory.
fn slowest_first<'v, T>(desc: &FieldDesc, values: ArrayViewD<'v, T>) -> ArrayViewD<'v, T> {
    let dims = desc.shape.len();
    match desc.order {
        Order::C => values,
        Order::F => {
            let axes: Vec<usize> = (0..dims).rev().chain(dims..values.ndim()).collect();
            values.permuted_axes(IxDyn(&axes))
        }
    }
}
