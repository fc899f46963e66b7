//! `tcasm export`: one version as a file; many, with `--follow`, in [`super::follow`].

use crate::args::ExportArgs;
use crate::exit::Failure;
use crate::{output, region};
use std::path::Path;
use tcasm_checkpoint::{Mode, Snapshot};
use tcasm_observer::View;

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    if args.follow.follow {
        return super::follow::run(args);
    }
    let version = region::pin(&args.name, args.version)?;
    let view = version.view()?;
    let bytes = tcasm_checkpoint::write(
        &args.file,
        &snapshot(&args.name, &view),
        &args.storage.options(Mode::USUAL),
    )?;
    still_right(&view, &args.file)?;
    output::line(&format!(
        "wrote {}  {}  {}",
        args.file.display(),
        region::stamp(&version),
        output::bytes(bytes)
    ))
}

/// What the writer of files needs of a view.
pub fn snapshot<'v>(name: &'v str, view: &'v View) -> Snapshot<'v> {
    Snapshot::new(name, view.stamp(), view.table(), |field| {
        // Without its bytes a field is refused.
        view.bytes_of(field).unwrap_or_default()
    })
    .at(view.version().extent())
}

/// Whether the version stood while `file` was written. A file of one that did not must not stay.
pub fn still_right(view: &View, file: &Path) -> Result<(), Failure> {
    view.check().map_err(|error| {
        let _ = std::fs::remove_file(file);
        error.into()
    })
}
