//! Commands that take rights away from the process, or use up its limits.

use crate::answer::{Answer, failed};
use nix::sys::prctl::set_dumpable;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Uid;
use std::fs::File;
use std::os::fd::IntoRawFd;
use tcasm_core::sys::mem::{Mapping, max_map_count, page_size};
use tcasm_tests::filter::{self, Refused};
use tcasm_tests::procfs;
use tcasm_tests::user::{USERFAULTFD_IOC_NEW, become_user};

/// Obeys the command if it is one of these.
pub fn obey(verb: &str, arguments: &[&str]) -> Option<Answer> {
    let number = |text: &str| text.parse::<usize>().map_err(failed);
    Some(match (verb, arguments) {
        ("become", [uid]) => number(uid).and_then(|uid| {
            let changed = become_user(uid as u32);
            changed.map_err(failed).map(|()| String::new())
        }),
        ("whoami", []) => Ok(format!("uid={}", Uid::effective())),
        ("undumpable", []) => set_dumpable(false).map_err(failed).map(|()| String::new()),
        ("deny-userfaultfd", []) => deny_userfaultfd(),
        ("refuse", [what]) => refuse(what),
        ("page-out", []) => page_out(),
        ("deny-wakes", []) => deny_wakes(),
        ("free-descriptors", [count]) => number(count).and_then(free_descriptors),
        ("free-mappings", [count]) => number(count).and_then(free_mappings),
        ("descriptors", []) => Ok(format!("open={}", open_descriptors().count())),
        _ => return None,
    })
}

/// Refuses userfaultfd, by the system call and by the device, as container engines do.
fn deny_userfaultfd() -> Answer {
    let calls = [
        Refused::call(libc::SYS_userfaultfd),
        Refused::ioctl(USERFAULTFD_IOC_NEW),
    ];
    filter::refuse(&calls).map_err(failed)?;
    Ok(String::new())
}

/// Makes the kernel kill the process when this thread wakes threads of other processes (by a futex
/// that is not private).
fn deny_wakes() -> Answer {
    let wake = Refused::with(libc::SYS_futex, 1, libc::FUTEX_WAKE as u32);
    filter::die_of(&[wake]).map_err(failed)?;
    Ok(String::new())
}

/// Makes the kernel refuse the calls of one of [`filter::REFUSALS`], as when a job drops rights
/// after its start.
fn refuse(what: &str) -> Answer {
    let calls = filter::REFUSALS.iter().find(|(name, _)| *name == what);
    let (_, calls) = calls.ok_or_else(|| format!("Unknown: there is no refusal {what:?}"))?;
    filter::refuse(calls).map_err(failed)?;
    Ok(String::new())
}

/// Asks the kernel to move all memory of the process to swap. Without swap it stays. Returns how
/// many bytes are in swap.
fn page_out() -> Answer {
    for mapping in procfs::mappings("") {
        let at = mapping.start as *mut libc::c_void;
        // SAFETY: the call changes where the bytes are, not what they are. It fails and changes
        // nothing where there is no such memory, or no mapping any more.
        unsafe { libc::madvise(at, mapping.len(), libc::MADV_PAGEOUT) };
    }
    Ok(format!("swapped={}", procfs::swapped()))
}

/// Returns the open descriptors, found without opening one.
fn open_descriptors() -> impl Iterator<Item = usize> {
    // SAFETY: F_GETFD only reads the flags of a descriptor.
    let open = |fd: &usize| unsafe { libc::fcntl(*fd as i32, libc::F_GETFD) } >= 0;
    (0..1 << 16).filter(open)
}

/// Leaves `count` descriptors that can be opened. The limit is on the numbers of descriptors. So
/// all free numbers below it are filled, and stay filled.
fn free_descriptors(count: usize) -> Answer {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_err(failed)?;
    let last = open_descriptors().last().unwrap_or_default();
    let mut next = 0;
    while next <= last {
        next = File::open("/dev/null").map_err(failed)?.into_raw_fd() as usize + 1;
    }
    let soft = (next + count) as u64;
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).map_err(failed)?;
    Ok(format!("open={next}"))
}

/// Leaves `count` mappings that can be made. The mappings that use up the others stay until the
/// process ends.
fn free_mappings(count: usize) -> Answer {
    let maps = std::fs::read_to_string("/proc/self/maps").map_err(failed)?;
    let take = max_map_count().saturating_sub(maps.lines().count() + count);
    // Every second page gets other rights, so that each page is a mapping of its own.
    let pages = Mapping::reserve(take * page_size()).map_err(failed)?;
    for page in (0..take).step_by(2) {
        // SAFETY: nothing borrows from the reservation, and nothing else uses it.
        unsafe { pages.put_zero(page * page_size(), page_size(), false) }.map_err(failed)?;
    }
    std::mem::forget(pages);
    Ok(String::new())
}
