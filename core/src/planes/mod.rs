//! Planes, which keep the pages of versions. Each page is in some plane, at its own offset in the
//! region.
//!
//! A *frame* is one page of one plane. It is *busy* while a live version refers to it, and is then
//! never written (I1). It is *held* while it has memory. Free frames that are held are used first:
//! to fill one costs a copy, but no fresh page.

mod access;
mod account;
mod audit;
mod frames;
mod gather;
mod handover;
mod huge;
mod leave;
mod memory;
mod place;
mod plane;
mod retention;

pub use audit::{Audit, Strays};
pub use frames::Frames;
pub use gather::{Gather, Move};
pub use huge::Gathered;
pub use leave::Leaving;
pub use memory::{PlaneError, PlaneMemory};
pub use plane::Planes;
