//! The steps that deaths cost, against the exact rule: that of a rank costs the steps since the
//! agreed one, that of a node those since the newest committed checkpoint.

use std::num::NonZeroU64;
use tcasm_agent::Rule;
use tcasm_jobs::failures::{Failure, Loss};
use tcasm_jobs::plan::Plan;
use tcasm_jobs::work::Timeline;
use tcasm_jobs::world::simulate;
use tcasm_jobs::{MILLISECOND, Nanos};

/// A job of 8 ranks on 4 nodes, with a checkpoint each so many steps. A node writes it in 0.3 s or
/// a little more.
fn plan(every: u64) -> Plan {
    Plan {
        steps: 100,
        copy: Some(300 * MILLISECOND),
        rule: Rule::Every(NonZeroU64::new(every).unwrap()),
        ..Plan::default()
    }
}

/// Returns what one death costs. The job must come to its end after it.
fn loss(mut plan: Plan, at: Nanos, failure: Failure) -> Loss {
    plan.failures = vec![(at, failure)];
    let report = simulate(plan).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(report.agreed.contains(&100), "{:?}", report.agreed.last());
    let loss = report.losses[0];
    assert!(loss.gap.is_some(), "nothing was agreed after {loss:?}");
    loss
}

/// A death, and what is expected of it.
struct Case {
    milliseconds: u64,
    reached: u64,
    /// The steps from which the job goes on after the death of a rank, and of a node.
    from: [u64; 2],
}

#[test]
fn dead_ranks_cost_the_steps_since_the_agreed_one_and_nodes_those_since_a_checkpoint() {
    let cases = [
        // Step 50 is being written. After the death of a rank it is committed, and then step 52.
        Case {
            milliseconds: 5_250,
            reached: 52,
            from: [52, 40],
        },
        // Step 50 is committed.
        Case {
            milliseconds: 5_850,
            reached: 58,
            from: [58, 50],
        },
        // Step 60 is appointed, so step 59 is not pinned.
        Case {
            milliseconds: 5_950,
            reached: 59,
            from: [58, 50],
        },
    ];
    for case in cases {
        // Each rank publishes step n at n * 100 ms.
        let mut plan = plan(10);
        let work = &mut plan.work;
        (work.imbalance, work.noise, work.stall) = (0.0, 0.0, 0.0);
        let at = case.milliseconds * MILLISECOND;
        for (failure, from) in [Failure::Rank, Failure::Node].into_iter().zip(case.from) {
            let loss = loss(plan.clone(), at, failure);
            assert_eq!((loss.reached, loss.newest), (case.reached, case.reached));
            assert_eq!(loss.from, Some(from), "{loss:?}");
            assert_eq!(loss.lost(), case.reached - from);
        }
        for failure in [Failure::Agent(1), Failure::AllAgents] {
            let loss = loss(plan.clone(), at, failure);
            let costs = (loss.from, loss.lost(), loss.lost_by_fastest());
            assert_eq!(costs, (None, 0, 0), "{loss:?}");
        }
    }
}

/// Returns the newest step of the slowest and of the fastest rank at a time.
fn newest(plan: &Plan, at: Nanos) -> (u64, u64) {
    let mut timeline = Timeline::new(plan.work, plan.seed, 0, 1, plan.steps);
    let newest = |rank: usize| {
        let published = |step: &u64| timeline.at(rank, *step) <= at;
        (1..=plan.steps).take_while(published).count() as u64
    };
    let newest: Vec<u64> = (0..plan.work.ranks()).map(newest).collect();
    let least = newest.iter().copied().min().unwrap();
    (least, newest.iter().copied().max().unwrap())
}

/// No rank can be ahead of another one by more than three steps here: that is the greatest distance
/// of two ranks. The window bridges four, so the agreed step is the newest one of the slowest rank.
#[test]
fn dead_rank_costs_the_fastest_rank_what_it_was_ahead_if_no_checkpoint_was_written() {
    let mut ahead = 0;
    for moment in 0..10 {
        let mut plan = plan(1000);
        plan.work.noise = 0.3;
        let at = (3_000 + 217 * moment) * MILLISECOND;
        let (slowest, fastest) = newest(&plan, at);
        let rank = loss(plan.clone(), at, Failure::Rank);
        assert_eq!((rank.reached, rank.newest), (slowest, fastest), "{rank:?}");
        assert_eq!(rank.from, Some(slowest), "{rank:?}");
        assert_eq!(rank.lost_by_fastest(), fastest - slowest);
        ahead += rank.lost_by_fastest();
        let node = loss(plan, at, Failure::Node);
        assert_eq!((node.from, node.lost()), (Some(0), slowest), "{node:?}");
    }
    assert!(ahead > 0, "all ranks had the same step whenever one died");
}
