//! The pages that adopted arrays have in a region, and their huge pages.

use super::memory::*;
use tcasm_producer::TrackerKind;
use tcasm_tests::child::poll_until;
use tcasm_tests::{PublishVisible, on_all_trackers};

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
    // The kernel refuses pages that it uses at the moment.
    poll_until("the pages are huge", || {
        // SAFETY: the kernel moves the bytes to other physical memory, and changes none.
        (unsafe { libc::madvise(start.cast(), len, 25) } == 0).then_some(())
    });
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
