//! Random sequences of everything a producer and its observers do, against a naive model.
//!
//! After every step that could change a version, all held versions are read in every way there is,
//! and must equal the model byte for byte. `PROPTEST_CASES` scales the number of sequences.

mod ops;
mod world;

use ops::{Op, bounds, first, nodes, ops};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};
use std::cell::Cell;
use tcasm_core::store::Bounds;
use tcasm_producer::{CaptureMode, TrackerKind};
use tcasm_tests::runtime_dir;
use world::{Check, Way, World};

/// The settings of a region, and the number of nodes of memory of the machine.
type Region = (Bounds, usize, usize);

fn run(way: Way, region: Region, ops: &[Op], shared_runs: &Cell<u32>) -> Check {
    let (bounds, first, nodes) = region;
    let mut world = World::new(way, bounds, first, nodes)?;
    let mut was_shared = false;
    for (i, op) in ops.iter().enumerate() {
        world
            .apply(op)
            .map_err(|e| format!("step {i}, {op:?}: {e}"))?;
        was_shared |= world.shared_bytes() != 0;
    }
    shared_runs.set(shared_runs.get() + u32::from(was_shared));
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
    let strategy = (bounds(), first(), nodes(), ops());
    let (cases, shared_runs) = (config.cases, Cell::new(0));
    let result = TestRunner::new(config).run(&strategy, |(bounds, first, nodes, ops)| {
        run(way, (bounds, first, nodes), &ops, &shared_runs).map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{way:?}: {error}"));
    println!(
        "{way:?}: in {} of {cases} sequences memory became shared",
        shared_runs.get()
    );
    if way.0 == TrackerKind::UffdAsync && way.1 != CaptureMode::Deferred {
        assert!(
            shared_runs.get() >= cases / 20,
            "{} of {cases}",
            shared_runs.get()
        );
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
