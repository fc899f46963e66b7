//! One checkpoint on its way to the slow tier: never before what it builds on is there.

use super::{Common, lock};
use crate::error::{Fault, ReadError, WriteError};
use crate::find::{Form, Found};
use crate::tier::contents::Entry;
use crate::tier::copy::{Pace, copy};
use crate::tier::slow::Slow;
use crate::tier::{Retention, Tier};
use crate::{Layout, series, stored};
use std::sync::atomic::Ordering::Relaxed;
use tcasm_core::fault;

impl Common {
    /// Drains one checkpoint, or finds out that there is something else to do before, or that
    /// nothing can be done.
    pub fn drain(&self, entry: &Entry, slow: &mut Slow) -> Result<(), WriteError> {
        match self.bring(entry, slow) {
            // Another file has taken its place, or none: the next look finds what is there.
            Err(_) if !is_current(&lock(&self.fast), entry) => Ok(()),
            // Trying again would not help, and those after it shall not wait.
            Err(WriteError::Copy(why @ ReadError::NoBase { .. })) => {
                lock(&self.fast).forget(entry.step, &why.to_string())
            }
            Err(WriteError::Copy(why)) if self.is_damaged(entry) => {
                tracing::error!(step = entry.step, %why, "a checkpoint is damaged; it is set aside");
                lock(&self.fast).set_aside(entry.step, &why.to_string())
            }
            result => result,
        }
    }

    /// Returns true if the source is wrong, and not the copy.
    fn is_damaged(&self, entry: &Entry) -> bool {
        let path = lock(&self.fast).path(entry);
        Found::at(&path).is_some_and(|found| stored::verify(&path, found.form).is_err())
    }

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
            // Not of a file that has taken its place meanwhile.
            if is_current(&fast, entry) {
                fast.drained(entry.step)?;
            }
        }
        fault::pass("drained");
        slow.tier.tidy(&self.kept_on_slow(), false)?;
        series::update(&mut slow.tier)?;
        let mut fast = lock(&self.fast);
        if fast.tidy(&self.settings.keep_fast, true)? != 0 {
            series::update(&mut fast)?;
        }
        drop(fast);
        self.board().state.drained += 1;
        Ok(())
    }

    /// Returns what the slow tier keeps at this moment: also what outstanding increments build on.
    /// Otherwise a base that is older than the rest would be copied and removed again and again.
    fn kept_on_slow(&self) -> Retention {
        let mut keep = self.settings.keep.clone();
        let outstanding = self.outstanding();
        keep.steps
            .extend(outstanding.iter().filter_map(Entry::base_step));
        keep
    }

    /// Returns true if the slow tier restores the state that `entry` builds on. A copy that cannot
    /// be read there must not be made: retention would count it, and let older ones go.
    fn has_base(&self, entry: &Entry, slow: &mut Slow) -> Result<bool, WriteError> {
        match entry.base_step() {
            None => Ok(true),
            Some(step) => slow.restores(step, |there| entry.builds_on(there)),
        }
    }

    /// Has the base of `entry` drained, again if need be: as it is older, it comes first then.
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

    /// Files of later steps that are not on the fast tier may be another simulation's.
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
        // Neither the source nor the copy is taken on trust.
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

fn is_current(tier: &Tier, entry: &Entry) -> bool {
    let item = tier.contents().items.get(&entry.step);
    item.is_some_and(|item| item.entry.is_same_file(entry))
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use crate::tier::test::written;
    use crate::{Checkpointer, Mode};

    #[test]
    fn what_has_taken_the_place_of_a_drained_file_is_not_drained() {
        let [fast, slow] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let mut tier = written(fast.path(), 1);
        let old = tier.contents().items[&1].entry.clone();
        let settings = Settings {
            dir: slow.path().to_owned(),
            keep: Retention::default(),
            keep_fast: Retention::default(),
            limit: None,
            replace_later: false,
        };
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
        let common = Common {
            fast: Arc::new(Mutex::new(tier)),
            settings,
            board: Mutex::default(),
            changed: Condvar::new(),
            copied: AtomicU64::new(0),
        };
        let mut slow = open_slow(&common.fast, slow.path()).unwrap();
        common.drain(&old, &mut slow).unwrap();
        assert!(!lock(&common.fast).contents().items[&1].drained);
        assert_eq!(common.outstanding().len(), 1, "there is another look");
    }
}
