//! The files with the rows of a time series, in a folder beside it: each holds, under `/tcasm/fields`, the fields that changed in
//! one version. They have numbers, in the order in which they were written; none is ever written twice.

use crate::atomic;
use crate::error::{Fault, WriteError};
use crate::files::Dir;
use crate::unsealed::Unsealed;
use crate::write::{self, Store};
use crate::{Mode, Options, Snapshot};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tcasm_core::field::{FieldDesc, FieldTable};

/// A file of rows that has all its bytes, and not yet its name.
#[derive(Debug)]
pub struct Rows(Unsealed);

/// The name of file `number`.
pub fn file_name(number: u64) -> String {
    format!("{number:08}.h5")
}

/// The number of the file called `name`, if it is one of ours.
pub fn number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".h5")?;
    let number = digits.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

/// Write the fields of `table` out of `snapshot` as file `number` of `dir`.
pub fn write(
    dir: &Path,
    number: u64,
    snapshot: &Snapshot<'_>,
    table: &FieldTable,
    options: &Options,
) -> Result<Rows, WriteError> {
    make_folder(dir, options.mode).map_err(|e| Fault::from(e).at(dir))?;
    let part = snapshot.part(table)?;
    let path = dir.join(file_name(number));
    Ok(Rows(write::begin_own(&path, &part, options)?))
}

/// Makes the folder of the rows, if it is not there. It must not be a link to somewhere else.
fn make_folder(dir: &Path, mode: Mode) -> std::io::Result<()> {
    let (parent, name) = Dir::of(dir)?;
    parent.open_or_create_folder(name, mode)?;
    // The rows are on the disk only when their folder is.
    parent.sync()
}

impl Rows {
    /// Bring it to the disk, and give it its name; returns its size.
    pub fn commit(self) -> Result<u64, WriteError> {
        self.0.seal()?;
        self.0.commit()
    }
}

/// The shape of `field` in its file: as it lies in memory. Virtual datasets cannot refer to a single number.
pub fn shape(field: &FieldDesc) -> Vec<usize> {
    let shape = crate::grid::memory_shape(field);
    if shape.is_empty() { vec![1] } else { shape }
}

/// Where fields go in a file that shows nothing to others.
pub struct Own;

impl write::Shown for Own {
    fn store(
        &self,
        to: &Store<'_>,
        field: &FieldDesc,
        bytes: &[u8],
    ) -> Result<Vec<hdf5::Dataset>, Fault> {
        Ok(vec![to.own_as(&shape(field), field, bytes)?])
    }
}

/// The numbers of the files in `dir`; none where it does not exist.
pub fn found(dir: &Path) -> Result<BTreeSet<u64>, WriteError> {
    Ok(entries(dir)?.iter().filter_map(|e| number(e)).collect())
}

/// Remove what killed writers have left in `dir`: temporaries, and files that `used` does not name.
pub fn tidy(dir: &Path, used: &BTreeSet<u64>) -> Result<(), WriteError> {
    for name in entries(dir)? {
        let unused = number(&name).is_some_and(|n| !used.contains(&n));
        if unused || atomic::is_temporary(&name, |target| number(target).is_some()) {
            remove(&dir.join(name));
        }
    }
    Ok(())
}

/// Remove files that nothing refers to any more.
pub fn discard(dir: &Path, numbers: &BTreeSet<u64>) {
    for &number in numbers {
        remove(&dir.join(file_name(number)));
    }
}

fn remove(path: &PathBuf) {
    if let Err(e) = fs::remove_file(path)
        && e.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!("{path:?} stays behind: {e}");
    }
}

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
    fn only_names_of_our_own_are_numbers() {
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
