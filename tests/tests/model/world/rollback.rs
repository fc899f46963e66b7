//! Rollback to a version.

use super::{Check, World, text};
use tcasm_producer::RollbackError;
use tcasm_tests::oracle::ensure;

impl World {
    /// Rolls back to one of the versions that exist, held or not. All versions must stay the same.
    pub(super) fn roll_back(&mut self, which: usize) -> Check {
        let available = self.inspector.available().map_err(text)?;
        if available.is_empty() {
            return Ok(());
        }
        let number = available[which % available.len()];
        let done = self.producer.rollback(number);
        self.counts[3] += u64::from(self.broken);
        let expected = self.oracle.rollback(number);
        match (done, expected) {
            (Ok(done), Ok((step, pages))) => {
                let (found, expected) =
                    ((done.version, done.step, done.pages), (number, step, pages));
                ensure(found == expected, || {
                    format!("rolled back {found:?}, expected {expected:?}")
                })?;
            }
            (Err(RollbackError::NewFields { fields, .. }), Err(lacking)) => {
                ensure(fields == lacking, || {
                    format!("lacks {fields:?}, expected {lacking:?}")
                })?;
            }
            (done, expected) => return Err(format!("{done:?}, expected {expected:?}")),
        }
        self.check_all()
    }
}
