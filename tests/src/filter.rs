//! Seccomp filters, which make chosen system calls fail.

use nix::errno::Errno;
use nix::sys::prctl::set_no_new_privs;
use std::io;

/// A system call that is refused, always or for one value of an argument.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    number: libc::c_long,
    /// The number of an argument, from 0, and the low half of its value.
    argument: Option<(u32, u32)>,
}

impl Refused {
    /// Refuses a system call with any arguments.
    pub const fn call(number: libc::c_long) -> Refused {
        Refused {
            number,
            argument: None,
        }
    }

    /// Refuses an `ioctl` with this request.
    pub const fn ioctl(request: u32) -> Refused {
        Refused::with(libc::SYS_ioctl, 1, request)
    }

    /// Refuses a system call if the low half of an argument, counted from 0, has this value.
    pub const fn with(number: libc::c_long, argument: u32, value: u32) -> Refused {
        Refused {
            number,
            argument: Some((argument, value)),
        }
    }

    /// Returns the statements of the filter for this call. They expect that the number of the
    /// system call is loaded, and leave it loaded.
    fn statements(&self, action: u32) -> Vec<libc::sock_filter> {
        let refuse = back(action);
        let number = self.number as u32;
        match self.argument {
            None => vec![unless(number, 1), refuse],
            Some((argument, value)) => vec![
                unless(number, 4),
                load(ARGUMENTS + 8 * argument),
                unless(value, 1),
                refuse,
                load(NUMBER),
            ],
        }
    }
}

/// The offsets at which the filter finds the number of the system call and its arguments. The low
/// half of an argument comes first.
const NUMBER: u32 = 0;
const ARGUMENTS: u32 = 16;

/// Makes the calls fail in all threads of the process, until it ends.
pub fn refuse(calls: &[Refused]) -> io::Result<()> {
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    install(calls, refuse, libc::SECCOMP_FILTER_FLAG_TSYNC)
}

/// Makes the calls fail with `error` in the calling thread, until it ends.
pub fn fail_here(calls: &[Refused], error: Errno) -> io::Result<()> {
    install(calls, libc::SECCOMP_RET_ERRNO | error as u32, 0)
}

/// Makes the kernel kill the process when the calling thread makes one of the calls.
pub fn die_of(calls: &[Refused]) -> io::Result<()> {
    install(calls, libc::SECCOMP_RET_KILL_PROCESS, 0)
}

fn install(calls: &[Refused], action: u32, flags: libc::c_ulong) -> io::Result<()> {
    let mut program = vec![load(NUMBER)];
    program.extend(calls.iter().flat_map(|call| call.statements(action)));
    program.push(back(libc::SECCOMP_RET_ALLOW));
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    set_no_new_privs()?;
    // SAFETY: the program is valid and lives during the call. The kernel checks and copies it.
    let set = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const filter,
        )
    };
    Errno::result(set)?;
    Ok(())
}

fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, offset)
}

/// Goes on with the next statement if the loaded word is `value`, and else skips `skip` statements.
fn unless(value: u32, skip: u8) -> libc::sock_filter {
    statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, skip, value)
}

fn back(action: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, 0, action)
}

fn statement(code: u32, no: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf: no,
        k,
    }
}

/// Named sets of calls that a filter can refuse to a simulation that runs already.
pub const REFUSALS: &[(&str, &[Refused])] = &[
    ("uffd-ioctls", &UFFD_IOCTLS),
    ("uffd-writeprotect", &[UFFD_IOCTLS[0]]),
    ("uffd-register", &[UFFD_IOCTLS[1]]),
    ("uffd-unregister", &[UFFD_IOCTLS[2]]),
    ("uffd-wake", &[UFFD_IOCTLS[3]]),
    ("pagemap-scan", &[Refused::ioctl(0xC060_6610)]),
    (
        "process-vm-readv",
        &[Refused::call(libc::SYS_process_vm_readv)],
    ),
    ("memfd-create", &[Refused::call(libc::SYS_memfd_create)]),
    ("fallocate", &[Refused::call(libc::SYS_fallocate)]),
    ("pwrite", &[Refused::call(libc::SYS_pwrite64)]),
    ("pread", &[Refused::call(libc::SYS_pread64)]),
    ("madvise", &[Refused::call(libc::SYS_madvise)]),
    ("madvise-dontneed", &[madvise(libc::MADV_DONTNEED)]),
    ("madvise-dontfork", &[madvise(libc::MADV_DONTFORK)]),
    (
        "madvise-populate",
        &[madvise(MADV_POPULATE_READ), madvise(MADV_POPULATE_WRITE)],
    ),
    ("madvise-collapse", &[madvise(MADV_COLLAPSE)]),
    ("mremap", &[Refused::call(libc::SYS_mremap)]),
    ("mmap", &[Refused::call(libc::SYS_mmap)]),
    ("munmap", &[Refused::call(libc::SYS_munmap)]),
    ("mprotect", &[Refused::call(libc::SYS_mprotect)]),
    ("mlock", &[Refused::call(libc::SYS_mlock)]),
    ("msync", &[Refused::call(libc::SYS_msync)]),
    ("mbind", &[Refused::call(libc::SYS_mbind)]),
    ("move-pages", &[Refused::call(libc::SYS_move_pages)]),
    ("openat", &[Refused::call(libc::SYS_openat)]),
    (
        "fstat",
        &[
            Refused::call(libc::SYS_fstat),
            Refused::call(libc::SYS_newfstatat),
        ],
    ),
    ("getdents", &[Refused::call(libc::SYS_getdents64)]),
    ("ioctl", &[Refused::call(libc::SYS_ioctl)]),
    (
        "sendmsg",
        &[
            Refused::call(libc::SYS_sendmsg),
            Refused::call(libc::SYS_sendto),
        ],
    ),
    (
        "recvmsg",
        &[
            Refused::call(libc::SYS_recvmsg),
            Refused::call(libc::SYS_recvfrom),
        ],
    ),
    ("accept", &[Refused::call(libc::SYS_accept4)]),
    ("sysinfo", &[Refused::call(libc::SYS_sysinfo)]),
    ("rt-sigprocmask", &[Refused::call(libc::SYS_rt_sigprocmask)]),
    ("futex", &[Refused::call(libc::SYS_futex)]),
    (
        "futex-wake",
        &[
            futex(libc::FUTEX_WAKE),
            futex(libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG),
        ],
    ),
];

const MADV_POPULATE_READ: i32 = 22;
const MADV_POPULATE_WRITE: i32 = 23;
const MADV_COLLAPSE: i32 = 25;

/// UFFDIO_WRITEPROTECT, UFFDIO_REGISTER, UFFDIO_UNREGISTER and UFFDIO_WAKE.
const UFFD_IOCTLS: [Refused; 4] = [
    Refused::ioctl(0xC018_AA06),
    Refused::ioctl(0xC020_AA00),
    Refused::ioctl(0x8010_AA01),
    Refused::ioctl(0x8010_AA02),
];

const fn madvise(advice: i32) -> Refused {
    Refused::with(libc::SYS_madvise, 2, advice as u32)
}

const fn futex(operation: i32) -> Refused {
    Refused::with(libc::SYS_futex, 1, operation as u32)
}
