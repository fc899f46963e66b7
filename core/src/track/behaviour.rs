//! Trials that test what the kernel does, on memory that is thrown away afterwards.
//!
//! Version numbers and feature bits are not enough: containers filter system calls, and
//! distributions patch kernels. Only a trial shows that something works.

use super::cow::Cow;
use super::memory::TrackedMemory;
use super::tracker::{Harvest, Span, Tracker};
use super::uffd_async::{OpenFailed, UffdAsync};
use crate::pageset::PageSet;
use crate::sys::live::{drop_copies, unmap, write_by_kernel};
use crate::sys::mem::{Mapping, page_size};
use crate::sys::pagemap::WrittenScan;
use crate::sys::uffd::{self, Faults, OpenError, Origin, Uffd, WP_SYNC};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::thread::Builder;

const PAGES: usize = 32;
/// The number of polls for a waiting write, and the milliseconds of each. A kernel that makes a
/// write wait reports it at once, so only a trial that fails takes the full time (2 seconds).
const POLLS: usize = 200;
const POLL_MS: u16 = 10;

/// Checks that `uffd-async` finds the pages that are written, and no others.
pub(super) fn uffd_async() -> Result<Origin, String> {
    let memory = Mapping::reserve(PAGES * page_size()).map_err(|e| e.to_string())?;
    // With room for one region only, each harvest has to continue where the kernel stopped.
    let scan = WrittenScan::with_capacity(1).map_err(OpenFailed::Pagemap);
    let tracker = scan.and_then(|scan| UffdAsync::with_scan(span(&memory), scan));
    let tracker = tracker.map_err(|e| format!("{e}{}", advice(&e)))?;
    let origin = tracker.origin();
    let mut trial = Trial::new(Box::new(tracker), memory);
    trial.map(0..PAGES)?;
    trial.expect("nothing was written", &[])?;

    trial.load(3);
    trial.store(3);
    trial.store(7);
    // SAFETY: nothing is borrowed from the page.
    unsafe { write_by_kernel(trial.at(11)) }
        .map_err(|e| format!("read(2) into the memory: {e}"))?;
    trial.expect(
        "a page that was read, an untouched one, and one by read(2) were written",
        &[3, 7, 11],
    )?;
    trial.expect("nothing was written since", &[])?;

    trial.store(7);
    trial.store(9);
    // SAFETY: nothing needs the bytes of the page.
    unsafe { drop_copies(&trial.page(9)) }.map_err(|e| format!("MADV_DONTNEED: {e}"))?;
    trial.expect(
        "a page was written again, another was written and dropped",
        &[7, 9],
    )?;

    // SAFETY: nothing needs the bytes of the page.
    unsafe { unmap(&trial.page(20)) }.map_err(|e| e.to_string())?;
    match trial.harvest() {
        Err(_) => Ok(origin),
        Ok(_) => Err("a page that is no longer tracked was reported as not written".into()),
    }
}

/// Checks that `cow` finds the pages that are written, and keeps their content.
pub(super) fn cow() -> Result<(), String> {
    let memory = Mapping::reserve(PAGES * page_size()).map_err(|e| e.to_string())?;
    let tracker = Cow::new(span(&memory));
    let tracker = tracker.map_err(|e| format!("a memfd and /proc/self/pagemap are needed: {e}"))?;
    let mut trial = Trial::new(Box::new(tracker), memory);
    trial.map(0..4)?;
    trial.load(2);
    trial.store(1);
    trial.expect("one page of four was written", &[1])?;
    let mut captured = PageSet::new(PAGES);
    captured.insert(1);
    let settled = trial.tracked.tracker().settle(&captured);
    settled.map_err(|e| e.to_string())?;
    trial.expect("the page was returned to the file", &[])?;
    if trial.load(1) != 1 {
        return Err("a page that was returned to the file lost its content".into());
    }
    trial.store(1);
    trial.expect("the page was written again", &[1])
}

/// Checks that a write from inside a system call waits at a protected page until the page is
/// released, and then succeeds. Then capture can be deferred for every program.
/// Returns how the descriptor was obtained.
pub(super) fn kernel_faults() -> Result<Origin, String> {
    match write_protected(Faults::All, write_by_kernel)? {
        (origin, true, Ok(())) => Ok(origin),
        (_, _, Err(e)) => Err(format!("read(2) into a protected page fails: {e}")),
        (_, false, Ok(())) => Err("read(2) into a protected page does not wait".into()),
    }
}

/// Checks that a write from inside a system call fails at a protected page, and that a store waits
/// there. Then capture can be deferred for programs that make no such calls meanwhile.
pub(super) fn user_faults() -> Result<(), String> {
    match write_protected(Faults::User, write_by_kernel_and_store)? {
        (_, false, _) => Err("a store to a protected page does not wait".into()),
        (_, true, Ok(())) => Err("read(2) into a protected page succeeds".into()),
        (_, true, Err(e)) if e.raw_os_error() == Some(libc::EFAULT) => Ok(()),
        (_, true, Err(e)) => Err(format!("read(2) into a protected page fails: {e}")),
    }
}

/// Makes the kernel write the byte at `addr` and then stores to it, also if the kernel failed.
/// Returns the result of the kernel.
///
/// # Safety
/// The byte must be writable memory, and nothing that was borrowed from it may be alive.
unsafe fn write_by_kernel_and_store(addr: usize) -> io::Result<()> {
    // SAFETY: the caller promises that nothing is borrowed from the byte.
    let wrote = unsafe { write_by_kernel(addr) };
    // SAFETY: as above, and the caller promises that the byte is writable.
    unsafe { (addr as *mut u8).write_volatile(2) };
    wrote
}

/// Runs `write` on another thread with the address of a page of writable memory that is protected
/// from `faults`. Returns how the descriptor was obtained, whether a write waited there, and the
/// result of `write` after the page was released.
fn write_protected(
    faults: Faults,
    write: unsafe fn(usize) -> io::Result<()>,
) -> Result<(Origin, bool, io::Result<()>), String> {
    let (uffd, origin) =
        uffd::open(faults, WP_SYNC).map_err(|e| format!("{e}{}", advice_for_gate(faults, &e)))?;
    let memory = Mapping::reserve(page_size()).map_err(|e| e.to_string())?;
    let page = memory.addr()..memory.addr() + memory.len();
    // SAFETY: the memory is new, and nothing is borrowed from it now or later. The byte that is
    // written is mapped writable just before.
    unsafe {
        memory
            .put_zero(0, memory.len(), true)
            .map_err(|e| e.to_string())?;
        memory.ptr().write_volatile(1); // only a page that exists can be protected
    }
    uffd::watch(&uffd, &page).map_err(|e| format!("write-protecting: {e}"))?;
    std::thread::scope(|scope| {
        // SAFETY: the page is writable memory that outlives the thread, and nothing is borrowed
        // from it.
        let writer = Builder::new().spawn_scoped(scope, || unsafe { write(page.start) });
        let writer = writer.map_err(|e| format!("starting a thread: {e}"))?;
        let noticed = (0..POLLS).any(|_| !writer.is_finished() && fault_waits(&uffd));
        drop(uffd); // closing releases the writer in every case
        let wrote = writer
            .join()
            .map_err(|_| "the writing thread panicked".to_string())?;
        Ok((origin, noticed, wrote))
    })
}

fn fault_waits(uffd: &Uffd) -> bool {
    let mut waiting = [PollFd::new(uffd.as_fd(), PollFlags::POLLIN)];
    poll(&mut waiting, PollTimeout::from(POLL_MS)) == Ok(1)
}

fn span(memory: &Mapping) -> Span {
    Span {
        base: memory.addr(),
        pages: memory.len() / page_size(),
        page_size: page_size(),
    }
}

/// Tracked memory for a trial. It is dropped before the reservation.
struct Trial {
    tracked: TrackedMemory,
    memory: Mapping,
}

impl Trial {
    fn new(tracker: Box<dyn Tracker>, memory: Mapping) -> Self {
        // SAFETY: the reservation belongs to the trial, which uses it for nothing else and drops it
        // last. The callers have created the tracker for this span.
        let tracked = unsafe { TrackedMemory::with(tracker, span(&memory)) };
        Trial { tracked, memory }
    }

    fn at(&self, page: usize) -> usize {
        self.memory.addr() + page * page_size()
    }

    fn page(&self, page: usize) -> Range<usize> {
        self.at(page)..self.at(page + 1)
    }

    fn map(&mut self, pages: Range<usize>) -> Result<(), String> {
        self.tracked.map(pages).map_err(|e| e.to_string())
    }

    fn load(&self, page: usize) -> u8 {
        // SAFETY: the trials load and store only in pages that they have mapped, and on one thread.
        unsafe { (self.at(page) as *const u8).read_volatile() }
    }

    fn store(&self, page: usize) {
        // SAFETY: as for load.
        unsafe { (self.at(page) as *mut u8).write_volatile(1) }
    }

    fn harvest(&mut self) -> Result<Vec<usize>, String> {
        let mut found = Harvest::new(PAGES);
        let harvested = self
            .tracked
            .tracker()
            .harvest(&PageSet::new(PAGES), &mut found);
        harvested.map_err(|e| e.to_string())?;
        Ok(found.written.iter().collect())
    }

    fn expect(&mut self, situation: &str, pages: &[usize]) -> Result<(), String> {
        match self.harvest()? {
            found if found == pages => Ok(()),
            found => Err(format!(
                "{situation}: pages {pages:?}, but {found:?} were reported"
            )),
        }
    }
}

fn advice(error: &OpenFailed) -> &'static str {
    match error {
        OpenFailed::Pagemap(_) => {
            "; a process that changed its user, or is not dumpable, gets it back by \
             prctl(PR_SET_DUMPABLE, 1)"
        }
        OpenFailed::Uffd(OpenError::Features { .. }) => "; Linux 6.7 on x86_64 or arm64 is needed",
        OpenFailed::Uffd(OpenError::Syscall(_)) => "; Linux 6.7 and a free descriptor are needed",
        OpenFailed::Uffd(OpenError::Refused { device, .. }) => advice_for_refusal(device),
    }
}

/// Returns advice for a refused system call: either a filter refuses it, as container engines do,
/// or the kernel does not have it.
fn advice_for_refusal(device: &io::Error) -> &'static str {
    match device.kind() {
        io::ErrorKind::PermissionDenied => {
            "; let this user open /dev/userfaultfd (a udev rule, or in a container --user), \
             or allow the system call (docker run --security-opt seccomp=PROFILE)"
        }
        _ => {
            "; in a container, start it with --device /dev/userfaultfd, or with --security-opt \
             seccomp=PROFILE where PROFILE allows userfaultfd; elsewhere, the kernel needs \
             CONFIG_USERFAULTFD"
        }
    }
}

/// Returns advice for a gate at which `faults` wait.
fn advice_for_gate(faults: Faults, error: &OpenError) -> &'static str {
    match (faults, error) {
        (_, OpenError::Features { .. }) => "; Linux 5.7 is needed",
        (Faults::User, OpenError::Refused { device, .. }) => advice_for_refusal(device),
        (Faults::User, OpenError::Syscall(_)) => "; Linux 5.11 and a free descriptor are needed",
        (Faults::All, _) => {
            "; give this user access to /dev/userfaultfd, or the process CAP_SYS_PTRACE, \
             or set the sysctl vm.unprivileged_userfaultfd to 1"
        }
    }
}
