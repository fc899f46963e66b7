//! The sections of a host buffer, and where they lie.

use crate::error::HostBufferError;
use crate::regions::Regions;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use tcasm_core::place::check_name;
use tcasm_core::sys::mem::{HUGE_PAGE, page_size};

/// The largest number of sections.
const MOST: usize = 16;
/// The largest number of nodes of memory, which is Linux's.
const MOST_NODES: usize = 1024;
/// The largest size of a buffer.
const LARGEST: usize = 1 << 44;

/// The pages of a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pages {
    /// Small pages.
    #[default]
    Small,
    /// Huge pages where the kernel gives them to shared memory (`shmem_enabled`), else small ones.
    Huge,
    /// Huge pages of 2 MiB that an administrator has reserved. It is an error if there are not
    /// enough.
    Reserved,
}

/// The nodes of memory (NUMA) where the pages of a section lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// On the node of the thread that touches a page first.
    #[default]
    FirstTouch,
    /// On this node, and near it when it is full.
    Node(u32),
    /// On these nodes in turn.
    Interleave(Vec<u32>),
}

/// The memory of a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Backing {
    /// Memory of the host.
    #[default]
    Memory,
    /// Memory of the device with this number, by the CUDA driver. Other settings do not apply. The
    /// section lies behind all sections in ordinary memory, and is used by
    /// [`HostBuffer::device_section`](crate::HostBuffer::device_section).
    Device(u32),
}

/// A part of the buffer with settings of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub(crate) name: String,
    pub(crate) bytes: usize,
    pub(crate) backing: Backing,
    pub(crate) pages: Pages,
    pub(crate) placement: Placement,
    pub(crate) allocated: bool,
    pub(crate) locked: bool,
    pub(crate) dumped: bool,
    /// The parts, if the section is for regions.
    pub(crate) regions: Option<Regions>,
}

impl Section {
    /// Describes a section of `bytes` bytes: small pages, which get memory when they are touched.
    pub fn new(name: &str, bytes: usize) -> Self {
        Section {
            name: name.to_owned(),
            bytes,
            backing: Backing::default(),
            pages: Pages::default(),
            placement: Placement::default(),
            allocated: false,
            locked: false,
            dumped: false,
            regions: None,
        }
    }

    /// Describes a section for the regions of `ranks` ranks, each with at most `capacity` bytes of
    /// fields. The buffer has no memory there. Each rank takes its part
    /// ([`HostBuffer::take_part`](crate::HostBuffer::take_part)), and places a region of its own
    /// there. So regions of all ranks have addresses of their own, the same in every run.
    ///
    /// Such sections lie behind all others. They cannot be sealed, and have no other settings.
    pub fn regions(name: &str, ranks: u32, capacity: usize) -> Self {
        let regions = Regions::new(ranks, capacity);
        let bytes = regions.as_ref().and_then(Regions::bytes);
        Section {
            regions,
            // `Layout` refuses 0 bytes.
            ..Section::new(name, bytes.unwrap_or(0))
        }
    }

    /// Chooses the memory.
    pub fn backing(self, backing: Backing) -> Self {
        Section { backing, ..self }
    }

    /// Chooses the pages.
    pub fn pages(self, pages: Pages) -> Self {
        Section { pages, ..self }
    }

    /// Chooses the nodes of memory.
    pub fn placement(self, placement: Placement) -> Self {
        Section { placement, ..self }
    }

    /// Allocates the memory at once (`MAP_POPULATE`), so that a lack of it is an error and not a
    /// signal at a later store.
    pub fn allocated(self) -> Self {
        Section {
            allocated: true,
            ..self
        }
    }

    /// Locks the memory in every process (`MAP_LOCKED`). It is an error if the limit on locked
    /// memory does not allow it.
    pub fn locked(self) -> Self {
        Section {
            locked: true,
            ..self
        }
    }

    /// Puts the section into core dumps. A dump reads all of it, and so allocates the pages that
    /// nobody has touched. By default, sections are left out.
    pub fn dumped(self) -> Self {
        Section {
            dumped: true,
            ..self
        }
    }

    /// Returns the bytes that are mapped: whole pages.
    fn mapped(&self) -> Option<usize> {
        let unit = match (self.backing, self.pages) {
            (Backing::Device(_), _) | (_, Pages::Reserved) => HUGE_PAGE,
            (Backing::Memory, Pages::Small | Pages::Huge) => page_size(),
        };
        self.bytes.checked_next_multiple_of(unit)
    }

    fn is_on_device(&self) -> bool {
        self.backing != Backing::Memory
    }

    /// Returns the place of the section among the kinds: in ordinary memory, in that of a device,
    /// or for regions.
    fn kind(&self) -> usize {
        match self.regions {
            Some(_) => 2,
            None => usize::from(self.is_on_device()),
        }
    }

    /// Returns why the section cannot have the settings that it has, if it is of another kind than
    /// ordinary memory.
    fn contradiction(&self) -> Option<&'static str> {
        let plain = Section::new(&self.name, self.bytes);
        let (plain, why) = match self.regions {
            None => {
                let plain = plain.backing(self.backing);
                (plain, "is in device memory, which has no other settings")
            }
            regions => {
                let plain = Section { regions, ..plain };
                (plain, "is for regions, which have settings of their own")
            }
        };
        (self.kind() > 0 && *self != plain).then_some(why)
    }
}

/// The sections of a buffer with their places. It must be the same in all processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    pub(crate) sections: Vec<Section>,
    /// The mapped bytes of each section, counted from the beginning of the buffer.
    pub(crate) places: Vec<Range<usize>>,
    /// The bytes of address space of the sections in ordinary memory, which lie first.
    pub(crate) ordinary: usize,
    /// The addresses of the sections for regions, which lie last.
    pub(crate) for_regions: Range<usize>,
    pub(crate) total: usize,
}

impl Layout {
    /// Places the sections one behind the other, each at a multiple of 2 MiB.
    pub(crate) fn new(mut sections: Vec<Section>) -> Result<Self, HostBufferError> {
        let wrong = |why: String| Err(HostBufferError::Layout(why));
        if sections.is_empty() || sections.len() > MOST {
            return wrong(format!("there are {}, not 1 to {MOST}", sections.len()));
        }
        // So the sections with objects are the first ones.
        sections.sort_by_key(|section| section.regions.is_some());
        let (mut places, mut ends) = (vec![0..0; sections.len()], [0; 3]);
        let mut total = 0;
        for (kind, end) in ends.iter_mut().enumerate() {
            let all = sections.iter().enumerate();
            for (i, section) in all.filter(|(_, s)| s.kind() == kind) {
                check(section, &sections[..i])?;
                places[i] = place(section, total)?;
                total = places[i].end.next_multiple_of(HUGE_PAGE);
            }
            *end = total;
        }
        let [ordinary, with_memory, _] = ends;
        if ordinary == 0 {
            return wrong("at least one must be in ordinary memory".into());
        }
        Ok(Layout {
            sections,
            places,
            ordinary,
            for_regions: with_memory..total,
            total,
        })
    }

    /// Returns the number of sections with memory, which are the first ones.
    pub(crate) fn with_memory(&self) -> usize {
        self.sections.partition_point(|s| s.regions.is_none())
    }

    /// Returns the number of the section `name`.
    pub(crate) fn find(&self, name: &str) -> Result<usize, HostBufferError> {
        let found = self.sections.iter().position(|s| s.name == name);
        found.ok_or_else(|| HostBufferError::NoSection(name.to_owned()))
    }
}

/// Returns the place of a section that begins at `start`.
fn place(section: &Section, start: usize) -> Result<Range<usize>, HostBufferError> {
    let end = section.mapped().and_then(|len| start.checked_add(len));
    let place = end.map(|end| start..end);
    place
        .filter(|place| !place.is_empty() && place.end <= LARGEST)
        .ok_or_else(|| {
            let (name, bytes) = (&section.name, section.bytes);
            HostBufferError::Layout(format!("{name:?} has {bytes} bytes (1 to 16 TiB in all)"))
        })
}

/// Checks the settings of a section. `others` come before it.
fn check(section: &Section, others: &[Section]) -> Result<(), HostBufferError> {
    let wrong = |why: String| Err(HostBufferError::Layout(why));
    let name = &section.name;
    check_name(name).map_err(|e| HostBufferError::Layout(e.to_string()))?;
    if others.iter().any(|other| other.name == *name) {
        return wrong(format!("two are called {name:?}"));
    }
    if let Some(why) = section.contradiction() {
        return wrong(format!("{name:?} {why}"));
    }
    // So the layout fits into a message.
    let nodes = match &section.placement {
        Placement::FirstTouch => &[],
        Placement::Node(node) => std::slice::from_ref(node),
        Placement::Interleave(nodes) => &nodes[..],
    };
    if nodes.len() > MOST_NODES || nodes.iter().any(|node| *node as usize >= MOST_NODES) {
        return wrong(format!("{name:?} has nodes of memory above {MOST_NODES}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_lie_one_behind_the_other_at_multiples_of_huge_pages() {
        let sections = vec![
            Section::new("a", 1),
            Section::new("b", HUGE_PAGE + 1).pages(Pages::Reserved),
            Section::new("c", 2 * page_size()),
        ];
        let layout = Layout::new(sections).unwrap();
        let (b, c) = (HUGE_PAGE, 3 * HUGE_PAGE);
        assert_eq!(
            layout.places,
            [0..page_size(), b..c, c..c + 2 * page_size()]
        );
        assert_eq!(layout.total, 4 * HUGE_PAGE);
    }

    #[test]
    fn sections_of_devices_lie_behind_all_others() {
        let device = |name| Section::new(name, 1).backing(Backing::Device(0));
        let sections = vec![device("a"), Section::new("b", 1), device("c")];
        let layout = Layout::new(sections).unwrap();
        let unit = |n| n * HUGE_PAGE..(n + 1) * HUGE_PAGE;
        assert_eq!(layout.places, [unit(1), 0..page_size(), unit(2)]);
        assert_eq!((layout.ordinary, layout.total), (HUGE_PAGE, 3 * HUGE_PAGE));
    }

    #[test]
    fn sections_for_regions_lie_last_and_are_the_last_ones() {
        let device = Section::new("d", 1).backing(Backing::Device(0));
        let sections = vec![Section::regions("r", 2, 1), device, Section::new("m", 1)];
        let layout = Layout::new(sections).unwrap();
        let units = |from, to| from * HUGE_PAGE..to * HUGE_PAGE;
        let places = [units(1, 2), 0..page_size(), units(2, 4)];
        assert_eq!(layout.places, places);
        assert_eq!((layout.with_memory(), layout.find("r").unwrap()), (2, 2));
        assert_eq!(
            (layout.for_regions, layout.total),
            (units(2, 4), 4 * HUGE_PAGE)
        );
    }

    #[test]
    fn sections_that_cannot_be_are_refused() {
        let refused = |sections| Layout::new(sections).unwrap_err().to_string();
        assert!(refused(vec![]).contains("there are 0"));
        assert!(refused(vec![Section::new("a", 0)]).contains("0 bytes"));
        assert!(refused(vec![Section::new("a", usize::MAX)]).contains("bytes"));
        assert!(refused(vec![Section::new("a b", 1)]).contains("a b"));
        let device = Section::new("d", 1).backing(Backing::Device(0));
        assert!(refused(vec![device.clone()]).contains("ordinary memory"));
        let both = vec![Section::new("a", 1), device.locked()];
        assert!(refused(both).contains("no other settings"));
        let regions = Section::regions("r", 4, 1);
        assert!(refused(vec![regions.clone()]).contains("ordinary memory"));
        for wrong in [
            regions.clone().locked(),
            regions.backing(Backing::Device(0)),
        ] {
            let both = vec![Section::new("a", 1), wrong];
            assert!(refused(both).contains("settings of their own"));
        }
        assert!(refused(vec![Section::regions("r", 0, 1)]).contains("0 bytes"));
        assert!(refused(vec![Section::regions("r", 4, usize::MAX)]).contains("bytes"));
        let placed = |nodes| vec![Section::new("a", 1).placement(Placement::Interleave(nodes))];
        assert!(refused(placed(vec![0; MOST_NODES + 1])).contains("nodes"));
        assert!(refused(placed(vec![MOST_NODES as u32])).contains("nodes"));
        let twice = vec![Section::new("a", 1), Section::new("a", 1)];
        assert!(refused(twice).contains("two are called"));
        let many = (0..=MOST).map(|i| Section::new(&format!("s{i}"), 1));
        assert!(refused(many.collect()).contains("there are 17"));
    }
}
