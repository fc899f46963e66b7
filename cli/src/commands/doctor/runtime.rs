//! Checks whether a producer can use the folder of the sockets.

use serde::Serialize;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tcasm_core::format::layout::MAX_NAME;
use tcasm_observer::runtime_dir;

/// Longest path of a socket: the size of the path in `sockaddr_un`, less the zero at its end.
const MAX_SOCKET_PATH: usize = 107;

/// The folder, and what is wrong with it.
#[derive(Debug, Serialize)]
pub struct RuntimeDir {
    pub path: PathBuf,
    /// True if the folder exists. If not, the first producer makes it.
    pub exists: bool,
    /// The reason why no region can be created there, if there is one.
    pub problem: Option<String>,
    /// The length of the longest region name whose socket path is short enough.
    pub longest_name: usize,
}

impl RuntimeDir {
    /// Checks the folder, by creating a temporary file in it.
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

    /// Describes the folder in one line.
    pub fn text(&self) -> String {
        let state = match (&self.problem, self.exists) {
            (Some(problem), _) => problem.as_str(),
            (None, true) => "usable",
            (None, false) => "usable; the first producer makes it",
        };
        format!("{} ({state})", self.path.display())
    }

    /// Returns what to do if the path limits the names of regions.
    pub fn advice(&self) -> Vec<String> {
        if self.problem.is_none() && self.longest_name < MAX_NAME {
            let n = self.longest_name;
            return vec![format!(
                "names of regions can have at most {n} characters: \
                 set TCASM_RUNTIME_DIR to a shorter path"
            )];
        }
        Vec::new()
    }
}

/// Returns why no file can be created in the folder, or, if it does not exist, in its nearest
/// ancestor that does.
fn problem(path: &Path) -> Option<String> {
    let existing = path.ancestors().find(|p| p.exists())?;
    let tried = tempfile::Builder::new()
        .prefix(".tcasm-")
        .tempfile_in(existing);
    tried.err().map(|error| match error.kind() {
        ErrorKind::NotADirectory => format!("{existing:?} is not a folder"),
        _ => format!("cannot create files in {existing:?}: {error}"),
    })
}
