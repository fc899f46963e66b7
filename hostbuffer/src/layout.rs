//! The sections of a host buffer, and where they lie.

use crate::error::HostBufferError;
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

/// A part of the buffer with settings of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub(crate) name: String,
    pub(crate) bytes: usize,
    pub(crate) pages: Pages,
    pub(crate) placement: Placement,
    pub(crate) allocated: bool,
    pub(crate) locked: bool,
    pub(crate) dumped: bool,
}

impl Section {
    /// Describes a section of `bytes` bytes: small pages, which get memory when they are touched.
    pub fn new(name: &str, bytes: usize) -> Self {
        Section {
            name: name.to_owned(),
            bytes,
            pages: Pages::default(),
            placement: Placement::default(),
            allocated: false,
            locked: false,
            dumped: false,
        }
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
        let unit = match self.pages {
            Pages::Reserved => HUGE_PAGE,
            Pages::Small | Pages::Huge => page_size(),
        };
        self.bytes.checked_next_multiple_of(unit)
    }
}

/// The sections of a buffer with their places. It must be the same in all processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Layout {
    pub(crate) sections: Vec<Section>,
    /// The mapped bytes of each section, counted from the beginning of the buffer.
    pub(crate) places: Vec<Range<usize>>,
    pub(crate) total: usize,
}

impl Layout {
    /// Places the sections one behind the other, each at a multiple of 2 MiB.
    pub(crate) fn new(sections: Vec<Section>) -> Result<Self, HostBufferError> {
        let wrong = |why: String| Err(HostBufferError::Layout(why));
        if sections.is_empty() || sections.len() > MOST {
            return wrong(format!("there are {}, not 1 to {MOST}", sections.len()));
        }
        let (mut places, mut total) = (Vec::new(), 0usize);
        for (i, section) in sections.iter().enumerate() {
            check_name(&section.name).map_err(|e| HostBufferError::Layout(e.to_string()))?;
            if sections[..i].iter().any(|other| other.name == section.name) {
                return wrong(format!("two are called {:?}", section.name));
            }
            let place = section
                .mapped()
                .and_then(|len| Some(total..total.checked_add(len)?));
            let Some(place) = place.filter(|p| !p.is_empty() && p.end <= LARGEST) else {
                let (name, bytes) = (&section.name, section.bytes);
                return wrong(format!("{name:?} has {bytes} bytes (1 to 16 TiB in all)"));
            };
            check_nodes(section)?;
            total = place.end.next_multiple_of(HUGE_PAGE);
            places.push(place);
        }
        Ok(Layout {
            sections,
            places,
            total,
        })
    }

    /// Returns the number of the section `name`.
    pub(crate) fn find(&self, name: &str) -> Result<usize, HostBufferError> {
        let found = self.sections.iter().position(|s| s.name == name);
        found.ok_or_else(|| HostBufferError::NoSection(name.to_owned()))
    }
}

/// Checks that the layout fits into a message.
fn check_nodes(section: &Section) -> Result<(), HostBufferError> {
    let nodes = match &section.placement {
        Placement::FirstTouch => &[],
        Placement::Node(node) => std::slice::from_ref(node),
        Placement::Interleave(nodes) => &nodes[..],
    };
    let name = &section.name;
    if nodes.len() > MOST_NODES || nodes.iter().any(|node| *node as usize >= MOST_NODES) {
        let why = format!("{name:?} has nodes of memory above {MOST_NODES}");
        return Err(HostBufferError::Layout(why));
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
    fn sections_that_cannot_be_are_refused() {
        let refused = |sections| Layout::new(sections).unwrap_err().to_string();
        assert!(refused(vec![]).contains("there are 0"));
        assert!(refused(vec![Section::new("a", 0)]).contains("0 bytes"));
        assert!(refused(vec![Section::new("a", usize::MAX)]).contains("bytes"));
        assert!(refused(vec![Section::new("a b", 1)]).contains("a b"));
        let placed = |nodes| vec![Section::new("a", 1).placement(Placement::Interleave(nodes))];
        assert!(refused(placed(vec![0; MOST_NODES + 1])).contains("nodes"));
        assert!(refused(placed(vec![MOST_NODES as u32])).contains("nodes"));
        let twice = vec![Section::new("a", 1), Section::new("a", 1)];
        assert!(refused(twice).contains("two are called"));
        let many = (0..=MOST).map(|i| Section::new(&format!("s{i}"), 1));
        assert!(refused(many.collect()).contains("there are 17"));
    }
}
