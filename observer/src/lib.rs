//! Map consistent versions of a running simulation's memory, read-only and without copying.
//!
//! An [`Observer`] attaches to a region by name. [`Observer::latest`] and its relatives pin a [`Version`]: while it is
//! held, nothing of it is reused. [`Version::view`] maps it as one contiguous piece of memory, in which fields are
//! ndarray views and raw structures are references. Nothing an observer does can make the simulation wait.
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
//! `&[T]` over shared pages is handed out only for pinned versions, whose pages the protocol never writes (
//! invariants I1 and I3 in `docs/design.md`); control words are only ever read as atomics at checked offsets. What the
//! protocol cannot rule out is a *hostile* producer that writes pages it has published; attach to producers that you
//! trust as far as you trust a library that you link.
#![deny(unsafe_code)]

mod attach;
mod budget;
mod copies;
mod error;
mod held;
mod info;
mod observer;
mod plan;
mod session;
mod shelf;
mod sockets;
mod streams;
mod version;
mod view;
mod window;

pub use error::{AttachError, ObserveError, ReadError, ViewError};
pub use held::Held;
pub use info::RegionInfo;
pub use observer::{Observer, Status};
pub use sockets::{Socket, sockets};
pub use streams::Versions;
pub use tcasm_core::field::{
    Attr, Centering, DType, Element, FieldDesc, FieldTable, Kind, Mesh, Order, RegionPtr,
};
pub use tcasm_core::num_complex::Complex;
pub use tcasm_core::pagemap::Run;
pub use tcasm_core::pageset::PageSet;
pub use tcasm_core::place::{Extent, kept_path, lock_path, runtime_dir, socket_path};
pub use tcasm_core::stamp::Stamp;
pub use tcasm_core::wire::ObserverRow;
pub use version::{Changes, Version};
pub use view::View;
