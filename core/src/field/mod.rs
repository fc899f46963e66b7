//! The description of fields: dtype, shape, order, ghost layers, unit, centering, mesh, attributes.
//!
//! [`FieldDesc`] is the entry of one field in the field table. Users of every language see these
//! entries. Every version has a [`FieldTable`], which is serialised, and checked when it is
//! decoded.

mod array;
mod block;
mod cell;
mod desc;
mod dtype;
mod field_check;
mod field_error;
mod global;
mod lost;
mod mesh;
mod mesh_check;
mod mesh_desc;
mod mesh_error;
mod mesh_geometry;
mod mesh_size;
#[cfg(test)]
mod mesh_tests;
mod pointer;
mod rounding;
mod table;

pub use array::{ArrayError, check_type, interior, view, view_mut};
pub use cell::CellType;
pub use desc::{Attr, Centering, FieldDesc, Kind, Order};
pub use dtype::{DType, Element};
pub use field_error::FieldError;
pub use global::{GlobalError, GlobalPlace};
pub use mesh::{Mesh, MeshError};
pub use mesh_desc::{Block, Cells, MeshDesc, MeshKind};
pub use mesh_error::MeshDescError;
pub use mesh_size::{MeshSize, cells_between};
pub use pointer::RegionPtr;
pub use table::{FieldTable, TableError};
