//! A table of descriptors that one thread has for itself.
//!
//! No forked child inherits a descriptor of such a table, and no other thread closes one or takes
//! the free numbers. So this thread gets a new descriptor although the process has as many as it
//! may have, and even if the limit was lowered below the numbers that are in use.

use nix::errno::Errno;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::mpsc::channel;
use std::thread::Builder;

/// The last number that a descriptor can have.
const LAST: u32 = u32::MAX;

/// Returns true if threads of this process can have tables of their own: since Linux 5.9, if no
/// filter of system calls refuses it.
pub fn is_possible() -> bool {
    let (answer, possible) = channel();
    // The thread tries it with an empty table, and ends.
    let run = move || {
        let _ = answer.send(close(0, LAST, libc::CLOSE_RANGE_UNSHARE).is_ok());
    };
    let trial = super::thread::spawn(Builder::new(), run);
    trial.is_ok() && possible.recv().unwrap_or(false)
}

/// Gives the calling thread a table of its own, in which only `kept` is left, with its number. If
/// this fails, the thread still has the table of the process.
///
/// # Safety
/// The thread must not use another descriptor that was opened before, and must not close one.
pub unsafe fn take(kept: BorrowedFd<'_>) -> io::Result<()> {
    let number = kept.as_raw_fd() as u32;
    // Descriptors above are not even copied. So a pipe of the program that is closed meanwhile ends
    // at once.
    close(number + 1, LAST, libc::CLOSE_RANGE_UNSHARE)?;
    match number.checked_sub(1) {
        Some(before) => close(0, before, 0),
        None => Ok(()),
    }
}

fn close(first: u32, last: u32, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: the call takes numbers only. Its callers are threads that use none of the descriptors
    // which are closed, and with the flag no other thread loses one.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) };
    Errno::result(closed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    fn is_open(number: i32) -> bool {
        // SAFETY: F_GETFD takes no argument, and fails if the number is not open.
        (unsafe { libc::fcntl(number, libc::F_GETFD) }) >= 0
    }

    #[test]
    fn thread_keeps_one_descriptor_and_other_threads_keep_theirs() {
        assert!(is_possible());
        let [one, kept, other] = [(); 3].map(|()| File::open("/dev/null").unwrap());
        let numbers = [&one, &kept, &other].map(|file| file.as_raw_fd());
        let inside = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                // SAFETY: the thread uses numbers only.
                unsafe { take(kept.as_fd()) }.unwrap();
                numbers.map(is_open)
            });
            thread.join().unwrap()
        });
        assert_eq!(inside, [false, true, false]);
        assert_eq!(numbers.map(is_open), [true; 3]);
    }
}
