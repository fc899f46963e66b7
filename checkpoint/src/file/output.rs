//! How the bytes of fields get into a new file: past the page cache where the file system takes
//! that, and else through it.
//!
//! With `O_DIRECT` the device takes bytes from where they lie. So no copy of them is made, which
//! would use memory bandwidth and push other files out of memory. The addresses, offsets and
//! lengths of such writes must be multiples of the size of a block. Bytes that lie otherwise, and
//! short pieces, are gathered in a buffer first. The last bytes of a dataset, which do not fill a
//! block, always go through the page cache.
//!
//! HDF5 gives a dataset its place in the file when it is created, and does not touch the values
//! afterwards. A file system can refuse `O_DIRECT` when the file is opened, or at a write. Then the
//! same bytes go to the same place through the page cache.

use super::regular;
use super::writeback::Writeback;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use tcasm_core::testing::fault;
use xxhash_rust::xxh3::Xxh3Default;

/// The size in bytes from which on a dataset is written past the page cache. A smaller one would
/// wait for the device longer than a copy takes.
pub const LEAST: usize = 1 << 20;
/// The alignment of direct writes in bytes, and of datasets of at least [`LEAST`] bytes in files. A
/// file system that asks for more refuses them.
pub const ALIGN: usize = 4096;
/// The number of bytes that are hashed and then written at once. The device gets enough to do, and
/// may still find some of them in the processor's cache.
const PIECE: usize = 4 << 20;
/// The size of the buffer for bytes that cannot be written from where they lie. Shorter pieces are
/// always gathered.
const GATHERED: usize = 1 << 20;

/// A new file, and the ways to write to it.
pub struct Output<'f> {
    /// The file as it was created.
    file: &'f File,
    /// True if large datasets are to be written past the page cache, and no write was refused.
    wanted: Cell<bool>,
    /// The same file, opened with `O_DIRECT` when it is first needed, or `None` if that is refused.
    direct: OnceCell<Option<File>>,
    /// The number of bytes that were written past the page cache.
    past: Cell<u64>,
    writeback: Writeback,
}

impl<'f> Output<'f> {
    /// Returns the output for `file`. Large datasets are written past the page cache only if
    /// `direct` is true.
    pub fn of(file: &'f File, direct: bool) -> Self {
        Output {
            file,
            wanted: Cell::new(direct),
            direct: OnceCell::new(),
            past: Cell::new(0),
            writeback: Writeback::of(file),
        }
    }

    /// Notes that `bytes` more bytes were written through the page cache.
    pub fn wrote(&self, bytes: usize) {
        self.writeback.wrote(bytes);
    }

    /// Returns the number of bytes that were written past the page cache.
    pub fn past_cache(&self) -> u64 {
        self.past.get()
    }

    /// Returns true if a dataset of `bytes` bytes is to be written past the page cache.
    pub fn is_direct(&self, bytes: usize) -> bool {
        bytes >= LEAST && self.direct().is_some()
    }

    /// Returns a stream to the dataset that begins at `offset` in the file. Returns `None` if HDF5
    /// must write it.
    pub fn stream(&self, offset: u64) -> Option<Stream<'_>> {
        let is_possible = offset.is_multiple_of(ALIGN as u64) && self.direct().is_some();
        is_possible.then(|| Stream {
            output: self,
            at: offset,
            hasher: Xxh3Default::new(),
            gathered: Gathered::default(),
        })
    }

    /// Returns the file for direct writes, if there may be any.
    fn direct(&self) -> Option<&File> {
        match self.wanted.get() {
            true => self.direct.get_or_init(|| open(self.file)).as_ref(),
            false => None,
        }
    }

    /// Writes `piece` at `at`, past the page cache if possible. The address and the length of
    /// `piece`, and `at`, are multiples of [`ALIGN`].
    fn write(&self, piece: &[u8], at: u64) -> io::Result<()> {
        if let Some(direct) = self.direct() {
            match write_direct(direct, piece, at) {
                Err(error) if is_refusal(&error) => {
                    tracing::debug!("a write past the page cache was refused: {error}");
                    self.wanted.set(false);
                }
                Err(error) => return Err(error),
                Ok(()) => {
                    self.past.set(self.past.get() + piece.len() as u64);
                    return Ok(());
                }
            }
        }
        self.write_through(piece, at)
    }

    /// Writes `bytes` at `at` through the page cache.
    fn write_through(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, at)?;
        self.wrote(bytes.len());
        Ok(())
    }
}

/// The values of one dataset on their way into the file, from the first to the last. Each piece is
/// hashed right before it is written, so memory is read once for both.
pub struct Stream<'o> {
    output: &'o Output<'o>,
    /// The offset in the file of the bytes in `gathered`. It is a multiple of [`ALIGN`].
    at: u64,
    hasher: Xxh3Default,
    gathered: Gathered,
}

impl Stream<'_> {
    /// Takes the next bytes. Some of them may be written later.
    pub fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let taken = match self.gathered.len == 0 && is_apt(bytes) {
                true => self.pass(bytes)?,
                false => self.gather(bytes)?,
            };
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Writes the first of `bytes` from where they lie. Returns their number.
    fn pass(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..whole_blocks(bytes.len().min(PIECE))];
        self.hasher.update(piece);
        self.output.write(piece, self.at)?;
        self.at += piece.len() as u64;
        Ok(piece.len())
    }

    /// Gathers the first of `bytes`, and writes the buffer if it is full. Returns their number.
    fn gather(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.gathered.take(bytes);
        self.hasher.update(&bytes[..taken]);
        if self.gathered.len == GATHERED {
            self.output.write(self.gathered.bytes(), self.at)?;
            self.at += GATHERED as u64;
            self.gathered.len = 0;
        }
        Ok(taken)
    }

    /// Writes what is left. Returns the checksum of all bytes.
    pub fn finish(self) -> io::Result<u64> {
        let left = self.gathered.bytes();
        let (blocks, tail) = left.split_at(whole_blocks(left.len()));
        if !blocks.is_empty() {
            self.output.write(blocks, self.at)?;
        }
        // The block that the tail lies in may hold other parts of the file.
        self.output
            .write_through(tail, self.at + blocks.len() as u64)?;
        Ok(self.hasher.digest())
    }
}

/// A buffer at an aligned address.
#[derive(Default)]
struct Gathered {
    /// Empty until the first bytes arrive.
    memory: Vec<u8>,
    /// Where the buffer begins in `memory`.
    start: usize,
    /// The number of bytes in it, at most [`GATHERED`].
    len: usize,
}

impl Gathered {
    /// Copies as many of `bytes` as there is room for. Returns their number.
    fn take(&mut self, bytes: &[u8]) -> usize {
        if self.memory.is_empty() {
            self.memory = vec![0; GATHERED + ALIGN];
            self.start = before_aligned(&self.memory);
        }
        let taken = bytes.len().min(GATHERED - self.len);
        let at = self.start + self.len;
        self.memory[at..at + taken].copy_from_slice(&bytes[..taken]);
        self.len += taken;
        taken
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

/// Opens `file` again, for writes past the page cache. Returns `None` if it cannot be opened so.
fn open(file: &File) -> Option<File> {
    let opened = match fault::refuses_direct_io() {
        true => Err(Errno::EINVAL.into()),
        false => File::options()
            .write(true)
            .custom_flags(OFlag::O_DIRECT.bits())
            .open(regular::path_of(file)),
    };
    let note = |error: &io::Error| tracing::debug!("a file is not opened with O_DIRECT: {error}");
    opened.inspect_err(note).ok()
}

/// Writes all of `piece` at `at`, past the page cache.
fn write_direct(file: &File, piece: &[u8], at: u64) -> io::Result<()> {
    match fault::refuses_direct_io() {
        true => Err(Errno::EINVAL.into()),
        false => file.write_all_at(piece, at),
    }
}

/// Returns true if a direct write was refused for its kind: because of the alignment, the file
/// system, or memory that the device cannot read.
fn is_refusal(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(
        errno,
        Some(Errno::EINVAL | Errno::EOPNOTSUPP | Errno::EFAULT)
    )
}

/// Returns true if the first of `bytes` can be written from where they lie, and are enough.
fn is_apt(bytes: &[u8]) -> bool {
    bytes.len() >= GATHERED && before_aligned(bytes) == 0
}

/// Returns the number of bytes before the first one at an aligned address.
fn before_aligned(bytes: &[u8]) -> usize {
    let address = bytes.as_ptr().addr();
    address.next_multiple_of(ALIGN) - address
}

/// Returns the part of `length` bytes that is whole blocks.
fn whole_blocks(length: usize) -> usize {
    length / ALIGN * ALIGN
}

#[cfg(test)]
mod tests {
    use super::*;
    use xxhash_rust::xxh3::xxh3_64;

    /// Where the datasets of the tests begin.
    const OFFSET: u64 = 2 * ALIGN as u64;

    /// Returns `count` bytes that differ from place to place.
    fn numbers(count: usize) -> Vec<u8> {
        let byte = |i: usize| (i ^ (i >> 8) ^ (i >> 16)) as u8;
        (0..count).map(byte).collect()
    }

    /// Writes `bytes` in pieces of `piece` bytes, from an address that is `shift` bytes after an
    /// aligned one. Checks what is in the file, and returns the bytes that passed the page cache.
    fn written(bytes: &[u8], piece: usize, shift: usize) -> u64 {
        let mut memory = vec![0; bytes.len() + 2 * ALIGN];
        let start = before_aligned(&memory) + shift;
        memory[start..start + bytes.len()].copy_from_slice(bytes);
        let file = tempfile::tempfile().unwrap();
        let output = Output::of(&file, true);
        let Some(mut stream) = output.stream(OFFSET) else {
            return 0;
        };
        for part in memory[start..start + bytes.len()].chunks(piece) {
            stream.put(part).unwrap();
        }
        assert_eq!(stream.finish().unwrap(), xxh3_64(bytes));
        assert_eq!(file.metadata().unwrap().len(), OFFSET + bytes.len() as u64);
        let mut seen = vec![0; bytes.len()];
        file.read_exact_at(&mut seen, OFFSET).unwrap();
        assert!(seen == bytes, "{piece} {shift}");
        output.past_cache()
    }

    #[test]
    fn bytes_arrive_whatever_their_number_and_their_address() {
        let is_taken = open(&tempfile::tempfile().unwrap()).is_some();
        for count in [1, ALIGN, LEAST, LEAST + 1, LEAST + ALIGN - 1, 2 * PIECE + 5] {
            for (piece, shift) in [(usize::MAX, 0), (usize::MAX, 8), (ALIGN, 0), (70_001, 3)] {
                let past = written(&numbers(count), piece, shift);
                let blocks = whole_blocks(count) as u64;
                assert_eq!(past, if is_taken { blocks } else { 0 }, "{count} {piece}");
            }
        }
    }

    #[test]
    fn bytes_arrive_whenever_the_file_system_refuses() {
        let bytes = numbers(3 * PIECE + 70);
        for operations in 0..5 {
            for shift in [0, 8] {
                fault::refuse_direct_io_after(operations);
                let past = written(&bytes, usize::MAX, shift);
                fault::refuse_direct_io_after(u64::MAX);
                let accepted = operations.saturating_sub(1) * PIECE as u64;
                assert!(past <= accepted, "{past} of {accepted}");
            }
        }
    }

    #[test]
    fn datasets_that_are_small_or_not_aligned_are_left_to_hdf5() {
        let file = tempfile::tempfile().unwrap();
        let output = Output::of(&file, true);
        assert!(!output.is_direct(LEAST - 1));
        assert!(output.stream(OFFSET + 512).is_none());
        let output = Output::of(&file, false);
        assert!(!output.is_direct(LEAST) && output.stream(OFFSET).is_none());
    }
}
