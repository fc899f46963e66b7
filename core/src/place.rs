//! The place of a region: its name, the folder of its socket, and its address.

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// The error for a name that no region can have.
#[derive(Debug, Error, PartialEq, Eq, Clone)]
#[error(
    "region name {0:?} is not usable: use 1 to {max} characters out of A-Z a-z 0-9 _ - . and \
     begin with a letter, digit or _",
    max = crate::format::layout::MAX_NAME
)]
pub struct BadName(pub String);

/// Checks the name of a region, which becomes a file name and is used in commands.
pub fn check_name(name: &str) -> Result<(), BadName> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    let first = name
        .bytes()
        .next()
        .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
    if first && name.len() <= crate::format::layout::MAX_NAME && name.bytes().all(fine) {
        Ok(())
    } else {
        Err(BadName(name.to_owned()))
    }
}

/// Returns the folder of the sockets: `$TCASM_RUNTIME_DIR`, else `$XDG_RUNTIME_DIR/tcasm`, else
/// `/tmp/tcasm-<uid>`.
pub fn runtime_dir() -> PathBuf {
    let var = |name| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    var("TCASM_RUNTIME_DIR")
        .or_else(|| var("XDG_RUNTIME_DIR").map(|d| d.join("tcasm")))
        .unwrap_or_else(|| PathBuf::from(format!("/tmp/tcasm-{}", nix::unistd::getuid())))
}

/// Returns true if the user has named the folder of the sockets. The default folder may have been
/// created by any user.
pub fn runtime_dir_is_chosen() -> bool {
    std::env::var_os("TCASM_RUNTIME_DIR").is_some_and(|dir| !dir.is_empty())
}

/// Opens the folder of the sockets, and creates it if it does not exist.
///
/// Fails if another user could replace the files of this user there. The folder must belong to this
/// user or to root, and it may be writable for every user only if it is sticky. If root has named
/// the folder, it may belong to any user, because root then knows whose regions it uses.
pub fn open_runtime_dir(folder: &Path) -> io::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let file = File::open(folder)?;
    let meta = file.metadata()?;
    let (user, chosen) = (nix::unistd::getuid().as_raw(), runtime_dir_is_chosen());
    safe_for(user, chosen, meta.uid(), meta.mode()).map_err(io::Error::other)?;
    Ok(file)
}

/// Locks the folder of the sockets, so that no other process claims or gives up a name meanwhile.
/// Waits for at most `patience`. The lock says nothing about the owners of names.
pub fn lock_runtime_dir(mut folder: File, patience: Duration) -> io::Result<Flock<File>> {
    let deadline = Instant::now() + patience;
    loop {
        match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((_, error)) if error != Errno::EWOULDBLOCK => return Err(error.into()),
            Err(_) if Instant::now() > deadline => {
                return Err(io::Error::other(format!(
                    "another process has locked the folder for {patience:?}"
                )));
            }
            Err((back, _)) => folder = back,
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Returns why `user` cannot rely on a folder of `owner` with these mode bits.
fn safe_for(user: u32, chosen: bool, owner: u32, mode: u32) -> Result<(), String> {
    let root_knows = user == 0 && chosen;
    if ![user, 0].contains(&owner) && !root_knows {
        return Err(format!("it belongs to user {owner}"));
    }
    let (sticky, others_write) = (mode & 0o1000 != 0, mode & 0o002 != 0);
    if others_write && !sticky {
        return Err("every user can replace what is in it (mode o+w without t)".to_owned());
    }
    Ok(())
}

/// Returns the path of the socket of the region `name`.
pub fn socket_path(name: &str) -> PathBuf {
    runtime_dir().join(format!("{name}.sock"))
}

/// Returns the path of the socket of the process that keeps the last state of the region `name`
/// after its producer died.
pub fn kept_path(name: &str) -> PathBuf {
    runtime_dir().join(format!("{name}.kept"))
}

/// Returns the path of the lock file of a socket. The owner of the socket keeps it locked as long
/// as the owner lives.
pub fn lock_path(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

/// The pages that a region has in addition to its capacity. Fields start on pages, so the size of
/// each is rounded up.
pub const ROUNDING_PAGES: usize = 64;

/// The address range of a region, which is the same in every process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The address of its first byte.
    pub base: u64,
    /// The number of bytes of address space.
    pub bytes: u64,
}

/// The range of addresses for regions. By default 64-bit Linux maps nothing between these
/// addresses. They are above the heap of non-PIE programs and the shadow of the address sanitizer.
/// They are below the shadow of the thread sanitizer's metadata, PIE programs, libraries and the
/// stack, and within the 47 bits of user space on x86-64 and the 48 on arm64.
const FIRST: u64 = 0x2000_0000_0000;
const LAST: u64 = 0x2f00_0000_0000;
/// Regions begin at multiples of this.
const STEP: u64 = 1 << 30;

/// Returns addresses to try for a region of `bytes` bytes. The first one depends only on the name,
/// so a region gets the same address in every run unless something else is mapped there.
pub fn addresses(name: &str, bytes: u64) -> impl Iterator<Item = u64> {
    let span = (LAST - FIRST) / STEP;
    let stride = bytes.div_ceil(STEP).max(1);
    let start = hash(name) % span;
    (0..16u64)
        .map(move |i| FIRST + (start + i * stride) % span * STEP)
        .filter(move |a| a.checked_add(bytes).is_some_and(|end| end <= 1 << 47))
}

/// Returns the FNV-1a hash of a name. The address of a name must never change between releases, so
/// this uses no hash function of a library.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_folder_are_refused() {
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "-x",
            ".x",
            "a b",
            "\u{e9}",
            &"x".repeat(65),
            "../x",
            "/x",
            "a\\b",
            "a\n",
            "a\0",
            "a\x1b[31m",
            "a\u{9b}2J",
            "\u{202e}a",
            "a\u{200b}",
            "~",
            "$(x)",
            "`x`",
            "a;b",
            "a'b",
            "a\"b",
            "*",
            "<b>",
            "&amp;",
            "%2e%2e",
        ] {
            let error = check_name(bad).unwrap_err().to_string();
            assert!(!error.contains(|c: char| c.is_control()), "{error:?}");
        }
        for good in ["a", "gray_scott", "Run-7.b", &"x".repeat(64)] {
            assert!(check_name(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn folder_of_another_user_is_safe_only_if_root_has_named_it() {
        let (me, other) = (1000, 1001);
        for (user, chosen, owner, mode, safe) in [
            (me, false, me, 0o40700, true),
            (me, true, 0, 0o40755, true),
            (me, true, 0, 0o41777, true),
            (me, true, me, 0o40777, false),
            (me, true, other, 0o40777, false),
            (me, true, other, 0o41777, false),
            (me, false, other, 0o40700, false),
            (0, false, other, 0o40700, false),
            (0, true, other, 0o40700, true),
            (0, true, other, 0o40777, false),
        ] {
            let found = safe_for(user, chosen, owner, mode);
            assert_eq!(found.is_ok(), safe, "{user} {chosen} {owner} {mode:o}");
        }
    }

    #[test]
    fn the_address_depends_on_the_name_alone() {
        let first = |name| addresses(name, 1 << 29).next().unwrap();
        assert_eq!(first("gray_scott"), first("gray_scott"));
        assert_ne!(first("gray_scott"), first("other"));
        assert!(addresses("x", 1 << 44).all(|a| a >= FIRST && a + (1 << 44) <= 1 << 47));
    }
}
