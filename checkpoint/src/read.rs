//! Reading a checkpoint back.

use crate::error::ReadError;
use crate::series::Series;
use crate::vtkhdf::FORMAT;
use crate::{data, find, grid, seal};
use hdf5::types::VarLenUnicode;
use hdf5::{File, Group};
use ndarray::{ArrayViewMutD, Axis, IxDyn, Slice};
use std::path::{Path, PathBuf};
use tcasm_core::field::{Element, FieldDesc, FieldTable, Kind};
use tcasm_core::stamp::Stamp;

/// An open checkpoint whose structure was found undamaged. Each field is checked when it is read.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    file: File,
    region: String,
    stamp: Stamp,
    table: FieldTable,
    passed_over: Vec<(PathBuf, ReadError)>,
}

impl Checkpoint {
    /// Open the checkpoint at `path`. When that is a directory or a `.series` file: the newest in it that can be used;
    /// [`Checkpoint::passed_over`] tells which newer ones could not.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        if path.is_dir() {
            newest(path, in_dir(path)?)
        } else if path.extension().is_some_and(|e| e == "series") {
            let mut files = Series::files(path)?;
            files.reverse();
            newest(path, files)
        } else {
            open_file(path)
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the region that was stored.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// Number, step and time of the version that was stored.
    pub fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// The fields of that version.
    pub fn table(&self) -> &FieldTable {
        &self.table
    }

    /// Newer checkpoints that could not be used, and why.
    pub fn passed_over(&self) -> &[(PathBuf, ReadError)] {
        &self.passed_over
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
        let mut at = 0;
        self.read_checked(field, |_, bytes| {
            buffer[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        })
    }

    /// Read the field `name` into `array`, which has the field's dtype and
    /// [`array_shape`](FieldDesc::array_shape), ghost layers included. After an error, what `array` holds is of no use.
    pub fn read_array<T: Element>(
        &self,
        name: &str,
        array: ArrayViewMutD<'_, T>,
    ) -> Result<(), ReadError> {
        let field = self.field(name)?;
        check_array(field, T::DTYPE, array.shape())?;
        let slowest_first: Vec<usize> = (0..field.shape.len()).collect();
        let mut axes = grid::slowest_first(field, &slowest_first);
        axes.extend(axes.len()..array.ndim());
        let shape = self.dataset(field)?.shape();
        let mut target = data::reshape_units(array.permuted_axes(IxDyn(&axes)), &shape)
            .ok_or_else(|| self.damaged(field, data::misfit(field, &shape).to_string()))?;
        self.read_checked(field, |rows, bytes| {
            let mut target = match target.ndim() {
                0 => target.view_mut(),
                _ => target.slice_axis_mut(Axis(0), Slice::from(rows)),
            };
            let values: Vec<T> = bytemuck::allocation::pod_collect_to_vec(bytes);
            target
                .iter_mut()
                .zip(values)
                .for_each(|(to, from)| *to = from);
        })
    }

    /// Read all fields and check them, without keeping anything.
    pub fn verify(&self) -> Result<(), ReadError> {
        let check = |field| self.read_checked(field, |_, _| ());
        self.table.fields.iter().try_for_each(check)
    }

    fn field(&self, name: &str) -> Result<&FieldDesc, ReadError> {
        self.table.get(name).ok_or_else(|| ReadError::NoField {
            path: self.path.clone(),
            field: name.to_owned(),
            have: self.table.fields.iter().map(|f| f.name.clone()).collect(),
        })
    }

    fn dataset(&self, field: &FieldDesc) -> Result<hdf5::Dataset, ReadError> {
        let dataset = self.file.dataset(&format!("tcasm/fields/{}", field.name));
        dataset.map_err(|e| self.damaged(field, e.to_string()))
    }

    fn read_checked(
        &self,
        field: &FieldDesc,
        take: impl FnMut(std::ops::Range<usize>, &[u8]),
    ) -> Result<(), ReadError> {
        let dataset = self.dataset(field)?;
        let read = || {
            let there: u64 = dataset.attr("xxh3")?.read_scalar()?;
            Ok(data::read(&dataset, field, take)? == there)
        };
        match read() {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.damaged(field, "its checksum differs".to_owned())),
            Err(e) => Err(self.damaged(field, hdf5::Error::to_string(&e))),
        }
    }

    fn damaged(&self, field: &FieldDesc, why: String) -> ReadError {
        ReadError::DamagedField {
            path: self.path.clone(),
            field: field.name.clone(),
            why,
        }
    }
}

fn check_array(
    field: &FieldDesc,
    asked: tcasm_core::field::DType,
    shape: &[usize],
) -> Result<(), ReadError> {
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
    let found = find::in_dir(dir).map_err(ReadError::io(dir))?;
    let mut names: Vec<String> = found.iter().map(|f| f.name.clone()).collect();
    names.sort();
    names.dedup();
    if names.len() > 1 {
        let dir = dir.to_owned();
        return Err(ReadError::SeveralNames { dir, names });
    }
    Ok(found.into_iter().rev().map(|f| f.path).collect())
}

/// The first of `files` that can be used.
fn newest(place: &Path, files: Vec<PathBuf>) -> Result<Checkpoint, ReadError> {
    let mut passed_over = Vec::new();
    for path in files {
        match open_file(&path) {
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

fn open_file(path: &Path) -> Result<Checkpoint, ReadError> {
    seal::check(path)?; // before HDF5 sees it, which damaged structures can crash
    let damaged = |why: String| ReadError::Damaged {
        path: path.to_owned(),
        why,
    };
    let hdf5 = |e: hdf5::Error| damaged(e.to_string());
    // Checkpoints never change, so there is nothing to lock; some file systems have no locks.
    let file = File::with_options()
        .with_fapl(|p| p.file_locking(false))
        .open(path)
        .map_err(hdf5)?;
    let own = file.group("tcasm").map_err(hdf5)?;
    let found: u64 = number(&own, "format").map_err(hdf5)?;
    if found > FORMAT {
        return Err(ReadError::TooNew {
            path: path.to_owned(),
            found,
            known: FORMAT,
        });
    }
    let (region, stamp, table) = header(&own).map_err(hdf5)?;
    let table = FieldTable::decode(&table, u64::MAX, 1).map_err(|e| damaged(e.to_string()))?;
    Ok(Checkpoint {
        path: path.to_owned(),
        file,
        region,
        stamp,
        table,
        passed_over: Vec::new(),
    })
}

fn header(own: &Group) -> hdf5::Result<(String, Stamp, Vec<u8>)> {
    let region: VarLenUnicode = number(own, "region")?;
    let stamp = Stamp {
        version: number(own, "version")?,
        step: number(own, "step")?,
        time: number(own, "time")?,
    };
    Ok((region.to_string(), stamp, own.dataset("table")?.read_raw()?))
}

fn number<T: hdf5::H5Type>(group: &Group, name: &str) -> hdf5::Result<T> {
    group.attr(name)?.read_scalar()
}
