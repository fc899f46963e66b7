//! Random sequences that rewrite, publish, bind, pin and trim handed-over fields beside an ordinary
//! one, against a naive model that copies all bytes.
//!
//! After every publish all held versions are read byte by byte. `PROPTEST_CASES` scales the number
//! of sequences.

mod world;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use tcasm_producer::{CaptureMode, HugePages, TrackerKind};
use world::{Op, Settings, World};

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let n = 0usize..64;
    let op = prop_oneof![
        20 => (n.clone(), any::<u8>()).prop_map(|(buffer, value)| Op::Rewrite { buffer, value }),
        10 => (n.clone(), 0usize..1 << 16, any::<u8>())
            .prop_map(|(buffer, at, value)| Op::Change { buffer, at, value }),
        8 => (0usize..1 << 16, any::<u8>()).prop_map(|(at, value)| Op::Write { at, value }),
        8 => any::<u8>().prop_map(|value| Op::WriteAll { value }),
        30 => Just(Op::Publish),
        10 => Just(Op::Swap),
        14 => any::<bool>().prop_map(|newest| Op::Pin { newest }),
        14 => n.clone().prop_map(Op::Unpin),
        6 => n.clone().prop_map(Op::Rollback),
        3 => Just(Op::Trim),
        1 => (1usize..900).prop_map(|pages| Op::Grow { pages }),
    ];
    proptest::collection::vec(op, 1..80)
}

fn settings(tracker: TrackerKind) -> impl Strategy<Value = Settings> {
    // Only one tracker supports deferred capture.
    let other = match tracker {
        TrackerKind::UffdAsync => CaptureMode::Deferred,
        _ => CaptureMode::Auto,
    };
    let capture = prop_oneof![Just(CaptureMode::Inline), Just(other)];
    let nodes = prop_oneof![2 => Just(1usize), 1 => Just(2)];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (3usize..7, 0usize..3, flags, capture, nodes).prop_map(
        move |(versions, history, (checked, tight, huge), capture, nodes)| Settings {
            tracker,
            versions,
            history: history.min(versions - 2),
            checked,
            tight,
            huge: match huge {
                true => HugePages::Transparent,
                false => HugePages::Off,
            },
            capture,
            nodes,
        },
    )
}

fn run(settings: Settings, ops: &[Op]) -> Result<(), String> {
    let mut world = World::new(settings)?;
    for (i, op) in ops.iter().enumerate() {
        let done = world.apply(op);
        done.map_err(|e| format!("step {i}, {op:?}: {e}"))?;
    }
    world.end()
}

fn check(tracker: TrackerKind) {
    tcasm_tests::runtime_dir();
    let mut config = Config {
        max_shrink_iters: 300,
        failure_persistence: None,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 96;
    }
    let strategy = (settings(tracker), ops());
    let result = TestRunner::new(config).run(&strategy, |(settings, ops)| {
        run(settings, &ops).map_err(TestCaseError::fail)
    });
    result.unwrap_or_else(|error| panic!("{tracker}: {error}"));
}

#[test]
fn handed_over_fields_agree_with_the_model_under_uffd_async() {
    check(TrackerKind::UffdAsync);
}

#[test]
fn handed_over_fields_agree_with_the_model_under_cow() {
    check(TrackerKind::Cow);
}

#[test]
fn handed_over_fields_agree_with_the_model_under_compare() {
    check(TrackerKind::Compare);
}
