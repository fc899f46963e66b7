//! Publishes consistent versions of a running simulation's memory.
//!
//! A [`Producer`] owns a *region* of memory at a fixed address. The simulation computes in its
//! *fields* in place, and calls [`Producer::publish`] when a step is complete. From then on any
//! number of observers, in other processes, can map the state of that moment, read-only and without
//! copying it. Observers come and go, stall and crash as they like: the simulation never waits for
//! them.
//!
//! ```
//! use tcasm_producer::Producer;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut producer = Producer::builder("heat").capacity(1 << 20).create()?;
//! let t = producer.field::<f64, _>("t", [64, 64]).unit("K").add()?;
//! for step in 0..10 {
//!     producer.view_mut(t)?.fill(step as f64); // compute in place
//!     producer.publish(step, step as f64 * 0.1)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Fields that are written densely are copied after `publish` has returned, where the user has the
//! right to make system calls wait that write into them. For users without it,
//! [`Builder::no_kernel_writes`] promises that there are no such calls meanwhile, and
//! [`Producer::wait_captured`] waits before one.
#![deny(unsafe_code)]

mod access;
mod api;
mod builder;
mod claim;
mod counts;
mod dirty;
mod error;
mod handles;
mod keeper;
mod kept;
mod leftovers;
mod live;
mod policy;
mod producer;
mod publish;
mod service;
mod stream;
mod table;
mod write_only;

pub use access::Access;
pub use api::{
    AnyBuffer, Buffers, Captured, FieldBuilder, Lengths, MeshBuilder, Part, ProducerStats,
    RawBuilder, RolledBack,
};
pub use builder::{Builder, Group, HugePages};
pub use error::{
    CreateError, DefineError, EnvError, Looked, PublishError, RollbackError, Structure, ViewError,
};
pub use handles::{Buffer, Field, HandedOver, InPlace, MeshHandle, Raw, Read, Rewrite};
pub use kept::Kept;
pub use leftovers::{Leftover, leftovers};
pub use ndarray;
pub use policy::CaptureMode;
pub use producer::Producer;
pub use publish::{GivenUp, Published, Receipt};
pub use tcasm_core::field::{
    Attr, Block, CellType, Cells, Centering, DType, Element, FieldDesc, GlobalPlace, Kind, Mesh,
    MeshDesc, MeshDescError, MeshKind, Order, RegionPtr,
};
pub use tcasm_core::num_complex::Complex;
pub use tcasm_core::place::Extent;
pub use tcasm_core::store::HandOverError;
pub use tcasm_core::store::Skip;
pub use tcasm_core::track::TrackerKind;
pub use write_only::WriteOnly;
