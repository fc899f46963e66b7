//! Reads a checkpoint: a full one, or an increment with all that it builds on.

use crate::chain::{Care, Chains};
use crate::error::ReadError;
use crate::find::{self, Form, Found};
use crate::full::Full;
use crate::header::Header;
use crate::increment::Increment;
use crate::{Layout, data, memory, seal, series};
use ndarray::ArrayViewMutD;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use tcasm_core::field::{self, DType, Element, FieldDesc, FieldTable, Kind};
use tcasm_core::place::Extent;
use tcasm_core::stamp::Stamp;

/// An open checkpoint whose structure is undamaged. Each field is checked when it is read.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    full: Full,
    /// The increments on the full checkpoint, oldest first.
    increments: Vec<Increment>,
    passed_over: Vec<(PathBuf, ReadError)>,
}

impl Checkpoint {
    /// Opens the checkpoint at `path`. If that is a directory or a `.series` file, opens the newest
    /// checkpoint in it that can be used. [`Checkpoint::passed_over`] tells which newer ones could
    /// not be used.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        if path.is_dir() {
            newest(path, in_dir(path)?, Vec::new(), Care::Structure)
        } else if path.extension().is_some_and(|e| e == "series") {
            let mut files = series::files(path)?;
            files.reverse();
            newest(path, files, Vec::new(), Care::Structure)
        } else {
            open_file(path, &mut Chains::to_read(Care::Structure))
        }
    }

    /// Opens the newest checkpoint of which every field can be read, or that of `step`. `dirs` are
    /// the tiers of a run, fastest first, or the path of a single file. [`Checkpoint::passed_over`]
    /// tells which newer ones could not be used.
    pub fn restart(dirs: &[impl AsRef<Path>], step: Option<u64>) -> Result<Self, ReadError> {
        let dirs: Vec<&Path> = dirs.iter().map(AsRef::as_ref).collect();
        if let ([file], None) = (&dirs[..], step)
            && file.is_file()
        {
            return open_file(file, &mut Chains::to_read(Care::Fields));
        }
        let (mut found, mut away) = (Vec::new(), Vec::new());
        for (tier, dir) in dirs.iter().enumerate() {
            match find::in_dir(dir) {
                Ok(files) => found.extend(files.into_iter().map(|file| (tier, file))),
                // A tier that is lost, or unreachable for now, is not an error: there are others.
                Err(error) => away.push((dir.to_path_buf(), ReadError::io(dir)(error))),
            }
        }
        let place = dirs.first().copied().unwrap_or(Path::new("."));
        let mut found = of_one_run(place, found)?;
        found.sort_by_key(|(tier, file)| (Reverse(file.step), *tier, file.form));
        if let Some(step) = step {
            let mut have: Vec<u64> = found.iter().map(|(_, file)| file.step).collect();
            have.dedup();
            found.retain(|(_, file)| file.step == step);
            if found.is_empty() {
                let dir = place.to_owned();
                return Err(ReadError::NoStep { dir, step, have });
            }
        }
        let files = found.into_iter().map(|(_, file)| file.path).collect();
        newest(place, files, away, Care::Fields)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the name of the region that was stored.
    pub fn region(&self) -> &str {
        &self.header().region
    }

    /// Returns the number, the step and the time of the version that was stored.
    pub fn stamp(&self) -> Stamp {
        self.header().stamp
    }

    /// Returns the fields of that version.
    pub fn table(&self) -> &FieldTable {
        &self.header().table
    }

    /// Returns where the region lay in its producer, if the file says so.
    pub fn extent(&self) -> Option<Extent> {
        self.header().extent
    }

    /// Returns the steps of the checkpoints that it is read from, its own last.
    pub fn steps(&self) -> Vec<u64> {
        let first = self.full.header().stamp.step;
        let rest = self.increments.iter().map(|i| i.stamp().step);
        std::iter::once(first).chain(rest).collect()
    }

    /// Returns the newer checkpoints that could not be used, with their errors.
    pub fn passed_over(&self) -> &[(PathBuf, ReadError)] {
        &self.passed_over
    }

    /// Closes the files and returns the same as [`Checkpoint::passed_over`].
    pub fn into_passed_over(self) -> Vec<(PathBuf, ReadError)> {
        self.passed_over
    }

    /// Returns the seal of its file, which no other file has.
    pub fn seal(&self) -> &str {
        &self.header().seal
    }

    /// Reads the field `name` into `buffer` as it lay in memory, ghost layers included. After an
    /// error, the contents of `buffer` are unspecified.
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

    /// Reads the field `name` into `array`, ghost layers included. `array` must have the field's
    /// dtype and [`array_shape`](FieldDesc::array_shape). After an error, the contents of `array`
    /// are unspecified.
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
        memory::check(field.bytes()).map_err(|why| self.too_large(why))?;
        // Increments change bytes in the order of memory. The array may be in another order.
        let mut bytes = vec![0; field.bytes() as usize];
        self.read_bytes(name, &mut bytes)?;
        let values = data::typed::<T>(&bytes);
        let values = bytemuck::cast_slice(&values);
        match field::view::<T>(field, values) {
            Ok(read) => array.assign(&read),
            Err(error) => unreachable!("{error}, although dtype and shape were checked"),
        }
        Ok(())
    }

    /// Reads and checks all fields of all files, without keeping anything.
    pub fn verify(&self) -> Result<(), ReadError> {
        self.full.verify()?;
        self.increments.iter().try_for_each(Increment::verify)
    }

    /// Reads and checks the copies of fields that its own file holds for other programs. Nothing in
    /// this crate reads them otherwise.
    pub fn verify_copies(&self) -> Result<(), ReadError> {
        match self.increments.is_empty() {
            true => self.full.verify_copies(),
            false => Ok(()),
        }
    }

    /// Returns the error for a checkpoint that does not fit into memory.
    pub(crate) fn too_large(&self, why: memory::TooLarge) -> ReadError {
        ReadError::TooLarge {
            path: self.path.clone(),
            need: why.need,
            have: why.have,
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

/// Checks that an array with this dtype and shape can take `field`.
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

/// Returns the checkpoints in `dir`, newest first. They must be of one run.
fn in_dir(dir: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let found = find::in_dir(dir).map_err(ReadError::io(dir))?;
    let found = found.into_iter().rev().map(|file| (0, file)).collect();
    let found = of_one_run(dir, found)?;
    Ok(found.into_iter().map(|(_, file)| file.path).collect())
}

/// Returns those of `found` that may be of one run; each comes with the number of its tier. Fails
/// if there are several runs. A run exists if one of its files has a seal.
fn of_one_run(
    dir: &Path,
    mut found: Vec<(usize, Found)>,
) -> Result<Vec<(usize, Found)>, ReadError> {
    let is_ours = |file: &Found| seal::identity(&file.path).is_ok_and(|seal| seal.is_some());
    let mut runs: Vec<String> = found.iter().map(|(_, file)| file.name.clone()).collect();
    runs.sort();
    runs.dedup();
    runs.retain(|run| {
        let mut files = found.iter().filter(|(_, file)| file.name == *run);
        files.any(|(_, file)| is_ours(file))
    });
    if runs.len() > 1 {
        let dir = dir.to_owned();
        return Err(ReadError::SeveralNames { dir, names: runs });
    }
    // Other programs use names like `<name>_<step>.h5` too, so such files are ignored. Other files
    // with the name of a checkpoint are kept, so that their errors are reported.
    let is_foreign = |file: &Found| file.form == Form::Full(Layout::OpenPmd);
    if let Some(run) = runs.first() {
        found.retain(|(_, file)| file.name == *run || !is_foreign(file));
    }
    Ok(found)
}

/// Opens the first of `files` that can be used. `passed_over` are files that could not be used
/// before.
fn newest(
    place: &Path,
    files: Vec<PathBuf>,
    mut passed_over: Vec<(PathBuf, ReadError)>,
    care: Care,
) -> Result<Checkpoint, ReadError> {
    let mut chains = Chains::to_read(care);
    for path in files {
        match open_file(&path, &mut chains) {
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

fn open_file(path: &Path, chains: &mut Chains) -> Result<Checkpoint, ReadError> {
    let (full, increments) = chains.open(path)?;
    Ok(Checkpoint {
        path: path.to_owned(),
        full,
        increments,
        passed_over: Vec::new(),
    })
}
