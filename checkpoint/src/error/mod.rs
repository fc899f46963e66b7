//! The errors of writing and of reading checkpoints.

mod read;
mod write;

pub use read::ReadError;
pub use write::WriteError;
