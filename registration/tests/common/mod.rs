//! Memory of tests: mapped and unmapped as often as they like.
#![allow(dead_code)]

pub mod churn;

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use std::io::{PipeWriter, Read, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tcasm_core::sys::mem::page_size;

/// Returns the size of so many pages.
pub fn pages(count: usize) -> usize {
    count * page_size()
}

fn mapped(addr: usize, len: usize, flags: libc::c_int) -> Option<usize> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let at = addr as *mut libc::c_void;
    // SAFETY: without MAP_FIXED nothing is replaced. Callers pass MAP_FIXED for their own memory.
    let got = unsafe { libc::mmap(at, len, access, flags, -1, 0) };
    (got != libc::MAP_FAILED).then_some(got as usize)
}

/// Maps memory where nothing was mapped before. The kernel chooses addresses far above, so no other
/// thread gets these when they are free.
pub fn map(len: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(16 << 40);
    let addr = NEXT.fetch_add(len + pages(16), Ordering::Relaxed);
    assert!(map_at(&(addr..addr + len)), "{addr:#x} is taken");
    addr
}

/// Maps memory at these addresses, if nothing is mapped there.
pub fn map_at(range: &Range<usize>) -> bool {
    let got = mapped(range.start, range.len(), libc::MAP_FIXED_NOREPLACE);
    assert!(got.is_none_or(|addr| addr == range.start));
    got.is_some()
}

/// Maps memory of the caller anew.
pub fn map_over(addr: usize, len: usize) {
    assert_eq!(mapped(addr, len, libc::MAP_FIXED), Some(addr));
}

/// Unmaps memory of the caller.
pub fn unmap(addr: usize, len: usize) {
    // SAFETY: the memory belongs to the test, which uses it no more.
    assert_eq!(unsafe { libc::munmap(addr as *mut libc::c_void, len) }, 0);
}

/// Drops the pages of memory of the caller.
pub fn empty(addr: usize, len: usize) {
    let at = addr as *mut libc::c_void;
    // SAFETY: the memory belongs to the test, which expects zeros after this.
    assert_eq!(unsafe { libc::madvise(at, len, libc::MADV_DONTNEED) }, 0);
}

/// Moves memory of the caller to an address that was reserved by `map`.
pub fn move_to(from: usize, len: usize, to: usize) {
    remap(from, len, to, 0);
}

/// Does the same, and leaves empty memory behind.
pub fn move_and_stay(from: usize, len: usize, to: usize) {
    remap(from, len, to, libc::MREMAP_DONTUNMAP);
}

fn remap(from: usize, len: usize, to: usize, flags: libc::c_int) {
    let flags = flags | libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    let (from, to) = (from as *mut libc::c_void, to as *mut libc::c_void);
    // SAFETY: both ranges belong to the test.
    assert_eq!(unsafe { libc::mremap(from, len, len, flags, to) }, to);
}

/// Lets the data segment grow, and returns where it ended.
pub fn grow_data(len: usize) -> usize {
    // SAFETY: the call only asks for the end.
    let end = unsafe { libc::sbrk(0) } as usize;
    set_data_end(end + len);
    end
}

/// Sets the end of the data segment, the last part of which the caller has.
pub fn set_data_end(end: usize) {
    // SAFETY: the memory beyond the end belongs to the caller, which uses it no more.
    assert_eq!(unsafe { libc::brk(end as *mut libc::c_void) }, 0);
}

/// Attaches a new segment of System V at an address where nothing is mapped. It ends when it is
/// detached.
pub fn attach_system_v(at: usize, len: usize) {
    // SAFETY: without SHM_REMAP nothing is replaced.
    unsafe {
        let segment = libc::shmget(libc::IPC_PRIVATE, len, 0o600);
        assert_eq!(
            libc::shmat(segment, at as *const libc::c_void, 0) as usize,
            at
        );
        libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut());
    }
}

/// Detaches a segment of the caller.
pub fn detach_system_v(at: usize) {
    // SAFETY: the segment belongs to the test, which uses it no more.
    assert_eq!(unsafe { libc::shmdt(at as *const libc::c_void) }, 0);
}

/// Returns a number of KiB from the status of the process.
pub fn status_kib(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap();
    let kib = line.trim_start_matches(':').trim().strip_suffix(" kB");
    kib.unwrap().parse().unwrap()
}

/// Returns the answer of a forked child.
pub fn in_child(question: impl FnOnce() -> bool) -> bool {
    answer(start_child(question))
}

fn start_child(question: impl FnOnce() -> bool) -> Pid {
    // SAFETY: the child only asks the question and ends.
    match unsafe { fork() }.unwrap() {
        // SAFETY: `alarm` ends a child that hangs, and `_exit` ends it at once: no exit handlers of
        // the parent run.
        ForkResult::Child => unsafe {
            libc::alarm(100);
            libc::_exit(i32::from(question()))
        },
        ForkResult::Parent { child } => child,
    }
}

fn answer(child: Pid) -> bool {
    match waitpid(child, None).unwrap() {
        WaitStatus::Exited(_, answer) => answer == 1,
        other => panic!("{other:?}"),
    }
}

/// A forked child that waits until it may go on.
pub struct Waiting {
    child: Pid,
    go: PipeWriter,
}

impl Waiting {
    /// Forks a child that waits, and then asks the question.
    pub fn fork(question: impl FnOnce() -> bool) -> Self {
        let (mut wait, go) = std::io::pipe().unwrap();
        let child = start_child(|| wait.read(&mut [0]).is_ok() && question());
        Waiting { child, go }
    }

    /// Lets the child go on, and returns its answer.
    pub fn finish(mut self) -> bool {
        self.go.write_all(b".").unwrap();
        answer(self.child)
    }
}

/// Held by tests that follow the whole memory, or need that nobody does.
static ONE: Mutex<()> = Mutex::new(());

/// Runs one test at a time in a thread, and fails if it does not end: a deadlock would hang
/// otherwise.
pub fn must_end(test: impl FnOnce() + Send + 'static) {
    must_end_within(Duration::from_secs(120), test);
}

/// Does the same with another limit.
pub fn must_end_within(limit: Duration, test: impl FnOnce() + Send + 'static) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (done, ended) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
        // A failure would allocate, and the allocator may be what hangs.
        let _ = nix::unistd::write(std::io::stderr(), b"the test hangs\n");
        std::process::abort();
    }
    thread.join().unwrap();
}
