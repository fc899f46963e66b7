//! Random sequences of everything a producer and its observers do, against a naive model.
//!
//! After every step that could change a version, all held versions are read in every way there is,
//! and must equal the model byte for byte. `PROPTEST_CASES` scales the number of sequences.

mod ops;
mod world;

use ops::{Op, Region, ops, region};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};
use std::cell::Cell;
use tcasm_producer::{CaptureMode, TrackerKind};
use tcasm_tests::runtime_dir;
use world::{Check, Way, World};

/// The number of sequences in which memory became shared with planes, and in which it was gathered
/// into huge pages.
#[derive(Default)]
struct Runs {
    shared: Cell<u32>,
    huge: Cell<u32>,
}

fn run(way: Way, region: &Region, ops: &[Op], runs: &Runs) -> Check {
    let mut world = World::new(way, region)?;
    let (mut was_shared, mut was_huge) = (false, false);
    for (i, op) in ops.iter().enumerate() {
        world
            .apply(op)
            .map_err(|e| format!("step {i}, {op:?}: {e}"))?;
        was_shared |= world.shared_bytes() != 0;
        was_huge |= region.huge && world.has_huge_pages();
    }
    runs.shared.set(runs.shared.get() + u32::from(was_shared));
    runs.huge.set(runs.huge.get() + u32::from(was_huge));
    world.publish(false, None)?;
    world.check_all()?;
    world.close()
}

fn check(way: Way) {
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
        run(way, &region, &ops, &runs).map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{way:?}: {error}"));
    let (shared, huge) = (runs.shared.get(), runs.huge.get());
    println!(
        "{way:?}: in {shared} of {cases} sequences memory became shared, in {huge} huge pages"
    );
    if way.0 == TrackerKind::UffdAsync && way.1 != CaptureMode::Deferred {
        assert!(shared >= cases / 20, "shared: {shared} of {cases}");
        assert!(huge >= cases / 100, "huge pages: {huge} of {cases}");
    }
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
