//! Views while mappings are short, and after that. The only test of this file: windows of other
//! tests in the same process would take mappings, too.

use tcasm_core::sys::mem::max_map_count;
use tcasm_observer::View;
use tcasm_tests::procfs;
use tcasm_tests::views::{PAGE, Pair, word};

/// Pages of a chunk.
const CHUNK: usize = 512;

/// Returns true if all own memory of the window of `view` is one writable mapping. No version has
/// the last page of the region, so it is own memory.
fn is_flat(view: &View) -> bool {
    let end = view.address() + view.extent().bytes as usize;
    match procfs::access(end - PAGE).as_str() {
        "rw-p" => true,
        "r--p" => false,
        access => panic!("the last page is {access:?}"),
    }
}

#[test]
fn views_are_flat_only_as_long_as_mappings_are_short() {
    // Each is a page in a chunk of its own, so it is two borders between mappings. Two windows find
    // enough mappings in their half of the kernel's limit, and three do not.
    let pages = max_map_count() / 2 / 7;
    let bytes = (pages + 1) * CHUNK * PAGE;
    let mut p = Pair::with("flat", bytes, 8, |b| b.shared_backing(false));
    p.publish((0..pages).map(|i| i * CHUNK + 1));
    let mut step = 1;
    let mut next = || {
        step += 1;
        p.publish(std::iter::once(1));
        let view = p.latest().view().unwrap();
        let bytes = view.bytes("bytes").unwrap();
        assert_eq!(bytes[PAGE..PAGE + 8], word(step, 1));
        let last = (pages - 1) * CHUNK + 1;
        assert_eq!(bytes[last * PAGE..last * PAGE + 8], word(1, last));
        view
    };
    let (first, second) = (next(), next());
    assert!(!is_flat(&first) && !is_flat(&second));
    for round in 0..3 {
        // Its window is parked, and taken over in the next round.
        assert!(is_flat(&next()), "two views are held, round {round}");
    }
    let third = next();
    assert!(is_flat(&third));
    drop((first, second, third));
    let view = next();
    assert!(!is_flat(&view), "no other view is held");
    let later = next();
    assert!(!is_flat(&view) && !is_flat(&later));
}
