//! Comparing live memory with the newest version.

use super::*;

/// Returns those of `pages` that differ from the newest version.
fn changed(world: &World, pages: Range<usize>) -> Vec<usize> {
    let mut set = PageSet::new(PAGES);
    set.insert_range(pages);
    let (live, copiers) = (segments(&world.live), &world.copiers);
    // SAFETY: `live` has all pages of the region, and nobody writes it.
    unsafe {
        world
            .store
            .drop_unchanged(&live, &mut set, copiers)
            .unwrap()
    };
    set.iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn exactly_the_pages_that_differ_are_found_however_many_are_compared(
        versions in proptest::collection::vec((0..PAGES, 1usize..900), 0..4),
        (written, first) in ((0..PAGES, 1usize..900), 0..PAGES),
    ) {
        let mut world = World::new(10 * PAGES * PAGE, 1);
        for version in versions {
            world.publish(&[version], How::default())?;
        }
        world.next += 2;
        world.compute(&[(written.0, written.1.min(PAGES - written.0))]);
        let before = world.seen.values().last().map(|seen| seen.bytes.clone());
        let before = before.unwrap_or_else(|| vec![0; PAGES]);
        let differs = |page: &usize| before[*page] != world.live[page * PAGE];
        // Some of these ranges are compared by all threads, and some by this one.
        for pages in [0..PAGES, first..PAGES, first..PAGES.min(first + 1000)] {
            let wanted: Vec<usize> = pages.clone().filter(differs).collect();
            prop_assert_eq!(changed(&world, pages), wanted);
        }
    }
}
