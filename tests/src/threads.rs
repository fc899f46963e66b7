//! Threads of a child process that are stopped for a while, as if other programs took all
//! processors.

use nix::errno::Errno;
use std::fs::{read_dir, read_to_string};

/// Threads that are stopped until this is dropped. The thread that stopped them must drop it.
#[derive(Debug)]
pub struct Starved {
    threads: Vec<i32>,
}

impl Starved {
    /// Stops the threads of `pid` that are called `name`.
    pub fn stop(pid: i32, name: &str) -> Starved {
        let tasks = read_dir(format!("/proc/{pid}/task")).expect("the process runs");
        let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
        let called = |thread: &i32| {
            let comm = read_to_string(format!("/proc/{pid}/task/{thread}/comm"));
            comm.is_ok_and(|comm| comm.trim() == name)
        };
        let starved = Starved {
            threads: numbers.filter(called).collect(),
        };
        assert!(!starved.threads.is_empty(), "no thread is called {name}");
        for thread in &starved.threads {
            trace(libc::PTRACE_SEIZE, *thread);
            trace(libc::PTRACE_INTERRUPT, *thread);
            // SAFETY: the null pointer means that no status is written. The thread belongs to a
            // child and is traced by this thread.
            let seen = unsafe { libc::waitpid(*thread, std::ptr::null_mut(), libc::__WALL) };
            assert_eq!(seen, *thread, "{}", Errno::last());
        }
        starved
    }
}

impl Drop for Starved {
    fn drop(&mut self) {
        for thread in &self.threads {
            trace(libc::PTRACE_DETACH, *thread);
        }
    }
}

fn trace(request: libc::c_uint, thread: i32) {
    // SAFETY: none of the requests reads or writes memory of the caller.
    let done = unsafe { libc::ptrace(request, thread, 0, 0) };
    Errno::result(done).unwrap_or_else(|e| panic!("ptrace {request} of thread {thread}: {e}"));
}
