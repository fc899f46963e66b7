//! Arrays that the program had already, adopted in place: versions have their bytes and none
//! beside them, and an array that goes away without a word is lost by name.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tcasm_core::sys::mem::{Mapping, page_size};
use tcasm_observer::{Observer, Version, ViewError};
use tcasm_producer::{
    DefineError, Field, MeshHandle, Producer, Receipt, RollbackError, TrackerKind,
};
use tcasm_tests::{PublishVisible, name, on_all_trackers};

const PAGE: usize = 4096;
const CHUNK: usize = 512 * PAGE;

fn region(stem: &str, tracker: TrackerKind) -> (Producer, Observer) {
    let name = name(stem);
    let builder = Producer::builder(&name).capacity(16 * CHUNK).history(2);
    let p = builder.tracker(tracker).create().unwrap();
    let o = Observer::attach(&name).unwrap();
    (p, o)
}

/// Memory of anonymous pages, which the test unmaps itself.
struct Pages(Mapping);

impl Pages {
    /// Returns new memory at an address that neither the kernel nor a region chooses. So what a
    /// test unmaps stays unmapped, although other threads map memory, and may be unmapped again.
    fn new(pages: usize) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0x3000_0000_0000);
        let reserved = std::iter::from_fn(|| {
            let at = NEXT.fetch_add(1 << 30, Ordering::Relaxed);
            Some(Mapping::reserve_at(at, pages * page_size()))
        });
        let memory = reserved.flatten().next().unwrap();
        // SAFETY: nothing is borrowed from the reservation.
        unsafe { memory.put_zero(0, memory.len(), true) }.unwrap();
        Pages(memory)
    }

    fn at(&self, byte: usize) -> *mut u8 {
        self.0.ptr().wrapping_add(byte)
    }

    fn fill(&self, bytes: std::ops::Range<usize>, value: u8) {
        // SAFETY: the bytes are mapped, and this test uses them through this pointer only.
        unsafe { self.at(bytes.start).write_bytes(value, bytes.len()) };
    }

    /// Maps new pages of zeros over the old ones.
    fn replace(&self, pages: std::ops::Range<usize>) {
        let size = page_size();
        // SAFETY: nothing is borrowed from the pages.
        unsafe {
            self.0
                .put_zero(pages.start * size, pages.len() * size, true)
        }
        .unwrap();
    }

    fn unmap(&self, pages: std::ops::Range<usize>) {
        let size = page_size();
        let at = self.at(pages.start * size).cast();
        // SAFETY: nothing is borrowed from the pages.
        assert_eq!(unsafe { libc::munmap(at, pages.len() * size) }, 0);
    }

    /// Adopts bytes as a field.
    fn adopt(
        &self,
        p: &mut Producer,
        field: &str,
        bytes: std::ops::Range<usize>,
    ) -> Result<Field<u8, ndarray::Ix1>, DefineError> {
        // SAFETY: the tests write these bytes between calls of the producer only, and make no view
        // of them that outlives the memory. Where they unmap them, that is what they test.
        unsafe { p.adopt(field, self.at(bytes.start), [bytes.len()]) }
    }
}

fn bytes(version: &Version, field: &str) -> Vec<u8> {
    version.view().unwrap().bytes(field).unwrap().to_vec()
}

fn published(p: &mut Producer, step: u64) -> tcasm_producer::Published {
    match p.publish_visible(step, 0.0).unwrap() {
        Receipt::Published(published) => published,
        Receipt::Skipped { reason, .. } => panic!("skipped: {reason}"),
    }
}

fn is_lost(version: &Version, field: &str) -> bool {
    let view = version.view().unwrap();
    matches!(view.bytes(field), Err(ViewError::Lost { name }) if name == field)
}

#[test]
fn versions_have_the_bytes_of_an_adopted_array_and_zeros_beside_it() {
    on_all_trackers(|tracker| {
        let (mut p, mut o) = region("adopt", tracker);
        let own = p.field::<u8, _>("own", [3 * PAGE]).add().unwrap();
        let memory = Pages::new(6);
        memory.fill(0..6 * PAGE, 0xEE);
        let array = 100..4 * PAGE + 50;
        memory.fill(array.clone(), 1);
        let field = memory.adopt(&mut p, "u", array.clone()).unwrap();
        p.view_mut(own).unwrap().fill(7);
        published(&mut p, 0);
        let first = o.latest().unwrap();
        assert!(bytes(&first, "u").iter().all(|b| *b == 1));
        let offset = first.field("u").unwrap().offset as usize;
        assert_eq!(offset % PAGE, memory.at(100).addr() % PAGE);
        let view = first.view().unwrap();
        let page = |at: usize| {
            // SAFETY: the view shows the whole region, and the version is pinned.
            unsafe { std::slice::from_raw_parts((view.address() + at) as *const u8, 100) }
        };
        assert!(
            page(offset - 100).iter().all(|b| *b == 0),
            "before the array"
        );
        assert!(
            page(offset + array.len()).iter().all(|b| *b == 0),
            "behind it"
        );

        // Stores beside the array change nothing, stores to it one page each.
        memory.fill(0..100, 0xDD);
        memory.fill(4 * PAGE + 50..5 * PAGE, 0xDD);
        assert_eq!(published(&mut p, 1).pages, 0, "{tracker}");
        let mut expected = vec![1; array.len()];
        for (byte, value) in [(100, 2), (2 * PAGE + 9, 3), (4 * PAGE + 49, 4)] {
            memory.fill(byte..byte + 1, value);
            expected[byte - 100] = value;
        }
        assert_eq!(published(&mut p, 2).pages, 3, "{tracker}");
        let second = o.latest().unwrap();
        assert_eq!(bytes(&second, "u"), expected);
        assert!(bytes(&second, "own").iter().all(|b| *b == 7));
        assert!(bytes(&first, "u").iter().all(|b| *b == 1));
        assert_eq!(p.view(field).unwrap().to_vec(), expected);

        p.release("u").unwrap();
        memory.fill(array, 9);
        assert_eq!(published(&mut p, 3).pages, 0, "{tracker}");
        assert!(o.latest().unwrap().field("u").is_none());
        assert_eq!(bytes(&second, "u"), expected);
        assert!(matches!(
            p.view(field),
            Err(tcasm_producer::ViewError::Gone)
        ));
    });
}

#[test]
fn static_memory_is_adopted_with_the_values_that_it_was_compiled_with() {
    static mut TABLE: [u8; 5 * PAGE + 3] = [5; 5 * PAGE + 3];
    on_all_trackers(|tracker| {
        let (mut p, mut o) = region("static", tracker);
        // SAFETY: only this test uses the static, between calls of the producer.
        unsafe { p.adopt("u", (&raw mut TABLE).cast::<u8>(), [5 * PAGE + 3]) }.unwrap();
        published(&mut p, 0);
        // SAFETY: as above.
        let value = unsafe { (&raw const TABLE[9]).read() };
        assert!(bytes(&o.latest().unwrap(), "u").iter().all(|b| *b == value));
        // SAFETY: as above.
        unsafe {
            (&raw mut TABLE)
                .cast::<u8>()
                .write_bytes(value + 1, 5 * PAGE + 3)
        };
        published(&mut p, 1);
        assert!(
            bytes(&o.latest().unwrap(), "u")
                .iter()
                .all(|b| *b == value + 1)
        );
    });
}

#[test]
fn array_of_the_allocator_is_lost_when_realloc_moves_it_and_can_be_adopted_again() {
    // SAFETY: every large array is a mapping of its own from now on; nothing depends on it.
    assert_eq!(unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 1 << 20) }, 1);
    on_all_trackers(|tracker| {
        // Another thread of this process may map memory at the old addresses, or behind the array.
        let moved = (0..50).any(|_| array_that_realloc_moves_is_lost(tracker));
        assert!(moved, "{tracker}: realloc has never moved the array");
    });
}

/// Returns false if realloc did not move the array, or if there was other memory at its old
/// addresses at once.
fn array_that_realloc_moves_is_lost(tracker: TrackerKind) -> bool {
    let (mut p, mut o) = region("realloc", tracker);
    let (len, more) = (CHUNK + 100, 5 * CHUNK);
    // SAFETY: plain calls of the allocator; the memory is used as it allows.
    unsafe {
        let array = libc::malloc(len).cast::<u8>();
        array.write_bytes(3, len);
        p.adopt("u", array, [len]).unwrap();
        published(&mut p, 0);
        let moved = libc::realloc(array.cast(), more).cast::<u8>();
        let place = Mapping::reserve_at(array.addr() / PAGE * PAGE, CHUNK);
        if moved == array || place.is_err() {
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
fn dropped_pages_of_an_adopted_array_are_zeros_in_the_next_version() {
    on_all_trackers(|tracker| {
        let (mut p, mut o) = region("drop", tracker);
        let memory = Pages::new(8);
        memory.fill(0..8 * PAGE, 1);
        memory.adopt(&mut p, "u", 0..8 * PAGE).unwrap();
        published(&mut p, 0);
        // SAFETY: nothing is borrowed from the pages.
        let done = unsafe { libc::madvise(memory.at(PAGE).cast(), PAGE, libc::MADV_DONTNEED) };
        assert_eq!(done, 0);
        assert!(published(&mut p, 1).lost.is_empty());
        let seen = bytes(&o.latest().unwrap(), "u");
        assert!(
            (0..8 * PAGE).all(|i| seen[i] == u8::from(i / PAGE != 1)),
            "{tracker}"
        );
    });
}

#[test]
fn misuse_is_a_clear_error() {
    let (mut p, _o) = region("misuse", TrackerKind::UffdAsync);
    let memory = Pages::new(8);
    let text = |result: Result<Field<u8, ndarray::Ix1>, DefineError>| {
        result.map(drop).unwrap_err().to_string()
    };
    memory.adopt(&mut p, "u", 100..3 * PAGE).unwrap();
    let twice = text(memory.adopt(&mut p, "u", 4 * PAGE..5 * PAGE));
    assert!(twice.contains("exists already"), "{twice}");
    let overlap = text(memory.adopt(&mut p, "v", 3 * PAGE - 1..4 * PAGE));
    assert!(
        overlap.contains("overlaps an array that is adopted"),
        "{overlap}"
    );
    let own = p.field::<u8, _>("own", [PAGE]).add().unwrap();
    let inside = p.view_mut(own).unwrap().as_mut_ptr();
    // SAFETY: this is refused.
    let inside = text(unsafe { p.adopt("w", inside, [10]) });
    assert!(inside.contains("overlaps the region itself"), "{inside}");
    // SAFETY: these are refused.
    let null = text(unsafe { p.adopt("w", std::ptr::null_mut(), [10]) });
    assert!(null.contains("nothing is mapped at 0x0"), "{null}");
    let beyond = text(memory.adopt(&mut p, "w", 7 * PAGE..9 * PAGE));
    assert!(!beyond.is_empty());
    // SAFETY: this is refused.
    let odd = unsafe { p.adopt::<f64, _>("w", memory.at(4 * PAGE + 4).cast(), [10]) };
    let odd = odd.map(drop).unwrap_err().to_string();
    assert!(odd.contains("not a multiple of 8"), "{odd}");
    let large = Pages::new(10_000);
    let large = text(large.adopt(&mut p, "w", 0..10_000 * PAGE));
    assert!(large.contains("larger capacity"), "{large}");
    let constant: &[u8] = include_bytes!("adopt.rs");
    // SAFETY: this is refused.
    let constant = text(unsafe { p.adopt("w", constant.as_ptr().cast_mut(), [10]) });
    assert!(
        constant.contains("cannot be read and written"),
        "{constant}"
    );
    assert!(matches!(
        p.release("own"),
        Err(DefineError::NotAdopted { .. })
    ));
    assert!(matches!(p.release("w"), Err(DefineError::NoField { .. })));
    p.publish(0, 0.0).unwrap();
    p.release("u").unwrap();
    assert!(matches!(p.release("u"), Err(DefineError::NoField { .. })));
    memory.adopt(&mut p, "u", 0..5).unwrap();
    p.publish(1, 0.0).unwrap();
}

#[test]
fn rollback_restores_adopted_arrays_and_nothing_beside_them() {
    on_all_trackers(|tracker| {
        let (mut p, mut o) = region("back", tracker);
        let memory = Pages::new(700);
        memory.fill(0..700 * PAGE, 0xEE);
        let array = 9..650 * PAGE + 5;
        memory.fill(array.clone(), 1);
        let field = memory.adopt(&mut p, "u", array.clone()).unwrap();
        let version = published(&mut p, 0).version;
        memory.fill(array.start..array.start + 3, 2);
        memory.fill(300 * PAGE..400 * PAGE, 2);
        memory.fill(array.end - 1..array.end, 2);
        memory.fill(array.end..array.end + 9, 0xDD);
        published(&mut p, 1);
        p.rollback(version).unwrap();
        assert!(p.view(field).unwrap().iter().all(|b| *b == 1), "{tracker}");
        // SAFETY: the bytes are mapped, and nothing writes them.
        let beside = unsafe { std::slice::from_raw_parts(memory.at(0), 9) };
        assert!(beside.iter().all(|b| *b == 0xEE));
        // SAFETY: as above.
        let beside = unsafe { std::slice::from_raw_parts(memory.at(array.end), 9) };
        assert!(beside.iter().all(|b| *b == 0xDD));
        published(&mut p, 2);
        assert!(bytes(&o.latest().unwrap(), "u").iter().all(|b| *b == 1));
    });
}

#[test]
fn pages_of_released_arrays_are_used_again_and_their_memory_is_returned() {
    on_all_trackers(|tracker| {
        let (mut p, mut o) = region("again", tracker);
        for step in 0..40u8 {
            let memory = Pages::new(3 * 512 + 7);
            let len = (3 * 512 + 2) * PAGE;
            memory.fill(0..len, step + 1);
            let from = usize::from(step % 3) * 64;
            memory.adopt(&mut p, "u", from..len).unwrap();
            published(&mut p, u64::from(step));
            let version = o.latest().unwrap();
            assert!(
                bytes(&version, "u").iter().all(|b| *b == step + 1),
                "{tracker}"
            );
            drop(version);
            p.release("u").unwrap();
            published(&mut p, 100 + u64::from(step));
        }
        published(&mut p, 200);
        published(&mut p, 201);
        published(&mut p, 202);
        p.trim().unwrap();
        assert_eq!(p.stats().held_bytes, 0, "{tracker}");
    });
}

/// Returns the bytes of the mappings at these addresses that consist of huge pages.
fn huge_bytes(range: std::ops::Range<usize>) -> usize {
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut inside, mut bytes) = (false, 0);
    for line in smaps.lines() {
        let first = line.split_whitespace().next().unwrap_or_default();
        if let Some((start, end)) = first.split_once('-') {
            let hex = |digits| usize::from_str_radix(digits, 16).unwrap();
            inside = hex(start) < range.end && range.start < hex(end);
        } else if inside && first == "AnonHugePages:" {
            let kib = line.split_whitespace().nth(1).unwrap();
            bytes += kib.parse::<usize>().unwrap() << 10;
        }
    }
    bytes
}

#[test]
fn huge_pages_of_an_adopted_array_stay_huge_until_they_are_written() {
    let (mut p, mut o) = region("huge", TrackerKind::UffdAsync);
    let memory = Pages::new(10 * 512);
    let first = memory.at(0).addr().next_multiple_of(CHUNK) - memory.at(0).addr();
    let (start, len) = (memory.at(first), 8 * CHUNK);
    memory.fill(first..first + len, 1);
    // SAFETY: the kernel moves the bytes to other physical memory, and changes none.
    let gathered = unsafe { libc::madvise(start.cast(), len, 25) };
    assert_eq!(gathered, 0, "{}", std::io::Error::last_os_error());
    let range = start.addr()..start.addr() + len;
    assert_eq!(huge_bytes(range.clone()), len);
    // The array begins and ends inside a huge page.
    let array = first + 24..first + len - 40;
    memory.adopt(&mut p, "u", array).unwrap();
    for step in 0..5 {
        published(&mut p, step);
    }
    assert!(bytes(&o.latest().unwrap(), "u").iter().all(|b| *b == 1));
    assert!(
        huge_bytes(range.clone()) >= len - 2 * CHUNK,
        "{}",
        huge_bytes(range)
    );
    memory.fill(first + 3 * CHUNK..first + 3 * CHUNK + 1, 2);
    assert_eq!(published(&mut p, 9).pages, 1);
    assert!(huge_bytes(range) >= len - 3 * CHUNK);
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

#[test]
fn array_that_takes_the_pages_of_another_one_shows_none_of_its_values() {
    on_all_trackers(|tracker| {
        let (mut p, mut o) = region("reused", tracker);
        let arrays: Vec<Pages> = (0..40).map(|_| Pages::new(1)).collect();
        for (i, array) in arrays.iter().enumerate() {
            let name = format!("array-{i}");
            array.adopt(&mut p, &name, 0..PAGE).unwrap();
        }
        arrays.iter().for_each(|array| array.fill(0..PAGE, 1));
        p.publish_visible(1, 0.0).unwrap();
        let first = o.latest().unwrap();
        // Every other page is in another plane now, so observers copy the chunk. In the next
        // versions they renew only the pages that have changed.
        arrays
            .iter()
            .step_by(2)
            .for_each(|array| array.fill(0..PAGE, 2));
        p.publish_visible(2, 0.0).unwrap();
        let view = o.latest().unwrap().view().unwrap();
        assert!(view.array::<u8>("array-4").unwrap().iter().all(|x| *x == 2));
        drop((view, first));

        p.release("array-4").unwrap();
        p.publish_visible(3, 0.0).unwrap();
        drop(o.latest().unwrap().view().unwrap());
        let other = Pages::new(1);
        other.adopt(&mut p, "other", 0..PAGE).unwrap();
        p.publish_visible(4, 0.0).unwrap();
        let view = o.latest().unwrap().view().unwrap();
        let shown = view.array::<u8>("other").unwrap();
        assert!(shown.iter().all(|x| *x == 0), "{tracker}: {shown:?}");
    });
}
