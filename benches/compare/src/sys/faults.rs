//! Tracks dirty pages by mprotect and SIGSEGV, without other support by the kernel.
#![allow(unsafe_code)]

use crate::failure::{Failure, While};
use crate::workload::PAGE;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};

static BASE: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);
static WRITTEN: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());
/// True after the kernel refused to split the mapping further. Then all pages are writable, and all
/// count as written.
static ALL: AtomicBool = AtomicBool::new(false);

/// Installs a handler that records in a bitmap which pages of `base..base + len` are written while
/// the range is protected. Call it once per process.
pub fn watch(base: usize, len: usize) -> Result<(), Failure> {
    let words: Vec<AtomicU64> = (0..(len / PAGE).div_ceil(64))
        .map(|_| AtomicU64::new(0))
        .collect();
    WRITTEN.store(words.leak().as_mut_ptr(), Relaxed);
    BASE.store(base, Relaxed);
    LEN.store(len, Relaxed);
    let action = SigAction::new(
        SigHandler::SigAction(on_fault),
        SaFlags::SA_SIGINFO,
        SigSet::empty(),
    );
    // SAFETY: the handler does only what is allowed in a signal handler: it uses atomics, and calls
    // `mprotect` and `signal`.
    unsafe { sigaction(Signal::SIGSEGV, &action) }.context("handling SIGSEGV")?;
    Ok(())
}

/// Returns the set of pages that were written, one bit for each, and clears it.
pub fn take_written() -> Vec<u64> {
    let words = (LEN.load(Relaxed) / PAGE).div_ceil(64);
    let all = ALL.swap(false, Relaxed);
    let at = WRITTEN.load(Relaxed);
    // SAFETY: the pointer is null and the length 0, or `watch` has leaked that many words there.
    let written = unsafe { std::slice::from_raw_parts(at, if at.is_null() { 0 } else { words }) };
    written
        .iter()
        .map(|word| word.swap(0, Relaxed) | if all { u64::MAX } else { 0 })
        .collect()
}

extern "C" fn on_fault(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo. For SIGSEGV it contains an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let (base, len) = (BASE.load(Relaxed), LEN.load(Relaxed));
    if !(base..base + len).contains(&address) {
        // SAFETY: `signal` may be called in a handler and touches no memory of the program. The
        // default action is restored, so the fault happens again and ends the process.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        return;
    }
    let page = (address - base) / PAGE;
    let writable = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the page lies in the watched mapping, which lives as long as the process. The call
    // changes no content.
    let refused = unsafe { libc::mprotect((base + page * PAGE) as *mut _, PAGE, writable) } != 0;
    if refused {
        ALL.store(true, Relaxed);
        // SAFETY: as above, for the whole mapping. This needs no split, so the kernel does not
        // refuse it.
        unsafe { libc::mprotect(base as *mut _, len, writable) };
    }
    // SAFETY: `watch` has leaked one word for each 64 pages, and the page lies in the range.
    unsafe { &*WRITTEN.load(Relaxed).add(page / 64) }.fetch_or(1 << (page % 64), Relaxed);
}
