//! The memory of a host buffer in this process.

use crate::error::HostBufferError;
use crate::layout::{self, Backing, Layout, Pages, Placement};
use crate::space::Space;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tcasm_core::place::Extent;
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::numa;
use tcasm_core::sys::room;
use tcasm_core::sys::section::Section;

/// The object with the memory of a section.
#[derive(Debug)]
pub(crate) enum Object {
    Memory(Section),
    /// Memory of a device, as its driver has exported it.
    Device(OwnedFd),
}

/// The sections of a buffer, mapped at its address.
#[derive(Debug)]
pub(crate) struct Memory {
    space: Space,
    layout: Layout,
    objects: Vec<Object>,
}

impl Memory {
    /// Maps the objects of all sections into `space`, which was reserved for the layout.
    pub(crate) fn map(
        mut space: Space,
        layout: Layout,
        objects: Vec<Object>,
    ) -> Result<Self, HostBufferError> {
        if objects.len() != layout.with_memory() {
            return Err(do_not_fit());
        }
        for (object, range) in objects.iter().zip(&mut space.devices) {
            if let (Object::Device(fd), Some(range)) = (object, range) {
                range.map(fd.as_fd()).map_err(HostBufferError::Device)?;
            }
        }
        let memory = Memory {
            space,
            layout,
            objects,
        };
        (0..memory.objects.len()).try_for_each(|i| memory.map_section(i))?;
        Ok(memory)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn base(&self) -> u64 {
        self.space.mapping.addr() as u64
    }

    pub(crate) fn ptr(&self) -> *mut u8 {
        self.space.mapping.ptr()
    }

    /// Returns true if section `i` can no longer change.
    pub(crate) fn is_sealed(&self, i: usize) -> bool {
        let sealed = self.object(i).map(|object| object.is_sealed());
        matches!(sealed, Ok(Ok(true)))
    }

    /// Seals section `i`. Returns false as long as a process has it mapped for writing.
    pub(crate) fn seal(&self, i: usize) -> Result<bool, HostBufferError> {
        self.object(i)?.seal().map_err(self.failed("seal", i))
    }

    /// Returns the object of section `i`, which must be in ordinary memory.
    fn object(&self, i: usize) -> Result<&Section, HostBufferError> {
        let section = || self.layout.sections[i].name.clone();
        match self.objects.get(i) {
            Some(Object::Memory(object)) => Ok(object),
            Some(Object::Device(_)) => Err(HostBufferError::Backing {
                section: section(),
                is: "device memory",
            }),
            None => Err(HostBufferError::ForRegions(section())),
        }
    }

    /// Gives up the addresses of `rank` in section `name`, which is for regions.
    pub(crate) fn take_part(&self, name: &str, rank: u32) -> Result<Extent, HostBufferError> {
        let i = self.layout.find(name)?;
        let (section, place) = (&self.layout.sections[i], &self.layout.places[i]);
        let both = section.regions.zip(self.space.for_regions.as_ref());
        let not_for_regions = || HostBufferError::NotForRegions(name.to_owned());
        let (regions, reserved) = both.ok_or_else(not_for_regions)?;
        let part = regions.part(rank).ok_or_else(|| HostBufferError::NoRank {
            section: name.to_owned(),
            rank,
            ranks: regions.ranks,
        })?;
        let first = self.base() as usize + place.start + part.start;
        match reserved.give_up(&(first..first + part.len()))? {
            true => Ok(Extent {
                base: first as u64,
                bytes: part.len() as u64,
            }),
            false => Err(HostBufferError::PartTaken {
                section: name.to_owned(),
                rank,
            }),
        }
    }

    /// Returns the number of the section `name`, which must be in ordinary memory.
    pub(crate) fn find(&self, name: &str) -> Result<usize, HostBufferError> {
        let i = self.layout.find(name)?;
        self.object(i).map(|_| i)
    }

    /// Returns descriptors of all sections for another process: read-only ones of those that are
    /// sealed.
    pub(crate) fn descriptors(&self) -> io::Result<Vec<OwnedFd>> {
        let descriptor = |object: &Object| match object {
            Object::Memory(section) if section.is_sealed()? => section.read_only(),
            Object::Memory(section) => section.as_fd().try_clone_to_owned(),
            Object::Device(fd) => fd.try_clone(),
        };
        self.objects.iter().map(descriptor).collect()
    }

    /// Maps section `i` so that this process can never write it again.
    #[allow(unsafe_code)]
    pub(crate) fn map_read_only(&self, i: usize) -> Result<(), HostBufferError> {
        let fd = self.object(i)?.read_only();
        let fd = fd.map_err(self.failed("open", i))?;
        let place = &self.layout.places[i];
        // SAFETY: only raw pointers into an unsealed section are handed out, so nothing is borrowed
        // from it. A sealed section is not mapped again (see `Keeper`), and if it were, the new
        // mapping would show the same bytes.
        unsafe {
            self.space
                .mapping
                .put_shared(place.start, place.len(), fd.as_fd(), 0)
        }?;
        self.prepare(i)
    }

    #[allow(unsafe_code)]
    fn map_section(&self, i: usize) -> Result<(), HostBufferError> {
        let Object::Memory(object) = &self.objects[i] else {
            return Ok(());
        };
        let (place, fd) = (&self.layout.places[i], object.as_fd());
        if object.len() != place.len() as u64 {
            return Err(do_not_fit());
        }
        if object.is_sealed().map_err(self.failed("look at", i))? {
            return self.map_read_only(i);
        }
        // SAFETY: the reservation is new, so nothing is borrowed from it. The kernel refuses a
        // writable mapping of a sealed object.
        let mapped = unsafe {
            let put = self
                .space
                .mapping
                .put_shared(place.start, place.len(), fd, 0);
            put.and_then(|()| self.space.mapping.protect(place.start, place.len(), true))
        };
        match mapped {
            Ok(()) => self.prepare(i),
            // The others may have sealed it since this process looked.
            Err(_) if self.is_sealed(i) => self.map_read_only(i),
            Err(error) => Err(error.into()),
        }
    }

    /// Applies those settings of section `i` that belong to a mapping and not to the object.
    fn prepare(&self, i: usize) -> Result<(), HostBufferError> {
        let (section, place) = (&self.layout.sections[i], &self.layout.places[i]);
        if !section.dumped {
            self.space
                .mapping
                .dont_dump_part(place.start, place.len())?;
        }
        if section.pages == Pages::Huge {
            self.space.mapping.huge_pages_part(place.start, place.len());
        }
        if section.locked {
            self.space.mapping.lock(place.start, place.len())?;
        }
        Ok(())
    }

    fn failed(&self, what: &str, i: usize) -> impl FnOnce(io::Error) -> HostBufferError {
        HostBufferError::os(format!("{what} section {:?}", self.layout.sections[i].name))
    }
}

fn do_not_fit() -> HostBufferError {
    HostBufferError::Layout("the objects that were received do not fit them".into())
}

/// Takes the objects of all sections that came from the process that leads.
pub(crate) fn received(fds: Vec<OwnedFd>, layout: &Layout) -> Result<Vec<Object>, HostBufferError> {
    let all = layout.sections.iter().zip(fds);
    all.map(|(section, fd)| match section.backing {
        Backing::Memory => Section::received(fd).map(Object::Memory),
        Backing::Device(_) => Ok(Object::Device(fd)),
    })
    .collect::<io::Result<_>>()
    .map_err(HostBufferError::os("take the sections"))
}

/// Creates the objects of all sections, with their settings.
pub(crate) fn create(
    job: &str,
    layout: &Layout,
    space: &Space,
) -> Result<Vec<Object>, HostBufferError> {
    check_room(&layout.sections)?;
    let places = layout.places.iter().zip(&space.devices);
    let all = layout.sections.iter().zip(places);
    let all = all.take(layout.with_memory());
    all.map(|(wanted, (place, range))| match range {
        Some(range) => range
            .create()
            .map(Object::Device)
            .map_err(HostBufferError::Device),
        None => create_section(job, wanted, place.len()).map(Object::Memory),
    })
    .collect()
}

/// Fails if sections that get their memory at once need more than there is. The kernel would end
/// programs of this host instead of refusing it.
fn check_room(sections: &[layout::Section]) -> Result<(), HostBufferError> {
    let at_once = |s: &&layout::Section| {
        (s.allocated || s.locked) && s.backing == Backing::Memory && s.pages != Pages::Reserved
    };
    let wanted = sections.iter().filter(at_once).map(|s| s.bytes as u64);
    let wanted = wanted.sum();
    let Some(room) = room::shortage(wanted) else {
        return Ok(());
    };
    let why = format!(
        "only {} more may be allocated under the limit of {} bytes of {}; make the sections \
         smaller, or let their pages be allocated when they are touched",
        room.bytes, room.limit, room.of
    );
    let what = format!("allocate or lock {wanted} bytes for sections");
    Err(HostBufferError::os(what)(io::Error::other(why)))
}

fn create_section(
    job: &str,
    wanted: &layout::Section,
    bytes: usize,
) -> Result<Section, HostBufferError> {
    let failed = |what: &str| {
        let name = &wanted.name;
        HostBufferError::os::<io::Error>(format!("{what} section {name:?} of {bytes} bytes"))
    };
    let name = format!("tcasm-{job}-{}", wanted.name);
    let huge = wanted.pages == Pages::Reserved;
    let made = Section::create(&name, bytes as u64, huge).map_err(failed("create"))?;
    settle(&made, &wanted.placement)?;
    if wanted.allocated {
        made.allocate().map_err(failed("allocate"))?;
    }
    Ok(made)
}

/// Chooses the nodes of an object's memory. The choice stays when the mapping here is gone.
fn settle(section: &Section, placement: &Placement) -> Result<(), HostBufferError> {
    if *placement == Placement::FirstTouch {
        return Ok(());
    }
    let len = section.len() as usize;
    let mapping = Mapping::shared(section.as_fd(), len, true)?;
    let range = mapping.addr()..mapping.addr() + len;
    let placed = match placement {
        Placement::FirstTouch => Ok(()),
        Placement::Node(node) => numa::prefer(&range, Some(*node)),
        Placement::Interleave(nodes) => numa::interleave(&range, nodes),
    };
    placed.map_err(HostBufferError::os(format!("place memory: {placement:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_that_get_more_memory_at_once_than_there_is_are_refused() {
        let section = |name| layout::Section::new(name, 1 << 43);
        assert!(check_room(&[section("sparse")]).is_ok());
        assert!(check_room(&[section("reserved").pages(Pages::Reserved).allocated()]).is_ok());
        for wanted in [section("a").allocated(), section("b").locked()] {
            let error = check_room(&[section("sparse"), wanted]).unwrap_err();
            assert!(error.to_string().contains("8796093022208 bytes"), "{error}");
        }
    }
}
