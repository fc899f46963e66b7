//! The files that a checkpoint is read from: a full one, and the increments on it.
//!
//! Each file is examined once, however many increments build on it. Chains are followed in a loop,
//! without recursion. So neither a folder with many increments nor a forged chain costs more than
//! reading its files once.

use super::link::{Bad, MOST_FILES, Own, Whole, damaged, no_base};
use crate::error::ReadError;
use crate::file::directory;
use crate::format::full::Full;
use crate::format::increment::Increment;
use crate::format::names::{self, Form, Found};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How thoroughly files are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Care {
    /// Check the structure.
    Structure,
    /// Check the values of all fields too.
    Fields,
    /// Also check the copies of fields that are stored for other programs.
    Copies,
}

/// A file that was opened for the checkpoint that is being examined.
#[derive(Debug)]
enum Opened {
    Full(Full),
    Increment(Increment),
}

/// The results of all checks so far.
#[derive(Debug)]
pub struct Chains {
    /// How thoroughly files are checked.
    care: Care,
    /// The result for each file that was examined.
    known: HashMap<PathBuf, Result<Whole, Bad>>,
    /// Files whose copies for other programs are damaged.
    copies: HashMap<PathBuf, ReadError>,
    /// Open files that are going to be read. `None` if files are only checked.
    opened: Option<HashMap<PathBuf, Opened>>,
}

impl Chains {
    /// Returns chains whose files are only checked.
    pub fn new(care: Care) -> Self {
        Chains {
            care,
            known: HashMap::new(),
            copies: HashMap::new(),
            opened: None,
        }
    }

    /// Returns chains whose files are kept open to be read after the check.
    pub fn to_read(care: Care) -> Self {
        Chains {
            opened: Some(HashMap::new()),
            ..Chains::new(care)
        }
    }

    /// Checks the checkpoint at `path`, and all that it builds on.
    pub fn check(&mut self, path: &Path) -> Result<Whole, ReadError> {
        self.resolve(path);
        if let Some(error) = self.copies.remove(path) {
            return Err(error);
        }
        match self.known.get_mut(path) {
            Some(Ok(whole)) => Ok(whole.clone()),
            Some(Err(bad)) => Err(bad.told_of(path)),
            None => Err(ReadError::NoneFound(path.to_owned())),
        }
    }

    /// Opens the checkpoint at `path`. Returns its full file and the increments on it, oldest
    /// first.
    pub fn open(&mut self, path: &Path) -> Result<(Full, Vec<Increment>), ReadError> {
        if let Some(opened) = &mut self.opened {
            opened.clear();
        }
        let mut file = path.to_owned();
        let mut whole = self.check(path)?;
        let mut increments = Vec::new();
        while let Some(base) = whole.base {
            increments.push(match self.take(&file) {
                Some(Opened::Increment(increment)) => increment,
                _ => Increment::open(&file)?,
            });
            whole = self.check(&base)?;
            file = base;
        }
        increments.reverse();
        match self.take(&file) {
            Some(Opened::Full(full)) => Ok((full, increments)),
            _ => Ok((Full::open(&file)?, increments)),
        }
    }

    /// Returns the open file `file`, if it was kept.
    fn take(&mut self, file: &Path) -> Option<Opened> {
        self.opened.as_mut()?.remove(file)
    }

    /// Examines the file at `path` and all that it builds on, and records the results.
    fn resolve(&mut self, path: &Path) {
        let (mut at, mut line) = (path.to_owned(), Vec::new());
        // Go down to a file that is known, or builds on none, or is bad.
        while !self.known.contains_key(&at) {
            let own = self.own(&at);
            let below = own.and_then(|own| Ok((self.below(&at, &own)?, own)));
            match below {
                Err(error) => self.settle(&at, Err(error)),
                Ok((None, own)) => self.settle(&at, Ok(own.alone())),
                Ok((Some(base), own)) => {
                    line.push((at, own));
                    at = base;
                }
            }
        }
        // Then go up again.
        while let Some((file, own)) = line.pop() {
            match self.known.get(&at) {
                Some(Err(bad)) => {
                    let bad = bad.of_dependent();
                    self.known.insert(file.clone(), Err(bad));
                }
                Some(Ok(base)) => {
                    let whole = own.on(&file, &at, base);
                    self.settle(&file, whole);
                }
                None => {}
            }
            at = file;
        }
    }

    /// Records the result for `file`.
    fn settle(&mut self, file: &Path, found: Result<Whole, ReadError>) {
        let found = found.map_err(|error| Bad::new(file, error));
        self.known.insert(file.to_owned(), found);
    }

    /// Examines the file at `path`, but not what it builds on.
    fn own(&mut self, path: &Path) -> Result<Own, ReadError> {
        let is_increment = Found::at(path).is_some_and(|found| found.form == Form::Increment);
        let (own, opened) = match is_increment {
            true => {
                let increment = Increment::open(path)?;
                if self.care >= Care::Fields {
                    increment.verify()?;
                }
                let own = Own::of(increment.header(), Some(increment.base()));
                (own, Opened::Increment(increment))
            }
            false => {
                let full = Full::open(path)?;
                if self.care >= Care::Fields {
                    full.verify()?;
                }
                if self.care >= Care::Copies
                    && let Err(error) = full.verify_copies()
                {
                    self.copies.insert(path.to_owned(), error);
                }
                (Own::of(full.header(), None), Opened::Full(full))
            }
        };
        if let Some(all) = self.opened.as_mut().filter(|all| all.len() < MOST_FILES) {
            all.insert(path.to_owned(), opened);
        }
        Ok(own)
    }

    /// Returns the file that the one at `path` builds on. It lies beside it and is of the step that
    /// it names.
    fn below(&mut self, path: &Path, own: &Own) -> Result<Option<PathBuf>, ReadError> {
        let (Some(base), Some(found)) = (&own.base, Found::at(path)) else {
            return Ok(None);
        };
        if base.step >= own.step {
            let why = format!("it builds on step {}, which comes later", base.step);
            return Err(damaged(path, why));
        }
        let dir = directory(path);
        let file = |form| dir.join(names::file_name(&found.name, base.step, form));
        let there: Vec<_> = Form::ALL
            .into_iter()
            .filter(|form| file(*form).exists())
            .collect();
        // There are two files of a step only while a chain is compacted. The full one is preferred,
        // as it needs no other file.
        for form in there.iter().filter(|form| **form != Form::Increment) {
            self.resolve(&file(*form));
            if let Some(Ok(whole)) = self.known.get(&file(*form))
                && whole.id == base.id
            {
                return Ok(Some(file(*form)));
            }
        }
        // Otherwise take the last one, which is the increment if there is one. If there is only a
        // full one, the caller reports what is wrong with it.
        match there.last() {
            Some(form) => Ok(Some(file(*form))),
            None => Err(no_base(path, base)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checkpoint, Checkpointer, Settings, Snapshot};
    use tcasm_core::field::{DType, FieldDesc, FieldTable};
    use tcasm_core::format::stamp::Stamp;

    #[test]
    fn checkpoints_beyond_the_longest_chain_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings {
            most_files: usize::MAX,
            ..Settings::new(dir.path())
        };
        let mut to = Checkpointer::open("run", settings).unwrap();
        let table = FieldTable {
            fields: vec![FieldDesc::new("t", DType::U8, &[3])],
            ..FieldTable::default()
        };
        let mut paths = Vec::new();
        for step in 1..=20 {
            let stamp = Stamp {
                version: step,
                step,
                time: 0.0,
            };
            let values = [step as u8; 3];
            let snapshot = Snapshot::new("run", stamp, &table, |_| &values);
            let filled = to.fill_increment(&snapshot, |_| std::iter::once(0..3).collect());
            paths.push(to.commit(filled.unwrap()).unwrap().path);
        }
        let mut chains = Chains::new(Care::Fields);
        for (i, path) in paths.iter().enumerate().rev() {
            match chains.check(path) {
                Ok(whole) => assert_eq!((whole.files, whole.first), (i + 1, 1)),
                Err(_) if i >= MOST_FILES => {}
                Err(error) => panic!("{i}: {error}"),
            }
        }
        let restart = Checkpoint::restart(&[dir.path()], None).unwrap();
        assert_eq!(restart.stamp().step, MOST_FILES as u64);
        assert_eq!(restart.passed_over().len(), 20 - MOST_FILES);
        let mut values = [0; 3];
        restart.read_bytes("t", &mut values).unwrap();
        assert_eq!(values, [MOST_FILES as u8; 3]);
    }
}
