//! Maps consistent versions of a running simulation's memory, read-only and without copying.
//!
//! An [`Observer`] attaches to a region by name. [`Observer::latest`] and similar functions pin a
//! [`Version`]: while it is held, no memory of it is reused. [`Version::view`] maps it as one
//! contiguous piece of memory, in which fields are ndarray views and raw structures are references.
//! Only parts whose pages are scattered are copied, within a budget
//! ([`Observer::set_copy_budget`]). [`Version::view_of`] and [`Version::view_part`] map only the
//! fields or the sub-array that is wanted. [`Version::read_bytes`] maps nothing. An observer cannot
//! make the simulation wait.
//!
//! ```no_run
//! use std::time::Duration;
//! use tcasm_observer::Observer;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut observer = Observer::attach("heat")?;
//! while let Ok(version) = observer.wait_newer(Duration::from_secs(10)) {
//!     let view = version.view()?;
//!     let t = view.array::<f64>("t")?;
//!     println!("step {}: mean {:?}", version.step(), t.mean());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Why references into shared memory are sound here
//!
//! `&[T]` over shared pages is handed out only for pinned versions, whose pages the protocol never
//! writes (invariants I1 and I3 in `docs/design.md`). Control words are only read as atomics at
//! checked offsets. The protocol cannot rule out a *hostile* producer that writes pages it has
//! published. So attach only to producers that you trust like a library that you link.
#![deny(unsafe_code)]

mod attach;
mod budget;
mod changes;
mod chunk;
mod copies;
mod error;
mod every;
mod forced;
mod group;
mod held;
mod info;
mod mappings;
mod messages;
mod observer;
mod part;
mod pin;
mod plan;
mod programs;
mod reservations;
mod session;
mod since;
mod sockets;
mod sources;
mod stats;
mod streams;
mod table_cache;
mod version;
mod view;
mod window;
mod windows;

pub use changes::Changes;
pub use error::{AttachError, ObserveError, ReadError, ViewError};
pub use every::EveryVersion;
pub use group::{
    AgreedStep, FieldBlock, GlobalArrayError, GlobalBlock, GlobalField, GlobalView, GroupEnds,
    GroupError, GroupObserver, GroupSteps, GroupVersion, Row, Rows,
};
pub use held::Held;
pub use info::RegionInfo;
pub use ndarray;
pub use observer::{Observer, Status};
pub use sockets::{Socket, sockets};
pub use stats::ObserverStats;
pub use streams::Versions;
pub use tcasm_core::field::{
    Attr, Block, CellType, Cells, Centering, DType, Element, FieldDesc, FieldTable, GlobalPlace,
    Kind, Mesh, MeshDesc, MeshKind, MeshSize, Order, RegionPtr,
};
pub use tcasm_core::format::pagemap::Run;
pub use tcasm_core::format::stamp::Stamp;
pub use tcasm_core::format::wire::ObserverRow;
pub use tcasm_core::num_complex::Complex;
pub use tcasm_core::pageset::PageSet;
pub use tcasm_core::place::{Extent, kept_path, lock_path, runtime_dir, socket_path};
pub use version::Version;
pub use view::View;
