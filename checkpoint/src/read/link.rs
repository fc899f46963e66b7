//! One file of a chain: its description of itself, and the result of its check.

use crate::error::ReadError;
use crate::format::description::Base;
use crate::format::header::Header;
use crate::format::increment;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tcasm_core::field::FieldTable;

/// The largest number of files that a checkpoint may need.
pub const MOST_FILES: usize = if cfg!(test) { 16 } else { 4096 };

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
    pub id: String,
    /// The file that it builds on, if it is an increment.
    pub base: Option<PathBuf>,
    /// Its fields, or those of its base, whose values have the same places.
    table: Arc<FieldTable>,
}

/// A checkpoint that cannot be read.
#[derive(Debug)]
pub struct Bad {
    /// The damaged file, and what is wrong with it.
    blame: Arc<(PathBuf, String)>,
    /// The error itself, until it is returned for the first time.
    error: Option<ReadError>,
}

/// The description that a file has of itself.
pub struct Own {
    /// Its step.
    pub step: u64,
    /// The identity of its state.
    id: String,
    /// The state that it builds on, if it is an increment.
    pub base: Option<Base>,
    /// Its fields.
    table: FieldTable,
}

impl Own {
    /// Returns what `header` says. `base` is the state that the file builds on.
    pub fn of(header: &Header, base: Option<&Base>) -> Self {
        Own {
            step: header.stamp.step,
            id: header.id.clone(),
            base: base.cloned(),
            table: header.table.clone(),
        }
    }

    /// Returns the result for a full checkpoint.
    pub fn alone(self) -> Whole {
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
    pub fn on(self, file: &Path, below: &Path, base: &Whole) -> Result<Whole, ReadError> {
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

impl Whole {
    /// Returns the largest bound of the relative error of a field, if values are rounded.
    pub fn relative_error(&self) -> Option<f64> {
        self.table.relative_error()
    }
}

impl Bad {
    /// Returns the result for `file`, which cannot be read because of `error`.
    pub fn new(file: &Path, error: ReadError) -> Bad {
        Bad {
            blame: Arc::new((file.to_owned(), error.to_string())),
            error: Some(error),
        }
    }

    /// Returns the result for a file that builds on this one.
    pub fn of_dependent(&self) -> Bad {
        Bad {
            blame: self.blame.clone(),
            error: None,
        }
    }

    /// Returns the error for the file at `path`, whose result this is.
    pub fn told_of(&mut self, path: &Path) -> ReadError {
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

/// Returns the error for the increment at `path`, whose base is missing.
pub fn no_base(path: &Path, base: &Base) -> ReadError {
    ReadError::NoBase {
        path: path.to_owned(),
        base: base.step,
        id: base.id.clone(),
    }
}

/// Returns the error for a damaged file at `path`.
pub fn damaged(path: &Path, why: String) -> ReadError {
    let path = path.to_owned();
    ReadError::Damaged { path, why }
}
