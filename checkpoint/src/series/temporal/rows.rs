//! The files with the rows of a time series, in a folder beside it. Each file holds, under
//! `/tcasm/fields`, the fields that changed in one version, and under `/tcasm/made` the arrays that
//! were made for VTK. Files are numbered in the order in which they are written. None is ever
//! written twice.

use super::arrays;
use crate::error::WriteError;
use crate::file::{Dir, Fault, Mode, atomic};
use crate::format::shape::memory_shape;
use crate::options::Options;
use crate::snapshot::Snapshot;
use crate::write::layouts::vtkhdf::{Made, Plan};
use crate::write::store::{FileLayout, Store};
use crate::write::{self, Unsealed};
use hdf5::Dataset;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tcasm_core::field::{FieldDesc, FieldTable};

/// A file of rows that has all its bytes, but not its name yet.
#[derive(Debug)]
pub struct Rows(Unsealed);

/// Returns the name of file `number`.
pub fn file_name(number: u64) -> String {
    format!("{number:08}.h5")
}

/// Returns the number of the file called `name`, or `None` if it is not a file of rows.
pub fn number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".h5")?;
    let number = digits.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

/// The new rows of a version.
pub struct New<'a> {
    /// The fields that changed.
    pub fields: Vec<&'a FieldDesc>,
    /// The arrays that are to be made, with their numbers.
    pub made: Vec<(usize, Made<'a>)>,
    /// The meshes of the version.
    pub plan: &'a Plan<'a>,
}

/// Writes the rows `new` of `snapshot` to file `number` of `dir`.
pub fn write(
    dir: &Path,
    number: u64,
    snapshot: &Snapshot<'_>,
    new: &New<'_>,
    options: &Options,
) -> Result<Rows, WriteError> {
    make_folder(dir, options.mode).map_err(|e| Fault::from(e).at(dir))?;
    // A file of rows has no meshes, whose geometry may be in other files.
    let fields = new.fields.iter().map(|field| FieldDesc {
        on: None,
        ..(*field).clone()
    });
    let table = FieldTable {
        fields: fields.collect(),
        ..FieldTable::default()
    };
    let part = snapshot.part(&table)?;
    let path = dir.join(file_name(number));
    let bare = || Bare {
        plan: new.plan,
        made: &new.made,
    };
    let unsealed = write::begin_with(&path, &part, "", options, |_| Ok(Box::new(bare())))?;
    Ok(Rows(unsealed))
}

/// Creates the folder of the rows if it does not exist. It must not be a symbolic link.
fn make_folder(dir: &Path, mode: Mode) -> std::io::Result<()> {
    let (parent, name) = Dir::of(dir)?;
    parent.open_or_create_folder(name, mode)?;
    // Files of rows are durable only if their folder is.
    parent.sync()
}

impl Rows {
    /// Brings the file to the disk and gives it its name. Returns its size.
    pub fn commit(self) -> Result<u64, WriteError> {
        self.0.seal()?;
        self.0.commit()
    }
}

/// Returns the shape of `field` in its file, which is that in memory. A single number becomes an
/// array of one value, because virtual datasets cannot refer to a scalar.
pub fn shape(field: &FieldDesc) -> Vec<usize> {
    let shape = memory_shape(field);
    if shape.is_empty() { vec![1] } else { shape }
}

/// The layout of a file that other programs read through the file of the series.
struct Bare<'a> {
    plan: &'a Plan<'a>,
    made: &'a [(usize, Made<'a>)],
}

impl FileLayout for Bare<'_> {
    fn store(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Vec<Dataset>, Fault> {
        let flat = arrays::flat(self.plan, &field.name);
        let shape = flat.map_or_else(|| shape(field), |(shape, _)| shape);
        Ok(vec![to.own_as(&shape, field, bytes)?])
    }

    fn finish(&self, to: &Store<'_>, snapshot: &Snapshot<'_>) -> Result<Vec<Dataset>, Fault> {
        if self.made.is_empty() {
            return Ok(Vec::new());
        }
        let group = to.create_group("/tcasm/made")?;
        let write = |(number, made): &(usize, Made<'_>)| {
            let (name, shape) = (number.to_string(), made.shape());
            made.write(&to.target(&group, &name, &shape), snapshot)
        };
        self.made.iter().map(write).collect()
    }
}

/// Returns the numbers of the files in `dir`. Returns none if `dir` does not exist.
pub fn found(dir: &Path) -> Result<BTreeSet<u64>, WriteError> {
    Ok(entries(dir)?.iter().filter_map(|e| number(e)).collect())
}

/// Removes what killed writers have left in `dir`: temporary files, and files whose numbers are not
/// in `used`.
pub fn remove_unused(dir: &Path, used: &BTreeSet<u64>) -> Result<(), WriteError> {
    for name in entries(dir)? {
        let unused = number(&name).is_some_and(|n| !used.contains(&n));
        if unused || atomic::is_temporary(&name, |target| number(target).is_some()) {
            remove(&dir.join(name));
        }
    }
    Ok(())
}

/// Removes the files `numbers`, to which nothing refers any more.
pub fn discard(dir: &Path, numbers: &BTreeSet<u64>) {
    for &number in numbers {
        remove(&dir.join(file_name(number)));
    }
}

/// Removes a file. Logs an error, as the file does no harm.
fn remove(path: &PathBuf) {
    if let Err(e) = fs::remove_file(path)
        && e.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!("cannot remove {path:?}: {e}");
    }
}

/// Returns the names in `dir`. Returns none if `dir` does not exist.
fn entries(dir: &Path) -> Result<Vec<String>, WriteError> {
    let listed = match fs::read_dir(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(|e| Fault::from(e).at(dir))?,
    };
    let names = listed.flatten().map(|e| e.file_name().into_string());
    Ok(names.flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_row_files_have_a_number() {
        assert_eq!(number(&file_name(12)), Some(12));
        assert_eq!(number(&file_name(123_456_789)), Some(123_456_789));
        for other in [
            "12.h5",
            "00000012.vtkhdf",
            "+0000012.h5",
            "0000000a.h5",
            ".h5",
        ] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
