//! What a field is: dtype, shape, order, ghost layers, unit, centering, mesh, attributes.
//!
//! [`FieldDesc`] is the field's entry in the field table that every version carries; it is
//! what users of every language see. [`FieldTable`] is its checked, serialised form.

mod array;
mod desc;
mod dtype;
mod pointer;
mod table;

pub use array::{ArrayError, check_type, interior, view, view_mut};
pub use desc::{Attr, Centering, FieldDesc, FieldError, Kind, Mesh, Order};
pub use dtype::{DType, Element};
pub use pointer::RegionPtr;
pub use table::{FieldTable, TableError};
