//! Random sequences of everything a producer and its observers do, against a naive model.
//!
//! After every step that could change anything, every version that anybody holds is read in every way there is, and
//! must be byte for byte what the model says. `PROPTEST_CASES` scales the number of sequences.

mod ops;
mod world;

use ops::{Op, bounds, ops};
use proptest::test_runner::{Config, FileFailurePersistence, TestCaseError, TestRunner};
use tcasm_core::store::Bounds;
use tcasm_producer::TrackerKind;
use tcasm_tests::runtime_dir;
use world::{Check, World};

fn run(tracker: TrackerKind, bounds: Bounds, ops: &[Op]) -> Check {
    let mut world = World::new(tracker, bounds)?;
    for (i, op) in ops.iter().enumerate() {
        world
            .apply(op)
            .map_err(|e| format!("step {i}, {op:?}: {e}"))?;
    }
    world.publish(false)?;
    world.check_all()?;
    world.close()
}

fn check(tracker: TrackerKind) {
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
    let strategy = (bounds(), ops());
    let result = TestRunner::new(config).run(&strategy, |(bounds, ops)| {
        run(tracker, bounds, &ops).map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{tracker}: {error}"));
}

#[test]
fn random_sequences_agree_with_the_model_under_uffd_async() {
    check(TrackerKind::UffdAsync);
}

#[test]
fn random_sequences_agree_with_the_model_under_cow() {
    check(TrackerKind::Cow);
}

#[test]
fn random_sequences_agree_with_the_model_under_compare() {
    check(TrackerKind::Compare);
}
