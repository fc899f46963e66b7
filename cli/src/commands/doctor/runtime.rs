//! The folder of the sockets: whether a producer can use it.

use serde::Serialize;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tcasm_core::layout::MAX_NAME;
use tcasm_observer::runtime_dir;

/// Longest path of a socket: what `sockaddr_un` holds, less the zero at its end.
const MAX_SOCKET_PATH: usize = 107;

/// The folder, and what is wrong with it.
#[derive(Debug, Serialize)]
pub struct RuntimeDir {
    pub path: PathBuf,
    /// Whether it is there; else the first producer makes it.
    pub exists: bool,
    /// Why no region can be created there.
    pub problem: Option<String>,
    /// Longest name of a region whose socket's path is short enough.
    pub longest_name: usize,
}

impl RuntimeDir {
    /// Try it out.
    pub fn check() -> Self {
        let path = runtime_dir();
        let exists = path.exists();
        let fixed = path.as_os_str().as_bytes().len() + "/.sock".len();
        let longest_name = MAX_SOCKET_PATH.saturating_sub(fixed).min(MAX_NAME);
        let problem = match longest_name {
            0 => Some(format!("the path {path:?} is too long for sockets")),
            _ => problem(&path),
        };
        RuntimeDir {
            path,
            exists,
            problem,
            longest_name,
        }
    }

    /// In one line.
    pub fn text(&self) -> String {
        let state = match (&self.problem, self.exists) {
            (Some(problem), _) => problem.as_str(),
            (None, true) => "usable",
            (None, false) => "usable; the first producer makes it",
        };
        format!("{} ({state})", self.path.display())
    }

    /// What to do about it.
    pub fn advice(&self) -> Vec<String> {
        if self.problem.is_none() && self.longest_name < MAX_NAME {
            let n = self.longest_name;
            return vec![format!(
                "names of regions can have {n} characters at most: set TCASM_RUNTIME_DIR to a shorter path"
            )];
        }
        Vec::new()
    }
}

/// Why no file can be made in the folder, or in the first of those it is in that exists.
fn problem(path: &Path) -> Option<String> {
    let existing = path.ancestors().find(|p| p.exists())?;
    let tried = tempfile::Builder::new()
        .prefix(".tcasm-")
        .tempfile_in(existing);
    tried.err().map(|error| match error.kind() {
        ErrorKind::NotADirectory => format!("{existing:?} is no folder"),
        _ => format!("nothing can be created in {existing:?}: {error}"),
    })
}
