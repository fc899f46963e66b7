//! Limits of another process, changed while it runs, as `prlimit` does.

use nix::errno::Errno;
use nix::sys::resource::Resource;

/// A changed soft limit of a process. Dropping this restores the old limit.
#[derive(Debug)]
pub struct Limited {
    pid: i32,
    resource: Resource,
    old: libc::rlimit,
}

impl Limited {
    /// Sets the soft limit of process `pid` to `soft`, at most to its hard limit.
    pub fn set(pid: i32, resource: Resource, soft: u64) -> Limited {
        let mut new = change(pid, resource, None);
        new.rlim_cur = soft.min(new.rlim_max);
        let old = change(pid, resource, Some(&new));
        Limited { pid, resource, old }
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        change(self.pid, self.resource, Some(&self.old));
    }
}

/// Changes the limit if `new` is given, and returns the old one. For a process that has ended it
/// returns no limit.
fn change(pid: i32, resource: Resource, new: Option<&libc::rlimit>) -> libc::rlimit {
    let mut old = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    let new = new.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: both structures live during the call. The kernel reads the one and writes the other.
    let done = unsafe { libc::prlimit(pid, resource as _, new, &raw mut old) };
    match Errno::result(done) {
        Ok(_) | Err(Errno::ESRCH) => old,
        Err(error) => panic!("the limit {resource:?} of process {pid}: {error}"),
    }
}
