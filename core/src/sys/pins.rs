//! Whether somebody may have pinned pages of this process: a device that was told where they lie in memory, and goes on
//! writing there, or reading, wherever their addresses lead by then.
//!
//! Registered I/O buffers are counted by the kernel (VmPin). Drivers of network adapters and accelerators count as they
//! please; but who uses one has its device open. So every open character device counts that is not known to be harmless.

use nix::sys::stat::{SFlag, fstat, major, minor, stat};
use std::os::fd::BorrowedFd;

/// Locked memory that is no region's yet: less than a chunk.
const LOCKED_KIB: u64 = 1024;

/// What may have pinned pages, if anything may have.
pub fn suspect() -> Option<String> {
    match std::fs::read_to_string("/proc/self/status") {
        Ok(status) => counted(&status).or_else(|| device_open(&status)),
        Err(error) => Some(format!("/proc/self/status cannot be read: {error}")),
    }
}

/// Memory that the kernel counts as pinned; or so much as locked that some of it may be the region's. (Locked memory is to stay
/// as it is. Trackers lock a few pages for themselves.)
fn counted(status: &str) -> Option<String> {
    let above = |name: &str, allowed: u64| {
        let line = status.lines().find_map(|l| l.strip_prefix(name));
        let kib = line.and_then(|l| l.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        match kib {
            Some(kib) if kib <= allowed => None,
            Some(kib) => Some(format!("{name} {kib} kB")),
            None => Some(format!("/proc/self/status does not tell {name}")),
        }
    };
    above("VmPin:", 0).or_else(|| above("VmLck:", LOCKED_KIB))
}

/// Descriptors up to which each number is asked for: 65,536 take a few milliseconds, open or not.
const ASKED: i32 = 1 << 16;

/// An open character device that is not known to be harmless. Asking for each number costs an
/// eighth of a look into `/proc/self/fd`, for which the kernel makes an entry per open file.
fn device_open(status: &str) -> Option<String> {
    let table = status.lines().find_map(|l| l.strip_prefix("FDSize:"));
    match table.and_then(|l| l.trim().parse::<i32>().ok()) {
        Some(size) if size <= ASKED => (0..size).find_map(may_pin),
        _ => device_listed(),
    }
}

/// The same where the table of descriptors has far more places than files are open, or may have.
fn device_listed() -> Option<String> {
    let entries = match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries,
        Err(error) => return Some(format!("/proc/self/fd cannot be read: {error}")),
    };
    for entry in entries {
        let number = entry.map_err(|e| e.to_string()).and_then(|e| {
            e.file_name()
                .to_string_lossy()
                .parse::<i32>()
                .map_err(|e| e.to_string())
        });
        match number.map(may_pin) {
            Ok(None) => {}
            Ok(found) => return found,
            Err(error) => return Some(format!("/proc/self/fd cannot be read: {error}")),
        }
    }
    None
}

fn may_pin(number: i32) -> Option<String> {
    // SAFETY: only asked what it is; if it was closed meanwhile that is an error, or another one is asked. It is not -1.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    let Ok(stat) = fstat(fd) else {
        return None;
    };
    let is_device = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFCHR;
    (is_device && !harmless(stat.st_rdev)).then(|| {
        let path = std::fs::read_link(format!("/proc/self/fd/{number}"));
        let path = path.map_or_else(|_| "a device".to_owned(), |p| p.display().to_string());
        let (major, minor) = (major(stat.st_rdev), minor(stat.st_rdev));
        format!("{path} is open (character device {major}:{minor})")
    })
}

/// Memory, randomness, the log, terminals, and userfaultfd, whose number differs from machine to machine.
fn harmless(device: libc::dev_t) -> bool {
    let known = match (major(device), minor(device)) {
        // null, zero, full, random, urandom, kmsg; not mem and port.
        (1, n) => matches!(n, 3 | 5 | 7 | 8 | 9 | 11),
        // Terminals: consoles and serial lines, tty, console, ptmx, pseudo-terminals.
        (4 | 5 | 136..=143, _) => true,
        _ => false,
    };
    known || stat("/dev/userfaultfd").is_ok_and(|s| s.st_rdev == device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::{Mapping, page_size};
    use std::fs::File;
    use std::os::fd::AsRawFd;

    fn open(path: &str) -> Option<String> {
        let file = File::options().read(true).write(true).open(path);
        may_pin(file.unwrap_or_else(|e| panic!("{path}: {e}")).as_raw_fd())
    }

    #[test]
    fn files_sockets_terminals_and_the_devices_of_memory_pin_nothing() {
        for path in [
            "/dev/null",
            "/dev/zero",
            "/dev/full",
            "/dev/urandom",
            "/dev/ptmx",
        ] {
            assert_eq!(open(path), None);
        }
        let (one, _two) = std::os::unix::net::UnixStream::pair().unwrap();
        let file = tempfile();
        assert_eq!(
            may_pin(one.as_raw_fd()).or_else(|| may_pin(file.as_raw_fd())),
            None
        );
    }

    /// Opens one of the devices of which one is on every machine, whoever asks.
    fn a_device() -> File {
        let paths = [
            "/dev/fuse",
            "/dev/net/tun",
            "/dev/loop-control",
            "/dev/kvm",
            "/dev/cpu_dma_latency",
        ];
        let device = paths.into_iter().find_map(|path| File::open(path).ok());
        device.expect("a device that can be opened")
    }

    #[test]
    fn an_open_device_that_nobody_vouches_for_may_pin_and_is_named() {
        let file = a_device();
        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let found = may_pin(file.as_raw_fd()).unwrap();
        assert!(found.contains(path.to_str().unwrap()), "{found}");
        for found in [suspect(), device_open(&status()), device_listed()] {
            let found = found.expect("an open device");
            assert!(found.contains("/dev/"), "{found}");
        }
    }

    #[test]
    fn device_with_the_highest_number_of_the_table_is_found() {
        let table = status();
        let size = table
            .lines()
            .find_map(|l| l.strip_prefix("FDSize:"))
            .unwrap();
        let last: i32 = size.trim().parse::<i32>().unwrap() - 1;
        let device = a_device();
        // SAFETY: two integers; the number is as good as never taken, and closed below.
        assert_eq!(unsafe { libc::dup2(device.as_raw_fd(), last) }, last);
        drop(device);
        let found = device_open(&table);
        // SAFETY: the test's own descriptor.
        unsafe { libc::close(last) };
        assert!(found.unwrap().contains("/dev/"));
    }

    #[test]
    fn much_locked_memory_is_noticed_and_a_little_is_not() {
        let len = 4 << 20;
        let memory = Mapping::reserve(len).unwrap();
        // SAFETY: nothing is borrowed from the reservation.
        unsafe { memory.put_zero(0, len, true) }.unwrap();
        // SAFETY: locking changes no byte of the test's own memory.
        let lock = |len| unsafe { libc::mlock(memory.ptr().cast(), len) };
        // Other tests may have buffers registered.
        let counted = || counted(&format!("VmPin: 0 kB\n{}", status()));
        assert_eq!(lock(page_size()), 0);
        assert_eq!(counted(), None);
        assert_eq!(lock(len), 0);
        assert!(counted().unwrap().starts_with("VmLck:"));
    }

    #[test]
    fn buffers_registered_with_the_kernel_are_noticed() {
        let mut params = [0u8; 120];
        // SAFETY: the kernel fills in the parameters, which are 120 bytes.
        let ring = unsafe { libc::syscall(libc::SYS_io_uring_setup, 4, params.as_mut_ptr()) };
        assert!(ring >= 0, "io_uring: {}", std::io::Error::last_os_error());
        let memory = Mapping::reserve(8 * page_size()).unwrap();
        // SAFETY: nothing is borrowed from the reservation.
        unsafe { memory.put_zero(0, memory.len(), true) }.unwrap();
        let part = libc::iovec {
            iov_base: memory.ptr().cast(),
            iov_len: memory.len(),
        };
        assert_eq!(counted(&status()), None);
        // SAFETY: registers (request 0) one buffer, which outlives the ring.
        let done =
            unsafe { libc::syscall(libc::SYS_io_uring_register, ring, 0, &raw const part, 1) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        assert!(counted(&status()).unwrap().starts_with("VmPin:"));
        // SAFETY: the test's own descriptor, not used any more.
        unsafe { libc::close(ring as i32) };
    }

    fn status() -> String {
        std::fs::read_to_string("/proc/self/status").unwrap()
    }

    fn tempfile() -> File {
        File::open("/proc/self/exe").unwrap()
    }
}
