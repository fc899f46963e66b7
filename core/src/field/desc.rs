//! The description of one field, and the checks that make it usable.

use super::DType;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Which index varies fastest in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Last index fastest (C, numpy's default): a 3-d shape reads `(nz, ny, nx)`.
    #[default]
    C,
    /// First index fastest (Fortran): a 3-d shape reads `(nx, ny, nz)`.
    F,
}

/// Where values sit on the mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Centering {
    /// On the mesh points (VTK point data, Blueprint `vertex`).
    #[default]
    Point,
    /// In the cells between points (VTK cell data, Blueprint `element`).
    Cell,
}

/// A uniform mesh: place and distance of points, in the order x, y, z whatever the field's order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mesh {
    /// Coordinates of the first interior point (ghost layers lie outside it).
    pub origin: [f64; 3],
    /// Distance of neighbouring points.
    pub spacing: [f64; 3],
}

impl Default for Mesh {
    fn default() -> Self {
        Mesh {
            origin: [0.0; 3],
            spacing: [1.0; 3],
        }
    }
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

/// What a field's bytes are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An n-d array of `dtype`.
    Array,
    /// Plain-data structures of one Rust or C type, whose size and alignment must match on the other side. The
    /// shape is `[count]`, the dtype `u8`, the components the size of the structure.
    Raw {
        /// Name of the type, for messages: languages name the same structure differently.
        type_name: String,
        /// Alignment of the type in bytes.
        align: usize,
    },
}

/// One entry of the field table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldDesc {
    /// Name: 1 to 128 characters `[A-Za-z0-9_-]` (VTK and openPMD accept no others).
    pub name: String,
    /// Array or raw structures.
    pub kind: Kind,
    /// Type of one component.
    pub dtype: DType,
    /// Extent of each dimension, ghost layers included, in index order.
    pub shape: Vec<usize>,
    /// Components per point: 1 for scalars, 3 for a vector. They lie side by side at each point, whatever the order.
    pub components: usize,
    /// Which index varies fastest.
    pub order: Order,
    /// Ghost layers before and after the interior, for each dimension of `shape`.
    pub ghosts: Vec<[usize; 2]>,
    /// Unit of the values, as text (`"m/s"`, `"1"`); empty when not given.
    pub unit: String,
    /// Where values sit on the mesh.
    pub centering: Centering,
    /// The uniform mesh the field lives on, when it has one.
    pub mesh: Option<Mesh>,
    /// Free attributes.
    pub attrs: BTreeMap<String, Attr>,
    /// Offset of the first byte in the region: a multiple of the page size.
    pub offset: u64,
}

/// Why a field's description cannot be used.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
#[allow(missing_docs)] // the messages say what each variant means
pub enum FieldError {
    #[error("field name {0:?} is not usable: use 1 to 128 characters out of A-Z a-z 0-9 _ -")]
    Name(String),
    #[error("field {name:?} has zero size: shape {shape:?} with {components} component(s)")]
    Empty {
        name: String,
        shape: Vec<usize>,
        components: usize,
    },
    #[error("field {name:?} has {dims} dimensions; at most {max} are supported")]
    TooManyDims {
        name: String,
        dims: usize,
        max: usize,
    },
    #[error(
        "field {name:?}: {ghosts} pairs of ghost layers were given for {dims} dimensions; give one pair each"
    )]
    GhostDims {
        name: String,
        ghosts: usize,
        dims: usize,
    },
    #[error("field {name:?}: ghost layers {ghosts:?} leave nothing of shape {shape:?}")]
    GhostSize {
        name: String,
        ghosts: Vec<[usize; 2]>,
        shape: Vec<usize>,
    },
    #[error("field {name:?} of shape {shape:?} is larger than the address space")]
    Overflow { name: String, shape: Vec<usize> },
    #[error(
        "field {name:?} at offset {offset} with {bytes} bytes leaves its region of {region} bytes"
    )]
    OutOfRegion {
        name: String,
        offset: u64,
        bytes: u64,
        region: u64,
    },
}

/// The largest number of dimensions of a field.
pub const MAX_DIMS: usize = 8;

impl FieldDesc {
    /// A scalar C-order array named `name`; everything else may be changed afterwards.
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
        }
    }

    /// Check everything that does not depend on the region; returns the size in bytes.
    pub fn check(&self) -> Result<u64, FieldError> {
        if !valid_name(&self.name) {
            return Err(FieldError::Name(self.name.clone()));
        }
        if self.shape.len() > MAX_DIMS {
            return Err(FieldError::TooManyDims {
                name: self.name.clone(),
                dims: self.shape.len(),
                max: MAX_DIMS,
            });
        }
        let bytes = self.checked_bytes()?;
        self.check_ghosts()?;
        Ok(bytes)
    }

    /// Check also that the field lies inside a region of `region` bytes.
    pub fn check_in(&self, region: u64) -> Result<(), FieldError> {
        let bytes = self.check()?;
        match self.offset.checked_add(bytes) {
            Some(end) if end <= region => Ok(()),
            _ => Err(FieldError::OutOfRegion {
                name: self.name.clone(),
                offset: self.offset,
                bytes,
                region,
            }),
        }
    }

    fn checked_bytes(&self) -> Result<u64, FieldError> {
        let factors = self.shape.iter().chain([&self.components]);
        if factors.clone().any(|&n| n == 0) {
            return Err(FieldError::Empty {
                name: self.name.clone(),
                shape: self.shape.clone(),
                components: self.components,
            });
        }
        factors
            .map(|&n| n as u64)
            .try_fold(self.dtype.size() as u64, u64::checked_mul)
            .filter(|&b| b <= isize::MAX as u64)
            .ok_or_else(|| FieldError::Overflow {
                name: self.name.clone(),
                shape: self.shape.clone(),
            })
    }

    fn check_ghosts(&self) -> Result<(), FieldError> {
        if self.ghosts.len() != self.shape.len() {
            return Err(FieldError::GhostDims {
                name: self.name.clone(),
                ghosts: self.ghosts.len(),
                dims: self.shape.len(),
            });
        }
        let fits =
            |(g, n): (&[usize; 2], &usize)| matches!(g[0].checked_add(g[1]), Some(s) if s < *n);
        if self.ghosts.iter().zip(&self.shape).all(fits) {
            Ok(())
        } else {
            Err(FieldError::GhostSize {
                name: self.name.clone(),
                ghosts: self.ghosts.clone(),
                shape: self.shape.clone(),
            })
        }
    }

    /// Size in bytes. Call [`FieldDesc::check`] first for descriptions from outside.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().product::<usize>() as u64
            * self.components as u64
            * self.dtype.size() as u64
    }

    /// The bytes of the region that the field covers.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.offset..self.offset + self.bytes()
    }

    /// Shape without ghost layers.
    pub fn interior_shape(&self) -> Vec<usize> {
        self.shape
            .iter()
            .zip(&self.ghosts)
            .map(|(n, g)| n - g[0] - g[1])
            .collect()
    }

    /// Whether there are ghost layers at all.
    pub fn has_ghosts(&self) -> bool {
        self.ghosts.iter().any(|g| *g != [0, 0])
    }

    /// Shape of the array as users see it: `shape`, then the components when there are several.
    pub fn array_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        if self.components > 1 {
            shape.push(self.components);
        }
        shape
    }

    /// Strides of [`FieldDesc::array_shape`] in elements of `dtype`. Components have stride 1 in both orders.
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

/// The rule for names of fields: what VTK, openPMD and a shell all accept.
fn valid_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
