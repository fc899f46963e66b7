//! Errors while a file is written.

use super::dir::directory;
use crate::error::WriteError;
use std::io;
use std::path::Path;

/// An error while a file is written. It does not yet name the path.
#[derive(Debug)]
pub enum Fault {
    /// An error of the system.
    Io(io::Error),
    /// An error of HDF5.
    Hdf5(hdf5::Error),
    /// An error that names its path already.
    Write(WriteError),
}

impl From<io::Error> for Fault {
    fn from(e: io::Error) -> Self {
        Fault::Io(e)
    }
}

impl From<hdf5::Error> for Fault {
    fn from(e: hdf5::Error) -> Self {
        Fault::Hdf5(e)
    }
}

impl From<WriteError> for Fault {
    fn from(e: WriteError) -> Self {
        Fault::Write(e)
    }
}

impl Fault {
    /// Returns the error to report for this fault while writing `path`.
    pub fn at(self, path: &Path) -> WriteError {
        match self {
            Fault::Io(source) => io_error(path, source),
            Fault::Write(error) => error,
            Fault::Hdf5(error) => match cause(&error) {
                Some(source) => io_error(path, source),
                None => WriteError::Hdf5 {
                    path: path.to_owned(),
                    message: error.to_string(),
                },
            },
        }
    }
}

/// Returns the variant of [`WriteError`] for an error of the system.
fn io_error(path: &Path, source: io::Error) -> WriteError {
    use io::ErrorKind::*;
    let path = path.to_owned();
    match source.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => WriteError::NoSpace { path, source },
        PermissionDenied | ReadOnlyFilesystem => WriteError::NotPermitted { path, source },
        NotFound if !directory(&path).is_dir() => {
            WriteError::NoDirectory(directory(&path).to_owned())
        }
        _ => WriteError::Io { path, source },
    }
}

/// Returns the error of the system that caused an error of HDF5. HDF5 tells it only in the text of
/// an inner frame of its error stack.
fn cause(error: &hdf5::Error) -> Option<io::Error> {
    let stack = error.stack()?;
    let number = |text: &str| {
        let digits = text.split("errno = ").nth(1)?;
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        digits[..end].parse().ok()
    };
    stack
        .iter()
        .find_map(|frame| number(frame.desc()))
        .map(io::Error::from_raw_os_error)
}
