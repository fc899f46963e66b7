//! Rollback to a version, which writes the buffers that fields are bound to now.

use super::{Check, World, text};
use tcasm_producer::RollbackError;
use tcasm_tests::oracle::ensure;

impl World {
    pub(super) fn roll_back(&mut self, which: usize) -> Check {
        let available = self.observer.available().map_err(text)?;
        if available.is_empty() {
            return Ok(());
        }
        let number = available[which % available.len()];
        let fields = self.observer.version(number).map_err(text)?;
        let lacks = fields.table().fields.len() < 3 + self.grown;
        drop(fields);
        match self.producer.rollback(number) {
            Err(RollbackError::NewFields { .. }) if lacks => {}
            Ok(done) if !lacks => {
                ensure(done.version == number, || format!("{done:?}"))?;
                self.put_back(number)?;
            }
            other => return Err(format!("{other:?}, with fields lacking: {lacks}")),
        }
        let sound = self.producer.check_store().map_err(text)?;
        ensure(sound, || "busy frames are not those in use".into())?;
        self.check_live()?;
        self.check_held()
    }

    /// Updates the model. Buffers that differ from the version are written, and begun anew if
    /// frozen.
    fn put_back(&mut self, number: u64) -> Check {
        let fields = self.versions.get(&number).ok_or("an unknown version")?;
        self.plain_live.clone_from(&fields["a"]);
        for (name, i) in [("u", self.bound), ("w", 2)] {
            let handed = &mut self.handed[i];
            if handed.live != fields[name] {
                handed.live.clone_from(&fields[name]);
                handed.frozen = false;
            }
        }
        Ok(())
    }
}
