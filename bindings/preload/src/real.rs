//! The functions behind those of this library: of the next library that has them, which is libc or
//! another preloaded one.
//!
//! They are looked up when the library is loaded, or at a call before that. `dlsym` can allocate,
//! and an allocator can map memory. A call that comes from inside `dlsym` is a system call instead.
#![allow(unsafe_code)]

use libc::{c_char, c_int, c_long, c_void, mode_t, off_t, size_t};
use std::cell::Cell;
use std::ffi::CStr;
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A function of the next library.
pub struct Next {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

thread_local! {
    static LOOKING_UP: Cell<bool> = const { Cell::new(false) };
}

impl Next {
    const fn new(name: &'static CStr) -> Self {
        let found = AtomicPtr::new(null_mut());
        Next { name, found }
    }

    /// Returns the address of the function, or `None` inside of a look-up and if there is no such
    /// function.
    fn address(&self) -> Option<*mut c_void> {
        let known = self.found.load(Relaxed);
        if !known.is_null() {
            return Some(known);
        }
        if LOOKING_UP.replace(true) {
            return None;
        }
        // SAFETY: the name ends with a NUL. RTLD_NEXT finds the function behind this library.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        LOOKING_UP.set(false);
        self.found.store(found, Relaxed);
        (!found.is_null()).then_some(found)
    }
}

type Mmap = unsafe extern "C" fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void;
type Munmap = unsafe extern "C" fn(*mut c_void, size_t) -> c_int;
type Msync = unsafe extern "C" fn(*mut c_void, size_t, c_int) -> c_int;
type Mremap = unsafe extern "C" fn(*mut c_void, size_t, size_t, c_int, *mut c_void) -> *mut c_void;
type Open = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;
type OpenAt = unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int;
type Creat = unsafe extern "C" fn(*const c_char, mode_t) -> c_int;
type Open2 = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
type OpenAt2 = unsafe extern "C" fn(c_int, *const c_char, c_int) -> c_int;

macro_rules! next {
    ($($constant:ident = $name:literal),* $(,)?) => {
        $(pub static $constant: Next = Next::new($name);)*
        /// Looks up all of them, so that later calls need not. Calls in signal handlers must not.
        pub fn look_up_all() {
            for next in [$(&$constant),*] {
                next.address();
            }
        }
    };
}

next! {
    MMAP = c"mmap", MMAP64 = c"mmap64", MUNMAP = c"munmap", MSYNC = c"msync", MREMAP = c"mremap",
    OPEN = c"open", OPEN64 = c"open64", OPENAT = c"openat", OPENAT64 = c"openat64",
    CREAT = c"creat", CREAT64 = c"creat64", OPEN_2 = c"__open_2", OPEN64_2 = c"__open64_2",
    OPENAT_2 = c"__openat_2", OPENAT64_2 = c"__openat64_2",
}

/// Calls `mmap` or `mmap64`, which are the same on 64-bit systems.
///
/// # Safety
/// As for `mmap`.
pub unsafe fn mmap(
    next: &Next,
    addr: *mut c_void,
    len: size_t,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: off_t,
) -> *mut c_void {
    match next.address() {
        // SAFETY: the address is that of a function of this type, and the caller keeps its rules.
        Some(f) => unsafe { transmute::<*mut c_void, Mmap>(f)(addr, len, prot, flags, fd, offset) },
        // SAFETY: as above: it is the same call.
        None => unsafe {
            libc::syscall(libc::SYS_mmap, addr, len, prot, flags, fd, offset) as *mut c_void
        },
    }
}

/// Calls `munmap`.
///
/// # Safety
/// As for `munmap`.
pub unsafe fn munmap(addr: *mut c_void, len: size_t) -> c_int {
    match MUNMAP.address() {
        // SAFETY: as in `mmap`.
        Some(f) => unsafe { transmute::<*mut c_void, Munmap>(f)(addr, len) },
        // SAFETY: as above.
        None => unsafe { libc::syscall(libc::SYS_munmap, addr, len) as c_int },
    }
}

/// Calls `msync`.
///
/// # Safety
/// As for `msync`.
pub unsafe fn msync(addr: *mut c_void, len: size_t, flags: c_int) -> c_int {
    match MSYNC.address() {
        // SAFETY: as in `mmap`.
        Some(f) => unsafe { transmute::<*mut c_void, Msync>(f)(addr, len, flags) },
        // SAFETY: as above.
        None => unsafe { libc::syscall(libc::SYS_msync, addr, len, flags) as c_int },
    }
}

/// Calls `mremap`.
///
/// # Safety
/// As for `mremap`.
pub unsafe fn mremap(
    old: *mut c_void,
    old_len: size_t,
    len: size_t,
    flags: c_int,
    new: *mut c_void,
) -> *mut c_void {
    match MREMAP.address() {
        // SAFETY: as in `mmap`. The last argument is passed as an optional one is.
        Some(f) => unsafe { transmute::<*mut c_void, Mremap>(f)(old, old_len, len, flags, new) },
        // SAFETY: as above.
        None => unsafe {
            libc::syscall(libc::SYS_mremap, old, old_len, len, flags, new) as *mut c_void
        },
    }
}

/// Calls `open` or `open64`.
///
/// # Safety
/// As for `open`.
pub unsafe fn open(next: &Next, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    match next.address() {
        // SAFETY: as in `mmap`.
        Some(f) => unsafe { transmute::<*mut c_void, Open>(f)(path, flags, mode) },
        // SAFETY: as above.
        None => unsafe { system_openat(libc::AT_FDCWD, path, flags, mode) },
    }
}

/// Calls `openat` or `openat64`.
///
/// # Safety
/// As for `openat`.
pub unsafe fn openat(
    next: &Next,
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    match next.address() {
        // SAFETY: as in `mmap`.
        Some(f) => unsafe { transmute::<*mut c_void, OpenAt>(f)(folder, path, flags, mode) },
        // SAFETY: as above.
        None => unsafe { system_openat(folder, path, flags, mode) },
    }
}

/// Calls `creat` or `creat64`.
///
/// # Safety
/// As for `creat`.
pub unsafe fn creat(next: &Next, path: *const c_char, mode: mode_t) -> c_int {
    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
    match next.address() {
        // SAFETY: as in `mmap`.
        Some(f) => unsafe { transmute::<*mut c_void, Creat>(f)(path, mode) },
        // SAFETY: as above.
        None => unsafe { system_openat(libc::AT_FDCWD, path, flags, mode) },
    }
}

/// Calls `__open_2` or `__open64_2`, which programs use that are compiled with `_FORTIFY_SOURCE`.
///
/// # Safety
/// As for `open`.
pub unsafe fn open_2(next: &Next, path: *const c_char, flags: c_int) -> c_int {
    match next.address() {
        // SAFETY: as in `mmap`.
        Some(f) => unsafe { transmute::<*mut c_void, Open2>(f)(path, flags) },
        // SAFETY: as above.
        None => unsafe { system_openat(libc::AT_FDCWD, path, flags, 0) },
    }
}

/// Calls `__openat_2` or `__openat64_2`.
///
/// # Safety
/// As for `openat`.
pub unsafe fn openat_2(next: &Next, folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    match next.address() {
        // SAFETY: as in `mmap`.
        Some(f) => unsafe { transmute::<*mut c_void, OpenAt2>(f)(folder, path, flags) },
        // SAFETY: as above.
        None => unsafe { system_openat(folder, path, flags, 0) },
    }
}

/// # Safety
/// As for `openat`.
unsafe fn system_openat(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller keeps the rules of the call.
    let fd: c_long = unsafe { libc::syscall(libc::SYS_openat, folder, path, flags, mode) };
    fd as c_int
}
