//! Tests assembly step by step, and with sequences of steps in which it happens often.

use super::*;

const ASSEMBLED: How = How {
    deferred: false,
    compared: false,
    assembled: true,
};
const COMPARED: How = How {
    compared: true,
    ..ASSEMBLED
};

/// Returns every `step`th page of the first `chunks` chunks, from page `first`.
fn every(step: usize, first: usize, chunks: usize) -> Vec<(usize, usize)> {
    let pages = (first..chunks * CHUNK_PAGES).step_by(step);
    pages.map(|page| (page, 1)).collect()
}

/// Returns a store with a version in which all pages are written, and memory for `versions`.
fn written(versions: usize) -> World {
    let mut world = World::new(versions * PAGES * PAGE, 0);
    world.step(&[(0, PAGES)], How::default());
    world
}

impl World {
    /// Returns the number of runs of pages of the first `chunks` chunks in the newest version.
    fn runs_of(&self, chunks: usize) -> usize {
        let newest = self.store.newest().unwrap().unwrap();
        newest.runs(0..chunks * CHUNK_PAGES).unwrap().len()
    }

    /// Publishes, and checks all versions.
    fn step(&mut self, runs: &[(usize, usize)], how: How) {
        self.run(&Op::Publish(runs.to_vec(), how)).unwrap();
    }
}

#[test]
fn scattered_chunks_are_one_run_after_assembly() {
    let mut world = written(4);
    world.step(&every(10, 3, 3), How::default());
    assert!(world.runs_of(3) > 300);
    for first in 0..9 {
        world.step(&every(10, first, 3), ASSEMBLED);
        assert!(world.runs_of(3) <= 3);
    }
}

#[test]
fn chunks_with_pages_that_no_field_has_any_more_stay_as_they_are() {
    let mut world = written(4);
    world.step(&every(10, 3, 1), How::default());
    let leave = Op::Vacate((7, 1), every(10, 4, 1), ASSEMBLED);
    world.run(&leave).unwrap();
    assert!(world.runs_of(1) > 100);
}

#[test]
fn chunks_that_are_cheap_to_map_stay_as_they_are() {
    let mut world = written(4);
    // Few runs; and a page of a chunk that has pages without memory.
    world.step(&[(5, 3), (9, 200)], ASSEMBLED);
    assert_eq!(world.runs_of(1), 5);
    let mut sparse = World::new(4 * PAGES * PAGE, 0);
    sparse.step(&[(0, CHUNK_PAGES - 1)], How::default());
    sparse.step(&every(10, 3, 1), ASSEMBLED);
    assert!(sparse.runs_of(1) > 100);
}

#[test]
fn assembly_takes_no_memory_that_must_be_freed_first() {
    let mut world = World::new((PAGES + 200) * PAGE, 0);
    world.step(&[(0, PAGES)], How::default());
    let next = world.next;
    world.step(&every(10, 3, 3), ASSEMBLED);
    assert_eq!(world.next, next + 1, "the version is published");
    assert!(world.runs_of(3) > 300);
}

#[test]
fn pages_of_a_batch_that_is_ready_are_not_assembled() {
    let mut world = written(4);
    world.step(&every(2, 0, 1), How::default());
    (0..2).for_each(|_| world.step(&[(PAGES - 1, 1)], How::default()));
    let gather = world.store.gather().unwrap().expect("chunk 0 is cold");
    gather.copy().unwrap();
    assert!(world.store.gathered(true) > 0);
    world.step(&every(20, 1, 1), ASSEMBLED);
}

#[test]
fn pages_found_unchanged_while_they_are_copied_are_part_of_an_assembled_chunk() {
    let mut world = written(4);
    begin_pair(&mut world);
    world.step(&every(10, 3, 1), ASSEMBLED);
    let mut runs = every(10, 3, 1);
    runs.extend(every(10, 4, 1));
    world.step(&runs, COMPARED);
    assert_eq!(world.runs_of(1), 1);
}

#[test]
fn chunk_without_changes_stays_where_it_is() {
    let mut world = written(4);
    begin_pair(&mut world);
    world.step(&every(10, 3, 1), ASSEMBLED);
    let entry = |world: &World| world.store.newest().unwrap().unwrap().entry(0).unwrap();
    let before = entry(&world);
    world.step(&every(10, 3, 1), COMPARED);
    assert_eq!(entry(&world), before);
}

/// The model writes the same values in two versions. The next two versions are such a pair.
fn begin_pair(world: &mut World) {
    while !world.next.is_multiple_of(2) {
        world.step(&[(PAGES - 1, 1)], How::default());
    }
}

#[test]
fn chunk_for_which_no_plane_has_all_frames_is_not_assembled() {
    let mut rest = PageSet::new(PAGES);
    rest.insert_range(0..2 * CHUNK_PAGES);
    rest.remove_range(7..8);
    let mut frames = Frames::default();
    frames.insert_range(0, 0..300, PAGES);
    frames.insert_range(1, 300..CHUNK_PAGES, PAGES);
    frames.insert_range(1, CHUNK_PAGES..2 * CHUNK_PAGES, PAGES);
    let mut reserved = Reserved {
        slot: 0,
        frames,
        rest,
    };
    reserved.leave_out_split(PAGES);
    assert!(reserved.rest.iter().eq(CHUNK_PAGES..2 * CHUNK_PAGES));
    let chunk = |n: usize| reserved.frames.in_chunk(n).map(|(plane, _)| plane);
    assert!(chunk(0).eq([0]) && chunk(1).eq([1]));
    assert_eq!(reserved.frames.len(), 1 + CHUNK_PAGES);
}

fn op() -> impl Strategy<Value = Op> {
    let scattered = (0usize..30, 2usize..30, 1usize..4)
        .prop_map(|(first, step, chunks)| every(step, first, chunks));
    let how = (any::<bool>(), any::<bool>()).prop_map(|(compared, deferred)| How {
        compared,
        deferred,
        assembled: true,
    });
    prop_oneof![
        8 => (scattered, how).prop_map(|(runs, how)| Op::Publish(runs, how)),
        2 => (0usize..4).prop_map(|chunk| {
            Op::Publish(vec![(chunk * CHUNK_PAGES, CHUNK_PAGES)], How::DEFERRED)
        }),
        3 => Just(Op::Pin),
        3 => any::<bool>().prop_map(Op::Unpin),
        1 => Just(Op::Trim),
        2 => (0usize..2, 0usize..4, 1usize..5).prop_map(|(chunk, first, every)| Op::Scatter {
            chunk,
            first,
            every,
        }),
        2 => Just(Op::Gather),
        2 => Just(Op::Gathered(true)),
        2 => (0usize..3).prop_map(Op::Share),
        1 => Just(Op::Scan),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn versions_with_assembled_chunks_equal_the_model(
        ops in proptest::collection::vec(op(), 1..30),
        history in 0usize..3,
        room in prop_oneof![Just(2 * PAGES), Just(8 * PAGES)],
    ) {
        let mut world = World::new(room * PAGE, history);
        world.publish(&[(0, PAGES)], How::default())?;
        ops.iter().try_for_each(|op| world.run(op))?;
    }
}
