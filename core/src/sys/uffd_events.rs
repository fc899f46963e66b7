//! Events of userfaultfd: the kernel tells which registered memory was unmapped, emptied or moved,
//! and that the process forked.
//!
//! A descriptor with events delivers no faults here: its ranges are registered for write protection
//! and never protected. The thread that caused an event waits in its system call until the event is
//! read. So whoever reads events must not wait for that thread: it must neither allocate, because
//! the allocator may unmap registered memory, nor take a lock that other threads hold.

use super::uffd::{self, EVENT, Faults, MESSAGE, OpenError, Uffd};
use linux_raw_sys::general as raw;
use nix::errno::Errno;
use nix::unistd::read;
use std::io;
use std::ops::Range;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The features that need no privilege: events for memory that is unmapped, emptied or moved.
const MEMORY: u64 = raw::UFFD_FEATURE_EVENT_UNMAP as u64
    | raw::UFFD_FEATURE_EVENT_REMOVE as u64
    | raw::UFFD_FEATURE_EVENT_REMAP as u64;
/// The feature that needs CAP_SYS_PTRACE.
const FORK: u64 = raw::UFFD_FEATURE_EVENT_FORK as u64;

/// The place of the first, second and third word of an event's arguments in a message.
const WORDS: [usize; 3] = [8, 16, 24];
const _: () = assert!(std::mem::offset_of!(raw::uffd_msg, arg) == WORDS[0]);
const _: () = assert!(MESSAGE == WORDS[2] + size_of::<u64>());

/// A change of registered memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The range was unmapped, or other memory was mapped over it.
    Unmapped(Range<usize>),
    /// The pages of the range are about to be dropped (`MADV_DONTNEED`, `MADV_REMOVE`). The event
    /// is sent before the kernel drops them.
    Removed(Range<usize>),
    /// The memory of the range was moved to the address `to` (`mremap`).
    Moved {
        /// Where the memory was.
        from: Range<usize>,
        /// The first address where it is now.
        to: usize,
    },
    /// The process forked. Registered memory of the child is registered no more.
    Forked,
    /// Something that was not asked for.
    Other,
}

/// Opens a descriptor that delivers events. The second value is true if forks are among them, which
/// needs CAP_SYS_PTRACE. They are only if `forks` is true: whoever reads them needs a table of
/// descriptors of its own ([`super::own_table`]).
///
/// With asynchronous write protection (Linux 6.7) memory of any kind can be registered. Before,
/// only anonymous memory can, and shared memory since Linux 5.19.
pub fn open(forks: bool) -> Result<(Uffd, bool), OpenError> {
    let mut last = None;
    let ways = [
        (uffd::WP_ASYNC, FORK),
        (uffd::WP_ASYNC, 0),
        (uffd::WP_SYNC, FORK),
        (uffd::WP_SYNC, 0),
    ];
    for (protection, fork) in ways.into_iter().filter(|(_, fork)| forks || *fork == 0) {
        match uffd::open(Faults::User, protection | MEMORY | fork) {
            Ok((uffd, _)) => return Ok((uffd, fork != 0)),
            Err(error @ OpenError::Features { .. }) => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.expect("the loop has run"))
}

/// Returns true if no event is under way: the kernel has begun no change of registered memory whose
/// event has not been read yet.
///
/// The kernel counts such changes from before the memory is gone until the event was read, and
/// refuses to write-protect meanwhile. It checks the count before the range, so an empty range
/// tells the two apart, and nothing is protected. After an error of another kind the answer is
/// false.
pub fn is_quiet(uffd: &Uffd) -> bool {
    let refused = uffd::release(uffd, &(0..0));
    refused.is_err_and(|e| e.raw_os_error() == Some(libc::EINVAL))
}

/// Reads the next event, if there is one. This neither allocates nor waits.
///
/// The event of a fork brings a new descriptor. If there can be none, this fails, and the event
/// stays: the thread that forks goes on waiting until a later call has read it.
pub fn next(uffd: &Uffd) -> io::Result<Option<Event>> {
    let mut message = [0; MESSAGE];
    loop {
        match read(uffd, &mut message) {
            Ok(MESSAGE) => return Ok(Some(decode(&message))),
            Ok(_) => return Err(Errno::EIO.into()),
            Err(Errno::EAGAIN) => return Ok(None),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn decode(message: &[u8; MESSAGE]) -> Event {
    let word = |n: usize| {
        let at = WORDS[n];
        bytemuck::pod_read_unaligned::<u64>(&message[at..at + size_of::<u64>()])
    };
    let address = |n| word(n) as usize;
    match u32::from(message[EVENT]) {
        raw::UFFD_EVENT_UNMAP => Event::Unmapped(address(0)..address(1)),
        raw::UFFD_EVENT_REMOVE => Event::Removed(address(0)..address(1)),
        raw::UFFD_EVENT_REMAP => Event::Moved {
            from: address(0)..address(0).saturating_add(address(2)),
            to: address(1),
        },
        raw::UFFD_EVENT_FORK => {
            close_of_child(word(0) as u32);
            Event::Forked
        }
        _ => Event::Other,
    }
}

/// Closes the descriptor of a forked child's memory, which ends its registration there.
fn close_of_child(number: u32) {
    // SAFETY: the kernel has made the descriptor for the reader of the event, so nothing else owns
    // it.
    drop(unsafe { OwnedFd::from_raw_fd(number as RawFd) });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::mem::{Mapping, page_size};
    use std::time::Duration;

    /// Returns registered memory of four pages.
    fn registered() -> (Uffd, Mapping, Range<usize>) {
        let (uffd, _) = open(true).unwrap();
        let memory = Mapping::reserve(4 * page_size()).unwrap();
        // SAFETY: nothing is borrowed from the reservation.
        unsafe { memory.put_zero(0, memory.len(), true) }.unwrap();
        let range = memory.addr()..memory.addr() + memory.len();
        uffd::register(&uffd, &range).unwrap();
        (uffd, memory, range)
    }

    /// Waits for the next event of the descriptor.
    fn wait(uffd: &Uffd) -> Event {
        loop {
            if let Some(event) = next(uffd).unwrap() {
                return event;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_thread_that_unmaps_waits_until_the_event_is_read_and_is_seen_meanwhile() {
        let (uffd, memory, range) = registered();
        assert!(is_quiet(&uffd), "nothing happens");
        let unmapping = std::thread::spawn(|| drop(memory));
        while is_quiet(&uffd) {
            std::thread::yield_now();
        }
        assert!(!unmapping.is_finished(), "the event is not read yet");
        assert_eq!(wait(&uffd), Event::Unmapped(range));
        unmapping.join().unwrap();
        assert!(is_quiet(&uffd));
    }

    #[test]
    fn stores_to_registered_memory_wait_for_nobody() {
        let (uffd, memory, _range) = registered();
        // SAFETY: the memory is writable, and only this thread uses it.
        unsafe { memory.ptr().write_volatile(1) };
        assert_eq!(next(&uffd).unwrap(), None);
        drop(uffd); // before the memory is unmapped, because nobody reads events any more
    }

    #[test]
    fn a_closed_descriptor_is_never_quiet() {
        let (uffd, _memory, _) = registered();
        uffd::close_in_place(&uffd);
        assert!(!is_quiet(&uffd));
    }
}
