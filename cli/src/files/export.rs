//! `tcasm export`: writes one version to a file. With `--follow`, [`super::follow`] writes a time
//! series.

use crate::failure::Failure;
use crate::files::args::ExportArgs;
use crate::files::places;
use crate::files::stored::{Choice, lossy};
use crate::output;
use crate::subject::Source;
use std::path::Path;
use tcasm_checkpoint::{Mode, Options, Snapshot, WriteError};

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    if args.follow.follow {
        return super::follow::run(args);
    }
    let options = args.storage.for_file(&args.file)?.options(Mode::USUAL);
    let source = Source::pin(&args.name, args.version)?;
    let choice = Choice::from(&args.part);
    let stored = match &source {
        Source::Region(version) => choice.of(version)?,
        Source::Group(version) => choice.of_group(version)?,
    };
    let snapshot = stored.snapshot(&args.name);
    let bytes = write(&args.file, &snapshot, &options, args.force)?;
    output::line(&format!(
        "wrote {}  {}  {}{}",
        args.file.display(),
        source.moment(),
        output::bytes(bytes),
        lossy(stored.table().relative_error())
    ))?;
    output::text(&places::of_stored(&stored, options.layout))
}

/// Writes `snapshot` to `file`, and returns the size of the file. Replaces a file only if `force`
/// is true.
pub fn write(
    file: &Path,
    snapshot: &Snapshot<'_>,
    options: &Options,
    force: bool,
) -> Result<u64, Failure> {
    let written = match force {
        true => tcasm_checkpoint::write(file, snapshot, options),
        false => tcasm_checkpoint::write_new(file, snapshot, options),
    };
    written.map_err(|error| match error {
        WriteError::Exists(path) => Failure::exists(&path),
        error => error.into(),
    })
}
