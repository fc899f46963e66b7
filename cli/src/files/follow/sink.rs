//! The series that versions are appended to: one temporal file, or one file per version.

use crate::failure::{Code, Failure};
use crate::files::args::ExportArgs;
use crate::files::file_name::Series;
use crate::files::places;
use crate::files::storage::{Layout, Storage};
use crate::files::stored::Choice;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Mode, Retention, SeriesOptions, Settings, TimeSeries, WriteError,
};
use tcasm_core::field::FieldDesc;
use tcasm_observer::{Stamp, Version};

/// A series that grows.
pub enum Sink {
    /// One temporal file, `FILE.vtkhdf`.
    One(Box<TimeSeries>),
    /// One file per version: with the list `FILE.vtkhdf.series`, or as openPMD, `FILE_%T.h5`.
    Each(Box<Checkpointer>, PathBuf),
}

/// A version that is on the disk.
pub struct Appended {
    /// The file for readers to open, or the pattern.
    pub path: PathBuf,
    pub bytes: u64,
    /// The lines that say where its fields are.
    pub places: String,
}

impl Sink {
    /// Opens the series that the command line names. Continues it if it exists.
    pub fn open(args: &ExportArgs) -> Result<Self, Failure> {
        match Series::of(&args.file, args.storage.layout)? {
            Series::One => Self::one(args),
            Series::Each { name, layout } => Self::each(args, name, layout),
        }
    }

    fn one(args: &ExportArgs) -> Result<Self, Failure> {
        let options = SeriesOptions {
            compression: args.storage.compress,
            keep: args.follow.keep(),
            replace_later: args.follow.replace_later,
            mode: Mode::USUAL,
            direct: args.storage.direct.into(),
            ..SeriesOptions::default()
        };
        let series = TimeSeries::open(&args.file, &args.name, options)?;
        Ok(Sink::One(Box::new(series)))
    }

    /// Opens a series of files of `layout` that are called `name`.
    fn each(args: &ExportArgs, name: &str, layout: Layout) -> Result<Self, Failure> {
        let dir = args.file.parent().filter(|dir| !dir.as_os_str().is_empty());
        let storage = Storage {
            layout: Some(layout),
            ..args.storage
        };
        let settings = Settings {
            keep: Retention::last(args.follow.keep()),
            options: storage.options(Mode::USUAL),
            replace_later: args.follow.replace_later,
            ..Settings::new(dir.unwrap_or(Path::new(".")))
        };
        let files = Box::new(Checkpointer::open(name, settings)?);
        let sink = Sink::Each(files, args.file.clone());
        sink.check_region(&args.name)?;
        Ok(sink)
    }

    /// Returns an error if the files belong to another region.
    fn check_region(&self, name: &str) -> Result<(), Failure> {
        let Sink::Each(checkpointer, list) = self else {
            return Ok(());
        };
        let contents = checkpointer.contents();
        let Some((_, newest)) = contents.items.last_key_value() else {
            return Ok(());
        };
        let file = list.with_file_name(&newest.entry.file);
        match Checkpoint::open(&file) {
            Ok(checkpoint) if checkpoint.region() != name => Err(WriteError::OtherSeries {
                path: list.clone(),
                found: checkpoint.region().to_owned(),
                expected: name.to_owned(),
            }
            .into()),
            _ => Ok(()), // a file that cannot be read does not prevent appending
        }
    }

    /// Returns the newest version in the series.
    pub fn last(&self) -> Option<Stamp> {
        match self {
            Sink::One(series) => series.last(),
            Sink::Each(checkpointer, _) => {
                let contents = checkpointer.contents();
                let (_, newest) = contents.items.last_key_value()?;
                Some(Stamp {
                    version: newest.entry.version,
                    step: newest.entry.step,
                    time: newest.entry.time,
                })
            }
        }
    }

    /// Appends what `choice` stores of `version`. Its pin is released as soon as its bytes are
    /// written.
    pub fn append(
        &mut self,
        name: &str,
        version: Version,
        choice: &Choice,
        changed: impl Fn(&FieldDesc) -> bool,
    ) -> Result<Appended, Trouble> {
        let stored = choice.of(&version)?;
        drop(version);
        let places = places::of(&stored, self.layout());
        match self {
            Sink::One(series) => {
                let filled = series.fill(&stored.snapshot(name), changed)?;
                drop(stored);
                let appended = series.commit(filled)?;
                Ok(Appended {
                    path: appended.path,
                    bytes: appended.bytes,
                    places,
                })
            }
            Sink::Each(checkpointer, list) => {
                let filled = checkpointer.fill(&stored.snapshot(name))?;
                drop(stored);
                Ok(Appended {
                    path: list.clone(),
                    bytes: checkpointer.commit(filled)?.bytes,
                    places,
                })
            }
        }
    }

    /// Returns the layout of the files. Only a list is called `.series`.
    fn layout(&self) -> tcasm_checkpoint::Layout {
        match self {
            Sink::Each(_, path) if path.extension().is_none_or(|e| e != "series") => {
                tcasm_checkpoint::Layout::OpenPmd
            }
            _ => tcasm_checkpoint::Layout::VtkHdf,
        }
    }
}

/// Why a version could not be appended.
pub struct Trouble {
    pub failure: Failure,
    /// True if a later attempt may succeed.
    pub may_pass: bool,
}

impl From<WriteError> for Trouble {
    fn from(error: WriteError) -> Self {
        let may_pass = error.may_pass();
        let failure = error.into();
        Trouble { failure, may_pass }
    }
}

impl From<Failure> for Trouble {
    /// Only a lost lease is permanent, and arguments that do not fit the fields.
    fn from(failure: Failure) -> Self {
        let may_pass = !matches!(failure.code, Code::NotAllowed | Code::NoField | Code::Usage);
        Trouble { failure, may_pass }
    }
}
