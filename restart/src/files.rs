//! States in files: checkpoints.

use crate::error::RestoreError;
use crate::state::State;
use tcasm_checkpoint::Checkpoint;
use tcasm_core::field::FieldTable;
use tcasm_core::format::stamp::Stamp;
use tcasm_core::place::Extent;

impl State for Checkpoint {
    fn region(&self) -> &str {
        self.region()
    }

    fn stamp(&self) -> Stamp {
        self.stamp()
    }

    fn table(&self) -> &FieldTable {
        self.table()
    }

    fn extent(&self) -> Option<Extent> {
        self.extent()
    }

    fn allows_lossy(&self) -> bool {
        self.allows_lossy()
    }

    fn read(&self, name: &str, bytes: &mut [u8]) -> Result<(), RestoreError> {
        Ok(self.read_bytes(name, bytes)?)
    }
}
