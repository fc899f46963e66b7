//! Random sequences of everything that happens to two tiers, with kills at each step.
//!
//! Rounds of operations are done by processes of their own, each of which may be killed at a step
//! of one of them. After each round, whatever became of the process:
//!
//! - each tier restores what it is to keep: the newest of what was reported to be complete on it,
//!   and as many older ones as its retention says, without a gap;
//! - what it restores has the right values;
//! - no line of a manifest was ever written after which a checkpoint was without its base.
//!
//! Between rounds files of either tier may get lost. Then a tier owes what it still restores, and
//! all that is reported from then on. In the end everything is drained.

mod child;
mod world;

use proptest::prelude::*;
use world::World;

/// Checkpoints that are kept on the fast and on the slow tier.
const KEEP: [usize; 2] = [3, 2];

/// An action of a process.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Write a checkpoint: an increment if it may be one.
    Write,
    /// Write a checkpoint that is full.
    WriteFull,
    /// Make a full checkpoint of the oldest increment that is still to be drained.
    Compact,
    /// Drain the oldest that is to be drained.
    Drain,
    /// The same, with a compaction after it was chosen.
    DrainWhileCompacting,
    /// Drain all that there was to be drained before a compaction.
    DrainStale,
}

impl Op {
    const ALL: [Op; 6] = [
        Op::Write,
        Op::WriteFull,
        Op::Compact,
        Op::Drain,
        Op::DrainWhileCompacting,
        Op::DrainStale,
    ];

    /// One letter, for the process that does it.
    fn letter(self) -> char {
        b"wfcdis"[self as usize] as char
    }

    fn of(letter: char) -> Option<Op> {
        Op::ALL.into_iter().find(|op| op.letter() == letter)
    }
}

/// An action of somebody else between two rounds.
#[derive(Clone, Copy, Debug)]
enum Harm {
    None,
    /// A file of the fast tier is gone: one of so many.
    LoseFast(usize),
    /// A file of the slow tier is gone.
    LoseSlow(usize),
    /// The slow tier is a new, empty folder.
    NewSlow,
}

#[derive(Clone, Debug)]
struct Round {
    ops: Vec<Op>,
    /// The step at which the process is killed, and at which time that it comes there.
    kill: Option<(&'static str, usize)>,
    harm: Harm,
}

/// The steps at which processes are killed.
const POINTS: [&str; 10] = tcasm_core::fault::CHECKPOINT_POINTS;

fn ops() -> impl Strategy<Value = Vec<Op>> {
    // Checkpoints come in number, or there is nothing to drain.
    let op = prop_oneof![
        4 => Just(Op::Write),
        1 => Just(Op::WriteFull),
        1 => Just(Op::Compact),
        2 => Just(Op::Drain),
        1 => Just(Op::DrainWhileCompacting),
        1 => Just(Op::DrainStale),
    ];
    prop::collection::vec(op, 1..14)
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![
        6 => Just(Harm::None),
        1 => (0usize..8).prop_map(Harm::LoseFast),
        1 => (0usize..8).prop_map(Harm::LoseSlow),
        1 => Just(Harm::NewSlow),
    ]
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let kill = prop::option::weighted(0.8, (prop::sample::select(&POINTS[..]), 1usize..5));
    let round = (ops(), kill, harm()).prop_map(|(ops, kill, harm)| Round { ops, kill, harm });
    prop::collection::vec(round, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32,
        max_shrink_time: 60_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn each_tier_restores_what_retention_promises_whenever_the_writer_is_killed(
        rounds in rounds(),
    ) {
        let mut world = World::new();
        for (i, round) in rounds.iter().enumerate() {
            world.play(round).map_err(|e| TestCaseError::fail(format!("round {i}: {e}")))?;
        }
        world.finish().map_err(|e| TestCaseError::fail(format!("at the end: {e}")))?;
    }
}

/// The race that two reviews have seen leave a slow tier without a readable checkpoint: what the
/// drain chose is compacted before its turn, and the writer is killed at any step after that.
#[test]
fn slow_tier_stays_readable_when_a_chosen_increment_is_compacted_before_its_turn() {
    use Op::*;
    for point in POINTS {
        for pass in 1..5 {
            let mut world = World::new();
            let before = [Write, Write, Drain, Drain, Write, Write, Write];
            let race = [before.to_vec(), vec![DrainStale, Drain, Drain]].concat();
            let round = Round {
                ops: race,
                kill: Some((point, pass)),
                harm: Harm::None,
            };
            let played = world.play(&round).and_then(|()| world.finish());
            played.unwrap_or_else(|e| panic!("killed at {point}, pass {pass}: {e}"));
        }
    }
}

/// A compaction was killed before it was entered, and then the chain of the increment lost a file:
/// the full checkpoint, which nobody has entered, is all that there is of its step.
#[test]
fn compacted_file_that_was_not_entered_replaces_an_increment_without_its_base() {
    use Op::*;
    let mut world = World::new();
    let round = Round {
        ops: vec![
            Write,
            Write,
            Write,
            DrainWhileCompacting,
            DrainWhileCompacting,
        ],
        kill: Some(("compacted", 2)),
        // Of steps 1, 2, 3 and 3 that of step 2.
        harm: Harm::LoseFast(1),
    };
    let played = world.play(&round).and_then(|()| world.finish());
    played.unwrap_or_else(|e| panic!("{e}"));
}

/// The slow tier has newer checkpoints than those that are left to be drained, and keeps none that
/// is older: the base of an increment must stay there until the increment has come.
#[test]
fn increments_older_than_what_the_slow_tier_keeps_are_drained_once() {
    use Op::*;
    let mut world = World::new();
    let rounds = [
        vec![Write, Drain, Write, Write],
        vec![Write, Write, DrainStale],
    ];
    let mut play = |ops| {
        world.play(&Round {
            ops,
            kill: None,
            harm: Harm::None,
        })
    };
    let played = rounds.into_iter().try_for_each(&mut play);
    played
        .and_then(|()| world.finish())
        .unwrap_or_else(|e| panic!("{e}"));
}
