//! The layout of the shared objects, the pin and publish protocol, planes, page maps and trackers
//! of TCASM.
//!
//! This crate is the only code that `tcasm-producer` and `tcasm-observer` share. Simulations and
//! analyses use those two crates. The interface of this crate may change between minor versions.

pub mod ablation;
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
pub mod policy;
pub mod predict;
pub mod protocol;
pub mod sabotage;
pub mod stamp;
pub mod stats;
pub mod store;
pub mod sys;
pub mod track;
pub mod wire;
pub mod words;

pub use num_complex;
