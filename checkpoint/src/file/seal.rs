//! The seal at the end of a checkpoint file. It shows that the structure of the file is undamaged,
//! so that HDF5 can open it.
//!
//! The HDF5 library trusts the structures of the files that it opens. A single flipped byte in them
//! can crash it. So all of a complete file is hashed except the stored bytes of fields, and the
//! hash is checked before HDF5 opens the file. This is cheap however large the fields are. The
//! stored bytes are skipped because each field has its own checksum over the decoded values. HDF5
//! readers ignore what follows the end of file that the superblock names.
//!
//! ```text
//! n times  u64 offset, u64 length    stored bytes of fields: ascending, disjoint, not in the hash
//! u64      n
//! u64      length of the HDF5 file before the seal
//! u64      xxh3 of the file outside the n ranges, then of the seal up to here
//! 8 bytes  "TCASMSL1"
//! ```

use super::{memory, regular};
use crate::error::ReadError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use xxhash_rust::xxh3::Xxh3Default;

/// The last bytes of a sealed file.
const MAGIC: &[u8; 8] = b"TCASMSL1";
/// The size in bytes of the part of the seal after the ranges.
const FOOTER: u64 = 32;
/// The size of one range in bytes.
const RANGE: u64 = 16;
/// The first bytes of an HDF5 file.
const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// The offset and the length of stored bytes of a field.
pub type Range = (u64, u64);

/// Seals `file`, of which HDF5 has written `length` bytes. The bytes of fields are stored at
/// `ranges`. After an error, the file can be sealed again.
pub fn apply(file: &File, length: u64, mut ranges: Vec<Range>) -> io::Result<()> {
    file.set_len(length)?;
    ranges.sort_unstable();
    let mut seal: Vec<u8> = ranges
        .iter()
        .flat_map(|&(offset, n)| [offset, n])
        .flat_map(u64::to_le_bytes)
        .collect();
    seal.extend((ranges.len() as u64).to_le_bytes());
    seal.extend(length.to_le_bytes());
    let hash = hash(&mut file.try_clone()?, &ranges, &seal, length)?;
    seal.extend(hash.to_le_bytes());
    seal.extend(MAGIC);
    file.write_all_at(&seal, length)
}

/// Returns the hash in the seal of the file at `path`. It identifies the file, because it covers
/// the checksums of the fields. Returns `None` if the file has no seal.
pub fn identity(path: &Path) -> io::Result<Option<String>> {
    let mut file = regular::open(path)?;
    let size = file.metadata()?.len();
    Ok(read_seal(&mut file, size)?.map(|(_, hash)| text(hash)))
}

fn text(hash: u64) -> String {
    format!("{hash:016x}")
}

/// Checks that the file at `path` is sealed and undamaged outside the fields. Returns the open file
/// and its identity.
pub fn check(path: &Path) -> Result<(File, String), ReadError> {
    let io = ReadError::io;
    let mut file = regular::open(path).map_err(io(path))?;
    let size = file.metadata().map_err(io(path))?.len();
    let Some((seal, hash_there)) = read_seal(&mut file, size).map_err(io(path))? else {
        return Err(unsealed(path, &mut file, size));
    };
    let damaged = |why: &str| ReadError::Damaged {
        path: path.to_owned(),
        why: why.to_owned(),
    };
    let length = size - seal.len() as u64 - RANGE;
    let ranges = parse(&seal, length).ok_or_else(|| damaged("its seal is inconsistent"))?;
    let hash_now = hash(&mut file, &ranges, &seal, length).map_err(io(path))?;
    if hash_now == hash_there {
        Ok((file, text(hash_now)))
    } else {
        Err(damaged("its structure differs from what was sealed"))
    }
}

/// Returns the seal without hash and magic, and the hash. Returns `None` if there is no seal at the
/// end.
fn read_seal(file: &mut File, size: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
    if size < FOOTER {
        return Ok(None);
    }
    let mut footer = [0; FOOTER as usize];
    read_at(file, size - FOOTER, &mut footer)?;
    let ranges = word(&footer, 0)
        .checked_mul(RANGE)
        .filter(|&n| n <= size - FOOTER);
    let Some(ranges) = ranges.filter(|_| footer.ends_with(MAGIC)) else {
        return Ok(None);
    };
    let words = ranges + RANGE;
    memory::check(words).map_err(|why| io::Error::other(format!("its seal: {why}")))?;
    let mut seal = vec![0; words as usize];
    read_at(file, size - FOOTER - ranges, &mut seal)?;
    Ok(Some((seal, word(&footer, 2))))
}

/// Returns the ranges of `seal`, or `None` if they are not possible in a file of `length` bytes.
fn parse(seal: &[u8], length: u64) -> Option<Vec<Range>> {
    let words: Vec<u64> = (0..seal.len() / 8).map(|i| word(seal, i)).collect();
    let (ranges, end) = words.split_last_chunk::<2>()?;
    let ranges: Vec<Range> = ranges.chunks_exact(2).map(|r| (r[0], r[1])).collect();
    let mut free = 0;
    for &(offset, n) in &ranges {
        if offset < free {
            return None;
        }
        free = offset.checked_add(n)?;
    }
    (end[1] == length && free <= length).then_some(ranges)
}

/// Returns the hash of the first `length` bytes of `file` outside `ranges`, and of `seal`.
fn hash(file: &mut File, ranges: &[Range], seal: &[u8], length: u64) -> io::Result<u64> {
    let mut hasher = Xxh3Default::new();
    let mut from = 0;
    for &(offset, n) in ranges.iter().chain([&(length, 0)]) {
        file.seek(SeekFrom::Start(from))?;
        let mut gap = BufReader::with_capacity(1 << 16, file.take(offset - from));
        loop {
            let bytes = gap.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            hasher.update(bytes);
            let n = bytes.len();
            gap.consume(n);
        }
        from = offset + n;
    }
    hasher.update(seal);
    Ok(hasher.digest())
}

/// Returns the error for a file without a seal. The first bytes of HDF5's own header tell why it
/// has none.
fn unsealed(path: &Path, file: &mut File, size: u64) -> ReadError {
    let path = path.to_owned();
    let mut head = [0; 48];
    let known = size.min(48) as usize;
    if let Err(source) = read_at(file, 0, &mut head[..known]) {
        return ReadError::Io { path, source };
    }
    let signature = known.min(SIGNATURE.len());
    if head[..signature] != SIGNATURE[..signature] {
        return ReadError::NotHdf5(path);
    }
    // Superblocks of versions 2 and 3 hold the length of the file at byte 28. Checkpoints have such
    // a superblock.
    let is_ours = known == head.len() && head[9..11] == [8, 8];
    let length = u64::from_le_bytes(head[28..36].try_into().unwrap_or_default());
    if known < head.len() || (matches!(head[8], 2 | 3) && is_ours && length != size) {
        ReadError::CutShort { path, have: size }
    } else {
        ReadError::Foreign(path)
    }
}

fn read_at(file: &mut File, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(buffer)
}

fn word(bytes: &[u8], index: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[8 * index..8 * index + 8]);
    u64::from_le_bytes(word)
}
