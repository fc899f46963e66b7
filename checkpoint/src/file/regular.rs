//! Opens files for reading, if they are regular files. A pipe or a device with the name of a
//! checkpoint must not block a program that reads its folder.

use nix::fcntl::OFlag;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Opens the regular file at `path` for reading. Symbolic links are followed.
pub fn open(path: &Path) -> io::Result<File> {
    // Check before opening, because opening a device may have effects. Check again after it,
    // because the file may have been replaced in between. With O_NONBLOCK, opening a pipe does not
    // wait for its other end.
    check(&fs::metadata(path)?)?;
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads the regular file at `path`, which must not have more than `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_open(&open(path)?, most)
}

/// Reads `file`, which was opened just now and must not have more than `most` bytes.
pub fn read_open(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    if size <= most {
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    match size.max(bytes.len() as u64) {
        size if size > most => Err(io::Error::other(format!(
            "it has {size} bytes, but a file of its kind has at most {most}"
        ))),
        _ => Ok(bytes),
    }
}

/// Returns a path that leads to the open `file` itself, even if its name now belongs to another
/// file.
pub fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Returns an error if the file is not a regular one.
fn check(found: &fs::Metadata) -> io::Result<()> {
    match found.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    #[test]
    fn only_regular_files_and_links_to_them_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| dir.path().join(name));
        fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        assert!(open(&file).is_ok() && open(&link).is_ok());
        for other in [&pipe, dir.path(), Path::new("/dev/zero")] {
            let error = open(other).unwrap_err();
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
        let gone = open(&dir.path().join("gone")).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn files_larger_than_the_limit_are_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "text").unwrap();
        assert_eq!(read(&path, 4).unwrap(), b"text");
        assert!(read(&path, 3).is_err());
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        assert!(read(&path, 1 << 30).is_err());
    }
}
