//! Tells a process from its forked children, which inherit all handles of the library but must not
//! use them.
//!
//! Each process has a number in a page that is empty in a forked child (`MADV_WIPEONFORK`, Linux
//! 4.14). The first check in a child finds no number there, and takes the next one. So a check
//! costs one load, while `getpid` is a system call. And a process id that the system uses again is
//! not mistaken for the process that had it before. If the kernel has no such pages, process ids
//! are used instead.

use super::page::page_size;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// The identity of a process, which differs from that of its parent and of its forked children.
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

/// The greatest number that this process or one of its ancestors has taken. Forked children inherit
/// it.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Takes a number for a process that has none yet. No ancestor of the process has this number.
fn take_number(number: &AtomicU64) -> u64 {
    let next = TAKEN.fetch_add(1, Ordering::Relaxed) + 1;
    match number.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => next,
        Err(of_another_thread) => of_another_thread,
    }
}

/// The page with the number, or null before the first check. No lock guards it, because a child
/// could inherit the lock in the locked state.
static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(null_mut());
/// Stands for the page if the kernel has no such pages.
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
    // SAFETY: `PAGE` holds a pointer that `wiped_page` returned. It is aligned, and it points to
    // memory that is readable and writable, and is never unmapped once the pointer is stored there.
    // A child has the page too, filled with zeros, which are a valid number.
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
    // SAFETY: this is a new mapping at an address that the kernel chooses.
    let page = unsafe { libc::mmap(null_mut(), page_size(), prot, flags, -1, 0) };
    if page == libc::MAP_FAILED {
        return (&raw const NO_PAGE).cast_mut();
    }
    // SAFETY: the page was mapped above, and nothing uses it yet. The advice that does not exist
    // detects emulators that accept all advice and follow none.
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

/// Unmaps a page that is not needed.
fn unmap(page: *mut AtomicU64) {
    if !std::ptr::eq(page, &NO_PAGE) {
        // SAFETY: `wiped_page` mapped the page, and its address was never stored, so nothing else
        // uses it.
        unsafe { libc::munmap(page.cast(), page_size()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::wait::{WaitStatus, waitpid};
    use nix::unistd::{ForkResult, fork};

    /// Returns the result of `question` in a forked child.
    fn in_child(question: impl Fn() -> bool) -> bool {
        // SAFETY: the child only calls `question` and ends.
        match unsafe { fork() }.unwrap() {
            // SAFETY: `_exit` ends the child at once, and runs no exit handlers of the parent.
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
    fn a_grandchild_is_not_mistaken_for_its_grandparent_if_the_child_never_checked() {
        let here = Process::current();
        assert!(in_child(|| in_child(|| !here.is_current())));
        assert!(in_child(|| {
            let child = Process::current();
            child.is_current() && in_child(|| !child.is_current() && !here.is_current())
        }));
    }

    #[test]
    fn all_threads_have_the_same_process_whichever_checks_first() {
        assert!(in_child(|| {
            let ask = || std::thread::spawn(Process::current);
            let threads: Vec<_> = (0..8).map(|_| ask()).collect();
            let answers = threads.into_iter().map(|t| t.join().unwrap());
            answers.collect::<Vec<_>>() == [Process::current(); 8]
        }));
    }
}
