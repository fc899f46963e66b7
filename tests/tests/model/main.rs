//! Random sequences of everything a producer and its observers do, against a naive model.
//!
//! After every step that could change a version, all held versions are read in every way there is,
//! and must equal the model byte for byte. `PROPTEST_CASES` scales the number of sequences.

mod ops;
mod world;

use ops::{Op, Region, ops, region};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};
use std::cell::Cell;
use tcasm_producer::{CaptureMode, HugePages, TrackerKind};
use tcasm_tests::reserved::Pool;
use tcasm_tests::runtime_dir;
use world::{Check, Way, World};

/// The number of sequences in which memory became shared with planes, in which it consisted of huge
/// pages, and in which chunks were assembled.
#[derive(Default)]
struct Runs {
    shared: Cell<u32>,
    huge: Cell<u32>,
    assembled: Cell<u32>,
}

fn run(way: Way, region: &Region, ops: &[Op], runs: &Runs) -> Check {
    let mut world = World::new(way, region)?;
    let (mut was_shared, mut was_huge) = (false, false);
    for (i, op) in ops.iter().enumerate() {
        world
            .apply(op)
            .map_err(|e| format!("step {i}, {op:?}: {e}"))?;
        was_shared |= world.shared_bytes() != 0;
        was_huge |= region.huge != HugePages::Off && world.has_huge_pages();
    }
    runs.shared.set(runs.shared.get() + u32::from(was_shared));
    runs.huge.set(runs.huge.get() + u32::from(was_huge));
    let was_assembled = u32::from(world.chunks_assembled != 0);
    runs.assembled.set(runs.assembled.get() + was_assembled);
    world.publish(false, None)?;
    world.check_all()?;
    world.close()
}

fn check(way: Way) {
    let (cases, runs) = check_regions(way, |region| region);
    let (shared, huge) = (runs.shared.get(), runs.huge.get());
    let assembled = runs.assembled.get();
    if way.1 != CaptureMode::Inline {
        assert!(
            assembled >= cases / 100,
            "assembled: {assembled} of {cases}"
        );
    }
    if way.0 == TrackerKind::UffdAsync && way.1 != CaptureMode::Deferred {
        assert!(shared >= cases / 20, "shared: {shared} of {cases}");
        assert!(huge >= cases / 100, "huge pages: {huge} of {cases}");
    }
}

/// Runs random sequences in regions that `change` has changed. Returns how many there were, and
/// what became of their memory.
fn check_regions(way: Way, change: impl Fn(Region) -> Region) -> (u32, Runs) {
    runtime_dir();
    let mut config = Config {
        max_shrink_iters: 400,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 256;
    }
    config.failure_persistence = Some(Box::new(FileFailurePersistence::Direct(
        "tests/model.regressions",
    )));
    let (cases, runs) = (config.cases, Runs::default());
    let result = TestRunner::new(config).run(&(region(), ops()), |(region, ops)| {
        run(way, &change(region), &ops, &runs).map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{way:?}: {error}"));
    let (shared, huge) = (runs.shared.get(), runs.huge.get());
    let assembled = runs.assembled.get();
    println!(
        "{way:?}: of {cases} sequences, memory became shared in {shared}, was huge in {huge}, and \
         chunks were assembled in {assembled}"
    );
    (cases, runs)
}

#[test]
fn random_sequences_agree_with_the_model_under_uffd_async() {
    check((TrackerKind::UffdAsync, CaptureMode::Auto));
}

#[test]
fn random_sequences_agree_with_the_model_with_inline_capture() {
    check((TrackerKind::UffdAsync, CaptureMode::Inline));
}

#[test]
fn random_sequences_agree_with_the_model_with_deferred_capture() {
    check((TrackerKind::UffdAsync, CaptureMode::Deferred));
}

#[test]
fn random_sequences_agree_with_the_model_under_cow() {
    check((TrackerKind::Cow, CaptureMode::Auto));
}

#[test]
fn random_sequences_agree_with_the_model_under_compare() {
    check((TrackerKind::Compare, CaptureMode::Auto));
}

#[test]
fn random_sequences_agree_with_the_model_in_reserved_huge_pages() {
    let reserved = |region: Region| Region {
        huge: HugePages::Reserved,
        ..region
    };
    // One region at a time exists, and takes three of them.
    let Some(_pool) = Pool::with_free(3) else {
        return;
    };
    let (cases, runs) = check_regions((TrackerKind::Compare, CaptureMode::Auto), reserved);
    let (shared, huge) = (runs.shared.get(), runs.huge.get());
    assert_eq!(shared, 0);
    assert!(huge >= cases / 2, "huge pages: {huge} of {cases}");
}
