//! Hashes of whole files.

use super::record::FileEntry;
use crate::file::regular;
use std::io::{self, Read};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3Default;

/// The number of bytes that are read at once.
const BLOCK: usize = 1 << 20;

/// Reads the file at `path` and returns its entry.
pub fn entry(path: &Path) -> io::Result<FileEntry> {
    let mut file = regular::open(path)?;
    let (mut hasher, mut bytes) = (Xxh3Default::new(), 0);
    let mut buffer = vec![0; BLOCK];
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
        bytes += n as u64;
    }
    let name = path.file_name().unwrap_or_default();
    Ok(FileEntry {
        file: name.to_string_lossy().into_owned(),
        bytes,
        hash: format!("{:016x}", hasher.digest()),
    })
}

/// Checks that a file at `path` has the size of the one that `entry` describes.
pub fn check_size(path: &Path, entry: &FileEntry) -> Result<(), String> {
    let size = regular::open(path).and_then(|file| file.metadata());
    let size = size.map_err(fault)?.len();
    match size == entry.bytes {
        true => Ok(()),
        false => Err(format!("it has {size} bytes, not {}", entry.bytes)),
    }
}

/// Checks that the file at `path` is the one that `entry` describes.
pub fn check(path: &Path, entry: &FileEntry) -> Result<(), String> {
    check_size(path, entry)?;
    let found = self::entry(path).map_err(fault)?;
    match found.hash == entry.hash {
        true => Ok(()),
        false => Err(format!("its hash is {}, not {}", found.hash, entry.hash)),
    }
}

fn fault(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "it is not there".to_owned(),
        _ => error.to_string(),
    }
}
