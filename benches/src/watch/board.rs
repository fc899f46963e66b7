//! Memory that producer and observers share beside a region: the numbers by which observers report,
//! and buffers for copies of everything, which take turns.

use super::BYTES;
use crate::outcome::Outcome;
use crate::workload::PAGE;
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};
use tcasm_core::sys::futex;
use tcasm_core::sys::mem::Mapping;

/// Number of buffers. Observers may still read the last one while the next one is written.
const BUFFERS: usize = 3;
/// Size of the numbers and the buffers together.
const LENGTH: usize = PAGE + BUFFERS * BYTES;

// Places of the numbers, each on its own cache line.
/// The last step that was copied.
const STEP: usize = 0;
/// Number of observers that are ready.
const READY: usize = 8;
/// Number of observers that have read what is shown.
const DONE: usize = 16;
/// The time at which the last of them had read it.
const LAST: usize = 24;
/// Number of wrong pages that observers have found.
const WRONG: usize = 32;

/// Time until the next look at the numbers of the observers.
const INTERVAL: Duration = Duration::from_micros(200);
/// The longest time that producer and observers wait for each other.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The shared memory.
pub struct Board {
    memory: Mapping,
    file: File,
}

impl Board {
    /// Creates the memory. All of it is touched.
    pub fn create() -> Outcome<Self> {
        let file = File::from(memfd_create("tcasm-bench", MFdFlags::MFD_CLOEXEC)?);
        file.set_len(LENGTH as u64)?;
        let board = Board::map(file)?;
        // SAFETY: the mapping is new and writable, and no other process has opened the file yet.
        unsafe { board.memory.ptr().write_bytes(0, LENGTH) };
        Ok(board)
    }

    /// Opens the memory of another process, which [`Board::path`] names there. All of it is mapped
    /// already when the first step is shown.
    pub fn open(path: &Path) -> Outcome<Self> {
        let board = Board::map(File::options().read(true).write(true).open(path)?)?;
        for buffer in 0..BUFFERS as u64 {
            let bytes = board.buffer(buffer).iter().step_by(PAGE);
            std::hint::black_box(bytes.map(|byte| u64::from(*byte)).sum::<u64>());
        }
        Ok(board)
    }

    fn map(file: File) -> Outcome<Self> {
        let memory = Mapping::shared(file.as_fd(), LENGTH, true)?;
        Ok(Board { memory, file })
    }

    /// Returns the path by which other processes of the user open the memory.
    pub fn path(&self) -> PathBuf {
        let (process, file) = (std::process::id(), self.file.as_raw_fd());
        PathBuf::from(format!("/proc/{process}/fd/{file}"))
    }

    fn word(&self, place: usize) -> &AtomicU64 {
        // SAFETY: the file has the whole length, and nobody makes it shorter.
        let words = unsafe { self.memory.words() };
        &words[place]
    }

    /// Returns the buffer of a step. The producer calls [`Board::copy`] for a later step only when
    /// all observers have read the one before.
    pub fn buffer(&self, step: u64) -> &[u8] {
        let at = PAGE + step as usize % BUFFERS * BYTES;
        // SAFETY: the range lies in the mapping. While an observer reads the buffer of a step, the
        // producer waits for it.
        unsafe { std::slice::from_raw_parts(self.memory.ptr().add(at), BYTES) }
    }

    /// Copies everything into the buffer of a step, and wakes the observers that wait for it.
    pub fn copy(&mut self, step: u64, bytes: &[u8]) {
        assert_eq!(bytes.len(), BYTES);
        let at = PAGE + step as usize % BUFFERS * BYTES;
        // SAFETY: the range lies in the mapping, and `bytes` are other memory. No observer reads
        // this buffer before the number of the step says so. All have read its last content.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.ptr().add(at), BYTES) };
        self.word(STEP).store(step, SeqCst);
        futex::wake(self.word(STEP));
    }

    /// Waits until this step is copied.
    pub fn wait_for(&self, step: u64) -> Outcome<()> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let seen = self.word(STEP).load(SeqCst);
            if seen >= step {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("no copy of step {step} came; the last one was {seen}").into());
            }
            futex::wait(self.word(STEP), seen, TIMEOUT);
        }
    }

    /// Reports that this observer waits for the first step.
    pub fn ready(&self) {
        self.word(READY).fetch_add(1, SeqCst);
    }

    /// Reports that this observer has read what is shown, and found `wrong` wrong pages.
    pub fn done(&self, wrong: usize) {
        self.word(LAST).fetch_max(now_ns(), SeqCst);
        self.word(WRONG).fetch_add(wrong as u64, SeqCst);
        self.word(DONE).fetch_add(1, SeqCst);
    }

    /// Prepares for the next that is shown.
    pub fn begin(&self) {
        self.word(DONE).store(0, SeqCst);
        self.word(LAST).store(0, SeqCst);
    }

    /// Waits until so many observers are ready.
    pub fn wait_ready(&self, observers: usize) -> Outcome<()> {
        self.wait_count(READY, observers)
    }

    /// Waits until so many observers have read what is shown. Returns the time at which the last of
    /// them had read it. A wrong page is an error.
    pub fn wait_done(&self, observers: usize) -> Outcome<u64> {
        self.wait_count(DONE, observers)?;
        match self.word(WRONG).load(SeqCst) {
            0 => Ok(self.word(LAST).load(SeqCst)),
            wrong => Err(format!("observers found {wrong} wrong pages").into()),
        }
    }

    fn wait_count(&self, place: usize, observers: usize) -> Outcome<()> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let seen = self.word(place).load(SeqCst) as usize;
            if seen >= observers {
                return Ok(());
            }
            if Instant::now() > deadline {
                let seconds = TIMEOUT.as_secs();
                return Err(format!(
                    "only {seen} of {observers} observers have reported within {seconds} s; their \
                     messages are printed above"
                )
                .into());
            }
            std::thread::sleep(INTERVAL);
        }
    }
}

/// Returns the time in nanoseconds of a clock that all processes share and that is never set.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes the time through a valid pointer. This clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_mapping_sees_copies_and_reports() {
        let mut board = Board::create().unwrap();
        let other = Board::open(&board.path()).unwrap();
        let before = now_ns();
        for step in 1..=4 {
            board.begin();
            board.copy(step, &vec![step as u8; BYTES]);
            other.wait_for(step).unwrap();
            assert_eq!(other.buffer(step)[BYTES - 1], step as u8);
            other.done(0);
            let last = board.wait_done(1).unwrap();
            assert!(last >= before && last <= now_ns());
        }
        other.done(3);
        let error = board.wait_done(1).unwrap_err().to_string();
        assert!(error.contains("3 wrong pages"), "{error}");
    }
}
