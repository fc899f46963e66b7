//! The part of `tcasm demo` that needs HDF5: a checkpoint.

use crate::failure::{Code, Failure};
use crate::files::stored::Choice;
use crate::{output, plain};
use clap::Args;
use std::path::{Path, PathBuf};
use tcasm_checkpoint::{Checkpointer, Options};
use tcasm_observer::Version;

/// The step of which the checkpoint is written.
const STEP: u64 = 200;

#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the checkpoint, in this folder. It must exist
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// The checkpoint of the demo.
pub struct DemoCheckpoint {
    folder: Folder,
    written: bool,
}

impl DemoCheckpoint {
    /// Prepares the folder for the checkpoint. Writes nothing yet.
    pub fn new(args: &DemoArgs) -> Result<Self, Failure> {
        Ok(DemoCheckpoint {
            folder: Folder::new(args.dir.as_deref())?,
            written: false,
        })
    }

    /// Writes the checkpoint if its step has come. Returns a line that describes it.
    pub fn see(&mut self, name: &str, version: &Version) -> Result<Option<String>, Failure> {
        if self.written || version.step() < STEP {
            return Ok(None);
        }
        self.written = true;
        Ok(Some(write(version, name, self.folder.path())?))
    }

    /// Says where the checkpoint is now.
    pub fn summary(&self) -> String {
        match &self.folder {
            Folder::Given(path) => format!(
                "The checkpoint is in {}: open it in ParaView.",
                plain::plain(&path.display().to_string())
            ),
            Folder::Temporary(_) => {
                "The checkpoint has been removed; to keep it, use --dir DIR.".to_owned()
            }
        }
    }
}

fn write(version: &Version, name: &str, dir: &Path) -> Result<String, Failure> {
    let mut checkpointer = Checkpointer::new(dir, "demo", Options::default())?;
    let stored = Choice::whole().of(version)?;
    let written = checkpointer.write(&stored.snapshot(name))?;
    Ok(plain::line(&format!(
        "          wrote {}  {}  {:.2} s",
        written.path.display(),
        output::bytes(written.bytes),
        written.duration.as_secs_f64()
    )))
}

/// The folder that the checkpoint is written to.
enum Folder {
    Given(PathBuf),
    /// A folder that is removed when this value is dropped.
    Temporary(tempfile::TempDir),
}

impl Folder {
    fn new(dir: Option<&Path>) -> Result<Self, Failure> {
        match dir {
            Some(dir) if dir.is_dir() => Ok(Folder::Given(dir.to_owned())),
            Some(dir) => Err(Failure::new(
                Code::Io,
                format!("the folder {dir:?} does not exist; create it, or choose another"),
            )),
            None => tempfile::Builder::new()
                .prefix("tcasm-demo-")
                .tempdir()
                .map(Folder::Temporary)
                .map_err(|e| {
                    let text = format!("cannot create a temporary folder: {e}; use --dir DIR");
                    Failure::new(Code::Io, text)
                }),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Folder::Given(path) => path,
            Folder::Temporary(dir) => dir.path(),
        }
    }
}
