//! The drain: a thread that copies complete checkpoints from one tier to the next, oldest first,
//! while the writer goes on with others.

mod common;
mod handle;
#[cfg(test)]
mod idle;
mod transfer;
mod work;

pub use common::{Settings, State};
pub use handle::Drain;
#[cfg(test)]
pub use idle::Idle;
