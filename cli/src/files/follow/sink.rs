//! The series that versions are appended to: one temporal file, or one file per version.

use super::trouble::Trouble;
use crate::failure::{Code, Failure};
use crate::files::args::ExportArgs;
use crate::files::file_name::Series;
use crate::files::places;
use crate::files::storage::{Layout, Storage};
use crate::files::stored::Choice;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{
    Checkpoint, Checkpointer, Mode, Purpose, Retention, SeriesOptions, Settings, TimeSeries,
    WriteError,
};
use tcasm_core::field::FieldDesc;
use tcasm_observer::{Stamp, Version};

/// A series that grows.
pub enum Sink {
    /// One temporal file, `FILE.vtkhdf`.
    One(Box<TimeSeries>),
    /// One file per version.
    Each(Box<Files>),
}

/// A series with one file per version: with the list `FILE.vtkhdf.series`, or as openPMD,
/// `FILE_%T.h5`.
pub struct Files {
    checkpointer: Checkpointer,
    /// The list, or the pattern.
    list: PathBuf,
    /// True if the newest file has all that a restart needs, with exact values. `None` if there was
    /// none at the start, or after it was compared with the first version.
    is_complete: Option<bool>,
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
            purpose: Purpose::Export,
            replace_later: args.follow.replace_later,
            ..Settings::new(dir.unwrap_or(Path::new(".")))
        };
        let checkpointer = Checkpointer::open(name, settings)?;
        let is_complete = newest(&checkpointer, args)?;
        Ok(Sink::Each(Box::new(Files {
            checkpointer,
            list: args.file.clone(),
            is_complete,
        })))
    }

    /// Returns an error if what `choice` stores of `version` does not belong to the files that were
    /// there: they have all that a restart needs and it has not, or the reverse. Compares the first
    /// version only, since a simulation can add fields later.
    pub fn check(&mut self, version: &Version, choice: &Choice) -> Result<(), Failure> {
        let Sink::Each(files) = self else {
            return Ok(());
        };
        match files.is_complete {
            Some(there) if there != choice.is_complete(version)? => Err(files.unlike(there)),
            _ => {
                files.is_complete = None;
                Ok(())
            }
        }
    }

    /// Returns the newest version in the series.
    pub fn last(&self) -> Option<Stamp> {
        match self {
            Sink::One(series) => series.last(),
            Sink::Each(files) => {
                let contents = files.checkpointer.contents();
                let (_, newest) = contents.items.last_key_value()?;
                Some(Stamp {
                    version: newest.entry.version,
                    step: newest.entry.step,
                    time: newest.entry.time,
                })
            }
        }
    }

    /// Appends the part of `version` that `choice` selects, which follows from `args`. The pin is
    /// released as soon as the bytes are written.
    pub fn append(
        &mut self,
        args: &ExportArgs,
        version: Version,
        choice: &Choice,
        changed: impl Fn(&FieldDesc) -> bool,
    ) -> Result<Appended, Trouble> {
        self.check(&version, choice)?;
        let part = |failure| Trouble::of_part(failure, choice, version.table());
        let stored = choice.of(&version).map_err(part)?;
        drop(version);
        let places = places::in_series(&stored, self.layout());
        let (path, bytes) = match self {
            Sink::One(series) => {
                let filled = series.fill(&stored.snapshot(&args.name), changed)?;
                drop(stored);
                let appended = series.commit(filled)?;
                (appended.path, appended.bytes)
            }
            Sink::Each(files) => {
                let filled = files.checkpointer.fill(&stored.snapshot(&args.name))?;
                drop(stored);
                let written = files.checkpointer.commit(filled)?;
                (files.list.clone(), written.bytes)
            }
        };
        Ok(Appended {
            path,
            bytes,
            places,
        })
    }

    /// Returns the layout of the files. Only a list is called `.series`.
    fn layout(&self) -> tcasm_checkpoint::Layout {
        match self {
            Sink::Each(files) if files.list.extension().is_none_or(|e| e != "series") => {
                tcasm_checkpoint::Layout::OpenPmd
            }
            _ => tcasm_checkpoint::Layout::VtkHdf,
        }
    }
}

impl Files {
    /// Returns the failure for versions that do not belong to the files there. `is_complete` says
    /// whether these have all that a restart needs.
    fn unlike(&self, is_complete: bool) -> Failure {
        let why = match is_complete {
            true => "with all that a restart needs, so no version without it can join them",
            false => {
                "without fields, with a part of them or with rounded values, so no whole and exact \
                 version can join them"
            }
        };
        let text = format!(
            "the files of {:?} were written {why}; choose another name, or the same --fields, \
             --slice, --stride, --as and --relative-error as before",
            self.list
        );
        Failure::new(Code::OtherRun, text)
    }
}

/// Returns whether the newest file has all that a restart needs, with exact values, or `None` if
/// there is none that can be read. Returns an error if it belongs to another region.
fn newest(checkpointer: &Checkpointer, args: &ExportArgs) -> Result<Option<bool>, Failure> {
    let contents = checkpointer.contents();
    let Some((_, newest)) = contents.items.last_key_value() else {
        return Ok(None);
    };
    let file = args.file.with_file_name(&newest.entry.file);
    match Checkpoint::open(&file) {
        Ok(checkpoint) if checkpoint.region() != args.name => Err(WriteError::OtherSeries {
            path: args.file.clone(),
            found: checkpoint.region().to_owned(),
            expected: args.name.clone(),
        }
        .into()),
        Ok(checkpoint) => {
            let table = checkpoint.table();
            let has_all = table.missing().all(|field| field.lost);
            Ok(Some(has_all && table.relative_error().is_none()))
        }
        Err(_) => Ok(None), // a file that cannot be read does not prevent appending
    }
}
