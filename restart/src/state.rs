//! The states that a run can continue from.

use crate::error::RestoreError;
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;

/// A state of a region: a checkpoint, or a version in memory.
pub trait State {
    /// Returns the name of the region.
    fn region(&self) -> &str;

    /// Returns the number, the step and the time of the version.
    fn stamp(&self) -> Stamp;

    /// Returns the fields and attributes of the version.
    fn table(&self) -> &FieldTable;

    /// Returns where the region lay, if that is known.
    fn extent(&self) -> Option<Extent>;

    /// Returns true if a restart may take rounded values from it (see
    /// [`FieldDesc::relative_error`](tcasm_core::field::FieldDesc::relative_error)).
    fn allows_lossy(&self) -> bool {
        false
    }

    /// Reads the field `name` into `bytes` as it lay in memory. `bytes` must have the size of the
    /// field. After an error, the contents of `bytes` are unspecified.
    fn read(&self, name: &str, bytes: &mut [u8]) -> Result<(), RestoreError>;
}
