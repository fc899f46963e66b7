//! The plain file of `--dump`, in which a program writes what it has computed. Tests compare it
//! with what other programs read from files of TCASM.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// A file of records, one after the other, or nothing if no file was asked for.
pub struct Dump(Option<File>);

impl Dump {
    /// Creates the file, if there is a path. Replaces one that exists.
    pub fn create(path: Option<&Path>) -> io::Result<Self> {
        let create = |path: &Path| {
            let named = |e: io::Error| {
                let text = format!("cannot create {path:?}: {e}; give another file to --dump");
                io::Error::new(e.kind(), text)
            };
            File::create(path).map_err(named)
        };
        Ok(Dump(path.map(create).transpose()?))
    }

    /// Appends a record, which is made only if there is a file.
    pub fn write(&mut self, record: impl FnOnce() -> Record) -> io::Result<()> {
        match &mut self.0 {
            Some(file) => file.write_all(&record().0),
            None => Ok(()),
        }
    }
}

/// A record: numbers of eight bytes, little endian.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record(Vec<u8>);

impl Record {
    /// Adds floats.
    pub fn floats(mut self, values: &[f64]) -> Self {
        self.0.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        self
    }

    /// Adds counts.
    pub fn counts(mut self, values: &[u64]) -> Self {
        self.0.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        self
    }

    /// Adds indices.
    pub fn indices(mut self, values: &[i64]) -> Self {
        self.0.extend(values.iter().flat_map(|x| x.to_le_bytes()));
        self
    }
}
