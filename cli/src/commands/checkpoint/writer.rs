//! The files: tried again with each version, whatever became of those before.

use crate::args::CheckpointArgs;
use crate::commands::export::{options, snapshot, still_right};
use crate::exit::Failure;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpointer, Options, WriteError, Written};
use tcasm_observer::Version;

/// Writes checkpoints, and counts.
pub struct Writer {
    name: String,
    dir: PathBuf,
    options: Options,
    /// None while the folder cannot be used.
    checkpointer: Option<Checkpointer>,
    last: Option<Last>,
    pub written: u64,
    pub failed: u64,
    pub bytes: u64,
}

/// What became of the last attempt.
struct Last {
    version: u64,
    result: Result<PathBuf, String>,
}

impl Writer {
    /// A folder that cannot be used yet is told, and no reason to stop: it may come back (a file system that is mounted
    /// later). Another writer of the same files is.
    pub fn new(args: &CheckpointArgs) -> Result<Self, Failure> {
        let mut writer = Writer {
            name: args.name.clone(),
            dir: args.dir.clone(),
            options: options(args.compress),
            checkpointer: None,
            last: None,
            written: 0,
            failed: 0,
            bytes: 0,
        };
        match writer.open() {
            Err(error @ (WriteError::Name(_) | WriteError::Busy { .. })) => Err(error.into()),
            Err(error) => {
                super::progress::complain(&format!("{error}; trying again at each checkpoint"));
                Ok(writer)
            }
            Ok(_) => Ok(writer),
        }
    }

    fn open(&mut self) -> Result<&mut Checkpointer, WriteError> {
        let opened = match self.checkpointer.take() {
            Some(checkpointer) => checkpointer,
            None => Checkpointer::new(&self.dir, &self.name, self.options.clone())?,
        };
        Ok(self.checkpointer.insert(opened))
    }

    /// Write `version`; it is mapped only meanwhile.
    pub fn write(&mut self, version: &Version) -> Result<Written, Failure> {
        let result = self.try_write(version);
        match &result {
            Ok(written) => {
                self.written += 1;
                self.bytes += written.bytes;
            }
            Err(_) => self.failed += 1,
        }
        self.last = Some(Last {
            version: version.number(),
            result: match &result {
                Ok(written) => Ok(written.path.clone()),
                Err(failure) => Err(failure.message.clone()),
            },
        });
        result
    }

    fn try_write(&mut self, version: &Version) -> Result<Written, Failure> {
        let name = self.name.clone();
        let checkpointer = self.open()?;
        let view = version.view()?;
        let written = checkpointer.write(&snapshot(&name, &view))?;
        still_right(&view, &written.path)?;
        Ok(written)
    }

    /// Whether `version` is on the disk.
    pub fn has(&self, version: &Version) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|last| last.version == version.number() && last.result.is_ok())
    }

    /// Why the last attempt failed, if it did.
    pub fn last_failure(&self) -> Option<&str> {
        let result = &self.last.as_ref()?.result;
        result.as_ref().err().map(String::as_str)
    }

    /// The newest file.
    pub fn last_file(&self) -> Option<&Path> {
        let result = &self.last.as_ref()?.result;
        result.as_ref().ok().map(PathBuf::as_path)
    }

    /// What is left after the producer's death.
    pub fn rescued(&self) -> String {
        match self.last_file() {
            Some(file) => format!("its last version is saved as {}", file.display()),
            None => "it had published nothing".to_owned(),
        }
    }
}
