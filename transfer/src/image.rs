//! The memory of an owner's process, as long as that runs the program with which the peer
//! connected, and copies between it and buffers of this process.
//!
//! A process keeps its number when it starts another program (`execve`), and the system uses a
//! number again when its process has ended. So a read asks the kernel for the owner's beacon and
//! for the wanted bytes in one call. The kernel looks the memory up once for a call, so both are of
//! the same program.
//!
//! A write cannot depend on what is there. It is done between two looks at the beacon. The second
//! one proves that the bytes went to the owner, because a process never gets its old memory back.

use crate::beacon::expected;
use crate::segment::{Segment, after, cut};
use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};
use std::thread::scope;
use tcasm_core::sys::thread::spawn_scoped;

/// The largest number of ranges in one call of the kernel, on each side, without the beacon.
const AT_ONCE: usize = 1023;
/// The number of bytes that a thread takes at once.
const BLOCK: usize = 4 << 20;

/// The memory of an owner's process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image {
    pid: Pid,
    /// The address of the beacon.
    beacon: usize,
    expected: [u8; 16],
}

/// The reason why bytes were not copied. Some of them may have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missed {
    /// The process has ended or runs another program, or its owner was dropped.
    Gone,
    /// The kernel does not permit it.
    Forbidden(Errno),
    /// Some of the owner's memory is not there, or may not be used so.
    Unreadable,
    /// The kernel failed otherwise.
    Failed(Errno),
}

impl Image {
    /// Returns the memory of process `pid`, whose owner has sent `words`, if the beacon is there.
    pub(crate) fn find(pid: Pid, words: [u64; 4]) -> Result<Self, Missed> {
        let image = Image {
            pid,
            beacon: usize::try_from(words[0]).map_err(|_| Missed::Gone)?,
            expected: expected(words),
        };
        image.check().map(|()| image)
    }

    /// Copies between buffers of this process and memory of the owner, which have equally many
    /// bytes. If these are many, up to `threads` threads share the work.
    ///
    /// # Safety
    /// The ranges of `local` must be buffers that stay during the call. If `write` is false,
    /// nothing else may use them meanwhile, and any bytes must be valid there.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn copy(
        &self,
        write: bool,
        local: &[Segment],
        remote: &[Segment],
        threads: usize,
    ) -> Result<(), Missed> {
        let blocks: Vec<_> = cut(local, BLOCK)
            .into_iter()
            .zip(cut(remote, BLOCK))
            .collect();
        let threads = threads.min(blocks.len());
        let blocks = Mutex::new(blocks.into_iter());
        let next = || blocks.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some((local, remote)) = next() {
                // SAFETY: the ranges are parts of the caller's. Each is copied by one thread.
                unsafe { self.copy_block(write, local, remote) }?;
            }
            Ok(())
        };
        scope(|scope| {
            // If a thread cannot start, the others do its work.
            let start = |_| spawn_scoped(scope, "tcasm-copy", work).ok();
            let others: Vec<_> = (1..threads).map_while(start).collect();
            let lost = |_| Err(Missed::Failed(Errno::EIO));
            let others = others.into_iter();
            others.fold(work(), |done, other| {
                done.and(other.join().unwrap_or_else(lost))
            })
        })
    }

    /// Copies a block in the calling thread.
    ///
    /// # Safety
    /// As for `copy`.
    #[allow(unsafe_code)]
    unsafe fn copy_block(
        &self,
        write: bool,
        mut local: Vec<Segment>,
        mut remote: Vec<Segment>,
    ) -> Result<(), Missed> {
        let (mut local, mut remote) = (&mut local[..], &mut remote[..]);
        if write {
            self.check()?;
        }
        while !remote.is_empty() {
            // SAFETY: this passes the caller's promise on.
            let copied = unsafe {
                match write {
                    true => self.write_some(local, remote),
                    false => self.read_some(local, remote),
                }
            }?;
            local = after(local, copied);
            remote = after(remote, copied);
        }
        match write {
            true => self.check(),
            false => Ok(()),
        }
    }

    /// Returns an error if the beacon is not there.
    #[allow(unsafe_code)]
    pub(crate) fn check(&self) -> Result<(), Missed> {
        // SAFETY: nothing but the beacon is read.
        match unsafe { self.read_some(&[], &[]) } {
            Err(Missed::Unreadable) => Ok(()),
            looked => looked.map(drop),
        }
    }

    /// Reads as much as the kernel does in one call. It reads at most 2 GiB, and stops where memory
    /// is missing. Returns the number of bytes, at least one.
    ///
    /// # Safety
    /// As for `copy`, if `write` is false.
    #[allow(unsafe_code)]
    unsafe fn read_some(&self, local: &[Segment], remote: &[Segment]) -> Result<usize, Missed> {
        let mut seen = [0; 16];
        let to = Segment::of_mut(&mut seen);
        let beacon = Segment {
            addr: self.beacon,
            len: seen.len(),
        };
        let (to, from) = (vectors(Some(to), local), vectors(Some(beacon), remote));
        let (to_len, from_len) = (to.len() as libc::c_ulong, from.len() as libc::c_ulong);
        let (to, from) = (to.as_ptr(), from.as_ptr());
        // SAFETY: both lists outlive the call. The first range to which the kernel writes is
        // `seen`, which lives. By the caller's promise the others may be written, too.
        let read = patiently(|| unsafe {
            libc::process_vm_readv(self.pid.as_raw(), to, to_len, from, from_len, 0)
        });
        match read {
            Ok(n) if n < seen.len() || seen != self.expected => Err(Missed::Gone),
            Ok(n) if n == seen.len() => Err(Missed::Unreadable),
            Ok(n) => Ok(n - seen.len()),
            // The beacon comes first.
            Err(Errno::EFAULT) => Err(Missed::Gone),
            Err(error) => Err(missed(error)),
        }
    }

    /// Writes as much as the kernel does in one call. Returns the number of bytes.
    ///
    /// # Safety
    /// The ranges of `local` must be readable buffers that stay during the call.
    #[allow(unsafe_code)]
    unsafe fn write_some(&self, local: &[Segment], remote: &[Segment]) -> Result<usize, Missed> {
        let (from, to) = (vectors(None, local), vectors(None, remote));
        let (from_len, to_len) = (from.len() as libc::c_ulong, to.len() as libc::c_ulong);
        let (from, to) = (from.as_ptr(), to.as_ptr());
        // SAFETY: both lists outlive the call, and by the caller's promise so do the buffers, which
        // the kernel only reads. It writes to the memory of the owner, which has declared it.
        let written = patiently(|| unsafe {
            libc::process_vm_writev(self.pid.as_raw(), from, from_len, to, to_len, 0)
        });
        match written {
            Ok(0) => Err(Missed::Failed(Errno::EIO)),
            Ok(bytes) => Ok(bytes),
            // Another program has other memory.
            Err(Errno::EFAULT) => self.check().and(Err(Missed::Unreadable)),
            Err(error) => Err(missed(error)),
        }
    }
}

/// Returns ranges as the kernel takes them, `first` before the others.
fn vectors(first: Option<Segment>, others: &[Segment]) -> Vec<libc::iovec> {
    let others = others.iter().take(AT_ONCE).copied();
    let vector = |segment: Segment| libc::iovec {
        iov_base: segment.addr as *mut c_void,
        iov_len: segment.len,
    };
    first.into_iter().chain(others).map(vector).collect()
}

/// Calls the kernel until no signal interrupts the call.
fn patiently(mut call: impl FnMut() -> isize) -> Result<usize, Errno> {
    loop {
        match Errno::result(call()) {
            Err(Errno::EINTR) => {}
            done => return done.map(|bytes| bytes as usize),
        }
    }
}

fn missed(error: Errno) -> Missed {
    match error {
        Errno::ESRCH => Missed::Gone,
        Errno::EPERM | Errno::EACCES | Errno::ENOSYS => Missed::Forbidden(error),
        other => Missed::Failed(other),
    }
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;
    use crate::beacon::Beacon;

    #[test]
    fn memory_without_the_beacon_is_neither_read_nor_written() {
        let beacon = Beacon::new().unwrap();
        let [at, low, high, _] = beacon.words();
        let image = Image::find(Pid::this(), beacon.words()).unwrap();
        let other = Image {
            expected: [3; 16],
            ..image
        };
        let none = Image { beacon: 8, ..image };
        let (mut mine, mut theirs) = (vec![1u8; 100], vec![2u8; 100]);
        let (local, remote) = ([Segment::of_mut(&mut mine)], [Segment::of_mut(&mut theirs)]);
        for wrong in [other, none] {
            // SAFETY: only the kernel uses the two buffers during the call.
            let written = unsafe { wrong.copy(true, &local, &remote, 1) };
            assert_eq!(written, Err(Missed::Gone));
            // SAFETY: as above.
            let read = unsafe { wrong.copy(false, &local, &remote, 1) };
            assert_eq!(read, Err(Missed::Gone));
        }
        assert_eq!(theirs, [2; 100], "bytes of another program are overwritten");
        mine.fill(5);
        let local = [Segment::of_mut(&mut mine)];
        // SAFETY: as above.
        unsafe { image.copy(true, &local, &remote, 1) }.unwrap();
        assert_eq!(theirs, [5; 100]);
        let moved = Image::find(Pid::this(), [at, high, low, 0]);
        assert_eq!(moved.err(), Some(Missed::Gone));
    }

    #[test]
    fn several_threads_copy_what_one_does() {
        let beacon = Beacon::new().unwrap();
        let image = Image::find(Pid::this(), beacon.words()).unwrap();
        let mut theirs: Vec<u8> = (0..3 * BLOCK + 77).map(|i| (i % 251) as u8).collect();
        for threads in [0, 1, 3, 100] {
            let mut mine = vec![0; theirs.len()];
            let (local, remote) = ([Segment::of_mut(&mut mine)], [Segment::of_mut(&mut theirs)]);
            // SAFETY: only the kernel uses the two buffers during the call.
            unsafe { image.copy(false, &local, &remote, threads) }.unwrap();
            assert!(mine == theirs, "{threads} threads read other bytes");
            mine.reverse();
            let local = [Segment::of_mut(&mut mine)];
            // SAFETY: as above.
            unsafe { image.copy(true, &local, &remote, threads) }.unwrap();
            assert!(mine == theirs, "{threads} threads wrote other bytes");
        }
    }
}
