//! Asks the kernel which mappings lie at addresses of this process: one request per mapping since
//! Linux 6.11, and before by reading the list of all.

use linux_raw_sys::general::{procmap_query, procmap_query_flags};
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
    access: Access,
}

/// What the mappings at a range of addresses have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// True if all of it can be read and written.
    pub writable: bool,
    /// True if a part is shared with other mappings, through which it can change.
    pub shared: bool,
    /// True if a part is backed by a file, so that pages which are not in memory may have values.
    pub file: bool,
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

    /// Returns how the mappings in the range can be used, or the first address that is not mapped.
    pub fn access(&self, range: &Range<usize>) -> io::Result<Result<Access, usize>> {
        let mut all = Access {
            writable: true,
            shared: false,
            file: false,
        };
        let mut at = range.start;
        while at < range.end {
            let Some(Mapping { range, access, .. }) = self.at(at)? else {
                return Ok(Err(at));
            };
            at = range.end;
            all.writable &= access.writable;
            all.shared |= access.shared;
            all.file |= access.file;
        }
        Ok(Ok(all))
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
            access: Access {
                writable: query.vma_flags & (READABLE | WRITABLE) == READABLE | WRITABLE,
                shared: query.vma_flags & SHARED != 0,
                file: query.inode != 0,
            },
        })
    }
}

/// The flags of a mapping in the answer to a query.
const READABLE: u64 = procmap_query_flags::PROCMAP_QUERY_VMA_READABLE as u64;
const WRITABLE: u64 = procmap_query_flags::PROCMAP_QUERY_VMA_WRITABLE as u64;
const SHARED: u64 = procmap_query_flags::PROCMAP_QUERY_VMA_SHARED as u64;

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
    // The permissions, the offset, the device, the number of the file, and its name.
    let mut words = rest.split_whitespace();
    let (permissions, inode) = (words.next()?, words.nth(2)?);
    let name = words.next().unwrap_or_default();
    Some(Mapping {
        range: hex(start)?..hex(end)?,
        system_v: name.as_bytes().starts_with(SYSTEM_V),
        access: Access {
            writable: permissions.starts_with("rw"),
            shared: permissions.ends_with('s'),
            file: inode != "0",
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::{Mapping as Reserved, page_size};

    /// Checks an answer of both ways.
    fn found(address: usize) -> Option<(Range<usize>, bool)> {
        let all = |m: Mapping| (m.range, m.system_v, m.access);
        let listed = in_list(address).unwrap().map(all);
        let asked = Mappings::open().unwrap().at(address).unwrap().map(all);
        assert_eq!(asked, listed, "{address:#x}");
        asked.map(|(range, system_v, _)| (range, system_v))
    }

    #[test]
    fn access_is_that_of_all_mappings_in_the_range() {
        let page = page_size();
        let memory = Reserved::reserve(4 * page).unwrap();
        let at = |i: usize| memory.addr() + i * page;
        // SAFETY: nothing is borrowed from the reservation.
        unsafe { memory.put_zero(page, page, true) }.unwrap();
        static mut STATIC: [u8; 3] = [1, 2, 3];
        let object = crate::sys::object::Object::create("shared", page as u64).unwrap();
        let shared = Reserved::shared(std::os::fd::AsFd::as_fd(&object), page, true).unwrap();
        let look = |range: Range<usize>| {
            found(range.start);
            Mappings::open().unwrap().access(&range).unwrap()
        };
        let access = |writable, shared, file| {
            Ok(Access {
                writable,
                shared,
                file,
            })
        };
        assert_eq!(look(at(1)..at(2)), access(true, false, false));
        assert_eq!(look(at(1)..at(3)), access(false, false, false));
        let start = (&raw const STATIC).addr();
        assert_eq!(look(start..start + 3), access(true, false, true));
        let start = shared.addr();
        assert_eq!(look(start..start + page), access(true, true, true));
        // SAFETY: nothing is borrowed from the reservation.
        assert_eq!(unsafe { libc::munmap(at(2) as *mut _, page) }, 0);
        assert_eq!(look(at(1)..at(4)), Err(at(2)));
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
