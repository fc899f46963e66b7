//! Memory of the program `lender`, and its users, for tests of transfers.

use crate::child::{Child, program};
use crate::runtime_dir;
use crate::user::ORDINARY;
use nix::unistd::{Gid, Uid, chown};
use std::path::Path;
use tcasm_transfer::Cookie;
use tempfile::TempDir;

/// The number of bytes that a lender declares.
pub const BYTES: usize = 1 << 20;
/// The number of bytes of each of its segments.
pub const PART: usize = 64 << 10;
/// The value of memory that is used for something else. No part has it before.
pub const REUSED: u8 = 0xee;

/// Starts a lender of this kind, with its socket in `folder`. Returns it with the address of its
/// socket and the cookie of its memory.
pub fn lender(folder: &Path, kind: &str) -> (Child, String, Cookie) {
    let process = Child::start(&program("lender"), &[kind], folder, &[]);
    let address = process.hear_line("address ");
    let cookie = process.hear_line("cookie ");
    (process, address, cookie.parse().expect("a cookie"))
}

/// Starts a process that uses the memory of a lender, as the words say.
pub fn user(address: &str, cookie: Cookie, words: &[&str]) -> Child {
    let cookie = cookie.to_string();
    let args = [&["use", address, &cookie], words].concat();
    Child::start(&program("lender"), &args, runtime_dir(), &[])
}

/// Returns a folder for sockets of a lender that is an ordinary user.
pub fn open_folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    if Uid::effective().is_root() {
        let (user, group) = (Uid::from_raw(ORDINARY), Gid::from_raw(ORDINARY));
        chown(folder.path(), Some(user), Some(group)).expect("another owner");
    }
    folder
}

/// Returns the bytes of all segments, as they are at first.
pub fn first_bytes() -> Vec<u8> {
    (0..BYTES).map(|i| 15 - (i / PART) as u8).collect()
}
