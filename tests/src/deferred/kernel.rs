//! Writes from inside system calls, and forks, during a deferred capture.

use super::scene::{CHUNKS, Scene, os, text};
use crate::check::Check;
use crate::oracle::ensure;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::Command;
use tcasm_core::pageset::CHUNK_PAGES;
use tcasm_core::sys::mem::page_size;

/// A function that has the kernel write `value` to all of some memory.
type Way = fn(&mut [u8], u8) -> Check;

const ROUNDS: u8 = 5;

/// Checks that the kernel can write into protected chunks by every kind of call. The call must
/// succeed, and the version must keep the old bytes.
pub fn kernel_writes_do_not_reach_the_version() -> Check {
    let ways: [(&str, Way); 5] = [
        ("read", by_read),
        ("pread", by_pread),
        ("recv", by_recv),
        ("process_vm_writev", by_own_writev),
        ("process_vm_writev of another process", by_other_process),
    ];
    for (what, way) in ways {
        into_protected_chunks(way).map_err(|e| format!("{what}: {e}"))?;
    }
    Ok(())
}

fn into_protected_chunks(way: Way) -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    // The last three pages of one chunk, and the whole last chunk: the copier comes to them last.
    let first = (CHUNKS - 1) * CHUNK_PAGES - 3;
    for round in 1..=ROUNDS {
        let (old, new) = (2 * round, 2 * round + 1);
        scene.fill(old)?;
        let published = scene.publish()?;
        scene.all_deferred(&published)?;
        way(&mut scene.bytes()?[first * page_size()..], new)?;
        scene.shows(&published, old)?;
        let published = scene.publish()?;
        scene.shows_bytes(&published, |page| if page < first { old } else { new })?;
    }
    scene.stores_came_early()
}

/// Returns a file in memory with `len` bytes of `value`.
fn file(len: usize, value: u8) -> Result<File, String> {
    // SAFETY: the name ends with a zero byte and outlives the call; there are no flags.
    let fd = unsafe { libc::memfd_create(c"deferred-test".as_ptr(), 0) };
    if fd < 0 {
        return os("memfd_create");
    }
    // SAFETY: the descriptor is new, and nothing else owns it.
    let mut file = unsafe { File::from_raw_fd(fd) };
    file.write_all(&vec![value; len]).map_err(text)?;
    Ok(file)
}

pub(super) fn by_read(memory: &mut [u8], value: u8) -> Check {
    let mut file = file(memory.len(), value)?;
    file.seek(SeekFrom::Start(0)).map_err(text)?;
    file.read_exact(memory).map_err(text)
}

pub(super) fn by_pread(memory: &mut [u8], value: u8) -> Check {
    file(memory.len(), value)?
        .read_exact_at(memory, 0)
        .map_err(text)
}

pub(super) fn by_recv(memory: &mut [u8], value: u8) -> Check {
    let (mut sender, mut receiver) = UnixStream::pair().map_err(text)?;
    let bytes = vec![value; memory.len()];
    std::thread::scope(|scope| {
        let sent = scope.spawn(move || sender.write_all(&bytes));
        receiver.read_exact(memory).map_err(text)?;
        sent.join().expect("it ends").map_err(text)
    })
}

pub(super) fn by_own_writev(memory: &mut [u8], value: u8) -> Check {
    write_to(
        std::process::id() as i32,
        memory.as_mut_ptr() as usize,
        memory.len(),
        value,
    )
}

fn by_other_process(memory: &mut [u8], value: u8) -> Check {
    // SAFETY: the call takes integers only. Where the kernel has no such restriction, it fails and
    // changes nothing.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY) };
    let (pid, at) = (std::process::id(), memory.as_mut_ptr() as usize);
    let arguments = [pid as usize, at, memory.len(), value.into()].map(|n| n.to_string());
    let program = std::env::current_exe().map_err(text)?;
    let status = Command::new(program).arg("poke").args(arguments).status();
    let status = status.map_err(text)?;
    ensure(status.success(), || {
        format!("the other process failed: {status}")
    })
}

/// Runs the role of the other process. The arguments are its pid, an address, bytes and a value.
pub fn poke(arguments: &[&str]) -> Check {
    let numbers: Vec<usize> = arguments.iter().flat_map(|a| a.parse()).collect();
    let [pid, at, len, value] = numbers[..] else {
        return Err(format!(
            "usage: poke PID ADDRESS BYTES VALUE, got {arguments:?}"
        ));
    };
    write_to(pid as i32, at, len, value as u8)
}

fn write_to(pid: i32, at: usize, len: usize, value: u8) -> Check {
    let mut bytes = vec![value; len];
    let local = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: len,
    };
    let remote = libc::iovec {
        iov_base: at as *mut libc::c_void,
        iov_len: len,
    };
    // SAFETY: the local part is a buffer of `len` bytes. The remote part is memory that the caller
    // allows to be written.
    let n = unsafe { libc::process_vm_writev(pid, &raw const local, 1, &raw const remote, 1, 0) };
    match n {
        n if n == len as isize => Ok(()),
        n if n >= 0 => Err(format!("{n} of {len} bytes were written")),
        _ => os("process_vm_writev"),
    }
}

/// Checks that children forked during a capture do no harm. They end, execute a program, or stay,
/// and the parent stores at once.
pub fn forks_during_capture_change_no_version() -> Check {
    let mut scene = Scene::new()?;
    scene.begin()?;
    let mut staying = Vec::new();
    for round in 2..14u8 {
        scene.fill(round)?;
        let published = scene.publish()?;
        scene.all_deferred(&published)?;
        match round % 3 {
            0 => drop(waitpid(child(false)?, None)),
            1 => drop(Command::new("true").status()),
            _ => staying.push(child(true)?),
        }
        scene
            .bytes()?
            .iter_mut()
            .rev()
            .step_by(64)
            .for_each(|b| *b = 99);
        scene.shows(&published, round)?;
    }
    for child in staying {
        let _ = nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL);
        waitpid(child, None).map_err(text)?;
    }
    scene.stores_came_early()
}

/// Forks a child that ends at once, or stays until it is killed.
pub(super) fn child(stays: bool) -> Result<nix::unistd::Pid, String> {
    // SAFETY: the child only makes system calls.
    match unsafe { fork() }.map_err(text)? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            crate::child::die_with_parent();
            if stays {
                loop {
                    nix::unistd::pause();
                }
            }
            // SAFETY: the call ends the process and touches no memory.
            unsafe { libc::_exit(0) }
        }
    }
}
