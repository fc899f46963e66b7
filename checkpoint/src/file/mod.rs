//! Files: how they are opened, written and sealed safely. Nothing here knows what is in them.

pub mod atomic;
mod dir;
mod fault;
mod lock;
pub mod memory;
mod mode;
mod output;
pub mod regular;
pub mod seal;
mod writeback;

pub use dir::{Dir, directory};
pub use fault::Fault;
pub use lock::Lock;
pub use mode::Mode;
pub use output::{ALIGN, LEAST, Output, Stream};
