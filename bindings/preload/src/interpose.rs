//! The functions that this library stands in front of. Each asks [`calls`](crate::calls) whether
//! the call concerns a region, and otherwise calls the next function of its name.
//!
//! `open`, `openat` and `mremap` have an optional last argument. On x86-64 and arm64 it is passed
//! in the register in which a fixed argument is, so it is passed on, whatever is in there if the
//! caller gave none.
#![allow(unsafe_code)]

use crate::{calls, guard, real};
use libc::{c_char, c_int, c_void, mode_t, off_t, size_t};
use nix::errno::Errno;

/// Runs when the library is loaded.
extern "C" fn loaded() {
    real::look_up_all();
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = loaded;

/// Runs when the program has ended by `exit`, after its own handlers and destructors.
extern "C" fn ending() {
    crate::exit::end_all();
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = ending;

fn descriptor(result: Result<c_int, Errno>) -> c_int {
    result.unwrap_or_else(|errno| guard::fail(errno, -1))
}

fn address(result: Result<usize, Errno>) -> *mut c_void {
    match result {
        Ok(address) => address as *mut c_void,
        Err(errno) => guard::fail(errno, libc::MAP_FAILED),
    }
}

fn status(result: Result<(), Errno>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(errno) => guard::fail(errno, -1),
    }
}

macro_rules! opens {
    ($($name:ident => $next:ident),*) => {$(
        /// # Safety
        /// As for `open`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
            // SAFETY: the caller keeps the rules of the call.
            match unsafe { calls::open(path, flags) } {
                Some(result) => descriptor(result),
                // SAFETY: as above.
                None => unsafe { real::open(&real::$next, path, flags, mode) },
            }
        }
    )*};
}
opens!(open => OPEN, open64 => OPEN64);

macro_rules! openats {
    ($($name:ident => $next:ident),*) => {$(
        /// # Safety
        /// As for `openat`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            folder: c_int,
            path: *const c_char,
            flags: c_int,
            mode: mode_t,
        ) -> c_int {
            // SAFETY: the caller keeps the rules of the call.
            match unsafe { calls::open(path, flags) } {
                Some(result) => descriptor(result),
                // SAFETY: as above.
                None => unsafe { real::openat(&real::$next, folder, path, flags, mode) },
            }
        }
    )*};
}
openats!(openat => OPENAT, openat64 => OPENAT64);

macro_rules! creats {
    ($($name:ident => $next:ident),*) => {$(
        /// # Safety
        /// As for `creat`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, mode: mode_t) -> c_int {
            // SAFETY: the caller keeps the rules of the call.
            match unsafe { calls::open(path, libc::O_TRUNC) } {
                Some(result) => descriptor(result),
                // SAFETY: as above.
                None => unsafe { real::creat(&real::$next, path, mode) },
            }
        }
    )*};
}
creats!(creat => CREAT, creat64 => CREAT64);

macro_rules! fortified_opens {
    ($($name:ident => $next:ident),*) => {$(
        /// # Safety
        /// As for `open`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(path: *const c_char, flags: c_int) -> c_int {
            // SAFETY: the caller keeps the rules of the call.
            match unsafe { calls::open(path, flags) } {
                Some(result) => descriptor(result),
                // SAFETY: as above.
                None => unsafe { real::open_2(&real::$next, path, flags) },
            }
        }
    )*};
}
fortified_opens!(__open_2 => OPEN_2, __open64_2 => OPEN64_2);

macro_rules! fortified_openats {
    ($($name:ident => $next:ident),*) => {$(
        /// # Safety
        /// As for `openat`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
            // SAFETY: the caller keeps the rules of the call.
            match unsafe { calls::open(path, flags) } {
                Some(result) => descriptor(result),
                // SAFETY: as above.
                None => unsafe { real::openat_2(&real::$next, folder, path, flags) },
            }
        }
    )*};
}
fortified_openats!(__openat_2 => OPENAT_2, __openat64_2 => OPENAT64_2);

macro_rules! maps {
    ($($name:ident => $next:ident),*) => {$(
        /// # Safety
        /// As for `mmap`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            addr: *mut c_void,
            len: size_t,
            prot: c_int,
            flags: c_int,
            fd: c_int,
            offset: off_t,
        ) -> *mut c_void {
            let next = |addr: *mut c_void| {
                // SAFETY: the caller keeps the rules of the call.
                unsafe { real::mmap(&real::$next, addr, len, prot, flags, fd, offset) }
            };
            let request = calls::Map { addr: addr.addr(), len, prot, flags, fd, offset };
            match calls::map(&request, || next(addr).addr()) {
                Some(result) => address(result),
                None => next(addr),
            }
        }
    )*};
}
maps!(mmap => MMAP, mmap64 => MMAP64);

/// # Safety
/// As for `munmap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn munmap(addr: *mut c_void, len: size_t) -> c_int {
    match calls::unmap(addr.addr(), len) {
        Some(result) => status(result),
        // SAFETY: the caller keeps the rules of the call.
        None => unsafe { real::munmap(addr, len) },
    }
}

/// # Safety
/// As for `msync`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn msync(addr: *mut c_void, len: size_t, flags: c_int) -> c_int {
    match calls::sync(addr.addr(), len, flags) {
        Some(result) => status(result),
        // SAFETY: the caller keeps the rules of the call.
        None => unsafe { real::msync(addr, len, flags) },
    }
}

/// # Safety
/// As for `mremap`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mremap(
    old: *mut c_void,
    old_len: size_t,
    len: size_t,
    flags: c_int,
    new: *mut c_void,
) -> *mut c_void {
    match calls::remap(old.addr(), old_len, len) {
        Some(result) => address(result),
        // SAFETY: the caller keeps the rules of the call.
        None => unsafe { real::mremap(old, old_len, len, flags, new) },
    }
}
