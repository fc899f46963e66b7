//! Properties of the library's own threads: processors, priority, and blocked signals.

use super::thread_room;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::unistd::Pid;
use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// Starts a thread of the library with all signals blocked from its first instruction on. A signal
/// handler of the program that runs on a thread which serves faults could store to memory that only
/// this thread can release.
///
/// If the process has no addresses or mappings left, this is an error as far as that can be known.
pub fn spawn(thread: Builder, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    without_signals(|| thread.spawn(run))
}

/// Starts such a thread, which may use what outlives `scope`.
pub fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    run: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    let thread = Builder::new().name(name.into());
    without_signals(|| thread.spawn_scoped(scope, run))
}

/// Starts a thread while all signals are blocked. The new thread inherits this.
fn without_signals<T>(start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    thread_room::check().map_err(io::Error::other)?;
    let old = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let thread = start();
    let _ = old.thread_set_mask();
    thread
}

/// Runs `write` without the signal SIGXFSZ, which the kernel sends to a thread that writes beyond
/// the limit on file sizes (RLIMIT_FSIZE). The signal would end the program, which may not even
/// know about the file. `write` still gets the error EFBIG.
pub fn without_file_size_signal<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    without_signal(Signal::SIGXFSZ, libc::EFBIG, write)
}

/// Runs `write` without the signal SIGPIPE, which the kernel sends to a thread that writes to a
/// pipe that nobody reads. `write` still gets the error EPIPE.
pub fn without_pipe_signal<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    without_signal(Signal::SIGPIPE, libc::EPIPE, write)
}

/// Runs `write` without a signal that the kernel sends together with the error `errno`.
fn without_signal<T>(
    signal: Signal,
    errno: i32,
    write: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let set = SigSet::from(signal);
    // If blocking the signal is refused, the write is tried nevertheless.
    let Ok(old) = set.thread_swap_mask(SigmaskHow::SIG_BLOCK) else {
        return write();
    };
    let result = write();
    let sent = matches!(&result, Err(e) if e.raw_os_error() == Some(errno));
    if sent && !old.contains(signal) {
        take_pending(&set);
    }
    let _ = old.thread_set_mask();
    result
}

/// Removes a blocked signal that is pending for the calling thread.
fn take_pending(signal: &SigSet) {
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel only reads the set and the time, which live during the call. The null
    // pointer asks for no details of the signal.
    unsafe { libc::sigtimedwait(signal.as_ref(), std::ptr::null_mut(), &raw const at_once) };
}

/// Makes the calling thread run on these processors only.
pub fn run_on(processors: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    processors.iter().try_for_each(|cpu| set.set(*cpu))?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// The processors near each node of memory that a thread may use, and the node where it is. Only
/// that thread uses it.
#[derive(Debug)]
pub struct Places {
    sets: Vec<CpuSet>,
    now: Option<usize>,
}

impl Places {
    /// Finds the places of the calling thread, from the processors of each node. With fewer than
    /// two nodes there are none, and the thread stays where it is.
    pub fn of(nodes: &[Vec<usize>]) -> Self {
        let allowed = (nodes.len() > 1).then(|| sched_getaffinity(Pid::from_raw(0)));
        let sets = allowed
            .and_then(Result::ok)
            .map_or_else(Vec::new, |allowed| {
                let near = nodes.iter().map(|processors| within(&allowed, processors));
                near.collect()
            });
        Places { sets, now: None }
    }

    /// Makes the calling thread run near `node`, if it does not yet. Allocates nothing. Errors are
    /// ignored: a thread that runs elsewhere works as well, but slower.
    pub fn go(&mut self, node: usize) {
        if let Some(set) = self.sets.get(node)
            && self.now != Some(node)
        {
            let _ = sched_setaffinity(Pid::from_raw(0), set);
            self.now = Some(node);
        }
    }
}

/// Returns those of `processors` that are allowed, or all that are allowed if none of them is.
fn within(allowed: &CpuSet, processors: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for cpu in processors {
        if allowed.is_set(*cpu) == Ok(true) {
            let _ = set.set(*cpu);
        }
    }
    if set == CpuSet::new() { *allowed } else { set }
}

/// Lowers the priority of the calling thread, for computing and for reading and writing files, so
/// that other threads come first. Errors are ignored: this only makes the thread less disturbing.
pub fn set_background() {
    const NICE: i32 = 10;
    const WHO_PROCESS: i32 = 1;
    /// The lowest level of the best-effort class. A thread in the idle class below might never get
    /// access to the disk.
    const BEST_EFFORT_LAST: i32 = 2 << 13 | 7;
    let _ = be_nice(NICE);
    let _ = never_preempt();
    // SAFETY: the call takes numbers only, and 0 stands for the calling thread.
    unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0, BEST_EFFORT_LAST) };
}

/// Makes the calling thread preempt no other thread when it wakes (SCHED_BATCH). In the idle class
/// it would hardly ever run while all processors compute.
fn never_preempt() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 stands for the calling thread. The parameters live during the call, which only
    // reads them.
    let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters) };
    Errno::result(set)?;
    Ok(())
}

/// Sets the nice value of the calling thread (19 is the lowest priority).
pub fn be_nice(nice: i32) -> io::Result<()> {
    // SAFETY: the call takes no pointers. On Linux, 0 stands for the calling thread.
    let set = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    Errno::result(set)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_blocks_all_signals_from_the_beginning_and_its_parent_does_not() {
        let mask = || SigSet::thread_get_mask().unwrap();
        let before = mask();
        let (sender, receiver) = std::sync::mpsc::channel();
        spawn(Builder::new(), move || sender.send(mask()).unwrap())
            .unwrap()
            .join()
            .unwrap();
        let inside = receiver.recv().unwrap();
        for signal in [Signal::SIGTERM, Signal::SIGPROF, Signal::SIGUSR1] {
            assert!(inside.contains(signal));
        }
        assert_eq!(mask(), before);
    }

    #[test]
    fn a_thread_goes_to_the_processors_of_a_node_and_not_beyond_those_that_it_may_use() {
        let here = || sched_getaffinity(Pid::from_raw(0)).unwrap();
        let before = here();
        let cpus: Vec<usize> = (0..CpuSet::count())
            .filter(|cpu| before.is_set(*cpu) == Ok(true))
            .collect();
        let nodes = [
            vec![cpus[0]],
            vec![CpuSet::count() - 1, 1 << 20],
            Vec::new(),
        ];
        let (one, several) = (nodes[..1].to_vec(), nodes.to_vec());
        let seen = std::thread::spawn(move || {
            let mut alone = Places::of(&one);
            alone.go(0);
            let mut seen = vec![here()];
            let mut places = Places::of(&several);
            for node in [0, 2, 7] {
                places.go(node);
                seen.push(here());
            }
            seen
        });
        let mut first = CpuSet::new();
        first.set(cpus[0]).unwrap();
        let wanted = [before, first, before, before];
        assert_eq!(seen.join().unwrap(), wanted);
        assert_eq!(here(), before, "other threads stay where they are");
    }

    #[test]
    fn a_background_thread_has_low_priority_and_other_threads_keep_theirs() {
        // SAFETY: the calls take numbers only, and 0 stands for the calling thread.
        let priority = || unsafe {
            let nice = libc::getpriority(libc::PRIO_PROCESS, 0);
            (libc::sched_getscheduler(0), nice)
        };
        let before = priority();
        let inside = std::thread::spawn(move || {
            set_background();
            priority()
        });
        assert_eq!(inside.join().unwrap(), (libc::SCHED_BATCH, 10));
        assert_eq!(priority(), before);
    }
}
