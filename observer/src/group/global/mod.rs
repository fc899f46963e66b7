//! Global arrays: fields of which each rank has a block.

mod boxes;
mod error;
mod field;
mod gather;
mod rows;

pub use error::GlobalArrayError;
pub use field::{GlobalBlock, GlobalField};
pub use rows::{GlobalView, Row, Rows};
