//! `tcasm export`: writes one version to a file. With `--follow`, [`super::follow`] writes a time
//! series.

use crate::args::ExportArgs;
use crate::exit::Failure;
use crate::{output, region};
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
    output::line(&format!(
        "wrote {}  {}  {}",
        args.file.display(),
        region::stamp(&version),
        output::bytes(bytes)
    ))
}

/// Returns what the file writer needs to know of a view.
pub fn snapshot<'v>(name: &'v str, view: &'v View) -> Snapshot<'v> {
    Snapshot::new(name, view.stamp(), view.table(), |field| {
        // If the bytes cannot be read, the writer gets an empty slice and refuses the field.
        view.bytes_of(field).unwrap_or_default()
    })
    .at(view.version().extent())
}
