//! Commands about the folder of sockets. The process mounts a small one of its own and fills it.

use crate::answer::{Answer, failed};
use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::Uid;
use std::ffi::CString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tcasm_core::place::runtime_dir;

/// The beginning of the names of the files that fill the folder.
const FILLER: &str = "filler-";

/// Obeys the command if it is one of these.
pub fn obey(verb: &str, arguments: &[&str]) -> Option<Answer> {
    Some(match (verb, arguments) {
        ("own-folder", [inodes]) => own_folder(inodes),
        ("fill-folder", []) => fill(&runtime_dir()),
        ("free-folder", [count]) => free(&runtime_dir(), count.parse().unwrap_or(0)),
        ("list-folder", []) => list(&runtime_dir()),
        _ => return None,
    })
}

/// Mounts a file system with room for `inodes` files over the folder. Only this process sees it.
fn own_folder(inodes: &str) -> Answer {
    let mut flags = CloneFlags::CLONE_NEWNS;
    if !Uid::effective().is_root() {
        flags |= CloneFlags::CLONE_NEWUSER;
    }
    unshare(flags).map_err(failed)?;
    mount("none", Path::new("/"), libc::MS_REC | libc::MS_PRIVATE, "")?;
    // One for the folder itself.
    let inodes = inodes.parse::<usize>().map_err(failed)? + 1;
    let options = format!("size=64k,nr_inodes={inodes},mode=700");
    mount("tmpfs", &runtime_dir(), 0, &options)?;
    Ok(String::new())
}

fn mount(kind: &str, target: &Path, flags: u64, options: &str) -> Result<(), String> {
    let text = |text: &[u8]| CString::new(text).map_err(failed);
    let (kind, options) = (text(kind.as_bytes())?, text(options.as_bytes())?);
    let target = text(target.as_os_str().as_bytes())?;
    // SAFETY: all arguments are strings that end with a zero byte and outlive the call.
    let mounted = unsafe {
        libc::mount(
            kind.as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    };
    Errno::result(mounted).map(drop).map_err(failed)
}

/// Makes files until there is no room for one more.
fn fill(folder: &Path) -> Answer {
    let made = (0..100_000).take_while(|i| {
        let path = folder.join(format!("{FILLER}{}-{i}", std::process::id()));
        File::options()
            .write(true)
            .create_new(true)
            .open(path)
            .is_ok()
    });
    Ok(format!("made={}", made.count()))
}

fn free(folder: &Path, count: usize) -> Answer {
    let entries = fs::read_dir(folder).map_err(failed)?.flatten();
    let fillers = entries.filter(|e| e.file_name().to_string_lossy().starts_with(FILLER));
    let removed = fillers.take(count).map(|e| fs::remove_file(e.path()));
    removed.collect::<Result<Vec<()>, _>>().map_err(failed)?;
    Ok(String::new())
}

/// Returns the names of all other files.
fn list(folder: &Path) -> Answer {
    let entries = fs::read_dir(folder).map_err(failed)?.flatten();
    let names = entries.map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|n| !n.starts_with(FILLER)).collect();
    names.sort();
    Ok(names.join(" "))
}
