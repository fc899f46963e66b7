//! Many views of a large region of which little exists. They need few mappings.

use tcasm_core::sys::mem::max_map_count;
use tcasm_observer::View;
use tcasm_tests::views::{PAGE, Pair, mapped_in_all, word};

const REGION: usize = 64 << 30;
/// The pages that exist. Each is in a chunk of its own, and splits the mapping around it.
const PAGES: usize = 2500;
const VERSIONS: u64 = 8;
const VIEWS_OF_EACH: usize = 8;

/// Returns the number of page `i` of those that exist.
fn page(i: usize) -> usize {
    i * (REGION / PAGE / PAGES) + i % 7
}

/// Returns true if version `n` changes page `i` of those that exist.
fn changes(n: u64, i: usize) -> bool {
    n == 1 || i as u64 % 2 == n % 2
}

fn assert_right(view: &View) {
    let bytes = view.bytes("bytes").unwrap();
    for i in 0..PAGES {
        let (at, n) = (page(i) * PAGE, view.number());
        let last = (1..=n).rev().find(|n| changes(*n, i)).unwrap();
        assert_eq!(
            bytes[at..at + 8],
            word(last, page(i)),
            "page {i} of version {n}"
        );
        assert_eq!(bytes[at + 2 * PAGE], 0, "behind page {i} of version {n}");
    }
}

#[test]
fn views_of_a_sparse_region_take_at_most_half_of_the_mappings() {
    let mut p = Pair::new("sparse", REGION, VERSIONS as usize);
    let mut views = Vec::new();
    for n in 1..=VERSIONS {
        p.publish((0..PAGES).filter(|i| changes(n, *i)).map(page));
        for _ in 0..2 {
            let version = p.latest();
            views.extend((0..VIEWS_OF_EACH / 2).map(|_| version.view().unwrap()));
        }
    }
    assert_eq!(views.len(), 64);
    views.iter().for_each(assert_right);
    let (stats, half) = (p.observer.stats().unwrap(), max_map_count() / 2);
    assert_eq!(
        stats.windows as u64, VERSIONS,
        "views of a version share one"
    );
    let mapped = mapped_in_all(views.iter());
    assert!(mapped > 2 * PAGES, "only {mapped} mappings");
    assert!(
        mapped <= stats.mappings && stats.mappings <= half,
        "{mapped}, {stats:?}"
    );
    // Where all windows together would need more, some have copies of the pages that exist.
    let lacking = 2 * PAGES * VERSIONS as usize > half;
    assert!(stats.copied_bytes > 0 || !lacking, "{stats:?}");
    assert!(
        stats.copied_bytes <= VERSIONS * (PAGES * PAGE) as u64,
        "{stats:?}"
    );
}
