//! Reading a checkpoint back: a full one, or increments and what they build on.

use crate::error::ReadError;
use crate::find::{self, Form, Found};
use crate::full::Full;
use crate::header::Header;
use crate::increment::{self, Base, Increment};
use crate::{Layout, atomic, data, seal, series};
use ndarray::ArrayViewMutD;
use std::path::{Path, PathBuf};
use tcasm_core::field::{self, DType, Element, FieldDesc, FieldTable, Kind};
use tcasm_core::place::Extent;
use tcasm_core::stamp::Stamp;

/// More increments than this do not build on each other.
const MOST_FILES: usize = 4096;

/// An open checkpoint whose structure was found undamaged. Each field is checked when it is read.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    full: Full,
    /// What builds on it, oldest first.
    increments: Vec<Increment>,
    passed_over: Vec<(PathBuf, ReadError)>,
}

impl Checkpoint {
    /// Open the checkpoint at `path`. When that is a directory or a `.series` file: the newest in it that can be used;
    /// [`Checkpoint::passed_over`] tells which newer ones could not.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        if path.is_dir() {
            newest(path, in_dir(path)?, Vec::new(), open_file)
        } else if path.extension().is_some_and(|e| e == "series") {
            let mut files = series::files(path)?;
            files.reverse();
            newest(path, files, Vec::new(), open_file)
        } else {
            open_file(path)
        }
    }

    /// The newest checkpoint of `dirs`, tiers of a run, fastest first, of which every field can be read; or that of `step`. The
    /// path of a single file is taken as it is. What is passed over is told by [`Checkpoint::passed_over`].
    pub fn restart(dirs: &[impl AsRef<Path>], step: Option<u64>) -> Result<Self, ReadError> {
        let dirs: Vec<&Path> = dirs.iter().map(AsRef::as_ref).collect();
        if let ([file], None) = (&dirs[..], step)
            && file.is_file()
        {
            return verified(file);
        }
        let (mut found, mut away) = (Vec::new(), Vec::new());
        for (tier, dir) in dirs.iter().enumerate() {
            let files = match in_dir(dir) {
                // A tier that is lost, or not there for the time being: there are others.
                Err(error @ ReadError::Io { .. }) => {
                    away.push((dir.to_path_buf(), error));
                    continue;
                }
                files => files?,
            };
            found.extend(files.into_iter().filter_map(|path| {
                let step = Found::at(&path)?.step;
                Some((step, tier, path))
            }));
        }
        found.sort_by_key(|(step, tier, _)| (std::cmp::Reverse(*step), *tier));
        let place = dirs.first().copied().unwrap_or(Path::new("."));
        let of_run = |path: &PathBuf| Found::at(path).map(|found| found.name);
        one_run(place, found.iter().filter_map(|(.., path)| of_run(path)))?;
        if let Some(step) = step {
            let mut have: Vec<u64> = found.iter().map(|(step, ..)| *step).collect();
            have.dedup();
            found.retain(|(s, ..)| *s == step);
            if found.is_empty() {
                let dir = place.to_owned();
                return Err(ReadError::NoStep { dir, step, have });
            }
        }
        let files = found.into_iter().map(|(.., path)| path).collect();
        newest(place, files, away, verified)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the region that was stored.
    pub fn region(&self) -> &str {
        &self.header().region
    }

    /// Number, step and time of the version that was stored.
    pub fn stamp(&self) -> Stamp {
        self.header().stamp
    }

    /// The fields of that version.
    pub fn table(&self) -> &FieldTable {
        &self.header().table
    }

    /// Where the region lay in its producer, if the writer has told that.
    pub fn extent(&self) -> Option<Extent> {
        self.header().extent
    }

    /// The steps of the checkpoints that it is read from, its own last.
    pub fn steps(&self) -> Vec<u64> {
        let first = self.full.header().stamp.step;
        let rest = self.increments.iter().map(|i| i.stamp().step);
        std::iter::once(first).chain(rest).collect()
    }

    /// Newer checkpoints that could not be used, and why.
    pub fn passed_over(&self) -> &[(PathBuf, ReadError)] {
        &self.passed_over
    }

    /// The same, when the files are not needed any more.
    pub fn into_passed_over(self) -> Vec<(PathBuf, ReadError)> {
        self.passed_over
    }

    /// The seal of its file, which tells it from any other.
    pub fn seal(&self) -> &str {
        &self.header().seal
    }

    /// Read the field `name` into `buffer` as it lay in memory, ghost layers included. After an error, what `buffer`
    /// holds is of no use.
    pub fn read_bytes(&self, name: &str, buffer: &mut [u8]) -> Result<(), ReadError> {
        let field = self.field(name)?;
        if buffer.len() as u64 != field.bytes() {
            return Err(ReadError::WrongSize {
                field: name.to_owned(),
                need: field.bytes(),
                have: buffer.len(),
            });
        }
        self.full.read_bytes(field, buffer)?;
        let mut all = self.increments.iter();
        all.try_for_each(|increment| increment.apply(field, buffer))
    }

    /// Read the field `name` into `array`, which has the field's dtype and
    /// [`array_shape`](FieldDesc::array_shape), ghost layers included. After an error, what `array` holds is of no use.
    pub fn read_array<T: Element>(
        &self,
        name: &str,
        mut array: ArrayViewMutD<'_, T>,
    ) -> Result<(), ReadError> {
        let field = self.field(name)?;
        check_array(field, T::DTYPE, array.shape())?;
        if self.increments.is_empty() {
            return self.full.read_array(field, array);
        }
        // Increments change bytes as they lie in memory, which the array may not be.
        let mut bytes = vec![0; field.bytes() as usize];
        self.read_bytes(name, &mut bytes)?;
        let values = data::typed::<T>(&bytes);
        let values = bytemuck::cast_slice(&values);
        match field::view::<T>(field, values) {
            Ok(read) => array.assign(&read),
            Err(error) => unreachable!("{error}, though the array has this dtype and shape"),
        }
        Ok(())
    }

    /// Read all fields of all files and check them, without keeping anything.
    pub fn verify(&self) -> Result<(), ReadError> {
        self.full.verify()?;
        self.increments.iter().try_for_each(Increment::verify)
    }

    /// Read what its own file shows to other programs besides the fields, and check it: nothing here needs it.
    pub fn verify_copies(&self) -> Result<(), ReadError> {
        match self.increments.is_empty() {
            true => self.full.verify_copies(),
            false => Ok(()),
        }
    }

    fn header(&self) -> &Header {
        let last = self.increments.last();
        last.map_or(self.full.header(), Increment::header)
    }

    fn field(&self, name: &str) -> Result<&FieldDesc, ReadError> {
        self.table().get(name).ok_or_else(|| ReadError::NoField {
            path: self.path.clone(),
            field: name.to_owned(),
            have: self.table().fields.iter().map(|f| f.name.clone()).collect(),
        })
    }
}

fn check_array(field: &FieldDesc, asked: DType, shape: &[usize]) -> Result<(), ReadError> {
    let name = field.name.clone();
    if let Kind::Raw { type_name, .. } = &field.kind {
        let type_name = type_name.clone();
        return Err(ReadError::NotAnArray {
            field: name,
            type_name,
        });
    }
    if field.dtype != asked {
        let stored = field.dtype;
        return Err(ReadError::WrongType {
            field: name,
            stored,
            asked,
        });
    }
    if field.array_shape() != shape {
        return Err(ReadError::WrongShape {
            field: name,
            stored: field.array_shape(),
            asked: shape.to_vec(),
        });
    }
    Ok(())
}

/// The checkpoints in `dir`, newest first, when they are of one run.
fn in_dir(dir: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let mut found = find::in_dir(dir).map_err(ReadError::io(dir))?;
    let ours = found.iter().filter(is_ours).map(|f| f.name.clone());
    if let Some(name) = one_run(dir, ours)? {
        found.retain(|f| f.name == name);
    }
    Ok(found.into_iter().rev().map(|f| f.path).collect())
}

/// What the checkpoints in `dir` are called; an error, if they are of several runs.
fn one_run(dir: &Path, names: impl Iterator<Item = String>) -> Result<Option<String>, ReadError> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    match names.len() {
        0 | 1 => Ok(names.pop()),
        _ => Err(ReadError::SeveralNames {
            dir: dir.to_owned(),
            names,
        }),
    }
}

/// Others write `<name>_<step>.h5`, too; such a file of ours has a seal.
fn is_ours(found: &&Found) -> bool {
    found.form != Form::Full(Layout::OpenPmd)
        || seal::identity(&found.path).is_ok_and(|seal| seal.is_some())
}

/// The first of `files` that `open` can use; others were passed over before.
fn newest(
    place: &Path,
    files: Vec<PathBuf>,
    mut passed_over: Vec<(PathBuf, ReadError)>,
    open: impl Fn(&Path) -> Result<Checkpoint, ReadError>,
) -> Result<Checkpoint, ReadError> {
    for path in files {
        match open(&path) {
            Ok(checkpoint) => {
                return Ok(Checkpoint {
                    passed_over,
                    ..checkpoint
                });
            }
            Err(error) => {
                tracing::warn!("passing over a checkpoint: {error}");
                passed_over.push((path, error));
            }
        }
    }
    match passed_over.is_empty() {
        true => Err(ReadError::NoneFound(place.to_owned())),
        false => Err(ReadError::NoneUsable(place.to_owned(), passed_over)),
    }
}

fn verified(path: &Path) -> Result<Checkpoint, ReadError> {
    let checkpoint = open_file(path)?;
    checkpoint.verify()?;
    Ok(checkpoint)
}

fn open_file(path: &Path) -> Result<Checkpoint, ReadError> {
    let mut increments = Vec::new();
    let full = open_chain(path, &mut increments)?;
    increments.reverse();
    let checkpoint = Checkpoint {
        path: path.to_owned(),
        full,
        increments,
        passed_over: Vec::new(),
    };
    check_chain(&checkpoint)?;
    Ok(checkpoint)
}

/// The full checkpoint that the one at `path` is read from, and the increments between, newest first.
fn open_chain(path: &Path, increments: &mut Vec<Increment>) -> Result<Full, ReadError> {
    let Some(found) = Found::at(path).filter(|found| found.form == Form::Increment) else {
        return Full::open(path);
    };
    let increment = Increment::open(path)?;
    let base = increment.base().clone();
    increments.push(increment);
    let depth = increments.len();
    // There are two only while a chain is put together.
    let mut error = no_base(path, &base);
    for file in bases_of(&found, &base) {
        let opened = match depth < MOST_FILES {
            true => open_chain(&file, increments),
            false => break,
        };
        let id = |full: &Full| match increments.get(depth) {
            Some(below) => below.header().id.clone(),
            None => full.header().id.clone(),
        };
        match opened {
            Ok(full) if id(&full) == base.id => return Ok(full),
            Ok(_) => {}
            Err(why) => error = why,
        }
        increments.truncate(depth);
    }
    Err(error)
}

/// The files that an increment may build on: beside it, of that step.
fn bases_of(increment: &Found, base: &Base) -> Vec<PathBuf> {
    let dir = atomic::directory(&increment.path);
    let name = |form| dir.join(find::file_name(&increment.name, base.step, form));
    let files = Form::ALL.map(name);
    files.into_iter().filter(|file| file.exists()).collect()
}

fn no_base(path: &Path, base: &Base) -> ReadError {
    let Base { step, id } = base.clone();
    ReadError::NoBase {
        path: path.to_owned(),
        base: step,
        id,
    }
}

/// The fields of all files must stand at the same places, or bytes would go to wrong ones.
fn check_chain(checkpoint: &Checkpoint) -> Result<(), ReadError> {
    let table = checkpoint.table();
    let rest = checkpoint.increments.iter().map(Increment::table);
    let mut all = std::iter::once(&checkpoint.full.header().table).chain(rest);
    match all.all(|other| increment::alike(table, other)) {
        true => Ok(()),
        false => Err(ReadError::Damaged {
            path: checkpoint.path.clone(),
            why: "its fields are not those of what it builds on".to_owned(),
        }),
    }
}
