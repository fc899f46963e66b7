//! Lists regions: finds the sockets in the folder where producers put them.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use tcasm_core::place::check_name;

/// A socket of a region. Only attaching shows whether a process still answers there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Socket {
    /// Name of the region.
    pub name: String,
    /// True if it is not the producer's, but that of a process that keeps what a dead producer has
    /// left.
    pub kept: bool,
}

/// Returns the sockets in a folder ([`runtime_dir`](crate::runtime_dir)), in the order of their
/// names. Returns none if there is no such folder.
pub fn sockets(folder: &Path) -> io::Result<Vec<Socket>> {
    let entries = match folder.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut sockets: Vec<Socket> = names.filter_map(socket).collect();
    sockets.sort_unstable();
    Ok(sockets)
}

/// Returns the region of a file, if the file is named by `socket_path` or `kept_path`.
fn socket(file: OsString) -> Option<Socket> {
    let file = file.into_string().ok()?;
    let (name, kept) = match file.strip_suffix(".sock") {
        Some(name) => (name, false),
        None => (file.strip_suffix(".kept")?, true),
    };
    check_name(name).ok()?;
    let name = name.to_owned();
    Some(Socket { name, kept })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_sockets_of_regions_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "heat.sock",
            "a.b.sock",
            "heat.kept",
            "heat.sock.lock",
            "heat.kept.lock",
            "view.token",
            "sock",
            ".sock",
            "a b.sock",
            "heat.sock.1",
        ] {
            File::create(folder.path().join(file)).unwrap();
        }
        let found = sockets(folder.path()).unwrap();
        let found: Vec<(&str, bool)> = found.iter().map(|s| (s.name.as_str(), s.kept)).collect();
        assert_eq!(found, [("a.b", false), ("heat", false), ("heat", true)]);
    }

    #[test]
    fn missing_folder_has_no_sockets_and_other_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none");
        assert_eq!(sockets(&path).unwrap(), []);
        File::create(&path).unwrap();
        assert!(sockets(&path).is_err());
    }
}
