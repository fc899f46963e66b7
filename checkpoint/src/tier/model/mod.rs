//! A model test of two tiers: random sequences of all operations, with kills at each step.
//!
//! Each round of operations runs in a process of its own, which may be killed at a step of one of
//! them. After each round, whether the process was killed or not:
//!
//! - Each tier restores what it must keep: the newest checkpoint that was reported to be complete
//!   on it, and as many older ones as its retention says, without a gap.
//! - All restored values are right.
//! - No manifest had a line after which a checkpoint was without its base.
//!
//! Between rounds, files of either tier may be lost. Then a tier must restore what it still can,
//! and all that is reported from then on. At the end everything is drained.

mod child;
mod world;

use proptest::prelude::*;
use world::World;

/// The numbers of checkpoints that are kept on the fast and on the slow tier.
const KEEP: [usize; 2] = [3, 2];

/// An operation of a process.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Write a checkpoint: an increment if there is something to build on.
    Write,
    /// Write a full checkpoint.
    WriteFull,
    /// Replace the oldest increment that is not drained by a full checkpoint.
    Compact,
    /// Drain the oldest checkpoint that is not drained.
    Drain,
    /// The same, with a compaction between the choice and the copy.
    DrainWhileCompacting,
    /// List the checkpoints that are not drained, compact, then drain those on the list.
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

    /// Returns the letter that stands for the operation in the environment of the process.
    fn letter(self) -> char {
        b"wfcdis"[self as usize] as char
    }

    /// Returns the operation that `letter` stands for.
    fn of(letter: char) -> Option<Op> {
        Op::ALL.into_iter().find(|op| op.letter() == letter)
    }
}

/// Damage by others between two rounds.
#[derive(Clone, Copy, Debug)]
enum Harm {
    /// No damage.
    None,
    /// A file of the fast tier is lost: the one with this index, modulo the number of files.
    LoseFast(usize),
    /// The same for the slow tier.
    LoseSlow(usize),
    /// The slow tier is replaced by a new, empty folder.
    NewSlow,
}

/// The operations of one process, and the damage after it.
#[derive(Clone, Debug)]
struct Round {
    ops: Vec<Op>,
    /// The fault point at which the process is killed, and at which pass of that point.
    kill: Option<(&'static str, usize)>,
    harm: Harm,
}

/// The fault points at which processes are killed.
const POINTS: [&str; 10] = tcasm_core::testing::fault::CHECKPOINT_POINTS;

fn ops() -> impl Strategy<Value = Vec<Op>> {
    // Writes are frequent, so that there is something to drain.
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

/// A race that once left a slow tier without a readable checkpoint. The increment that the drain
/// chose is compacted before it is copied, and the writer is killed at any step after that.
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

/// A compaction is killed before its full checkpoint is entered, and then the chain of the
/// increment loses a file. The full checkpoint, which is not entered, is then the only file of its
/// step that can be read.
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
        // The files are of steps 1, 2, 3 and 3. The one of step 2 is lost.
        harm: Harm::LoseFast(1),
    };
    let played = world.play(&round).and_then(|()| world.finish());
    played.unwrap_or_else(|e| panic!("{e}"));
}

/// The slow tier has newer checkpoints than those that are still to be drained, and keeps none that
/// is older. The base of an increment must stay there until the increment is drained.
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
