//! The way of one checkpoint to the slower tier. An increment is never copied before the slower
//! tier has its base.

use super::common::Common;
use crate::error::{ReadError, WriteError};
use crate::file::Fault;
use crate::format::names::{Form, Found};
use crate::options::Layout;
use crate::tier::contents::Entry;
use crate::tier::copy::{Pace, copy};
use crate::tier::open::Tier;
use crate::tier::retention::Retention;
use crate::tier::shared::lock;
use crate::tier::slow::Slow;
use crate::tier::stored;
use nix::errno::Errno;
use std::fs;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use tcasm_core::testing::fault;

impl Common {
    /// Drains one checkpoint. If its base must be drained first, only prepares that. A checkpoint
    /// that can never be drained is taken out of the manifest of the fast tier.
    pub fn drain(&self, entry: &Entry, slow: &mut Slow) -> Result<(), WriteError> {
        match self.bring(entry, slow) {
            // The file was replaced or removed meanwhile. The next pass finds what is there now.
            Err(_) if !is_current(&lock(&self.fast), entry) => Ok(()),
            // A new attempt would not help, and checkpoints after this one must not wait for it.
            Err(WriteError::Copy(why @ ReadError::NoBase { .. })) => {
                lock(&self.fast).forget(entry.step, &why.to_string())
            }
            Err(WriteError::Copy(why)) if self.is_gone(entry) => {
                lock(&self.fast).forget(entry.step, &why.to_string())
            }
            Err(WriteError::Copy(why)) if self.is_damaged(entry) => {
                tracing::error!(step = entry.step, %why, "set aside a damaged checkpoint");
                lock(&self.fast).set_aside(entry.step, &why.to_string())
            }
            result => result,
        }
    }

    /// Returns true if the source has no file any more, although its tier is there.
    fn is_gone(&self, entry: &Entry) -> bool {
        let fast = lock(&self.fast);
        let found = fs::metadata(fast.path(entry));
        found.is_err_and(|e| e.kind() == io::ErrorKind::NotFound) && fast.is_there()
    }

    /// Returns true if the source itself is damaged or cannot be read, and not only the copy,
    /// although its tier is there.
    fn is_damaged(&self, entry: &Entry) -> bool {
        let path = lock(&self.fast).path(entry);
        let found = Found::at(&path).map(|found| stored::verify(&path, found.form));
        let damaged = match found {
            Some(Err(ReadError::Io { source, .. })) => is_of_file(&source),
            found => found.is_some_and(|verified| verified.is_err()),
        };
        damaged && lock(&self.fast).is_there()
    }

    /// Copies the checkpoint of `entry` if the slower tier does not have it, then applies retention
    /// on both tiers.
    fn bring(&self, entry: &Entry, slow: &mut Slow) -> Result<(), WriteError> {
        if !slow.restores(entry.step, |there| there.seal == entry.seal)? {
            self.check_later(entry, &slow.tier)?;
            if !self.has_base(entry, slow)? {
                return self.bring_base_first(entry);
            }
            self.copy(entry, slow)?;
        }
        {
            let mut fast = lock(&self.fast);
            // A file that has replaced it meanwhile is not drained.
            if is_current(&fast, entry) {
                fast.drained(entry.step)?;
            }
        }
        fault::pass("drained");
        slow.tier.apply_retention(&self.kept_on_slow(), false)?;
        slow.tier.update_list()?;
        let mut fast = lock(&self.fast);
        if fast.apply_retention(&self.settings.keep_fast, true)? != 0 {
            fast.update_list()?;
        }
        drop(fast);
        self.board().state.drained += 1;
        Ok(())
    }

    /// Returns the retention of the slower tier at this moment. It includes the bases of
    /// checkpoints that are not drained yet. Otherwise a base that is older than the other
    /// checkpoints would be copied and removed again and again.
    fn kept_on_slow(&self) -> Retention {
        let mut keep = self.settings.keep.clone();
        let outstanding = self.outstanding();
        keep.steps
            .extend(outstanding.iter().filter_map(Entry::base_step));
        keep
    }

    /// Returns true if the slower tier can restore the state that `entry` builds on. Otherwise no
    /// copy may be made: it could not be read there, but retention would count it and remove older
    /// checkpoints.
    fn has_base(&self, entry: &Entry, slow: &mut Slow) -> Result<bool, WriteError> {
        match entry.base_step() {
            None => Ok(true),
            Some(step) => slow.restores(step, |there| entry.builds_on(there)),
        }
    }

    /// Marks the base of `entry` as not drained. It is older than `entry`, so the drain takes it
    /// first.
    fn bring_base_first(&self, entry: &Entry) -> Result<(), WriteError> {
        let mut fast = lock(&self.fast);
        let base = fast
            .contents()
            .chain(entry.step)
            .nth(1)
            .map(|base| base.step);
        match base {
            Some(step) => fast.not_drained(step),
            None => Err(WriteError::Copy(ReadError::NoBase {
                path: fast.path(entry),
                base: entry.base_step().unwrap_or_default(),
                id: entry.base_id.clone(),
            })),
        }
    }

    /// Returns an error if the slower tier has checkpoints of later steps that the fast tier does
    /// not have. They may belong to another simulation.
    fn check_later(&self, entry: &Entry, slow: &Tier) -> Result<(), WriteError> {
        let newest = lock(&self.fast).contents().newest();
        let (step, there) = (entry.step, slow.contents().newest());
        match there {
            Some(last) if !self.settings.replace_later && Some(last) > newest => {
                Err(WriteError::Before { step, last })
            }
            _ => Ok(()),
        }
    }

    /// Copies the file of `entry` to the slower tier and enters it there.
    fn copy(&self, entry: &Entry, slow: &mut Slow) -> Result<(), WriteError> {
        let from = lock(&self.fast).path(entry);
        self.board().state.copying = Some((entry.step, 0, entry.bytes));
        let go_on = |done| {
            self.copied.store(done, Relaxed);
            !self.board().stop
        };
        let pace = Pace {
            limit: self.settings.limit,
            go_on: &go_on,
        };
        let form = Found::at(&from).map_or(Form::Full(Layout::default()), |found| found.form);
        // Verify the copy before it gets its name. This finds damage in the source as well.
        let (to, mode) = (slow.tier.path(entry), slow.tier.mode());
        copy(&from, &to, mode, &pace, |copy| {
            fault::pass("copied-file");
            stored::verify(copy, form).map_err(|e| Fault::Write(WriteError::Copy(e)))
        })?;
        fault::pass("copy-named");
        slow.complete(entry)?;
        fault::pass("copy-entered");
        let newest = lock(&self.fast).contents().newest();
        let newest = newest.unwrap_or(u64::MAX).max(entry.step);
        slow.tier.supersede(newest)
    }
}

/// Returns true if the error is one of the file. Others, such as too many open files or a server
/// that does not answer, may pass.
fn is_of_file(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    let is_kind = matches!(
        error.kind(),
        PermissionDenied | IsADirectory | InvalidInput | InvalidData | UnexpectedEof | Other
    );
    is_kind || error.raw_os_error() == Some(Errno::EIO as i32)
}

/// Returns true if `tier` still has the file that `entry` describes.
fn is_current(tier: &Tier, entry: &Entry) -> bool {
    let item = tier.contents().items.get(&entry.step);
    item.is_some_and(|item| item.entry.is_same_file(entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::drain::Settings;
    use crate::tier::drain::work::{MOST_PAUSE, open_slow};
    use crate::tier::test::written;
    use crate::{Checkpointer, Mode};
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    fn settings(slow: &Path) -> Settings {
        Settings {
            dir: slow.to_owned(),
            keep: Retention::default(),
            keep_fast: Retention::default(),
            limit: None,
            replace_later: false,
        }
    }

    /// Drains the only checkpoint of a tier after `change` was called with its file. Returns
    /// whether that succeeds, and whether the manifest still has the checkpoint.
    fn drained_after(change: impl FnOnce(&Path)) -> (bool, bool) {
        let [fast, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let dir = fast.path().join("tier");
        fs::create_dir(&dir).unwrap();
        let tier = written(&dir, 1);
        let entry = tier.contents().items[&1].entry.clone();
        let path = tier.path(&entry);
        let common = Common::new(Arc::new(Mutex::new(tier)), settings(slow.path()));
        let mut slow = open_slow(&common.fast, slow.path()).unwrap();
        change(&path);
        let done = common.drain(&entry, &mut slow);
        let is_known = lock(&common.fast).contents().items.contains_key(&1);
        (done.is_ok(), is_known)
    }

    #[test]
    fn unreadable_file_does_not_block_the_drain() {
        let gone = |path: &Path| fs::remove_file(path).unwrap();
        assert_eq!(drained_after(gone), (true, false));
        let directory = |path: &Path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        };
        assert_eq!(drained_after(directory), (true, false));
    }

    #[test]
    fn checkpoints_of_a_tier_that_is_away_are_kept() {
        let away = |path: &Path| {
            let tier = path.parent().unwrap();
            fs::rename(tier, tier.with_extension("away")).unwrap();
        };
        assert_eq!(drained_after(away), (false, true));
        assert!(is_of_file(&io::Error::from_raw_os_error(Errno::EIO as i32)));
        assert!(!is_of_file(&io::Error::from_raw_os_error(
            Errno::EMFILE as i32
        )));
    }

    #[test]
    fn file_that_replaced_a_drained_one_is_drained_again() {
        let [fast, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let mut tier = written(fast.path(), 1);
        let old = tier.contents().items[&1].entry.clone();
        let settings = settings(slow.path());
        drop(tier);
        let both = crate::Settings {
            slow: Some(slow.path().to_owned()),
            ..crate::Settings::new(fast.path())
        };
        let first = Checkpointer::open("run", both).unwrap();
        assert_eq!(first.wait_drained(MOST_PAUSE).unwrap().outstanding, 0);
        drop(first);
        tier = Tier::open(fast.path(), "run", None, Mode::PRIVATE).unwrap();
        let seal = "another".to_owned();
        tier.complete(Entry {
            seal,
            ..old.clone()
        })
        .unwrap();
        let common = Common::new(Arc::new(Mutex::new(tier)), settings);
        let mut slow = open_slow(&common.fast, slow.path()).unwrap();
        common.drain(&old, &mut slow).unwrap();
        assert!(!lock(&common.fast).contents().items[&1].drained);
        assert_eq!(common.outstanding().len(), 1, "it is still to be drained");
    }
}
