//! `tcasm restore`: writes the newest readable checkpoint, or a version that `tcasm keep` holds in
//! memory, as one file.

use crate::failure::Failure;
use crate::files::args::RestoreArgs;
use crate::files::stored::Choice;
use crate::files::{export, job, places};
use crate::{output, region};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tcasm_checkpoint::{Checkpoint, Mode, Options, Snapshot};
use tcasm_core::field::FieldTable;

pub fn run(args: &RestoreArgs) -> Result<(), Failure> {
    match &args.kept {
        Some(name) => from_memory(name, args),
        None => from_files(args),
    }
}

fn from_files(args: &RestoreArgs) -> Result<(), Failure> {
    let storage = args.storage.for_file(&args.out)?;
    check_new(args)?;
    if let [found] = &job::manifests(&args.dirs, args.name.as_deref())?[..] {
        return from_job(found, args);
    }
    let checkpoint = match args.name.as_deref() {
        name if args.allow_lossy => Checkpoint::restart_lossy(&args.dirs, name, args.step)?,
        Some(name) => Checkpoint::restart_named(&args.dirs, name, args.step)?,
        None => Checkpoint::restart(&args.dirs, args.step)?,
    };
    for (path, error) in checkpoint.passed_over() {
        let path = path.display();
        crate::output::note(&format!("passed over {path}: {error}"));
    }
    tell_lacking(checkpoint.table());
    tell_rounded(checkpoint.table());
    let loaded = checkpoint.load()?;
    let options = storage.options(mode_of(checkpoint.path()));
    write(args, &loaded.snapshot(), &options, checkpoint.path())
}

/// Writes the global arrays of a job.
fn from_job(found: &job::Found, args: &RestoreArgs) -> Result<(), Failure> {
    let storage = args.storage.for_file(&args.out)?;
    let (checkpoint, _scratch) = job::open(found, args)?;
    for (step, why) in checkpoint.passed_over() {
        crate::output::note(&format!("passed over step {step}: {why}"));
    }
    let loaded = checkpoint.load()?;
    let local: Vec<&str> = loaded.table.missing().map(|field| &*field.name).collect();
    if !local.is_empty() {
        crate::output::note(&format!(
            "{} are local to ranks, and left out",
            local.join(", ")
        ));
    }
    let options = storage.options(Mode::PRIVATE);
    write(args, &loaded.snapshot(), &options, &found.0)
}

fn from_memory(name: &str, args: &RestoreArgs) -> Result<(), Failure> {
    let storage = args.storage.for_file(&args.out)?;
    let version = tcasm_restart::kept(name)?;
    let stored = Choice::whole().of(&version)?;
    let options = storage.options(Mode::PRIVATE);
    let from = tcasm_observer::kept_path(name);
    write(args, &stored.snapshot(name), &options, &from)
}

/// Returns an error if there is a file that is not to be replaced. So no checkpoint is read in
/// vain.
fn check_new(args: &RestoreArgs) -> Result<(), Failure> {
    match !args.force && args.out.symlink_metadata().is_ok() {
        true => Err(Failure::exists(&args.out)),
        false => Ok(()),
    }
}

/// Writes `snapshot`, which is `from` there, and prints what was written.
fn write(
    args: &RestoreArgs,
    snapshot: &Snapshot<'_>,
    options: &Options,
    from: &Path,
) -> Result<(), Failure> {
    let bytes = export::write(&args.out, snapshot, options, args.force)?;
    output::line(&format!(
        "wrote {}  {}  {}, from {}",
        args.out.display(),
        region::stamp_text(&snapshot.stamp),
        output::bytes(bytes),
        from.display()
    ))?;
    output::text(&places::of(snapshot.table, options.layout))
}

/// Prints which fields the checkpoint lacks although a restart needs them. The new file lacks them
/// too, and says so.
fn tell_lacking(table: &FieldTable) {
    let lost: Vec<&str> = table.lost().map(|f| f.name.as_str()).collect();
    if !lost.is_empty() {
        crate::output::note(&format!(
            "the checkpoint has no values of {}: the memory of these fields was lost before it was \
             written; no simulation can restart from it",
            lost.join(", ")
        ));
    }
    let chosen = table.missing().filter(|field| !field.lost);
    let names: Vec<&str> = chosen.map(|f| f.name.as_str()).collect();
    if !names.is_empty() {
        crate::output::note(&format!(
            "the checkpoint was written without {}, or with a part of them; no simulation can \
             restart from it",
            names.join(", ")
        ));
    }
}

/// Prints which fields of the checkpoint have rounded values. The new file has them too, and says
/// so.
fn tell_rounded(table: &FieldTable) {
    let names: Vec<&str> = table.rounded().map(|f| f.name.as_str()).collect();
    if let Some(bound) = table.relative_error() {
        crate::output::note(&format!(
            "the checkpoint is lossy: the values of {} are rounded, with a relative error of up to \
             {bound:e}",
            names.join(", ")
        ));
    }
}

/// Returns the permissions for a file that is made from the one at `path`. As with `cp`, only users
/// who can read the original can read the new file.
fn mode_of(path: &Path) -> Mode {
    let metadata = std::fs::metadata(path);
    metadata.map_or(Mode::PRIVATE, |m| Mode::AtMost(m.mode() & 0o666 | 0o600))
}
