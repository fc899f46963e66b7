//! The two decisions that are learnt from what a program writes: how each chunk is captured, and
//! which pages are left unprotected. Neither touches memory.

mod chunks;
mod prediction;

pub use chunks::{ChunkPolicy, Seen};
pub use prediction::Prediction;
