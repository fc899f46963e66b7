//! Core dumps: where the kernel writes them, and the memory in them.

use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, raise, signal};
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The bytes of a program header of a 64-bit ELF file, and of the header of the file.
const PROGRAM_HEADER: usize = 56;
const FILE_HEADER: usize = 64;
/// The type of a program header for memory.
const PT_LOAD: u32 = 1;

/// Returns true if the kernel writes core dumps into the current folder of a process.
pub fn written_to_current_folder() -> bool {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    !pattern.trim_start().starts_with(['|', '/'])
}

/// Ends this process with a core dump in `folder`, if the kernel writes core dumps there.
pub fn dump(folder: &Path) -> io::Result<()> {
    std::env::set_current_dir(folder)?;
    setrlimit(Resource::RLIMIT_CORE, RLIM_INFINITY, RLIM_INFINITY)?;
    // SAFETY: the default action runs no handler of this program.
    unsafe { signal(Signal::SIGABRT, SigHandler::SigDfl) }?;
    Ok(raise(Signal::SIGABRT)?)
}

/// Returns the path of the core dump in `folder`.
pub fn find(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let is_core = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("core")
    };
    entries.map(|entry| entry.path()).find(is_core)
}

/// Memory of a process in a core dump.
#[derive(Debug)]
pub struct CoreFile {
    file: File,
    /// Ranges of addresses, each with the offset of its bytes in the file.
    parts: Vec<(Range<u64>, u64)>,
}

impl CoreFile {
    /// Opens a 64-bit ELF file (System V ABI, "Program Header").
    pub fn open(path: &Path) -> io::Result<CoreFile> {
        let file = File::open(path)?;
        let mut header = [0; FILE_HEADER];
        file.read_exact_at(&mut header, 0)?;
        let (table, count) = (u64_at(&header, 32), u16_at(&header, 56));
        let mut headers = vec![0; usize::from(count) * PROGRAM_HEADER];
        file.read_exact_at(&mut headers, table)?;
        let loads = headers
            .chunks_exact(PROGRAM_HEADER)
            .filter(|header| u32_at(header, 0) == PT_LOAD);
        let part = |header: &[u8]| {
            let (offset, start, len) = (u64_at(header, 8), u64_at(header, 16), u64_at(header, 32));
            (start..start + len, offset)
        };
        let parts = loads.map(part).collect();
        Ok(CoreFile { file, parts })
    }

    /// Returns the `len` bytes of memory at `address`, or `None` if the dump lacks some of them.
    pub fn read(&self, mut address: u64, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        let mut rest = &mut bytes[..];
        while !rest.is_empty() {
            let (part, offset) = self.parts.iter().find(|(p, _)| p.contains(&address))?;
            let n = rest.len().min((part.end - address) as usize);
            let (now, later) = rest.split_at_mut(n);
            let at = offset + (address - part.start);
            self.file.read_exact_at(now, at).ok()?;
            (rest, address) = (later, address + n as u64);
        }
        Some(bytes)
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}
