//! Layout of the shared objects, the pin and publish protocol, planes, page maps and trackers of TCASM.
//!
//! `tcasm-producer` and `tcasm-observer` meet here and nowhere else. Simulations and analyses use those two;
//! this crate's own interface may change between minor versions.

pub mod field;
pub mod pageset;
pub mod stamp;
pub mod sys;
pub mod track;

pub use num_complex;
