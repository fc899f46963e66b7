//! The target of an output: standard output or a file. A file appears only when it is complete.

use crate::failure::{Code, Failure};
use std::convert::Infallible;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The target of an output: standard output or a file.
#[derive(Clone, Debug)]
pub enum Target {
    Stdout,
    File(PathBuf),
}

impl FromStr for Target {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "-" => Target::Stdout,
            path => Target::File(path.into()),
        })
    }
}

impl Target {
    /// Calls `fill` to write the bytes. A file appears under its name when it is complete. It
    /// replaces another one only if `force` is true.
    pub fn write(
        &self,
        force: bool,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Target::Stdout if stdout().is_terminal() => Err(Failure::new(
                Code::Usage,
                "binary data is not written to a terminal; redirect the output, or name a file",
            )),
            Target::Stdout => {
                let mut out = BufWriter::new(stdout().lock());
                fill(&mut out)?;
                Ok(out.flush()?)
            }
            // A device or a pipe is written directly: a file must not replace it.
            Target::File(path) if path.exists() && !path.is_file() => {
                let file = File::options().write(true).open(path);
                let file = file.map_err(failed(path))?;
                // Check again after opening: another user may have replaced the path by a link to
                // a regular file.
                match file.metadata().map_err(failed(path))?.is_file() {
                    true => create(path, force, fill),
                    false => filled(file, path, fill).map(drop),
                }
            }
            Target::File(path) => create(path, force, fill),
        }
    }
}

fn create(
    path: &Path,
    force: bool,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if !force && path.symlink_metadata().is_ok() {
        return Err(Failure::exists(path));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let temporary = tempfile::Builder::new()
        .prefix(".tcasm-")
        .permissions(Permissions::from_mode(0o666)) // less the umask, as for any new file
        .tempfile_in(folder)
        .map_err(failed(path))?;
    let temporary = filled(temporary, path, fill)?;
    temporary.as_file().sync_all().map_err(failed(path))?;
    let persisted = match force {
        true => temporary.persist(path),
        false => temporary.persist_noclobber(path),
    };
    match persisted {
        Ok(_) => Ok(()),
        // Another program has created it meanwhile.
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Err(Failure::exists(path)),
        Err(e) => Err(failed(path)(e.error)),
    }
}

/// Calls `fill` to write `file`. Errors name `path`.
fn filled<W: Write>(
    file: W,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<W, Failure> {
    let mut out = BufWriter::with_capacity(1 << 20, Named { file, path });
    fill(&mut out)?;
    let named = out.into_inner().map_err(|e| failed(path)(e.into_error()))?;
    Ok(named.file)
}

/// A file whose errors contain its path.
struct Named<'p, W> {
    file: W,
    path: &'p Path,
}

impl<W: Write> Write for Named<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let named = |e: io::Error| io::Error::new(e.kind(), format!("{:?}: {e}", self.path));
        self.file.write(bytes).map_err(named)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| {
        let advice = match error.kind() {
            io::ErrorKind::NotFound => "create its folder first",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "choose a folder that you may write to"
            }
            io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => "free some space",
            _ => "choose another file",
        };
        Failure::new(
            Code::Io,
            format!("cannot write {path:?}: {error}; {advice}"),
        )
    }
}
