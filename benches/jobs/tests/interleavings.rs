//! Random interleavings of three agents with ranks that publish, skip, die and start again, and
//! with agents that die. After every step the invariants hold. Without the guard of an invariant
//! some interleaving violates it.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::Cell;
use std::num::NonZeroU64;
use tcasm_agent::agreement::{Guard, Guards};
use tcasm_agent::{Rule, RunId, Settings};
use tcasm_jobs::checker::Violation;
use tcasm_jobs::job::{Job, Size, Turn};
use tcasm_jobs::network::Latency;
use tcasm_jobs::node::Store;

const NODES: usize = 3;
const PER_NODE: usize = 2;
const RANKS: usize = NODES * PER_NODE;
const WINDOW: usize = 2;
/// The steps that a rank may be ahead of another one. It is more than the window bridges.
const AHEAD: u64 = 3;

#[derive(Clone, Copy, Debug)]
enum Op {
    /// A rank publishes its next step, or skips it, unless it is dead or too far ahead.
    Publish { rank: usize, skip: bool },
    /// An agent has its turn.
    Turn(usize),
    /// A rank publishes no more, until it starts again.
    Kill(usize),
    /// A rank starts again if it is dead, or if another one has begun a new run.
    Restart(usize),
    /// A rank begins a new run.
    NewRun(usize),
    /// An agent dies.
    KillAgent(usize),
    /// All agents are connected anew, if a round has failed.
    Connect,
}

fn op() -> impl Strategy<Value = Op> {
    let rank = 0..RANKS;
    prop_oneof![
        200 => (rank.clone(), prop::bool::weighted(0.02))
            .prop_map(|(rank, skip)| Op::Publish { rank, skip }),
        300 => (0..NODES).prop_map(Op::Turn),
        1 => rank.clone().prop_map(Op::Kill),
        30 => rank.clone().prop_map(Op::Restart),
        1 => rank.prop_map(Op::NewRun),
        1 => (0..NODES).prop_map(Op::KillAgent),
        20 => Just(Op::Connect),
    ]
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    proptest::collection::vec(op(), 300..800)
}

/// A rule of appointments.
fn rule() -> impl Strategy<Value = Rule> {
    let every = NonZeroU64::new(4).map(Rule::Every);
    prop_oneof![Just(Rule::Never), Just(every.unwrap_or_default())]
}

fn job(guards: Guards, rule: Rule, versions: usize) -> Job {
    let store = Store {
        history: WINDOW,
        versions,
    };
    let settings = Settings {
        window: WINDOW,
        rule,
        guards,
        patience: std::time::Duration::ZERO,
    };
    let size = Size {
        ranks: RANKS,
        per_node: PER_NODE,
        store,
        latency: Latency::NONE,
        settings,
    };
    Job::new(size, RunId(1))
}

/// Returns the newest step of a rank, or 0.
fn newest(job: &Job, rank: usize) -> u64 {
    let node = job.nodes()[rank / PER_NODE].borrow();
    node.newest(rank % PER_NODE).1.unwrap_or(0)
}

/// Does all operations. Returns the number of steps that were agreed.
fn play(job: &mut Job, ops: &[Op]) -> Result<usize, Violation> {
    let (mut dead, mut runs, mut agreed) = ([false; RANKS], [1; RANKS], 0);
    for op in ops {
        match *op {
            Op::Publish { rank, skip } if !dead[rank] => {
                let step = newest(job, rank) + 1;
                if (0..RANKS).all(|other| step <= newest(job, other) + AHEAD) {
                    let mut node = job.nodes()[rank / PER_NODE].borrow_mut();
                    node.publish(rank % PER_NODE, step, skip);
                }
            }
            Op::Publish { .. } => {}
            Op::Turn(agent) => {
                if let Turn::Decided { decision, first } = job.turn(agent)? {
                    agreed += usize::from(first && decision.is_new);
                }
            }
            Op::Kill(rank) => dead[rank] = true,
            Op::Restart(rank) | Op::NewRun(rank) => {
                let newest = runs.iter().copied().max().unwrap_or(1);
                let behind = runs[rank] < newest;
                if behind || dead[rank] || matches!(op, Op::NewRun(_)) {
                    runs[rank] = if behind { newest } else { newest + 1 };
                    dead[rank] = false;
                    let mut node = job.nodes()[rank / PER_NODE].borrow_mut();
                    node.restart(rank % PER_NODE, RunId(runs[rank]));
                }
            }
            Op::KillAgent(agent) => job.kill_agent(agent),
            Op::Connect if job.network().failed() => job.connect(),
            Op::Connect => {}
        }
    }
    Ok(agreed)
}

fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[test]
fn invariants_hold_in_any_interleaving() {
    const CASES: u32 = 1000;
    let agreed = Cell::new(0);
    let result = runner(CASES).run(&(ops(), rule()), |(ops, rule)| {
        let mut job = job(Guards::default(), rule, WINDOW + 3);
        let played = play(&mut job, &ops);
        let steps = played.map_err(|violation| TestCaseError::fail(violation.to_string()))?;
        agreed.set(agreed.get() + steps);
        Ok(())
    });
    result.unwrap();
    let agreed = agreed.get();
    assert!(
        agreed > CASES as usize,
        "only {agreed} steps were agreed in {CASES} cases"
    );
}

/// Checks that some interleaving violates the invariant without its guard.
fn violated(guard: Guard, invariant: &str) {
    let mut found = Vec::new();
    let mut runner = runner(1);
    for _ in 0..3000 {
        let ops = ops().new_tree(&mut runner).unwrap().current();
        let versions = match guard {
            Guard::LeaveSlots => WINDOW + 1,
            Guard::Window => 64,
            _ => WINDOW + 3,
        };
        let mut job = job(Guards::without(guard), Rule::Never, versions);
        match play(&mut job, &ops) {
            Err(violation) if violation.invariant == invariant => return,
            Err(violation) => found.push(violation),
            Ok(_) => {}
        }
    }
    panic!(
        "without {guard:?}, {invariant} was never violated, but {:?}",
        found.first()
    );
}

macro_rules! controls {
    ($($name:ident $guard:ident $invariant:literal;)*) => {$(
        #[test]
        fn $name() {
            violated(Guard::$guard, $invariant);
        }
    )*};
}

controls! {
    g1_without_its_guard_an_offered_step_is_let_go KeepOffered "G1";
    g2_without_its_guard_a_step_is_agreed_that_some_ranks_do_not_have AllPresent "G2";
    g2_without_its_guard_the_agreed_step_is_let_go KeepAgreed "G2";
    g3_without_its_guard_agents_decide_differently ResultsOnly "G3";
    g5_without_its_guard_an_agent_pins_too_much Window "G5";
    g5_without_its_guard_a_rank_has_no_slot LeaveSlots "G5";
    g6_without_its_guard_runs_are_mixed OneRun "G6";
}
