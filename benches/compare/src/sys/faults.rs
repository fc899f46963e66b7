//! Dirty pages by mprotect and SIGSEGV, as programs without a kernel's help have always done it.
#![allow(unsafe_code)]

use crate::failure::{Failure, While};
use crate::workload::PAGE;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::Relaxed};

static BASE: AtomicUsize = AtomicUsize::new(0);
static LEN: AtomicUsize = AtomicUsize::new(0);
static WRITTEN: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());
/// The kernel refused to split the mapping further: everything is writable, and counts as written.
static ALL: AtomicBool = AtomicBool::new(false);

/// Note in a bitmap which pages of `base..base + len` are written after the range was protected. Once per process.
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
    // SAFETY: the handler calls only what may be called in one: atomics, mprotect, sigaction.
    unsafe { sigaction(Signal::SIGSEGV, &action) }.context("handling SIGSEGV")?;
    Ok(())
}

/// Take the set of pages that were written, a bit each.
pub fn take_written() -> Vec<u64> {
    let words = (LEN.load(Relaxed) / PAGE).div_ceil(64);
    let all = ALL.swap(false, Relaxed);
    let at = WRITTEN.load(Relaxed);
    // SAFETY: `watch` has leaked that many words there.
    let written = unsafe { std::slice::from_raw_parts(at, if at.is_null() { 0 } else { words }) };
    written
        .iter()
        .map(|word| word.swap(0, Relaxed) | if all { u64::MAX } else { 0 })
        .collect()
}

extern "C" fn on_fault(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid siginfo, which for SIGSEGV has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    let (base, len) = (BASE.load(Relaxed), LEN.load(Relaxed));
    if !(base..base + len).contains(&address) {
        // SAFETY: back to the default action, so that the fault, which comes again, ends the process as it should.
        unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
        return;
    }
    let page = (address - base) / PAGE;
    let writable = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the range lies in the watched mapping, which lives as long as the process.
    let refused = unsafe { libc::mprotect((base + page * PAGE) as *mut _, PAGE, writable) } != 0;
    if refused {
        ALL.store(true, Relaxed);
        // SAFETY: the same; the whole mapping needs no split, so it is not refused.
        unsafe { libc::mprotect(base as *mut _, len, writable) };
    }
    // SAFETY: `watch` has leaked a word for each 64 pages, and the page lies in the range.
    unsafe { &*WRITTEN.load(Relaxed).add(page / 64) }.fetch_or(1 << (page % 64), Relaxed);
}
