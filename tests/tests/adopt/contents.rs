//! The bytes of adopted arrays in versions, and misuse.

use super::memory::*;
use tcasm_producer::{DefineError, Field, TrackerKind};
use tcasm_tests::on_all_trackers;

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
    let constant: &[u8] = include_bytes!("contents.rs");
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
