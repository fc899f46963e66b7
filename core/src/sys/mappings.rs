//! Asks the kernel which mappings lie at addresses of this process: one request per mapping since
//! Linux 6.11, and before by reading the list of all.

use linux_raw_sys::general::procmap_query;
use nix::errno::Errno;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

const LIST: &str = "/proc/self/maps";
/// The request `PROCMAP_QUERY`, which contains the size of its argument.
const QUERY: u32 = 0xC068_6611;
const _: () = assert!(size_of::<procmap_query>() == (QUERY as usize >> 16) & 0x3FFF);
/// The longest name of a mapping.
const NAME: usize = libc::PATH_MAX as usize;
/// The beginning of the names of segments of System V, as the kernel shows them.
const SYSTEM_V: &[u8] = b"/SYSV";

/// The memory at a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Nothing is mapped at this address.
    Hole(usize),
    /// A part belongs to a segment of System V. The kernel sends no event when it is detached.
    SystemV,
    /// All of it is mapped.
    Mapped,
}

/// The mappings of this process.
#[derive(Debug)]
pub struct Mappings(File);

/// A mapping.
struct Mapping {
    range: Range<usize>,
    system_v: bool,
}

impl Mappings {
    /// Opens the list of mappings.
    pub fn open() -> io::Result<Self> {
        Ok(Mappings(File::open(LIST)?))
    }

    /// Returns what is mapped in the range.
    pub fn look(&self, range: &Range<usize>) -> io::Result<Memory> {
        let (mut at, mut system_v) = (range.start, false);
        while at < range.end {
            let Some(mapping) = self.at(at)? else {
                return Ok(Memory::Hole(at));
            };
            at = mapping.range.end;
            system_v |= mapping.system_v;
        }
        Ok(if system_v {
            Memory::SystemV
        } else {
            Memory::Mapped
        })
    }

    /// Returns the mapping that contains the address.
    fn at(&self, address: usize) -> io::Result<Option<Mapping>> {
        match self.query(address) {
            Ok(mapping) => Ok(Some(mapping)),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ENOTTY) => in_list(address),
            Err(error) => Err(error.into()),
        }
    }

    fn query(&self, address: usize) -> nix::Result<Mapping> {
        let mut name = [0u8; NAME];
        let mut query = procmap_query {
            size: size_of::<procmap_query>() as u64,
            query_flags: 0,
            query_addr: address as u64,
            vma_name_size: NAME as u32,
            vma_name_addr: name.as_mut_ptr() as u64,
            ..EMPTY
        };
        // SAFETY: the argument has the type that belongs to this request. It names a buffer with
        // its length. Both are borrowed during the call, and the kernel writes to nothing else.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), QUERY as _, &raw mut query) };
        Errno::result(done)?;
        Ok(Mapping {
            range: query.vma_start as usize..query.vma_end as usize,
            system_v: name.starts_with(SYSTEM_V),
        })
    }
}

const EMPTY: procmap_query = procmap_query {
    size: 0,
    query_flags: 0,
    query_addr: 0,
    vma_start: 0,
    vma_end: 0,
    vma_flags: 0,
    vma_page_size: 0,
    vma_offset: 0,
    inode: 0,
    dev_major: 0,
    dev_minor: 0,
    vma_name_size: 0,
    build_id_size: 0,
    vma_name_addr: 0,
    build_id_addr: 0,
};

/// Returns the mapping that contains the address, by reading the list of all.
fn in_list(address: usize) -> io::Result<Option<Mapping>> {
    let list = std::fs::read_to_string(LIST)?;
    let mut mappings = list.lines().filter_map(parse);
    Ok(mappings.find(|m| m.range.contains(&address)))
}

fn parse(line: &str) -> Option<Mapping> {
    let (start, rest) = line.split_once('-')?;
    let (end, rest) = rest.split_once(' ')?;
    let hex = |digits| usize::from_str_radix(digits, 16).ok();
    let name = rest.split_whitespace().nth(4).unwrap_or_default();
    Some(Mapping {
        range: hex(start)?..hex(end)?,
        system_v: name.as_bytes().starts_with(SYSTEM_V),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::{Mapping as Reserved, page_size};

    /// Checks an answer of both ways.
    fn found(address: usize) -> Option<(Range<usize>, bool)> {
        let pair = |m: Mapping| (m.range, m.system_v);
        let listed = in_list(address).unwrap().map(pair);
        let asked = Mappings::open().unwrap().at(address).unwrap().map(pair);
        assert_eq!(asked, listed, "{address:#x}");
        asked
    }

    #[test]
    fn a_hole_is_found_at_its_first_address() {
        let page = page_size();
        let memory = Reserved::reserve(4 * page).unwrap();
        let all = memory.addr()..memory.addr() + 4 * page;
        let mappings = Mappings::open().unwrap();
        assert_eq!(mappings.look(&all).unwrap(), Memory::Mapped);
        let hole = (all.start + page) as *mut libc::c_void;
        // SAFETY: nothing is borrowed from the reservation.
        assert_eq!(unsafe { libc::munmap(hole, page) }, 0);
        assert_eq!(mappings.look(&all).unwrap(), Memory::Hole(all.start + page));
        assert_eq!(found(hole as usize), None);
        let (range, system_v) = found(all.start).unwrap();
        assert!(range.end == hole as usize && !system_v);
    }

    #[test]
    fn a_segment_of_system_v_is_recognised() {
        // SAFETY: the calls take numbers only, and the kernel chooses the address. The segment
        // ends when it is detached.
        let at = unsafe {
            let id = libc::shmget(libc::IPC_PRIVATE, page_size(), 0o600);
            let at = libc::shmat(id, std::ptr::null(), 0);
            libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut());
            at
        };
        let range = at as usize..at as usize + page_size();
        let found_here = found(range.start);
        let looked = Mappings::open().unwrap().look(&range).unwrap();
        // SAFETY: the segment was attached here, and nothing is borrowed from it.
        assert_eq!(unsafe { libc::shmdt(at) }, 0);
        assert_eq!((found_here, looked), (Some((range, true)), Memory::SystemV));
    }
}
