//! Frames: the data of a version that a client sees, and their encoding for a page that has the
//! frame before.

mod blocks;
mod data;
mod message;
mod places;
mod writer;

pub use data::{BlockImage, BlockImages, Frame, Of, Pages, Probe};
pub use message::TILE;
pub use writer::Writer;

#[cfg(test)]
mod tests;
