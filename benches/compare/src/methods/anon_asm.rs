//! The method "anon-asm": live memory is a private copy-on-write mapping of the newest version's
//! file.
//!
//! Pages that have become anonymous were written. They are copied into another file. Then live
//! memory is mapped to that file, so unchanged pages exist only once.
//!
//! In the "anon-asm" of Akkan, Ionkov and Lang, the kernel does this. Here an ordinary process does
//! it.

use super::buffers::{BufferSink, Buffers, CopySource};
use super::method::{Method, Sink, Source};
use crate::case::Case;
use crate::failure::{Failure, While};
use crate::sys::memory::Memory;
use crate::workload::PAGE;
use std::fs::File;
use std::os::unix::fs::FileExt;

pub struct AnonAsm;

impl Method for AnonAsm {
    fn name(&self) -> &'static str {
        "anon-asm"
    }

    fn source(&self, case: &Case) -> Result<Box<dyn Source>, Failure> {
        let buffers = Buffers::create(case)?;
        let live = Memory::copy_on_write(buffers.file(0), case.bytes())?;
        let pagemap = File::open("/proc/self/pagemap").context("opening the page map")?;
        Ok(Box::new(CopySource {
            live,
            buffers,
            copy: move |buffers: &mut Buffers, free, live: &mut Memory| {
                buffers.changed(&anonymous_pages(&pagemap, live)?);
                buffers.renew(free, live.bytes());
                // The buffer has the same content as live memory. It becomes the newest version
                // now, and no process writes the newest version.
                live.replace_by_copy_of(buffers.file(free))
            },
        }))
    }

    fn sink(&self, case: &Case, observer: usize) -> Result<Option<Box<dyn Sink>>, Failure> {
        BufferSink::open(case, observer).map(Some)
    }
}

/// Returns the pages that are no longer those of the file, one bit for each. These are the pages
/// that are present (or swapped out) and do not belong to a file.
fn anonymous_pages(pagemap: &File, live: &Memory) -> Result<Vec<u64>, Failure> {
    const PRESENT_OR_SWAPPED: u64 = 0b11 << 62;
    const OF_FILE: u64 = 1 << 61;
    let pages = live.bytes().len() / PAGE;
    let mut entries = vec![0; pages * size_of::<u64>()];
    let offset = (live.address() / PAGE * size_of::<u64>()) as u64;
    pagemap
        .read_exact_at(&mut entries, offset)
        .context("reading the page map")?;
    let mut set = vec![0; pages.div_ceil(64)];
    for (page, entry) in entries.chunks_exact(size_of::<u64>()).enumerate() {
        let entry = entry.try_into().map_or(0, u64::from_ne_bytes);
        if entry & PRESENT_OR_SWAPPED != 0 && entry & OF_FILE == 0 {
            set[page / 64] |= 1 << (page % 64);
        }
    }
    Ok(set)
}
