//! Copies between the program's memory, objects and the producer's fields. The kernel makes the
//! copies and checks the addresses, so memory that is not there is an error and not a signal.

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::{Pid, Whence, lseek};
use std::fs::File;
use std::io::{self, IoSliceMut};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use tcasm_core::sys::remote;

/// The bytes of one copy. They are in the cache when they are compared.
const CHUNK: usize = 256 << 10;
/// The bytes of one comparison. Pages that are equal are not written, so they stay shared.
const PIECE: usize = 4096;

/// Copies memory of this process at `address`. Returns how many bytes could be read.
fn read_part(address: usize, to: &mut [u8]) -> nix::Result<usize> {
    let (base, len) = (address, to.len());
    let remote = [RemoteIoVec { base, len }];
    process_vm_readv(Pid::this(), &mut [IoSliceMut::new(to)], &remote)
}

/// Copies memory of this process at `address`. Returns true if all of it could be read.
pub fn read(address: usize, to: &mut [u8]) -> bool {
    read_part(address, to) == Ok(to.len())
}

/// Makes `to` equal to the memory at `address`, and stores only where it differs. Memory that
/// cannot be read, such as that behind the end of a file, leaves `to` as it was.
pub fn refresh(address: usize, to: &mut [u8]) -> nix::Result<()> {
    let mut buffer = vec![0; CHUNK.min(to.len())];
    for (i, part) in to.chunks_mut(CHUNK).enumerate() {
        let (at, buffer) = (address + i * CHUNK, &mut buffer[..part.len()]);
        match read_part(at, buffer) {
            Ok(all) if all == part.len() => store(part, buffer),
            Ok(_) | Err(nix::errno::Errno::EFAULT) => refresh_pieces(at, part),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn refresh_pieces(address: usize, to: &mut [u8]) {
    let mut buffer = [0; PIECE];
    for (i, piece) in to.chunks_mut(PIECE).enumerate() {
        let buffer = &mut buffer[..piece.len()];
        if read(address + i * PIECE, buffer) {
            store(piece, buffer);
        }
    }
}

fn store(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.chunks_mut(PIECE).zip(from.chunks(PIECE)) {
        if to != from {
            to.copy_from_slice(from);
        }
    }
}

/// Returns the parts of `range` of a file that have data. The rest is holes, which are zeros.
fn data_in(file: &File, range: Range<u64>) -> io::Result<Vec<Range<u64>>> {
    let (mut parts, mut at) = (Vec::new(), range.start);
    while at < range.end {
        let start = match lseek(file, at as i64, Whence::SeekData) {
            Ok(start) => start as u64,
            Err(nix::errno::Errno::ENXIO) => break, // only holes follow
            Err(error) => return Err(error.into()),
        };
        at = lseek(file, start as i64, Whence::SeekHole)? as u64;
        if start < range.end {
            parts.push(start..at.min(range.end));
        }
    }
    Ok(parts)
}

/// Copies `range` of an object to memory at `address`, which must be zeros. Holes are not read.
///
/// # Safety
/// The memory at `address`, as much as the range has bytes, must be the caller's, and nothing may
/// be borrowed from it.
#[allow(unsafe_code)]
pub unsafe fn load(object: &File, range: Range<u64>, address: usize) -> io::Result<()> {
    use std::os::fd::AsFd;
    for part in data_in(object, range.clone())? {
        let at = address + (part.start - range.start) as usize;
        let to = [(at, (part.end - part.start) as usize)];
        // SAFETY: the part is inside of the range, so its memory is the caller's.
        unsafe { remote::scatter(object.as_fd(), &to, part.start)? };
    }
    Ok(())
}

/// Makes `range` of an object equal to the memory at `address`. Zeros become holes.
pub fn save(address: usize, object: &File, range: Range<u64>) -> io::Result<()> {
    use nix::fcntl::{FallocateFlags, fallocate};
    let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
    let len = range.end - range.start;
    fallocate(object, hole, range.start as i64, len as i64)?;
    let mut buffer = vec![0; CHUNK.min(len as usize)];
    for at in range.clone().step_by(CHUNK) {
        let part = &mut buffer[..(range.end - at).min(CHUNK as u64) as usize];
        if !read(address + (at - range.start) as usize, part) {
            return Err(io::Error::other("the mapping cannot be read"));
        }
        for (i, piece) in part.chunks(PIECE).enumerate() {
            if piece.iter().any(|byte| *byte != 0) {
                object.write_all_at(piece, at + (i * PIECE) as u64)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::memfd::{MFdFlags, memfd_create};

    fn memfd(len: u64) -> File {
        let file = File::from(memfd_create(c"tcasm-test", MFdFlags::MFD_CLOEXEC).unwrap());
        file.set_len(len).unwrap();
        file
    }

    #[test]
    fn refresh_copies_what_differs_and_leaves_what_cannot_be_read() {
        let mut source: Vec<u8> = (0..CHUNK * 2 + 100).map(|i| i as u8).collect();
        let mut to = source.clone();
        source[CHUNK + 5] = 99;
        *source.last_mut().unwrap() = 98;
        refresh(source.as_ptr().addr(), &mut to).unwrap();
        assert_eq!(to, source);
        let mut kept = vec![7; PIECE * 2];
        refresh(4096, &mut kept).unwrap(); // nothing is mapped there
        assert_eq!(kept, vec![7; PIECE * 2]);
        assert!(!read(4096, &mut [0; 8]));
    }

    #[test]
    #[allow(unsafe_code)]
    fn content_goes_into_memory_and_back_with_its_holes() {
        let len = 5 << 20;
        let (from, back) = (memfd(len), memfd(len));
        from.write_all_at(b"begin", 0).unwrap();
        from.write_all_at(b"middle", (3 << 20) - 3).unwrap();
        from.write_all_at(b"end", len - 3).unwrap();
        back.write_all_at(b"old", 1 << 20).unwrap();
        let mut memory = vec![0u8; len as usize];
        // SAFETY: the memory is this vector, from which nothing is borrowed.
        unsafe { load(&from, 0..len, memory.as_mut_ptr().addr()).unwrap() };
        assert_eq!(&memory[(3 << 20) - 3..][..6], b"middle");
        save(memory.as_ptr().addr(), &back, 0..len).unwrap();
        let mut copy = vec![1u8; len as usize];
        back.read_exact_at(&mut copy, 0).unwrap();
        assert!(copy == memory, "the old bytes are gone");
        let data: u64 = data_in(&back, 0..len)
            .unwrap()
            .iter()
            .map(|r| r.end - r.start)
            .sum();
        assert!(
            data < len / 2,
            "{data} bytes of data: the holes are holes again"
        );
    }

    #[test]
    fn only_data_inside_of_the_range_is_found() {
        let file = memfd(16 << 20);
        file.write_all_at(&[1; 8192], 4096).unwrap();
        let parts = data_in(&file, 0..8192).unwrap();
        assert_eq!((parts.len(), &parts[0]), (1, &(4096..8192)));
        assert_eq!(data_in(&file, 8 << 20..16 << 20).unwrap(), []);
        assert_eq!(data_in(&file, 0..0).unwrap(), []);
    }
}
