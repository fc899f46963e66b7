//! The buffers of a peer, and copies between them and the memory of the owner.

use crate::layout::Segment;
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::unix::fs::FileExt;
use tcasm_core::sys::thread::without_file_size_signal;

/// The largest number of vectors in one call of the kernel, on each side.
const AT_ONCE: usize = 1024;

/// What is left of the buffers of a peer.
#[derive(Debug)]
pub(crate) enum Local<'a, 'b> {
    /// The peer reads into them.
    Into(&'a mut [IoSliceMut<'b>]),
    /// The peer writes them to the owner.
    From(&'a mut [IoSlice<'b>]),
}

impl Local<'_, '_> {
    /// Returns true if the peer writes to the owner.
    pub(crate) fn writes(&self) -> bool {
        matches!(self, Local::From(_))
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Local::Into(buffers) => buffers.iter().map(|b| b.len() as u64).sum(),
            Local::From(buffers) => buffers.iter().map(|b| b.len() as u64).sum(),
        }
    }

    /// Removes the first bytes, and empty buffers before the next one.
    fn skip(&mut self, bytes: usize) {
        match self {
            Local::Into(buffers) => IoSliceMut::advance_slices(buffers, bytes),
            Local::From(buffers) => IoSlice::advance_slices(buffers, bytes),
        }
    }

    /// Copies directly between the buffers and segments of another process, which have no more
    /// bytes than the buffers.
    pub(crate) fn direct(&mut self, pid: Pid, segments: &[Segment]) -> Result<(), Errno> {
        let vector = |segment: &Segment| RemoteIoVec {
            base: segment.addr,
            len: segment.len,
        };
        let mut vectors: Vec<RemoteIoVec> = segments.iter().map(vector).collect();
        let mut left = &mut vectors[..];
        while !left.is_empty() {
            self.skip(0);
            match self.call(pid, &left[..left.len().min(AT_ONCE)]) {
                Ok(0) => return Err(Errno::EIO),
                Ok(bytes) => {
                    self.skip(bytes);
                    left = after(left, bytes);
                }
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Copies once, as much as the kernel does. It copies at most 2 GiB, and stops where memory is
    /// missing.
    fn call(&mut self, pid: Pid, vectors: &[RemoteIoVec]) -> nix::Result<usize> {
        match self {
            Local::Into(buffers) => {
                let n = buffers.len().min(AT_ONCE);
                process_vm_readv(pid, &mut buffers[..n], vectors)
            }
            Local::From(buffers) => {
                let n = buffers.len().min(AT_ONCE);
                process_vm_writev(pid, &buffers[..n], vectors)
            }
        }
    }

    /// Copies `len` bytes between the buffers and a file at `at`.
    pub(crate) fn file(&mut self, file: &File, mut at: u64, mut len: usize) -> io::Result<()> {
        while len > 0 {
            self.skip(0);
            let bytes = match self {
                Local::Into(buffers) => {
                    let first = buffers.first_mut().ok_or(io::ErrorKind::WriteZero)?;
                    let bytes = first.len().min(len);
                    file.read_exact_at(&mut first[..bytes], at)?;
                    bytes
                }
                Local::From(buffers) => {
                    let first = buffers.first().ok_or(io::ErrorKind::UnexpectedEof)?;
                    let bytes = first.len().min(len);
                    without_file_size_signal(|| file.write_all_at(&first[..bytes], at))?;
                    bytes
                }
            };
            self.skip(bytes);
            at += bytes as u64;
            len -= bytes;
        }
        Ok(())
    }
}

/// Returns what is left of a list after its first `bytes` bytes.
fn after(list: &mut [RemoteIoVec], mut bytes: usize) -> &mut [RemoteIoVec] {
    let mut whole = 0;
    while whole < list.len() && list[whole].len <= bytes {
        bytes -= list[whole].len;
        whole += 1;
    }
    let left = &mut list[whole..];
    if let Some(first) = left.first_mut() {
        first.base += bytes;
        first.len -= bytes;
    }
    left
}
