//! `tcasm export`: one version as a VTKHDF file.

use crate::args::{Compress, ExportArgs};
use crate::exit::Failure;
use crate::{output, region};
use std::path::Path;
use tcasm_checkpoint::{Compression, Options, Snapshot, vtkhdf};
use tcasm_observer::View;

pub fn run(args: &ExportArgs) -> Result<(), Failure> {
    let version = region::pin(&args.name, args.version)?;
    let view = version.view()?;
    let bytes = vtkhdf::write(
        &args.file,
        &snapshot(&args.name, &view),
        &options(args.compress),
    )?;
    still_right(&view, &args.file)?;
    output::text(&format!(
        "wrote {}  {}  {}\n",
        args.file.display(),
        region::stamp(&version),
        output::bytes(bytes)
    ))
}

/// What the writer of files needs of a view.
pub fn snapshot<'v>(name: &'v str, view: &'v View) -> Snapshot<'v> {
    Snapshot::new(name, view.stamp(), view.table(), |field| {
        view.bytes_of(field)
    })
}

/// How files are written.
pub fn options(compress: Compress) -> Options {
    let compression = match compress.compress {
        0 => Compression::None,
        level => Compression::Deflate(level),
    };
    Options { compression }
}

/// Whether the version stood while `file` was written. A file of one that did not must not stay.
pub fn still_right(view: &View, file: &Path) -> Result<(), Failure> {
    view.check().map_err(|error| {
        let _ = std::fs::remove_file(file);
        error.into()
    })
}
