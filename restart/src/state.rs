//! What a run can go on from.

use crate::error::RestoreError;
use tcasm_core::field::FieldTable;
use tcasm_core::place::Extent;
use tcasm_core::stamp::Stamp;

/// A state of a region: a checkpoint, or a version that is held.
pub trait State {
    /// Name of the region.
    fn region(&self) -> &str;

    /// Number, step and time of the version.
    fn stamp(&self) -> Stamp;

    /// Its fields and attributes.
    fn table(&self) -> &FieldTable;

    /// Where the region lay, where that is known.
    fn extent(&self) -> Option<Extent>;

    /// Read the field `name` into `bytes`, as many as it has, as they lay in memory. After an error, what `bytes` holds is of no
    /// use.
    fn read(&self, name: &str, bytes: &mut [u8]) -> Result<(), RestoreError>;
}
