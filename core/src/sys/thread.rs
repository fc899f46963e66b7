//! What the library's own threads are: where they run, how eagerly, and that signals are not for them.

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::unistd::Pid;
use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread of the library, which gets no signals from its first instruction on: a handler of the program, run on a
/// thread that serves faults, could store to memory that only this thread can release.
pub fn spawn(thread: Builder, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let old = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let thread = thread.spawn(run);
    let _ = old.thread_set_mask();
    thread
}

/// Runs `write` without the signal that the kernel sends to whoever writes beyond the limit on file
/// sizes (RLIMIT_FSIZE): it would end the program, which may not even know of the file. What is
/// left is the error EFBIG.
pub fn without_file_size_signal<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let signal = SigSet::from(Signal::SIGXFSZ);
    // Where even this is refused, the write is tried all the same.
    let Ok(old) = signal.thread_swap_mask(SigmaskHow::SIG_BLOCK) else {
        return write();
    };
    let result = write();
    let sent = matches!(&result, Err(e) if e.raw_os_error() == Some(libc::EFBIG));
    if sent && !old.contains(Signal::SIGXFSZ) {
        take_pending(&signal);
    }
    let _ = old.thread_set_mask();
    result
}

/// Takes a blocked signal away that waits for the calling thread.
fn take_pending(signal: &SigSet) {
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: set and time are locals, which the kernel only reads; it may leave out the details.
    unsafe { libc::sigtimedwait(signal.as_ref(), std::ptr::null_mut(), &raw const at_once) };
}

/// Run the calling thread on these processors only.
pub fn run_on(processors: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    processors.iter().try_for_each(|cpu| set.set(*cpu))?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Let the calling thread compute, read and write files when nobody else does: as much as that can be had, for it is no more than
/// a kindness.
pub fn set_background() {
    const NICE: i32 = 10;
    const WHO_PROCESS: i32 = 1;
    /// The last of the levels that share the disk: the idle class below them may never come to it at all.
    const BEST_EFFORT_LAST: i32 = 2 << 13 | 7;
    let _ = be_nice(NICE);
    let _ = never_preempt();
    // SAFETY: takes numbers only; 0 is the calling thread.
    unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, BEST_EFFORT_LAST) };
}

/// Let the calling thread, when it wakes, take a processor from nobody. Not the idle class: where all processors compute, a thread of
/// that would hardly ever run.
fn never_preempt() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 is the calling thread; the parameters live during the call, which only reads them.
    let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters) };
    Errno::result(set)?;
    Ok(())
}

/// Set the nice value of the calling thread (19 is the most considerate).
pub fn be_nice(nice: i32) -> io::Result<()> {
    // SAFETY: no pointers; on Linux, 0 stands for the calling thread.
    let set = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    Errno::result(set)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_block_all_signals_from_the_beginning_and_their_parent_does_not() {
        let mask = || SigSet::thread_get_mask().unwrap();
        let before = mask();
        let (told, seen) = std::sync::mpsc::channel();
        spawn(Builder::new(), move || told.send(mask()).unwrap())
            .unwrap()
            .join()
            .unwrap();
        let inside = seen.recv().unwrap();
        for signal in [Signal::SIGTERM, Signal::SIGPROF, Signal::SIGUSR1] {
            assert!(inside.contains(signal));
        }
        assert_eq!(mask(), before);
    }

    #[test]
    fn what_is_in_the_background_is_nice_and_preempts_nobody_and_its_neighbours_are_as_they_were() {
        // SAFETY: takes numbers only; 0 is the calling thread.
        let seen = || unsafe {
            let nice = libc::getpriority(libc::PRIO_PROCESS, 0);
            (libc::sched_getscheduler(0), nice)
        };
        let before = seen();
        let inside = std::thread::spawn(move || {
            set_background();
            seen()
        });
        assert_eq!(inside.join().unwrap(), (libc::SCHED_BATCH, 10));
        assert_eq!(seen(), before);
    }
}
