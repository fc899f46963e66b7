//! The disks of hosts.

use std::path::{Path, PathBuf};

/// The folder with the disks of all hosts, in the folder of the cluster.
const DISKS: &str = "disks";
/// The folder of a host on which its disk is, while those of all hosts are hidden.
pub(super) const OWN: &str = "disk";

/// Returns the disk of a host. `dir` is the folder of the cluster.
pub(super) fn of_host(dir: &Path, host: &str) -> PathBuf {
    dir.join(DISKS).join(host)
}

/// Returns the commands by which the namespaces of a host lose the disks of the others: an empty
/// file system with the host's own disk in it is put over all.
pub(super) fn hide_others(dir: &Path, host: &str) -> String {
    let (disks, own) = (dir.join(DISKS), dir.join(host).join(OWN));
    let (disks, own) = (disks.display(), own.display());
    let disk = of_host(dir, host);
    let disk = disk.display();
    format!(
        "mount --bind {disk} {own} && mount -t tmpfs disks {disks} && mkdir {disk} && \
         mount --bind {own} {disk}"
    )
}

/// Removes everything in a folder, and leaves the folder: namespaces have it as a disk.
pub(super) fn empty(folder: &Path) {
    for entry in std::fs::read_dir(folder).expect("a folder can be read") {
        let path = entry.expect("a folder can be read").path();
        let removed = match path.is_dir() {
            true => std::fs::remove_dir_all(&path),
            false => std::fs::remove_file(&path),
        };
        removed.unwrap_or_else(|error| panic!("{path:?} cannot be removed: {error}"));
    }
}
