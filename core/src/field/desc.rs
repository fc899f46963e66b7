//! The description of one field.

use super::dtype::DType;
use super::global::GlobalPlace;
use super::mesh::Mesh;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The order of the values in memory: which index varies fastest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// The last index varies fastest (C, numpy's default). A 3-d shape is `(nz, ny, nx)`.
    #[default]
    C,
    /// The first index varies fastest (Fortran). A 3-d shape is `(nx, ny, nz)`.
    F,
}

/// The place of the values on the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Centering {
    /// On the mesh points (VTK point data, Blueprint `vertex`).
    #[default]
    Point,
    /// In the cells between points (VTK cell data, Blueprint `element`).
    Cell,
    /// Neither on points nor in cells: a table that belongs to the mesh as a whole.
    None,
}

/// A free attribute of a field or of the region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Attr {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A text.
    Text(String),
    /// Several floats.
    Floats(Vec<f64>),
}

impl From<i64> for Attr {
    fn from(v: i64) -> Self {
        Attr::Int(v)
    }
}
impl From<f64> for Attr {
    fn from(v: f64) -> Self {
        Attr::Float(v)
    }
}
impl From<&str> for Attr {
    fn from(v: &str) -> Self {
        Attr::Text(v.to_owned())
    }
}
impl From<String> for Attr {
    fn from(v: String) -> Self {
        Attr::Text(v)
    }
}
impl From<Vec<f64>> for Attr {
    fn from(v: Vec<f64>) -> Self {
        Attr::Floats(v)
    }
}

/// The kind of data in the bytes of a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An n-d array of `dtype`.
    Array,
    /// Plain-data structures of one Rust or C type. The reader's type must have the same size and
    /// alignment. The shape is `[count]`, the dtype is `u8`, and `components` is the size of the
    /// structure.
    Raw {
        /// The name of the type. It is used in messages only, because languages name the same
        /// structure differently.
        type_name: String,
        /// The alignment of the type in bytes.
        align: usize,
    },
}

/// One entry of the field table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldDesc {
    /// The name: 1 to 128 characters `[A-Za-z0-9_-]` (VTK and openPMD accept no others).
    pub name: String,
    /// The kind: an array or raw structures.
    pub kind: Kind,
    /// The type of one component.
    pub dtype: DType,
    /// The extent of each dimension in index order, including ghost layers.
    pub shape: Vec<usize>,
    /// The number of components per point: 1 for scalars, 3 for a vector. The components of a point
    /// lie side by side, whatever the order is.
    pub components: usize,
    /// The order: which index varies fastest.
    pub order: Order,
    /// The ghost layers before and after the interior, for each dimension of `shape`. Without
    /// values there are none: a variable field of length 0 has none along its slowest axis.
    pub ghosts: Vec<[usize; 2]>,
    /// The unit of the values as text (`"m/s"`, `"1"`), or empty if it is not given.
    pub unit: String,
    /// The place of the values on the mesh.
    pub centering: Centering,
    /// The uniform mesh of the field, if it has one. Regions of older producers may have a mesh
    /// that cannot be used, so readers ask for [`FieldDesc::usable_mesh`].
    pub mesh: Option<Mesh>,
    /// The free attributes.
    pub attrs: BTreeMap<String, Attr>,
    /// The offset of the first byte in the region: a multiple of the page size, except for an
    /// adopted array, which lies in its first page as it does in the memory of the program.
    pub offset: u64,
    /// True if checkpoints leave the field out: after a restart it is zero, and the program fills
    /// it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_in_checkpoints: bool,
    /// The name of the [mesh](super::MeshDesc) that the field is on, if it is on a named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The name of the quantity, for fields of several meshes that hold the same one. Without it,
    /// the name of the field is that of the quantity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<String>,
    /// The largest extent of the slowest axis, if the length of the field may change from version
    /// to version. `shape` has the extent of this version, which may be 0. The memory of the field
    /// has room for the capacity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<usize>,
    /// The place in a global array, if the field is a block of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub global: Option<GlobalPlace>,
    /// In a file: the bound of the relative error of the values, which are rounded. Writers of
    /// files round the values of a field that has a bound. Always `None` in the index.
    ///
    /// The geometry of a mesh should have none: a bound that is relative to a coordinate is large
    /// far from the origin, whatever the size of the cells is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_error: Option<f64>,
    /// True if the memory of the field was unmapped, moved or replaced without a word to the
    /// producer. The version has no values of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

impl FieldDesc {
    /// Returns the description of a scalar C-order array named `name`. Its fields may be changed
    /// afterwards.
    pub fn new(name: &str, dtype: DType, shape: &[usize]) -> Self {
        FieldDesc {
            name: name.to_owned(),
            kind: Kind::Array,
            dtype,
            shape: shape.to_vec(),
            components: 1,
            order: Order::C,
            ghosts: vec![[0, 0]; shape.len()],
            unit: String::new(),
            centering: Centering::Point,
            mesh: None,
            attrs: BTreeMap::new(),
            offset: 0,
            not_in_checkpoints: false,
            on: None,
            quantity: None,
            capacity: None,
            global: None,
            relative_error: None,
            lost: false,
        }
    }

    /// Returns the alignment that the offset of the field must have.
    pub fn align(&self, page_size: u64) -> u64 {
        match self.kind {
            Kind::Array => self.dtype.align() as u64,
            Kind::Raw { .. } => page_size,
        }
    }

    /// Returns the mesh, if there is one that can be used.
    pub fn usable_mesh(&self) -> Option<Mesh> {
        self.mesh.filter(|mesh| mesh.check().is_ok())
    }

    /// Returns the axis that varies slowest, or `None` for a field without dimensions.
    pub fn slowest_axis(&self) -> Option<usize> {
        match self.order {
            Order::C => (!self.shape.is_empty()).then_some(0),
            Order::F => self.shape.len().checked_sub(1),
        }
    }

    /// Returns the length of the field: the extent of its slowest axis, or 1 without dimensions.
    pub fn length(&self) -> usize {
        self.slowest_axis().map_or(1, |axis| self.shape[axis])
    }

    /// Sets the length of the field. One without dimensions has none.
    pub fn set_length(&mut self, len: usize) {
        if let Some(axis) = self.slowest_axis() {
            self.shape[axis] = len;
        }
    }

    /// Returns the length of the field without ghost layers.
    pub fn interior_length(&self) -> usize {
        self.length().saturating_sub(self.ghosts_of_length())
    }

    /// Returns the length that the field has with so many values along its slowest axis besides
    /// ghost layers.
    pub fn length_around(&self, interior: usize) -> usize {
        match interior {
            0 => 0,
            n => n.saturating_add(self.ghosts_of_length()),
        }
    }

    /// Returns how many ghost layers the slowest axis has.
    fn ghosts_of_length(&self) -> usize {
        let ghosts = self.slowest_axis().and_then(|axis| self.ghosts.get(axis));
        ghosts.map_or(0, |[before, after]| before.saturating_add(*after))
    }

    /// Returns the shape of the memory of the field: the slowest axis has the capacity, if there is
    /// one.
    pub fn capacity_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        if let (Some(axis), Some(capacity)) = (self.slowest_axis(), self.capacity) {
            shape[axis] = capacity;
        }
        shape
    }

    /// Returns the description with the largest length that the field can have.
    #[must_use]
    pub fn at_capacity(&self) -> Self {
        FieldDesc {
            shape: self.capacity_shape(),
            ..self.clone()
        }
    }

    /// Returns the size of the memory of the field in bytes, of which [`FieldDesc::bytes`] are in
    /// use in this version.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity_shape().iter().product::<usize>() as u64
            * self.components as u64
            * self.dtype.size() as u64
    }

    /// Returns the name of the quantity that the field holds.
    pub fn quantity(&self) -> &str {
        self.quantity.as_deref().unwrap_or(&self.name)
    }

    /// Returns the size in bytes. A description from another process must be checked with
    /// [`FieldDesc::check`] first.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().product::<usize>() as u64
            * self.components as u64
            * self.dtype.size() as u64
    }

    /// Returns the bytes of the region that the field covers.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.offset..self.offset + self.bytes()
    }

    /// Returns the shape without ghost layers.
    pub fn interior_shape(&self) -> Vec<usize> {
        self.shape
            .iter()
            .zip(&self.ghosts)
            .map(|(n, g)| n.saturating_sub(g[0]).saturating_sub(g[1]))
            .collect()
    }

    /// Returns true if the field has ghost layers.
    pub fn has_ghosts(&self) -> bool {
        self.ghosts.iter().any(|g| *g != [0, 0])
    }

    /// Returns the shape of the array as users see it: `shape`, followed by the number of
    /// components if there is more than one.
    pub fn array_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        if self.components > 1 {
            shape.push(self.components);
        }
        shape
    }

    /// Returns the strides of [`FieldDesc::array_shape`] in elements of `dtype`. Components have
    /// stride 1 in both orders.
    pub fn array_strides(&self) -> Vec<usize> {
        let dims = self.shape.len();
        let mut strides = vec![0; dims];
        let mut step = self.components;
        let mut set = |axis: usize| {
            strides[axis] = step;
            step *= self.shape[axis];
        };
        match self.order {
            Order::C => (0..dims).rev().for_each(&mut set),
            Order::F => (0..dims).for_each(&mut set),
        }
        if self.components > 1 {
            strides.push(1);
        }
        strides
    }
}
