//! Nodes of memory (NUMA), as planes see them: which there are, where pages lie, and where frames
//! get memory.

use super::memory::PlaneMemory;
use crate::segments::Segments;
use crate::sys::numa;
use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// A node of memory, by its position among the nodes of the topology.
pub type Node = u8;

/// The largest number of nodes that are told apart. Pages on other nodes count as pages of no known
/// node.
const MOST: usize = Node::MAX as usize - 1;

/// The nodes of a machine. Tests pretend to have several.
pub trait Topology: Debug + Send + Sync {
    /// Returns the numbers of the processors of each node.
    fn processors(&self) -> Vec<Vec<usize>>;

    /// Returns the node of each of these pages of live memory. `None` for pages without memory.
    fn live(&self, pages: &[usize]) -> io::Result<Vec<Option<Node>>>;

    /// Returns the node of each of these frames. `None` for frames that are not mapped.
    fn frames(
        &self,
        plane: usize,
        memory: &PlaneMemory,
        pages: &[usize],
    ) -> io::Result<Vec<Option<Node>>>;

    /// Lets the frames of each run that get memory from now on lie on its node.
    fn bind(
        &self,
        plane: usize,
        memory: &PlaneMemory,
        runs: &[(Range<usize>, Node)],
    ) -> io::Result<()>;
}

/// The nodes of this machine.
#[derive(Debug)]
pub(crate) struct Machine {
    live: Arc<Segments>,
}

impl Machine {
    /// Returns the nodes of this machine if there are several.
    pub(crate) fn with_several_nodes(live: Arc<Segments>) -> Option<Arc<dyn Topology>> {
        numa::several().then(|| Arc::new(Machine { live }) as Arc<dyn Topology>)
    }
}

impl Topology for Machine {
    fn processors(&self) -> Vec<Vec<usize>> {
        let nodes = numa::nodes().iter().take(MOST);
        nodes.map(|node| node.processors.clone()).collect()
    }

    fn live(&self, pages: &[usize]) -> io::Result<Vec<Option<Node>>> {
        let addresses = pages.iter().map(|page| self.live.address(*page));
        nodes_of(&addresses.collect::<Vec<_>>())
    }

    fn frames(
        &self,
        _plane: usize,
        memory: &PlaneMemory,
        pages: &[usize],
    ) -> io::Result<Vec<Option<Node>>> {
        let addresses = pages.iter().map(|page| memory.address(*page));
        nodes_of(&addresses.collect::<Vec<_>>())
    }

    fn bind(
        &self,
        _plane: usize,
        memory: &PlaneMemory,
        runs: &[(Range<usize>, Node)],
    ) -> io::Result<()> {
        memory.prefer(runs, |node| numa::nodes()[usize::from(node)].number)
    }
}

fn nodes_of(addresses: &[usize]) -> io::Result<Vec<Option<Node>>> {
    let known = |number: u32| {
        let mut nodes = numa::nodes().iter().take(MOST);
        nodes.position(|node| node.number == number)
    };
    let found = numa::nodes_of(addresses)?.into_iter();
    Ok(found.map(|number| Some(known(number?)? as Node)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::{Mapping, page_size};
    use crate::sys::object::Object;
    use crate::sys::relocate::relocate;
    use std::os::fd::AsFd;

    #[test]
    fn frames_get_memory_on_the_preferred_node_of_this_machine() {
        let pages = 1024;
        let memory = PlaneMemory::create("topology", pages, page_size()).unwrap();
        let machine = Machine {
            live: Arc::new(Segments::new(memory.address(0), page_size())),
        };
        machine
            .bind(0, &memory, &[(0..512, 0), (512..pages, 0)])
            .unwrap();
        memory.allocate(&(511..513)).unwrap();
        let asked = [510, 511, 512, 513];
        let wanted = [None, Some(0), Some(0), None];
        assert_eq!(machine.frames(0, &memory, &asked).unwrap(), wanted);
        assert_eq!(machine.live(&asked).unwrap(), wanted);
        assert!(!machine.processors().is_empty());
    }

    #[test]
    fn page_tables_of_a_plane_can_be_moved_after_some_of_its_frames_were_bound() {
        let (pages, bytes) = (2048, 2048 * page_size());
        let memory = PlaneMemory::create("whole", pages, page_size()).unwrap();
        memory.allocate(&(0..pages)).unwrap();
        let number = numa::nodes()[0].number;
        let runs: Vec<_> = (0..4).map(|i| (i * 512..i * 512 + 100, 0)).collect();
        memory.prefer(&runs, |_| number).unwrap();
        let target = Object::create("target", bytes as u64).unwrap();
        let target = Mapping::shared(target.as_fd(), bytes, true).unwrap();
        // SAFETY: both mappings belong to this test, and nothing is borrowed from them.
        unsafe { relocate(memory.address(0) as *mut u8, target.ptr(), bytes) }
            .expect("the mapping of the plane is still in one piece");
    }
}
