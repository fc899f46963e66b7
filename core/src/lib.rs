//! Layout of the shared objects, the pin and publish protocol, planes, page maps and trackers of TCASM.
//!
//! `tcasm-producer` and `tcasm-observer` meet here and nowhere else. Simulations and analyses use those two;
//! this crate's own interface may change between minor versions.

pub mod bell;
pub mod capture;
pub mod fault;
pub mod field;
pub mod index;
pub mod layout;
pub mod lease;
pub mod pagemap;
pub mod pageset;
pub mod place;
pub mod planes;
pub mod predict;
pub mod protocol;
pub mod sabotage;
pub mod stamp;
pub mod stats;
pub mod store;
pub mod sys;
pub mod track;
pub mod ways;
pub mod wire;
pub mod words;

pub use num_complex;
