//! Live memory: the reserved addresses of a region, whose pages are handed out to buffers one after
//! the other, and the mechanisms that watch them for writes.
//!
//! A page is watched by the tracker or, in a chunk whose capture is deferred, by the gate. It may
//! also be shared with a plane.

mod adopted;
mod deferred;
mod dma;
mod dropped;
mod gather;
mod gathering;
mod memory;
mod rounds;
mod shared;
mod sharing;
mod vacated;
mod watch;

pub(crate) use memory::{Allowed, LiveMemory};
