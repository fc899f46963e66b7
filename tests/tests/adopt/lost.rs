//! Arrays that go away without a word, and those that only seem to.

use super::memory::*;
use nix::errno::Errno;
use std::sync::atomic::{AtomicBool, Ordering};
use tcasm_core::sys::mem::Mapping;
use tcasm_producer::{MeshHandle, Producer, RollbackError, TrackerKind};
use tcasm_tests::filter::{REFUSALS, fail_here};
use tcasm_tests::{PublishVisible, on_all_trackers};

#[test]
fn array_of_the_allocator_is_lost_when_realloc_moves_it_and_can_be_adopted_again() {
    // SAFETY: every large array is a mapping of its own from now on; nothing depends on it.
    assert_eq!(unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20) }, 1);
    on_all_trackers(|tracker| {
        // Another thread of this process may map memory at the old addresses.
        let moved = (0..50).any(|_| array_that_realloc_moves_is_lost(tracker));
        assert!(moved, "{tracker}: there was always other memory");
    });
}

/// Returns false if the array was no mapping of its own, or if there was other memory at the old
/// addresses at once.
fn array_that_realloc_moves_is_lost(tracker: TrackerKind) -> bool {
    let (mut p, mut o) = region("realloc", tracker);
    let (len, more) = (CHUNK + 100, 5 * CHUNK);
    // SAFETY: plain calls of the allocator; the memory is used as it allows.
    unsafe {
        let array = libc::malloc(len).cast::<u8>();
        if array.addr() % PAGE > 16 {
            // It lies among memory that was freed before, and stays there, so that the next one
            // does not.
            return false;
        }
        array.write_bytes(3, len);
        p.adopt("u", array, [len]).unwrap();
        published(&mut p, 0);
        // So the array cannot grow where it is.
        let end = array.addr() + libc::malloc_usable_size(array.cast());
        let _behind = Mapping::reserve_at(end, PAGE);
        let moved = libc::realloc(array.cast(), more).cast::<u8>();
        let place = Mapping::reserve_at(array.addr() / PAGE * PAGE, CHUNK);
        assert_ne!(moved, array);
        if place.is_err() {
            libc::free(moved.cast());
            return false;
        }
        assert_eq!(published(&mut p, 1).lost, ["u"], "{tracker}");
        assert!(is_lost(&o.latest().unwrap(), "u"));
        assert_eq!(p.lost().collect::<Vec<_>>(), ["u"]);
        p.adopt("u", moved, [more]).unwrap();
        moved.add(len).write_bytes(4, more - len);
        published(&mut p, 2);
        assert_eq!(p.lost().count(), 0);
        let seen = bytes(&o.latest().unwrap(), "u");
        assert!(seen[..len].iter().all(|b| *b == 3));
        assert!(seen[len..].iter().all(|b| *b == 4));
        p.release("u").unwrap();
        libc::free(moved.cast());
    }
    true
}

#[test]
fn array_is_lost_when_another_region_adopts_memory_at_its_addresses() {
    for other_pages in [0..600, 599..600] {
        let (mut p, mut o) = region("first", TrackerKind::UffdAsync);
        let (mut q, mut other) = region("second", TrackerKind::UffdAsync);
        let memory = Pages::new(600);
        memory.fill(0..600 * PAGE, 1);
        memory.adopt(&mut p, "u", 0..600 * PAGE).unwrap();
        published(&mut p, 0);
        memory.replace(other_pages.clone());
        let array = other_pages.start * PAGE..other_pages.end * PAGE;
        memory.fill(array.clone(), 2);
        memory.adopt(&mut q, "v", array.clone()).unwrap();
        published(&mut q, 0);

        // The first region must not find the store to the array of the second one, or take it.
        memory.fill(array.end - 1..array.end, 3);
        assert_eq!(published(&mut p, 1).lost, ["u"], "{other_pages:?}");
        assert!(is_lost(&o.latest().unwrap(), "u"));
        assert_eq!(published(&mut q, 1).pages, 1);
        let seen = bytes(&other.latest().unwrap(), "v");
        assert_eq!(seen.last(), Some(&3));
        assert_eq!(seen.len(), array.len());
    }
}

#[test]
fn particles_whose_arrays_have_moved_are_released_and_adopted_again() {
    on_all_trackers(|tracker| {
        let (mut p, mut o) = region("moved", tracker);
        let room =
            |p: &mut Producer, name: &str, rows: usize, memory: &Pages, on: Option<&MeshHandle>| {
                let field = p.field::<f64, _>(name, [rows, 3]).vector().variable();
                let field = on.into_iter().fold(field, |field, mesh| field.on(mesh));
                // SAFETY: as for `Pages::adopt`.
                unsafe { field.adopt(memory.at(0).cast()).unwrap() }
            };
        let mut atoms = None;
        let mut arrays = Vec::new();
        for step in 0..20u8 {
            let rows = 1000 + 100 * usize::from(step % 5);
            let pair = [Pages::new(512), Pages::new(512)];
            pair.iter()
                .for_each(|memory| memory.fill(0..512 * PAGE, step + 1));
            let x = room(&mut p, "x", rows, &pair[0], None);
            let atoms = atoms.get_or_insert_with(|| p.particles("atoms", &x).add().unwrap());
            room(&mut p, "v", rows, &pair[1], Some(atoms));
            p.set_len("atoms", rows - 1).unwrap();
            assert!(published(&mut p, u64::from(step)).lost.is_empty());
            let seen = o.latest().unwrap();
            for name in ["x", "v"] {
                assert_eq!(
                    bytes(&seen, name),
                    vec![step + 1; (rows - 1) * 24],
                    "{tracker}"
                );
            }
            // Half of the arrays are gone before they are released.
            if step % 2 == 0 {
                pair.iter().for_each(|memory| memory.unmap(0..512));
            }
            p.set_len("atoms", 0).unwrap();
            p.release("v").unwrap();
            p.release("x").unwrap();
            assert_eq!(p.lost().collect::<Vec<_>>(), ["x"]);
            arrays.push(pair);
        }
        // Positions that were released are lost until there are others.
        published(&mut p, 20);
        let without = o.latest().unwrap();
        assert!(is_lost(&without, "x") && without.field("v").is_none());
    });
}

#[test]
fn unmapped_array_is_lost_and_the_other_fields_go_on() {
    on_all_trackers(|tracker| {
        for gone in [0..1, 3..4, 2..600, 0..600] {
            let (mut p, mut o) = region("unmap", tracker);
            let own = p.field::<u8, _>("own", [PAGE]).add().unwrap();
            let memory = Pages::new(600);
            memory.fill(0..600 * PAGE, 1);
            memory.adopt(&mut p, "u", 8..600 * PAGE - 8).unwrap();
            published(&mut p, 0);
            let before = o.latest().unwrap();
            memory.unmap(gone.clone());
            p.view_mut(own).unwrap().fill(2);
            assert_eq!(published(&mut p, 1).lost, ["u"], "{tracker}, {gone:?}");
            let after = o.latest().unwrap();
            assert!(is_lost(&after, "u"));
            let mut out = [0];
            assert!(after.read_bytes("u", 0, &mut out).is_err());
            assert!(bytes(&after, "own").iter().all(|b| *b == 2));
            assert!(bytes(&before, "u").iter().all(|b| *b == 1));
            // It stays lost until it is released, and is reported once.
            assert!(published(&mut p, 2).lost.is_empty());
            assert!(is_lost(&o.latest().unwrap(), "u"));
            let back = p.rollback(1);
            assert!(matches!(back, Err(RollbackError::Lost { .. })), "{back:?}");
            p.release("u").unwrap();
            published(&mut p, 3);
            assert!(o.latest().unwrap().field("u").is_none());
        }
    });
}

#[test]
fn array_that_is_replaced_by_other_memory_or_moved_is_lost() {
    for part in [1..2, 0..600, 513..600] {
        let (mut p, mut o) = region("replace", TrackerKind::UffdAsync);
        let memory = Pages::new(600);
        memory.fill(0..600 * PAGE, 1);
        memory.adopt(&mut p, "u", 0..600 * PAGE).unwrap();
        published(&mut p, 0);
        memory.replace(part.clone());
        assert_eq!(published(&mut p, 1).lost, ["u"], "{part:?}");
        assert!(is_lost(&o.latest().unwrap(), "u"));

        // Moved away, with other memory at its old place.
        p.release("u").unwrap();
        let (memory, other) = (Pages::new(600), Pages::new(600));
        memory.fill(0..600 * PAGE, 2);
        memory.adopt(&mut p, "u", 0..600 * PAGE).unwrap();
        published(&mut p, 2);
        assert!(bytes(&o.latest().unwrap(), "u").iter().all(|b| *b == 2));
        let len = 600 * PAGE;
        let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: both ranges belong to this test, and nothing is borrowed from them.
        let moved = unsafe { libc::mremap(memory.at(0).cast(), len, len, how, other.at(0)) };
        assert_eq!(moved, other.at(0).cast());
        memory.replace(0..600);
        memory.fill(0..600 * PAGE, 3);
        assert_eq!(published(&mut p, 3).lost, ["u"]);
        assert!(is_lost(&o.latest().unwrap(), "u"));
        other.adopt(&mut p, "u", 0..600 * PAGE).unwrap();
        published(&mut p, 4);
        assert!(bytes(&o.latest().unwrap(), "u").iter().all(|b| *b == 2));
    }
}

#[test]
fn array_that_another_thread_unmaps_and_maps_anew_never_crashes_or_shows_other_memory() {
    let stop = AtomicBool::new(false);
    let (mut p, mut o) = region("race", TrackerKind::UffdAsync);
    let mut losses = 0;
    let pages = 3 * 512;
    let memory = Pages::new(pages);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                memory.replace(pages / 2..pages);
                memory.unmap(pages - 9..pages);
                memory.replace(pages - 9..pages);
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        for step in 0..400 {
            // The kernel fills what is mapped, because the other thread unmaps parts meanwhile.
            let zeros = vec![0xAA; pages * PAGE];
            // SAFETY: the buffer is a local one, and the pages belong to this test.
            let filled = unsafe {
                tcasm_core::sys::checked::write(zeros.as_ptr(), memory.at(0).addr(), zeros.len())
            };
            if filled.is_err() || memory.adopt(&mut p, "u", 0..pages * PAGE).is_err() {
                let _ = p.release("u");
                continue;
            }
            let mut first = None;
            for _ in 0..3 {
                let receipt = p.publish_visible(step, 0.0).unwrap();
                if receipt.version().is_none() {
                    continue;
                }
                let version = o.latest().unwrap();
                let view = version.view().unwrap();
                if let Ok(seen) = view.bytes("u") {
                    // Memory that was replaced before it was adopted is what the program had. What
                    // is there at the first version stays until the array is lost.
                    let first = first.get_or_insert_with(|| seen.to_vec());
                    assert!(first == seen, "the version shows other memory");
                } else {
                    losses += 1;
                    break;
                }
            }
            let _ = p.release("u");
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(losses > 0, "no array was ever lost");
}

/// Runs `body` on a thread in which the kernel has no memory for these calls.
fn short_of_memory<R: Send>(calls: &str, body: impl FnOnce() -> R + Send) -> R {
    let refused = REFUSALS.iter().find(|(name, _)| *name == calls).unwrap().1;
    let play = || {
        fail_here(refused, Errno::ENOMEM).unwrap();
        body()
    };
    std::thread::scope(|scope| scope.spawn(play).join().unwrap())
}

#[test]
fn array_is_not_lost_when_the_kernel_has_no_memory_for_a_moment() {
    on_all_trackers(|tracker| {
        for calls in ["uffd-writeprotect", "process-vm-readv"] {
            let (mut p, mut o) = region("adopt", tracker);
            let memory = Pages::new(3 * 512);
            memory.fill(0..3 * CHUNK, 1);
            let array = 100..3 * CHUNK - 100;
            memory.adopt(&mut p, "u", array.clone()).unwrap();
            for step in 0..6 {
                let written = step as usize * PAGE * 200;
                memory.fill(written..written + 10, 2 + step as u8);
                let tried = match step % 2 {
                    0 => short_of_memory(calls, || p.publish_visible(step, 0.0)),
                    _ => p.publish_visible(step, 0.0),
                };
                assert_eq!(p.lost().count(), 0, "{tracker}, {calls}, step {step}");
                let version = tried.ok().and_then(|receipt| receipt.version());
                assert!(step % 2 == 0 || version.is_some(), "{tracker}, {calls}");
                if version.is_some() {
                    let seen = bytes(&o.latest().unwrap(), "u");
                    assert!(seen == memory.bytes(array.clone()), "{tracker}, {calls}");
                }
            }
        }
    });
}
