//! The parity that a node has of the files of other nodes of its set.
//!
//! ```text
//! 8 bytes  "TCASMPY1"
//! u64      length of the header
//! JSON     group, step, redundancy, member, chunk: the length of a chunk, set: the nodes,
//!          files: their files, in the order of the set
//! n times  one chunk of parity for each stripe whose parity the member has, in the order of
//!          stripes
//! ```
//!
//! All numbers are little-endian. The hash of the file is in the manifest.

use super::record::{Commit, FileEntry};
use super::scheme::Redundancy;
use crate::error::WriteError;
use crate::file::atomic::{self, Pending};
use crate::file::{Fault, Mode, regular};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The first bytes of the file.
const MAGIC: &[u8; 8] = b"TCASMPY1";
/// The largest header that is read, in bytes.
const MOST_HEADER: u64 = 64 << 20;
/// The number of bytes of a stripe that are computed at once.
pub const PIECE: u64 = 1 << 20;

/// The description of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The name of the group.
    pub group: String,
    /// The step.
    pub step: u64,
    /// The scheme.
    pub redundancy: Redundancy,
    /// The number in the set of the node that has the file.
    pub member: usize,
    /// The length of a chunk in bytes.
    pub chunk: u64,
    /// The nodes of the set.
    pub set: Vec<usize>,
    /// Their files.
    pub files: Vec<FileEntry>,
}

impl Header {
    /// Returns the description of the parity that `node` of a job of `group` has at a step, if it
    /// has some.
    pub fn of(group: &str, commit: &Commit, node: usize) -> Option<Header> {
        let set = commit.set_of(node)?;
        let files = set
            .iter()
            .map(|node| Some(commit.part(*node)?.file.clone()));
        let files: Vec<FileEntry> = files.collect::<Option<_>>()?;
        Some(Header {
            group: group.to_owned(),
            step: commit.step,
            redundancy: commit.redundancy,
            member: set.iter().position(|member| *member == node)?,
            chunk: Header::chunk(commit.redundancy, &files),
            set: set.to_vec(),
            files,
        })
    }

    /// Returns the length of the chunks of the files of a set, cut as `redundancy` says. It is a
    /// multiple of 64, which the codes ask for.
    pub fn chunk<'f>(
        redundancy: Redundancy,
        files: impl IntoIterator<Item = &'f FileEntry>,
    ) -> u64 {
        let sizes: Vec<u64> = files.into_iter().map(|file| file.bytes).collect();
        let largest = sizes.iter().copied().max().unwrap_or(0);
        let chunks = redundancy.chunks(sizes.len()) as u64;
        largest.div_ceil(chunks).next_multiple_of(64)
    }

    /// Returns the numbers of the stripes whose parity the file has, each with the number of the
    /// parity in its stripe.
    pub fn stripes(&self) -> Vec<(usize, usize)> {
        let stripes = self.redundancy.stripes(self.set.len());
        let own = stripes.iter().enumerate().filter_map(|(s, stripe)| {
            let which = stripe.parity.iter().position(|m| *m == self.member)?;
            Some((s, which))
        });
        own.collect()
    }
}

/// A parity file that is being written.
pub struct NewParity {
    pending: Pending,
    /// Where the chunks begin.
    start: u64,
    chunk: u64,
}

impl NewParity {
    /// Begins a file at `path`.
    pub fn begin(path: &Path, header: &Header, mode: Mode) -> Result<Self, WriteError> {
        let (pending, start) = atomic::begin(path, mode, |pending| {
            let json = serde_json::to_vec(header).map_err(io::Error::from)?;
            let mut bytes = MAGIC.to_vec();
            bytes.extend((json.len() as u64).to_le_bytes());
            bytes.extend(json);
            pending.file().write_all_at(&bytes, 0)?;
            Ok(bytes.len() as u64)
        })?;
        Ok(NewParity {
            pending,
            start,
            chunk: header.chunk,
        })
    }

    /// Writes a piece of the `slot`-th chunk.
    pub fn put(&self, slot: usize, at: u64, piece: &[u8]) -> Result<(), WriteError> {
        let at = self.start + slot as u64 * self.chunk + at;
        let put = self.pending.file().write_all_at(piece, at);
        put.map_err(|e| Fault::from(e).at(self.pending.path()))
    }

    /// Brings the file to the disk and gives it its name.
    pub fn commit(self) -> Result<u64, WriteError> {
        self.pending.commit()
    }
}

/// A parity file that is read. Its hash was checked, and its chunks are all there.
#[derive(Debug)]
pub struct Parity {
    file: File,
    start: u64,
    /// The description.
    pub header: Header,
}

impl Parity {
    /// Opens the file at `path`, which must be the one that `header` describes.
    pub fn open(path: &Path, header: &Header) -> io::Result<Self> {
        let file = regular::open(path)?;
        let mut start = [0; 16];
        file.read_exact_at(&mut start, 0)?;
        let (magic, length) = start.split_at(8);
        let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
        let size = file.metadata()?.len();
        if magic != MAGIC || length > MOST_HEADER.min(size) {
            return Err(io::Error::other("it is not a parity file"));
        }
        let mut json = vec![0; length as usize];
        file.read_exact_at(&mut json, 16)?;
        let found: Header = serde_json::from_slice(&json)?;
        if found != *header {
            return Err(io::Error::other("it is the parity of other files"));
        }
        let start = 16 + length;
        let chunks = header.chunk.checked_mul(header.stripes().len() as u64);
        if chunks.and_then(|bytes| bytes.checked_add(start)) != Some(size) {
            return Err(io::Error::other(format!(
                "it has {size} bytes, which are not whole chunks of {}",
                header.chunk
            )));
        }
        Ok(Parity {
            file,
            start,
            header: found,
        })
    }

    /// Reads a piece of the `slot`-th chunk.
    pub fn get(&self, slot: usize, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut piece = vec![0; length as usize];
        let at = self.start + slot as u64 * self.header.chunk + at;
        self.file.read_exact_at(&mut piece, at)?;
        Ok(piece)
    }
}

/// Reads a piece of a chunk of a file of data. What lies beyond its end is zeros.
pub fn data_piece(
    file: &File,
    chunk: u64,
    number: usize,
    at: u64,
    length: u64,
) -> io::Result<Vec<u8>> {
    let mut piece = vec![0; length as usize];
    let mut done = 0;
    let start = number as u64 * chunk + at;
    while done < piece.len() {
        match file.read_at(&mut piece[done..], start + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(piece)
}

/// Returns the begin and the length of each piece of a chunk.
pub fn pieces(chunk: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..chunk.div_ceil(PIECE)).map(move |i| (i * PIECE, PIECE.min(chunk - i * PIECE)))
}
