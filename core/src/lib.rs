//! The layout of the shared objects, the pin and publish protocol, planes, page maps and trackers
//! of TCASM.
//!
//! This crate is the only code that `tcasm-producer` and `tcasm-observer` share. Simulations and
//! analyses use those two crates. The interface of this crate may change between minor versions.

pub mod capture;
pub mod field;
pub mod format;
pub mod group;
pub mod pageset;
pub mod place;
pub mod planes;
pub mod policy;
pub mod segments;
pub mod store;
pub mod sys;
pub mod testing;
pub mod track;

pub use num_complex;
