//! Handles of buffers, which end with the producer that has made them.

use crate::handles::{Handle, object};
use tcasm_producer::AnyBuffer;

/// Memory of a region that fields can be bound to in turn.
pub struct Buffer {
    pub inner: AnyBuffer,
    /// The number of the producer's handle.
    producer: u64,
}
object!(Buffer, "buffer", 5);

impl Buffer {
    pub fn new(producer: u64, inner: AnyBuffer) -> Self {
        Buffer { inner, producer }
    }

    /// Ends the handles of all buffers of a producer, which has ended.
    pub fn end_all(producer: u64) {
        Handle::<Buffer>::remove_all(|buffer| buffer.producer == producer);
    }
}
