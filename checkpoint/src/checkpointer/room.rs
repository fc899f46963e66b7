//! Room for new checkpoints: those that the next tier has are removed when the disk is full.

use super::writer::Checkpointer;
use crate::error::WriteError;
use crate::tier::shared::lock;
use crate::tier::{Retention, Tier};

impl Checkpointer {
    /// Calls `write`, and again after each removal as long as there is no room. Removes checkpoints
    /// that the next tier has, except the newest.
    pub(super) fn with_room<T>(
        &self,
        write: impl Fn() -> Result<T, WriteError>,
    ) -> Result<T, WriteError> {
        loop {
            match write() {
                Err(WriteError::NoSpace { .. }) if self.make_room() => {}
                written => return written,
            }
        }
    }

    /// Removes checkpoints to make room. Returns true if one was removed.
    fn make_room(&self) -> bool {
        let newest = Retention::last(1);
        let removed = |tier: &mut Tier| tier.apply_retention(&newest, true);
        self.drain.is_some() && removed(&mut lock(&self.fast)).is_ok_and(|n| n != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::tier::test::write;
    use std::cell::Cell;
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    #[test]
    fn drained_checkpoints_are_removed_to_make_room_except_the_newest() {
        let [fast, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let settings = |slow: Option<&Path>| Settings {
            slow: slow.map(Path::to_owned),
            ..Settings::new(fast.path())
        };
        let file = |step: u64| fast.path().join(format!("run_{step:08}.vtkhdf"));
        let attempts = Cell::new(0);
        let full = || {
            attempts.set(attempts.get() + 1);
            let source = std::io::ErrorKind::StorageFull.into();
            let path = file(4);
            match file(1).exists() {
                true => Err(WriteError::NoSpace { path, source }),
                false => Ok(()),
            }
        };
        let mut to = Checkpointer::open("run", settings(None)).unwrap();
        (1..=3).for_each(|step| write(&mut to, step));
        assert!(to.with_room(full).is_err(), "there is no next tier");
        drop(to);

        let gone = slow.path().join("gone");
        let to = Checkpointer::open("run", settings(Some(&gone))).unwrap();
        assert!(to.with_room(full).is_err(), "it has none of them");
        drop(to);

        let to = Checkpointer::open("run", settings(Some(slow.path()))).unwrap();
        let state = to.wait_drained(Duration::from_secs(60)).unwrap();
        assert_eq!((state.outstanding, state.trouble), (0, None));
        attempts.set(0);
        to.with_room(full).unwrap();
        assert_eq!(attempts.get(), 2);
        assert_eq!(to.contents().items.keys().collect::<Vec<_>>(), [&3]);
        assert!(file(3).exists() && !file(2).exists());
        // No more checkpoints can be removed, so this ends with an error.
        fs::write(file(1), "of somebody else").unwrap();
        assert!(to.with_room(full).is_err());
        assert!(file(3).exists());
    }
}
