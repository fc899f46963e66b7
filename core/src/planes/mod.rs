//! Planes, which keep the pages of versions. Each page is in some plane, at its own offset in the
//! region.
//!
//! A *frame* is one page of one plane. It is *busy* while a live version refers to it, and is then
//! never written (I1). It is *held* while it has memory. Free frames that are held are used first:
//! to fill one costs a copy, but no fresh page.
//!
//! On a machine with several nodes of memory, frames get their memory on the nodes of the live
//! pages that they will hold: `topology` asks the machine, `nodes` records the answers, and
//! `follow` acts on them.

mod access;
mod account;
mod audit;
mod follow;
mod frames;
mod gather;
mod handover;
mod huge;
mod huge_chunks;
mod leave;
mod memory;
mod nodes;
mod place;
mod plane;
mod retention;
mod topology;

pub use audit::{Audit, Strays};
pub use follow::Question;
pub use frames::Frames;
pub use gather::{Gather, Move};
pub use huge::Becoming;
pub use huge_chunks::Gathered;
pub use leave::{Leaving, Unreturned};
pub use memory::{PlaneError, PlaneMemory};
pub use plane::Planes;
pub(crate) use topology::Machine;
pub use topology::{Node, Topology};
