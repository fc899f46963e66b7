//! Checks whether pages of this process may be locked for DMA. A device that knows the physical
//! addresses of pages goes on writing or reading there, even if the virtual addresses are mapped to
//! other pages by then.
//!
//! The kernel counts registered I/O buffers (VmPin). Drivers of network adapters and accelerators
//! may count in other ways or not at all, but a process that uses such a device has its file open.
//! So every open character device counts, unless it is known to be harmless.

use nix::sys::stat::{SFlag, fstat, major, minor, stat};
use std::os::fd::BorrowedFd;

/// The KiB of locked memory that are ignored. It is less than a chunk, so no chunk of a region can
/// be locked wholly.
const LOCKED_KIB: u64 = 1024;

/// Returns the reason why pages may be locked for DMA, if there is one.
pub fn locked_reason() -> Option<String> {
    match std::fs::read_to_string("/proc/self/status") {
        Ok(status) => counted(&status).or_else(|| device_open(&status)),
        Err(error) => Some(format!("/proc/self/status cannot be read: {error}")),
    }
}

/// Returns a reason if the kernel counts memory as locked for DMA (VmPin), or counts so much memory
/// as locked (VmLck) that some of it may be the region's. Memory that the program has locked must
/// stay as it is. Trackers lock a few pages for themselves.
fn counted(status: &str) -> Option<String> {
    let above = |name: &str, allowed: u64| {
        let line = status.lines().find_map(|l| l.strip_prefix(name));
        let kib = line.and_then(|l| l.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        match kib {
            Some(kib) if kib <= allowed => None,
            Some(kib) => Some(format!("{name} {kib} kB")),
            None => Some(format!("/proc/self/status has no line {name}")),
        }
    };
    above("VmPin:", 0).or_else(|| above("VmLck:", LOCKED_KIB))
}

/// The largest size of the descriptor table for which each number is checked. Checking 65,536
/// numbers takes a few milliseconds, whether they are open or not.
const ASKED: i32 = 1 << 16;

/// Returns an open character device that is not known to be harmless, if there is one. Checking
/// each number costs an eighth of listing `/proc/self/fd`, for which the kernel creates an entry
/// per open file.
fn device_open(status: &str) -> Option<String> {
    let table = status.lines().find_map(|l| l.strip_prefix("FDSize:"));
    match table.and_then(|l| l.trim().parse::<i32>().ok()) {
        Some(size) if size <= ASKED => (0..size).find_map(may_pin),
        _ => device_listed(),
    }
}

/// Does the same as [`device_open`] by listing `/proc/self/fd`. This is for a table of descriptors
/// that is so large that most of its numbers are probably not open.
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
    // SAFETY: the descriptor is only used for `fstat`. If it was closed meanwhile, that is an
    // error, or `fstat` describes another file. The number is not -1.
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

/// Returns true for devices that lock no memory: those of memory, randomness, the log, terminals,
/// and userfaultfd, whose number differs between machines.
fn harmless(device: libc::dev_t) -> bool {
    let known = match (major(device), minor(device)) {
        // null, zero, full, random, urandom and kmsg, but not mem and port.
        (1, n) => matches!(n, 3 | 5 | 7 | 8 | 9 | 11),
        // Terminals: consoles and serial lines; tty, console and ptmx; pseudo-terminals.
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
    use std::sync::{Mutex, PoisonError};

    fn open(path: &str) -> Option<String> {
        let file = File::options().read(true).write(true).open(path);
        may_pin(file.unwrap_or_else(|e| panic!("{path}: {e}")).as_raw_fd())
    }

    #[test]
    fn files_sockets_terminals_and_memory_devices_are_harmless() {
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

    /// Opens the first of some devices that can be opened. Every machine should have one of them.
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
    fn open_device_that_is_not_known_to_be_harmless_is_named() {
        let file = a_device();
        let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        let found = may_pin(file.as_raw_fd()).unwrap();
        assert!(found.contains(path.to_str().unwrap()), "{found}");
        for found in [device_open(&status()), device_listed()] {
            let found = found.expect("an open device");
            assert!(found.contains("/dev/"), "{found}");
        }
        // The reason may be another one: a test in another thread may have memory locked.
        assert!(locked_reason().is_some());
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
        // SAFETY: dup2 takes two integers. The number is the last one of the table, which is almost
        // never in use, and it is closed below.
        assert_eq!(unsafe { libc::dup2(device.as_raw_fd(), last) }, last);
        drop(device);
        let found = device_open(&table);
        // SAFETY: the descriptor belongs to this test.
        unsafe { libc::close(last) };
        assert!(found.unwrap().contains("/dev/"));
    }

    /// Keeps tests apart of which one sees the memory that the other has locked.
    static ALONE: Mutex<()> = Mutex::new(());

    #[test]
    fn large_locked_memory_is_detected_and_a_single_locked_page_is_not() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let len = 4 << 20;
        let memory = Mapping::reserve(len).unwrap();
        // SAFETY: nothing is borrowed from the reservation.
        unsafe { memory.put_zero(0, len, true) }.unwrap();
        // SAFETY: the memory belongs to this test, and locking changes no byte of it.
        let lock = |len| unsafe { libc::mlock(memory.ptr().cast(), len) };
        // Other tests may have registered buffers, so the count of VmPin is replaced by 0.
        let counted = || counted(&format!("VmPin: 0 kB\n{}", status()));
        assert_eq!(lock(page_size()), 0);
        assert_eq!(counted(), None);
        assert_eq!(lock(len), 0);
        assert!(counted().unwrap().starts_with("VmLck:"));
    }

    #[test]
    fn buffers_registered_with_the_kernel_are_detected() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut params = [0u8; 120];
        // SAFETY: the kernel fills in the parameters, which have 120 bytes.
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
        // SAFETY: request 0 registers one buffer, which outlives the ring.
        let done =
            unsafe { libc::syscall(libc::SYS_io_uring_register, ring, 0, &raw const part, 1) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        assert!(counted(&status()).unwrap().starts_with("VmPin:"));
        // SAFETY: the descriptor belongs to this test, and is not used after this.
        unsafe { libc::close(ring as i32) };
    }

    fn status() -> String {
        std::fs::read_to_string("/proc/self/status").unwrap()
    }

    fn tempfile() -> File {
        File::open("/proc/self/exe").unwrap()
    }
}
