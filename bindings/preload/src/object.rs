//! What a descriptor is: the object of a region, a file of the patterns, or something else.
//!
//! The object of `tcasm:NAME` is a memfd of that name, so `fstat`, `ftruncate`, `dup`, `fork` and
//! `close` are those of the kernel. It is recognised by its name in `/proc/self/fd`. So descriptors
//! need not be followed, and one that was inherited or passed on is recognised, too.

use crate::names::{self, PREFIX, Patterns};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::stat::fstat;
use std::ffi::{CStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The identity of a file: device and inode.
pub type Identity = (u64, u64);

/// Something that can be published when it is mapped.
#[derive(Debug)]
pub struct Object {
    /// The name of its region.
    pub name: String,
    pub identity: Identity,
    pub kind: Kind,
}

#[derive(Debug)]
pub enum Kind {
    /// The object of `tcasm:NAME`.
    Named,
    /// A file at this path, which matches a pattern.
    File(PathBuf),
}

impl Object {
    /// Returns what `fd` is, if it can be published and is open for reading and writing.
    pub fn of(fd: BorrowedFd<'_>) -> Option<Object> {
        let link = nix::fcntl::readlink(descriptor_path(fd).as_path()).ok()?;
        let (name, kind) = match named(&link) {
            Some(name) => (name.to_owned(), Kind::Named),
            None => file(PathBuf::from(link))?,
        };
        let stat = fstat(fd).ok()?;
        let is_file = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
        let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL).ok()?);
        let is_open = flags & OFlag::O_ACCMODE == OFlag::O_RDWR;
        let identity = (stat.st_dev, stat.st_ino);
        (is_file && is_open).then_some(Object {
            name,
            identity,
            kind,
        })
    }
}

/// Returns the name of the region, if `link` is that of the object of one.
fn named(link: &OsString) -> Option<&str> {
    let name = link.as_bytes().strip_prefix(b"/memfd:")?;
    let name = name.strip_prefix(PREFIX)?.strip_suffix(b" (deleted)")?;
    std::str::from_utf8(name).ok()
}

/// Returns the name of the region, if `path` matches a pattern.
fn file(path: PathBuf) -> Option<(String, Kind)> {
    let patterns = Patterns::of_environment();
    let matches = !patterns.is_empty() && patterns.match_path(&path);
    let name = matches.then(|| names::of_file(&path)).flatten()?;
    Some((name, Kind::File(path)))
}

/// Opens the object of the region `name`: a new one, or `existing`, the one that this process has
/// mapped.
pub fn open(name: &CStr, existing: Option<&File>, flags: libc::c_int) -> Result<RawFd, Errno> {
    let close_on_exec = OFlag::from_bits_retain(flags).contains(OFlag::O_CLOEXEC);
    if let Some(object) = existing {
        let again = reopen(object.as_fd()).map_err(|error| errno(&error))?;
        return passed_on(again.into(), close_on_exec);
    }
    let whole = [PREFIX, name.to_bytes()].concat();
    let whole = std::ffi::CString::new(whole).map_err(|_| Errno::EINVAL)?;
    let object = memfd_create(whole.as_c_str(), MFdFlags::MFD_CLOEXEC)?;
    passed_on(object, close_on_exec)
}

/// Gives a descriptor to the program.
fn passed_on(fd: OwnedFd, close_on_exec: bool) -> Result<RawFd, Errno> {
    if !close_on_exec {
        fcntl(&fd, FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()))?;
    }
    Ok(std::os::fd::IntoRawFd::into_raw_fd(fd))
}

/// Opens an object once more, with a position of its own.
pub fn reopen(fd: BorrowedFd<'_>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).open(descriptor_path(fd))
}

/// Returns true if `file` is still the object that it was. A program that closes all descriptors
/// also closes those of this library, and then opens others with their numbers.
pub fn is_still(file: &File, identity: Identity) -> bool {
    fstat(file).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == identity)
}

/// Returns true if this process has another descriptor of the object.
pub fn is_open_elsewhere(file: &File, identity: Identity) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return true; // not known
    };
    let own = file.as_raw_fd().to_string();
    let others = entries
        .flatten()
        .filter(|entry| entry.file_name() != own.as_str());
    let same = |path: &Path| {
        let stat = nix::sys::stat::stat(path);
        stat.is_ok_and(|stat| (stat.st_dev, stat.st_ino) == identity)
    };
    others.map(|entry| entry.path()).any(|path| same(&path))
}

fn descriptor_path(fd: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::FromRawFd;

    #[allow(unsafe_code)]
    fn opened(name: &CStr, existing: Option<&File>) -> File {
        let fd = open(name, existing, libc::O_CLOEXEC).unwrap();
        // SAFETY: the descriptor is new, and nothing else owns it.
        unsafe { File::from_raw_fd(fd) }
    }

    #[test]
    fn object_is_recognised_by_every_descriptor_of_it() {
        let file = opened(c"heat", None);
        let copy = file.try_clone().unwrap();
        let again = opened(c"heat", Some(&file));
        let other = opened(c"heat", None);
        let object = |file: &File| Object::of(file.as_fd()).unwrap();
        assert_eq!(object(&file).name, "heat");
        assert!(matches!(object(&file).kind, Kind::Named));
        let identity = object(&file).identity;
        assert_eq!(object(&copy).identity, identity);
        assert_eq!(object(&again).identity, identity);
        assert_ne!(
            object(&other).identity,
            identity,
            "another object of the name"
        );
        assert!(is_still(&again, identity) && !is_still(&other, identity));
        assert!(is_open_elsewhere(&file, identity));
        drop((copy, again));
        assert!(!is_open_elsewhere(&file, identity));
    }

    #[test]
    fn other_descriptors_are_not_published() {
        let file = tempfile::tempfile().unwrap();
        assert!(Object::of(file.as_fd()).is_none());
        let memfd = memfd_create(c"tcasm-plane", MFdFlags::MFD_CLOEXEC).unwrap();
        assert!(Object::of(memfd.as_fd()).is_none());
        let null = File::open("/dev/null").unwrap();
        assert!(Object::of(null.as_fd()).is_none());
        // Read-only: a mapping that can be written is refused by the kernel.
        let object = opened(c"heat", None);
        let read_only = File::open(descriptor_path(object.as_fd())).unwrap();
        assert!(Object::of(read_only.as_fd()).is_none());
    }
}
