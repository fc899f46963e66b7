//! Nodes of memory (NUMA): which there are, on which of them a page lies, and on which of them
//! pages get memory.

use super::mem::{Mapping, page_size};
use nix::errno::Errno;
use std::fs::read_to_string;
use std::io;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::sync::OnceLock;

/// A part of the machine's memory, and the processors that are near it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The number by which the kernel knows it.
    pub number: u32,
    /// The numbers of its processors. Some nodes have memory only.
    pub processors: Vec<usize>,
}

/// The number of 64-bit words of a set of nodes. The kernel can have 1024 nodes.
const MASK_WORDS: usize = 16;

/// Returns the nodes of this machine. They are read once. There are none if the kernel does not
/// tell them.
pub fn nodes() -> &'static [Node] {
    static NODES: OnceLock<Vec<Node>> = OnceLock::new();
    NODES.get_or_init(|| read(Path::new("/sys/devices/system/node")))
}

/// Returns true if this machine has several nodes.
pub fn several() -> bool {
    nodes().len() > 1
}

fn read(folder: &Path) -> Vec<Node> {
    let list = |file: &str| {
        let text = read_to_string(folder.join(file));
        text.map_or_else(|_| Vec::new(), |text| numbers(&text))
    };
    let node = |number: usize| Node {
        number: number as u32,
        processors: list(&format!("node{number}/cpulist")),
    };
    list("online").into_iter().map(node).collect()
}

/// Returns the numbers of a list such as `0-3,8`.
fn numbers(text: &str) -> Vec<usize> {
    let range = |part: &str| -> Option<RangeInclusive<usize>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    let parts = text.trim().split(',');
    parts.filter_map(range).flatten().collect()
}

/// Returns the number of the node on which each page lies, by an address in the page. `None` for
/// pages that have no memory or are not mapped. No page moves.
pub fn nodes_of(addresses: &[usize]) -> io::Result<Vec<Option<u32>>> {
    let mut found: Vec<libc::c_int> = vec![-1; addresses.len()];
    // SAFETY: both arrays have as many elements as the call is told, and live during the call. The
    // kernel checks the addresses themselves. Without an array of target nodes it moves nothing.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            0,
            addresses.len(),
            addresses.as_ptr(),
            std::ptr::null::<libc::c_int>(),
            found.as_mut_ptr(),
            0,
        )
    };
    Errno::result(done)?;
    Ok(found.into_iter().map(|node| node.try_into().ok()).collect())
}

/// Lets pages of `range` that get memory from now on lie on `node`, or near it where it is full.
/// `None`: where the policy of the thread says that takes the memory. Pages that have memory stay.
///
/// In a shared mapping this is a setting of the object: it holds for all mappings of it, also for
/// copies of its pages in private mappings, and stays when the mapping is gone.
pub fn prefer(range: &Range<usize>, node: Option<u32>) -> io::Result<()> {
    match node {
        Some(node) => set_policy(range, libc::MPOL_PREFERRED, &[node]),
        None => set_policy(range, libc::MPOL_DEFAULT, &[]),
    }
}

/// Lets pages of `range` that get memory from now on lie on these nodes in turn. As with
/// [`prefer`], this is a setting of the object in a shared mapping. The error is EINVAL for a node
/// that the machine does not have.
pub fn interleave(range: &Range<usize>, nodes: &[u32]) -> io::Result<()> {
    set_policy(range, libc::MPOL_INTERLEAVE, nodes)
}

fn set_policy(range: &Range<usize>, mode: libc::c_int, nodes: &[u32]) -> io::Result<()> {
    let mut mask = [0u64; MASK_WORDS];
    for node in nodes {
        let word = mask.get_mut(*node as usize / 64).ok_or(Errno::EINVAL)?;
        *word |= 1 << (node % 64);
    }
    // SAFETY: the mask lives during the call, which only reads it. The call changes no byte and no
    // access to the range.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            range.start,
            range.len(),
            libc::c_long::from(mode),
            mask.as_ptr(),
            MASK_WORDS * 64 + 1,
            0,
        )
    };
    Errno::result(done)?;
    Ok(())
}

/// Splits `range` into runs of pages that lie on the same node. Returns one run of no known node if
/// the kernel does not tell.
pub fn runs(range: &Range<usize>) -> Vec<(Range<usize>, Option<u32>)> {
    let addresses: Vec<usize> = range.clone().step_by(page_size()).collect();
    match nodes_of(&addresses) {
        Ok(nodes) => merged(range, &nodes),
        Err(_) => vec![(range.clone(), None)],
    }
}

/// Returns the runs of `range` whose pages lie on these nodes.
fn merged(range: &Range<usize>, nodes: &[Option<u32>]) -> Vec<(Range<usize>, Option<u32>)> {
    let mut runs: Vec<(Range<usize>, Option<u32>)> = Vec::new();
    for (start, node) in range.clone().step_by(page_size()).zip(nodes) {
        let end = range.end.min(start + page_size());
        match runs.last_mut() {
            Some((run, last)) if *last == *node => run.end = end,
            _ => runs.push((start..end, *node)),
        }
    }
    runs
}

/// Returns true if this error means that the kernel, or a filter of system calls, refuses the call
/// altogether.
pub fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EPERM | libc::EACCES | libc::ENOSYS)
    )
}

/// Returns why this process cannot place memory on nodes, if that is so. Tries the calls on a page
/// of its own.
pub fn refusal() -> Option<String> {
    let node = nodes().first()?;
    let page = Mapping::reserve(page_size()).ok()?;
    let range = page.addr()..page.addr() + page.len();
    let refused = |call: &str, error: io::Error| {
        is_refusal(&error).then(|| format!("the kernel refuses {call}: {error}"))
    };
    let placed = prefer(&range, Some(node.number)).err();
    let told = nodes_of(&[range.start]).err();
    placed
        .and_then(|error| refused("mbind", error))
        .or_else(|| told.and_then(|error| refused("move_pages", error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::object::Object;
    use std::os::fd::AsFd;

    /// Returns the policy of the page at `address`: its mode, and the first nodes of its set.
    fn policy_at(address: usize) -> (libc::c_int, u64) {
        const MPOL_F_ADDR: libc::c_long = 2;
        let (mut mode, mut mask) = (-1, [0u64; MASK_WORDS]);
        // SAFETY: the kernel writes one number, and as many bits as the mask has.
        let done = unsafe {
            libc::syscall(
                libc::SYS_get_mempolicy,
                &raw mut mode,
                mask.as_mut_ptr(),
                MASK_WORDS * 64 + 1,
                address,
                MPOL_F_ADDR,
            )
        };
        Errno::result(done).unwrap();
        (mode, mask[0])
    }

    fn first() -> u32 {
        nodes()[0].number
    }

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(numbers("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(numbers("0\n"), [0]);
        assert!(numbers("\n").is_empty());
        assert!(read(Path::new("/nowhere")).is_empty());
    }

    #[test]
    fn no_processor_is_near_two_nodes_and_the_kernel_refuses_nothing() {
        let mut all: Vec<usize> = nodes().iter().flat_map(|n| n.processors.clone()).collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert!(count > 0 && all.len() == count, "{:?}", nodes());
        assert_eq!(refusal(), None);
    }

    #[test]
    fn kernel_tells_the_node_of_pages_that_have_memory_and_of_no_others() {
        let object = Object::create("nodes", 4 * page_size() as u64).unwrap();
        let map = Mapping::shared(object.as_fd(), 4 * page_size(), true).unwrap();
        map.populate(page_size(), page_size()).unwrap();
        let address = |page: usize| map.addr() + page * page_size();
        let found = nodes_of(&[address(0), address(1), 16]).unwrap();
        assert!(found[0].is_none() && found[2].is_none(), "{found:?}");
        let numbers: Vec<u32> = nodes().iter().map(|n| n.number).collect();
        assert!(found[1].is_some_and(|node| numbers.contains(&node)));
        assert!(nodes_of(&[]).unwrap().is_empty());
    }

    #[test]
    fn preference_belongs_to_the_object_and_holds_in_shared_and_private_mappings() {
        let (len, page) = (4 * page_size(), page_size());
        let object = Object::create("nodes", len as u64).unwrap();
        let closed = Mapping::shared_closed(object.as_fd(), len).unwrap();
        let middle = closed.addr() + page..closed.addr() + 3 * page;
        prefer(&middle, Some(first())).unwrap();
        drop(closed);
        let shared = Mapping::shared(object.as_fd(), len, true).unwrap();
        let private = Mapping::reserve_aligned(len).unwrap();
        let range = private.addr()..private.addr() + len;
        let backing = crate::sys::live::Backing::File(object.as_fd(), 0);
        // SAFETY: the reservation belongs to this test, and nothing is borrowed from it.
        unsafe { crate::sys::live::map(&range, backing) }.unwrap();
        let wanted = (libc::MPOL_PREFERRED, 1u64 << first());
        for base in [shared.addr(), private.addr()] {
            assert_eq!(policy_at(base + page), wanted);
            assert_eq!(policy_at(base + 2 * page), wanted);
            assert_ne!(policy_at(base), wanted);
            assert_ne!(policy_at(base + 3 * page), wanted);
        }
    }

    #[test]
    fn a_node_that_does_not_exist_is_an_error_and_no_refusal() {
        let page = Mapping::reserve(page_size()).unwrap();
        let range = page.addr()..page.addr() + page_size();
        for node in [1023, 1 << 20] {
            let error = prefer(&range, Some(node)).unwrap_err();
            assert!(!is_refusal(&error), "{error}");
        }
    }

    #[test]
    fn neighbouring_pages_on_the_same_node_are_one_run() {
        let page = page_size();
        let found = merged(&(page..5 * page), &[Some(1), Some(1), None, Some(0)]);
        let runs = [(1..3, Some(1)), (3..4, None), (4..5, Some(0))];
        assert_eq!(found, runs.map(|(r, n)| (r.start * page..r.end * page, n)));
    }
}
