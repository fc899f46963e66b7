//! The meaning of the program's calls for its regions. Each function returns `None` if the call is
//! for the next function of its name.

use crate::guard::guarded;
use crate::names;
use crate::object::{self, Kind, Object};
use crate::region::{self, Mapping, Place, Region};
use crate::regions::{Locked, MOST, Regions};
use crate::say::say;
use crate::spans::{common, without_all};
use libc::{c_char, c_int};
use nix::errno::Errno;
use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use tcasm_core::place::check_name;
use tcasm_core::sys::mem::page_size;

/// The arguments of `mmap`.
#[derive(Clone, Copy, Debug)]
pub struct Map {
    pub addr: usize,
    pub len: usize,
    pub prot: c_int,
    pub flags: c_int,
    pub fd: c_int,
    pub offset: libc::off_t,
}

/// Opens `tcasm:NAME`.
///
/// # Safety
/// `path` must be null, or point to a text that ends with a NUL.
#[allow(unsafe_code)]
pub unsafe fn open(path: *const c_char, flags: c_int) -> Option<Result<c_int, Errno>> {
    // SAFETY: the caller promises the same.
    let name = unsafe { names::after_prefix(path) }?;
    guarded(|| Some(open_named(name, flags)))
}

fn open_named(name: &CStr, flags: c_int) -> Result<c_int, Errno> {
    let text = name.to_string_lossy();
    if let Err(error) = check_name(&text) {
        say(error);
        return Err(Errno::EINVAL);
    }
    let mut locked = Regions::existing().map(Regions::lock);
    let mut mapped = locked.iter_mut().flat_map(Locked::all);
    let mapped = mapped.find(|region| region.is_live() && region.name() == text);
    object::open(name, mapped.and_then(|region| region.object()), flags)
}

/// Maps a region, or a file that is published as one. `next` maps it as without this library, and
/// returns the address or that of `MAP_FAILED`.
pub fn map(map: &Map, next: impl FnOnce() -> usize) -> Option<Result<usize, Errno>> {
    let fd = map.shared_file()?;
    guarded(|| {
        let object = Object::of(fd)?;
        match object.kind {
            Kind::Named => map_named(map, &object, fd).map(Ok),
            Kind::File(_) => Some(map_file(map, &object, next)),
        }
    })
}

impl Map {
    /// Returns the descriptor of a shared mapping that could be published.
    #[allow(unsafe_code)]
    fn shared_file(&self) -> Option<BorrowedFd<'static>> {
        let kind = self.flags & libc::MAP_TYPE;
        let is_shared = kind == libc::MAP_SHARED || kind == libc::MAP_SHARED_VALIDATE;
        let is_plain = self.flags & (libc::MAP_ANONYMOUS | libc::MAP_HUGETLB) == 0;
        let page = page_size();
        let is_valid = self.len > 0
            && self.offset >= 0
            && (self.offset as usize).is_multiple_of(page)
            && self.len.checked_add(page).is_some()
            && (self.offset as usize)
                .checked_add(self.len + page)
                .is_some();
        // SAFETY: the program passed the descriptor. It is only asked what it is, and that fails if
        // it is closed.
        (is_shared && is_plain && is_valid && self.fd >= 0)
            .then(|| unsafe { BorrowedFd::borrow_raw(self.fd) })
    }

    fn is_writable(&self) -> bool {
        self.prot & libc::PROT_WRITE != 0
    }

    fn mapping(&self) -> Mapping {
        let is_fixed = self.flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
        let place = match self.addr {
            address if is_fixed => Place::Exactly(address),
            0 => Place::Anywhere,
            address => Place::Preferred(address),
        };
        Mapping {
            offset: self.offset as u64,
            len: self.len,
            place,
        }
    }
}

/// Returns the address of the live memory, or `None` if the mapping is not published.
fn map_named(map: &Map, object: &Object, fd: BorrowedFd<'_>) -> Option<usize> {
    let mapping = map.mapping();
    let mut locked = Regions::of_process().lock();
    let mut all = locked.all();
    if let Some(region) = all.find(|region| region.identity == object.identity) {
        let again = map_again(region, &mapping);
        if again.is_none() {
            not_published(
                object,
                &"another part of it is mapped; map all of it at once",
            );
        }
        return again;
    }
    drop(all);
    if !map.is_writable() {
        return None;
    }
    let region = created(&mut locked, object, || Region::live(object, fd, &mapping))?;
    Some(region.start)
}

/// Maps a part of a region that is mapped.
fn map_again(region: &mut Region, mapping: &Mapping) -> Option<usize> {
    let addresses = region.addresses_of(mapping.offset, mapping.len)?;
    let is_elsewhere = matches!(mapping.place, Place::Exactly(at) if at != addresses.start);
    if is_elsewhere {
        return None;
    }
    region.spans.map(addresses.clone());
    Some(addresses.start)
}

/// Maps a file, and publishes the mapping, unless the file has one that is published.
fn map_file(map: &Map, object: &Object, next: impl FnOnce() -> usize) -> Result<usize, Errno> {
    let address = next();
    if address == libc::MAP_FAILED.addr() {
        return Err(Errno::last());
    }
    let mut locked = Regions::of_process().lock();
    let is_published = locked
        .all()
        .any(|region| region.identity == object.identity);
    if map.is_writable() && !is_published {
        let mapping = map.mapping();
        created(&mut locked, object, || {
            Region::of_file(object, address, &mapping)
        });
    }
    Ok(address)
}

/// Adds the region that `create` makes. Returns its addresses, or says why there is none.
fn created(
    locked: &mut Locked<'_>,
    object: &Object,
    create: impl FnOnce() -> Result<Region, region::Error>,
) -> Option<Range<usize>> {
    if !locked.has_room() {
        not_published(object, &format!("this process has {MOST} regions already"));
        return None;
    }
    match create() {
        Ok(region) => {
            let addresses = region.addresses.clone();
            locked.add(region);
            Some(addresses)
        }
        Err(error) => {
            not_published(object, &error);
            None
        }
    }
}

fn not_published(object: &Object, why: &dyn std::fmt::Display) {
    let name = &object.name;
    say(format_args!(
        "a mapping of {name:?} is not published: {why}"
    ));
}

/// Returns the addresses of a call, and the regions of this process, if it concerns any.
fn concerned(addr: usize, len: usize) -> Option<(Range<usize>, &'static Regions)> {
    let regions = Regions::existing()?;
    let page = page_size();
    let end = addr.checked_add(len.checked_next_multiple_of(page)?)?;
    let range = addr..end;
    let is_valid = addr.is_multiple_of(page) && !range.is_empty();
    (is_valid && regions.touch(&range)).then_some((range, regions))
}

/// Returns the parts of `range` that are live memory of regions.
fn live_parts(locked: &mut Locked<'_>, range: &Range<usize>) -> Vec<Range<usize>> {
    let live = locked.all().filter(|region| region.is_live());
    live.map(|region| common(&region.addresses, range))
        .filter(|part| !part.is_empty())
        .collect()
}

/// Unmaps a region, or a part of it. Its memory stays until all of it is unmapped: a version that
/// is being copied may need it.
pub fn unmap(addr: usize, len: usize) -> Option<Result<(), Errno>> {
    let (range, regions) = concerned(addr, len)?;
    guarded(|| {
        let mut locked = regions.lock();
        let live = live_parts(&mut locked, &range);
        for region in locked.all() {
            let part = common(&region.addresses, &range);
            region.spans.unmap(part);
        }
        let ended = locked.take(|region| region.spans.is_empty());
        ended.into_iter().for_each(Region::end);
        drop(locked);
        Some(each(without_all(vec![range.clone()], &live), unmap_others))
    })
}

/// Publishes the regions that have an address of the call.
pub fn sync(addr: usize, len: usize, flags: c_int) -> Option<Result<(), Errno>> {
    let known = libc::MS_ASYNC | libc::MS_SYNC | libc::MS_INVALIDATE;
    let both = libc::MS_ASYNC | libc::MS_SYNC;
    if flags & !known != 0 || flags & both == both {
        return None; // the kernel refuses it
    }
    let (range, regions) = concerned(addr, len)?;
    guarded(|| {
        let mut locked = regions.lock();
        let meets = |region: &&mut Region| !common(&region.addresses, &range).is_empty();
        if flags != libc::MS_INVALIDATE {
            locked.all().filter(meets).for_each(Region::publish);
        }
        let live = live_parts(&mut locked, &range);
        drop(locked);
        let others = without_all(vec![range.clone()], &live);
        Some(each(others, |part| sync_others(part, flags)))
    })
}

/// Refuses to move or resize live memory. A mapping of a file is no longer published afterwards.
pub fn remap(addr: usize, old_len: usize, len: usize) -> Option<Result<usize, Errno>> {
    // With a length of 0, a shared mapping is mapped once more.
    let (range, regions) = concerned(addr, old_len.max(1))?;
    guarded(|| {
        let mut locked = regions.lock();
        if !live_parts(&mut locked, &range).is_empty() {
            say(format_args!(
                "a region cannot get {len} bytes: its size and its address are fixed; map it with \
                 its final size"
            ));
            return Some(Err(Errno::ENOMEM));
        }
        for region in locked.take(|region| !common(&region.addresses, &range).is_empty()) {
            let name = region.name();
            say(format_args!(
                "{name:?} is not published any more: the program moved or resized its mapping"
            ));
        }
        None
    })
}

/// Makes a call for each of several ranges. Returns the first error.
fn each(
    ranges: Vec<Range<usize>>,
    call: impl Fn(Range<usize>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    ranges.into_iter().map(call).fold(Ok(()), Result::and)
}

#[allow(unsafe_code)]
fn unmap_others(range: Range<usize>) -> Result<(), Errno> {
    // SAFETY: the program asked for it, and no region has the range.
    let status = unsafe { libc::munmap(range.start as *mut _, range.len()) };
    Errno::result(status).map(drop)
}

#[allow(unsafe_code)]
fn sync_others(range: Range<usize>, flags: c_int) -> Result<(), Errno> {
    // SAFETY: the call changes no memory.
    let status = unsafe { libc::msync(range.start as *mut _, range.len(), flags) };
    Errno::result(status).map(drop)
}
