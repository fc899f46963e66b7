//! Early stores at the edge between two sweeps.

use super::super::{Compare, Newest};
use super::*;
use crate::pageset::CHUNK_PAGES;
use crate::planes::Frames;
use crate::segments::Segments;
use crate::sys::copy::Stores;
use crate::sys::mem::{Mapping, page_size};
use crate::sys::uffd::Faults;
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn};

/// Returns the job that compares no page of the first chunk at `base`, and saves none.
fn nothing(base: usize) -> Job {
    Job {
        memory: Arc::new(Segments::new(base, page_size())),
        chunks: vec![0],
        live: 1,
        nodes: Vec::new(),
        frames: Frames::default(),
        fresh: Frames::default(),
        planes: Vec::new().into(),
        newest: Newest::new(Arc::new(Mapping::reserve(page_size()).unwrap()), None),
        compare: Compare::Only(PageSet::new(CHUNK_PAGES)),
        stores: Stores::Cached,
        huge_pages: false,
    }
}

#[test]
fn late_fault_of_an_earlier_sweep_does_not_leave_a_piece_protected() {
    let live = Mapping::reserve_aligned(CHUNK_PAGES * page_size()).unwrap();
    // SAFETY: nothing is borrowed from the reservation.
    unsafe { live.put_zero(0, live.len(), true) }.unwrap();
    let gate = Arc::new(Gate::open(Faults::User, false).unwrap());
    gate.watch(live.addr()..live.addr() + live.len()).unwrap();
    let finish = Box::new(|_: &Sweep| Ok(()));
    // SAFETY: the memory is mapped to the end, and nobody writes it before it is protected. The
    // job has no frames, and there is no version.
    let sweep = unsafe { Sweep::new(nothing(live.addr()), Some(gate), finish) };
    let (sweep, at) = (Arc::new(sweep), live.addr());
    let late = sweep.clone();
    let late = spawn(move || late.early_store(at));
    sleep(Duration::from_millis(50)); // the fault comes before the protection
    sweep.protect().unwrap();
    late.join().unwrap();
    assert_eq!(sweep.wait(Duration::from_secs(60)), Outcome::Saved);

    let (done, stored) = channel();
    spawn(move || {
        // SAFETY: the memory is writable, and only this thread uses it.
        unsafe { live.ptr().write_volatile(1) };
        done.send(live)
    });
    let stored = stored.recv_timeout(Duration::from_secs(60));
    assert!(stored.is_ok(), "the store waits for ever");
}
