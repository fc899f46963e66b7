//! Which regions there are: the sockets in the folder where producers put them.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use tcasm_core::place::check_name;

/// A socket of a region. Whether somebody still answers there is known only to who attaches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Socket {
    /// Name of the region.
    pub name: String,
    /// It is not the producer's, but that of who keeps what a dead one has left.
    pub kept: bool,
}

/// The sockets in a folder ([`runtime_dir`](crate::runtime_dir)), in the order of their names. No folder, no sockets.
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

/// The region of a file, as `socket_path` and `kept_path` name them.
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
    fn each_socket_of_a_region_is_listed_and_nothing_else_of_the_folder() {
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
    fn where_no_folder_is_no_region_is_and_what_is_no_folder_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none");
        assert_eq!(sockets(&path).unwrap(), []);
        File::create(&path).unwrap();
        assert!(sockets(&path).is_err());
    }
}
