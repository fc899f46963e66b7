//! The memory of a host buffer in this process.

use crate::error::HostBufferError;
use crate::layout::{Layout, Pages, Placement};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use tcasm_core::sys::mem::Mapping;
use tcasm_core::sys::numa;
use tcasm_core::sys::section::Section;

/// The sections of a buffer, mapped at its address.
#[derive(Debug)]
pub(crate) struct Memory {
    mapping: Mapping,
    layout: Layout,
    sections: Vec<Section>,
}

impl Memory {
    /// Maps the sections into `mapping`, which is a reservation of the size of the layout.
    pub(crate) fn map(
        mapping: Mapping,
        layout: Layout,
        sections: Vec<Section>,
    ) -> Result<Self, HostBufferError> {
        let fits = |i: usize| sections[i].len() == layout.places[i].len() as u64;
        let count = layout.sections.len();
        if sections.len() != count || !(0..count).all(fits) {
            let why = "the objects that were received do not fit them";
            return Err(HostBufferError::Layout(why.into()));
        }
        let memory = Memory {
            mapping,
            layout,
            sections,
        };
        (0..count).try_for_each(|i| memory.map_section(i))?;
        Ok(memory)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn base(&self) -> u64 {
        self.mapping.addr() as u64
    }

    pub(crate) fn ptr(&self) -> *mut u8 {
        self.mapping.ptr()
    }

    /// Returns true if section `i` can no longer change.
    pub(crate) fn is_sealed(&self, i: usize) -> bool {
        self.sections[i].is_sealed().unwrap_or(false)
    }

    /// Seals section `i`. Returns false as long as a process has it mapped for writing.
    pub(crate) fn seal(&self, i: usize) -> io::Result<bool> {
        self.sections[i].seal()
    }

    /// Returns descriptors of all sections for another process: read-only ones of those that are
    /// sealed.
    pub(crate) fn descriptors(&self) -> io::Result<Vec<OwnedFd>> {
        let descriptor = |section: &Section| match section.is_sealed()? {
            true => section.read_only(),
            false => section.as_fd().try_clone_to_owned(),
        };
        self.sections.iter().map(descriptor).collect()
    }

    /// Maps section `i` so that this process can never write it again.
    #[allow(unsafe_code)]
    pub(crate) fn map_read_only(&self, i: usize) -> Result<(), HostBufferError> {
        let fd = self.sections[i]
            .read_only()
            .map_err(self.failed("open", i))?;
        let place = &self.layout.places[i];
        // SAFETY: only raw pointers into an unsealed section are handed out, so nothing is borrowed
        // from it. A sealed section is not mapped again (see `Keeper`), and if it were, the new
        // mapping would show the same bytes.
        unsafe {
            self.mapping
                .put_shared(place.start, place.len(), fd.as_fd(), 0)
        }?;
        self.prepare(i)
    }

    #[allow(unsafe_code)]
    fn map_section(&self, i: usize) -> Result<(), HostBufferError> {
        if self.sections[i]
            .is_sealed()
            .map_err(self.failed("look at", i))?
        {
            return self.map_read_only(i);
        }
        let (place, fd) = (&self.layout.places[i], self.sections[i].as_fd());
        // SAFETY: the reservation is new, so nothing is borrowed from it. The kernel refuses a
        // writable mapping of a sealed object.
        let mapped = unsafe {
            let put = self.mapping.put_shared(place.start, place.len(), fd, 0);
            put.and_then(|()| self.mapping.protect(place.start, place.len(), true))
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
            self.mapping.dont_dump_part(place.start, place.len())?;
        }
        if section.pages == Pages::Huge {
            self.mapping.huge_pages_part(place.start, place.len());
        }
        if section.locked {
            self.mapping.lock(place.start, place.len())?;
        }
        Ok(())
    }

    fn failed(&self, what: &str, i: usize) -> impl FnOnce(io::Error) -> HostBufferError {
        HostBufferError::os(format!("{what} section {:?}", self.layout.sections[i].name))
    }
}

/// Creates the objects of all sections, with their settings.
pub(crate) fn create(job: &str, layout: &Layout) -> Result<Vec<Section>, HostBufferError> {
    let all = layout.sections.iter().zip(&layout.places);
    all.map(|(wanted, place)| {
        let failed = |what: &str| {
            let (name, bytes) = (&wanted.name, place.len());
            HostBufferError::os::<io::Error>(format!("{what} section {name:?} of {bytes} bytes"))
        };
        let name = format!("tcasm-{job}-{}", wanted.name);
        let huge = wanted.pages == Pages::Reserved;
        let made = Section::create(&name, place.len() as u64, huge).map_err(failed("create"))?;
        settle(&made, &wanted.placement)?;
        if wanted.allocated {
            made.allocate().map_err(failed("allocate"))?;
        }
        Ok(made)
    })
    .collect()
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
