//! `tcasm export`: writes one version to a file. With `--follow`, [`super::follow`] writes a time
//! series.

use crate::failure::Failure;
use crate::files::args::ExportArgs;
use crate::files::places;
use crate::files::stored::{Choice, lossy};
use crate::{output, region};
use tcasm_checkpoint::{Mode, WriteError};

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    if args.follow.follow {
        return super::follow::run(args);
    }
    let options = args.storage.for_file(&args.file)?.options(Mode::USUAL);
    let version = region::pin(&args.name, args.version)?;
    let stored = Choice::from(&args.part).of(&version)?;
    let snapshot = stored.snapshot(&args.name);
    let bytes = match args.force {
        true => tcasm_checkpoint::write(&args.file, &snapshot, &options)?,
        false => tcasm_checkpoint::write_new(&args.file, &snapshot, &options).map_err(not_new)?,
    };
    output::line(&format!(
        "wrote {}  {}  {}{}",
        args.file.display(),
        region::stamp(&version),
        output::bytes(bytes),
        lossy(stored.table().relative_error())
    ))?;
    match places::of(&stored, options.layout) {
        none if none.is_empty() => Ok(()),
        lines => output::text(&lines),
    }
}

/// Adds to the error of a file that exists how to replace it.
fn not_new(error: WriteError) -> Failure {
    let exists = matches!(error, WriteError::Exists(_));
    let Failure { code, message } = error.into();
    match exists {
        true => Failure::new(code, format!("{message}, or replace it with --force")),
        false => Failure::new(code, message),
    }
}
