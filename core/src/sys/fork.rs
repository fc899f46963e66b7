//! Tells a process from its forked children, which inherit everything of it and may use none of it.
//!
//! A process has a number, in a page that fork hands down empty (`MADV_WIPEONFORK`, Linux 4.14).
//! The first question in a child finds no number there and takes the next one. So a question costs
//! one load, while `getpid` is a system call, and a process id that the system uses again is not
//! mistaken for the process that had it before. Where the kernel has no such pages, process ids
//! have to do.

use super::mem::page_size;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A process, as opposed to its parent and its forked children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u64);

impl Process {
    /// Returns the calling process.
    pub fn current() -> Self {
        let Some(number) = own_number() else {
            return Process(std::process::id().into());
        };
        match number.load(Ordering::Relaxed) {
            0 => Process(take_number(number)),
            known => Process(known),
        }
    }

    /// Returns true in this process, and false in its forked children.
    pub fn is_current(self) -> bool {
        self == Process::current()
    }
}

/// The greatest number that this process or one of its ancestors has taken. Fork hands it down as
/// it is.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Takes the number of a process that has none yet: one that no ancestor of it has.
fn take_number(number: &AtomicU64) -> u64 {
    let next = TAKEN.fetch_add(1, Ordering::Relaxed) + 1;
    match number.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => next,
        Err(of_another_thread) => of_another_thread,
    }
}

/// The page with the number; null before the first question. No lock guards it: a child could
/// inherit the lock taken.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
/// Stands for the page where there cannot be one.
static NO_PAGE: AtomicU64 = AtomicU64::new(0);

fn own_number() -> Option<&'static AtomicU64> {
    let mut page = PAGE.load(Ordering::Acquire);
    if page.is_null() {
        let made = wiped_page();
        let set = PAGE.compare_exchange(page, made, Ordering::AcqRel, Ordering::Acquire);
        page = set.map_or_else(|other| other, |_| made);
        if page != made {
            unmap(made);
        }
    }
    // SAFETY: `PAGE` holds what `wiped_page` returned, aligned, mapped readable and writable, and
    // never unmapped after it was stored there; a child has the page too, filled with zeros, which
    // are a number.
    let number = unsafe { &*page };
    (!std::ptr::eq(number, &NO_PAGE)).then_some(number)
}

/// Maps a page of zeros that every forked child sees as zeros again.
fn wiped_page() -> *mut AtomicU64 {
    const NO_ADVICE: libc::c_int = -1;
    let (prot, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let page = unsafe { libc::mmap(null_mut(), page_size(), prot, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return (&raw const NO_PAGE).cast_mut();
    }
    // SAFETY: advice on a page of our own that nobody uses yet. Emulators that accept every advice
    // and follow none are found out by advice that does not exist.
    let wiped = unsafe {
        libc::madvise(page, page_size(), libc::MADV_WIPEONFORK) == 0
            && libc::madvise(page, page_size(), NO_ADVICE) != 0
    };
    if wiped {
        return page.cast();
    }
    unmap(page.cast());
    (&raw const NO_PAGE).cast_mut()
}

/// Unmaps a page that was made for nothing.
fn unmap(page: *mut AtomicU64) {
    if !std::ptr::eq(page, &NO_PAGE) {
        // SAFETY: `wiped_page` made it, and nobody else has seen it.
        unsafe { libc::munmap(page.cast(), page_size()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    /// Returns what `question` answers in a forked child.
    fn in_child(question: impl Fn() -> bool) -> bool {
        // SAFETY: the child only asks and ends.
        match unsafe { fork() }.unwrap() {
            // SAFETY: ends the child without running what the parent registered for its own end.
            ForkResult::Child => unsafe { libc::_exit(i32::from(question())) },
            ForkResult::Parent { child } => match waitpid(child, None).unwrap() {
                WaitStatus::Exited(_, answer) => answer == 1,
                other => panic!("{other:?}"),
            },
        }
    }

    #[test]
    fn a_process_is_current_for_itself_and_not_for_its_forked_children() {
        let here = Process::current();
        assert!(here.is_current() && here == Process::current());
        assert!(in_child(|| !here.is_current()));
        assert!(here.is_current());
    }

    #[test]
    fn a_child_that_never_asked_does_not_pass_for_its_parent_in_a_grandchild() {
        let here = Process::current();
        assert!(in_child(|| in_child(|| !here.is_current())));
        assert!(in_child(|| {
            let child = Process::current();
            child.is_current() && in_child(|| !child.is_current() && !here.is_current())
        }));
    }

    #[test]
    fn all_threads_are_of_one_process_whoever_asks_first() {
        assert!(in_child(|| {
            let ask = || std::thread::spawn(Process::current);
            let threads: Vec<_> = (0..8).map(|_| ask()).collect();
            let answers = threads.into_iter().map(|t| t.join().unwrap());
            answers.collect::<Vec<_>>() == [Process::current(); 8]
        }));
    }
}
