//! The files that a checkpoint is read from: a full one, and the increments on it.
//!
//! Each file is examined once, however many increments build on it. Chains are followed in a loop,
//! without recursion. So neither a folder with many increments nor a forged chain costs more than
//! reading its files once.

use crate::atomic;
use crate::error::ReadError;
use crate::find::{self, Form, Found};
use crate::full::Full;
use crate::header::Header;
use crate::increment::{self, Base, Increment};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tcasm_core::field::FieldTable;

/// The largest number of files that a checkpoint may need.
const MOST_FILES: usize = if cfg!(test) { 16 } else { 4096 };

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

/// A checkpoint whose files are all sound.
#[derive(Clone, Debug)]
pub struct Whole {
    /// Its step.
    pub step: u64,
    /// The number of files that it is read from.
    pub files: usize,
    /// The step of the full checkpoint that it builds on, or its own.
    pub first: u64,
    /// The identity of its state.
    id: String,
    /// The file that it builds on, if it is an increment.
    base: Option<PathBuf>,
    /// Its fields, or those of its base, which have the same shape.
    table: Arc<FieldTable>,
}

/// A checkpoint that cannot be read.
#[derive(Debug)]
struct Bad {
    /// The damaged file, and what is wrong with it.
    blame: Arc<(PathBuf, String)>,
    /// The error itself, until it is returned for the first time.
    error: Option<ReadError>,
}

/// A file that was opened for the checkpoint that is being examined.
#[derive(Debug)]
enum Opened {
    Full(Full),
    Increment(Increment),
}

/// What a file says about itself.
struct Own {
    step: u64,
    id: String,
    base: Option<Base>,
    table: FieldTable,
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
        let found = found.map_err(|error| Bad {
            blame: Arc::new((file.to_owned(), error.to_string())),
            error: Some(error),
        });
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
        let dir = atomic::directory(path);
        let file = |form| dir.join(find::file_name(&found.name, base.step, form));
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

impl Own {
    fn of(header: &Header, base: Option<&Base>) -> Self {
        Own {
            step: header.stamp.step,
            id: header.id.clone(),
            base: base.cloned(),
            table: header.table.clone(),
        }
    }

    /// Returns the result for a full checkpoint.
    fn alone(self) -> Whole {
        Whole {
            step: self.step,
            files: 1,
            first: self.step,
            id: self.id,
            base: None,
            table: Arc::new(self.table),
        }
    }

    /// Returns the result for the increment in `file` on `base`, whose file is `below`.
    fn on(self, file: &Path, below: &Path, base: &Whole) -> Result<Whole, ReadError> {
        let named = self.base.as_ref();
        if let Some(named) = named.filter(|n| (n.step, &n.id) != (base.step, &base.id)) {
            return Err(no_base(file, named));
        }
        if base.files >= MOST_FILES {
            let why = format!("it takes more than {MOST_FILES} files");
            return Err(damaged(file, why));
        }
        // Otherwise bytes would be written to wrong places.
        if !increment::alike(&self.table, &base.table) {
            let why = "its fields are not those of what it builds on".to_owned();
            return Err(damaged(file, why));
        }
        Ok(Whole {
            step: self.step,
            files: base.files + 1,
            first: base.first,
            id: self.id,
            base: Some(below.to_owned()),
            table: base.table.clone(),
        })
    }
}

impl Bad {
    /// Returns the result for a file that builds on this one.
    fn of_dependent(&self) -> Bad {
        Bad {
            blame: self.blame.clone(),
            error: None,
        }
    }

    /// Returns the error for the file at `path`, whose result this is.
    fn told_of(&mut self, path: &Path) -> ReadError {
        let (base, why) = (&self.blame.0, &self.blame.1);
        match self.error.take() {
            Some(error) => error,
            None if base == path => damaged(path, why.clone()),
            None => ReadError::BadBase {
                path: path.to_owned(),
                base: base.clone(),
                why: why.clone(),
            },
        }
    }
}

fn no_base(path: &Path, base: &Base) -> ReadError {
    ReadError::NoBase {
        path: path.to_owned(),
        base: base.step,
        id: base.id.clone(),
    }
}

fn damaged(path: &Path, why: String) -> ReadError {
    let path = path.to_owned();
    ReadError::Damaged { path, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Checkpoint, Checkpointer, Settings, Snapshot};
    use tcasm_core::field::{DType, FieldDesc};
    use tcasm_core::stamp::Stamp;

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
