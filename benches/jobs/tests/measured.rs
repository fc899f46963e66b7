//! The simulator against what was measured with real agents and with an independent model.

use std::num::NonZeroU64;
use tcasm_agent::Rule;
use tcasm_jobs::MILLISECOND;
use tcasm_jobs::plan::Plan;
use tcasm_jobs::report::Report;
use tcasm_jobs::work::Timeline;
use tcasm_jobs::world::simulate;

fn run(plan: Plan) -> Report {
    simulate(plan).unwrap_or_else(|violation| panic!("{violation}"))
}

/// A job with one rank on each of so many nodes, and a step each 20 ms.
fn small(nodes: usize) -> Plan {
    let mut plan = Plan {
        per_node: 1,
        steps: 2000,
        patience: 2 * MILLISECOND,
        ..Plan::default()
    };
    plan.work.shape = [1, 1, nodes];
    plan.work.step = 20 * MILLISECOND;
    plan
}

/// Agents, and the median of their rounds in microseconds, as agent/examples/rounds.rs has measured
/// it: processes of one machine with two processors, messages by TCP. The model gives each agent a
/// processor, so it is faster than many agents.
const MEASURED: [(usize, f64); 6] = [
    (3, 430.0),
    (4, 520.0),
    (6, 650.0),
    (8, 950.0),
    (12, 1220.0),
    (16, 1670.0),
];

#[test]
fn rounds_of_3_to_16_agents_take_as_long_as_measured() {
    for (nodes, measured) in MEASURED {
        let mut plan = small(nodes);
        // Idle agents begin rounds together, as those that were measured, which never looked less
        // often than each 200 us.
        (plan.work.step, plan.steps) = (1000 * MILLISECOND, 5);
        plan.latency.look[1] = plan.latency.look[0];
        let median = run(plan).median_round() as f64 / 1000.0;
        println!("{nodes} agents: {median} us, measured {measured}");
        let ratio = median / measured;
        assert!((0.5..1.4).contains(&ratio), "{nodes} agents: {median} us");
    }
}

#[test]
fn agreed_share_is_the_product_over_ranks() {
    for (nodes, skip) in [(4, 0.05), (3, 0.05), (4, 0.3)] {
        let mut plan = small(nodes);
        plan.skip = skip;
        let expected = (1.0 - skip).powi(nodes as i32);
        let share = run(plan).share();
        let deviation = (expected * (1.0 - expected) / 2000.0).sqrt();
        let off = (share - expected).abs();
        assert!(
            off < 4.0 * deviation,
            "{nodes} agents, {skip}: {share}, not {expected}"
        );
    }
}

#[test]
fn all_steps_are_agreed_without_skips() {
    let report = run(small(4));
    assert!(report.share() > 0.99, "{}", report.share());
    assert!(report.pinned.most <= 5.0, "{:?}", report.pinned);
}

/// Returns the part of the steps that no node has passed by `window` before all nodes have them,
/// and no rank before all ranks of its node have them.
fn bridged(plan: &Plan) -> f64 {
    let mut timeline = Timeline::new(plan.work, plan.seed, 0, 1, plan.steps);
    let ranks = plan.work.ranks();
    let nodes = ranks.div_ceil(plan.per_node);
    let mut times = |step: u64, node: usize| -> Vec<u64> {
        let ranks = node * plan.per_node..ranks.min((node + 1) * plan.per_node);
        ranks.map(|rank| timeline.at(rank, step)).collect()
    };
    let mut can = |step: &u64| {
        let (mut last, mut first, mut inside) = (0, u64::MAX, true);
        for node in 0..nodes {
            let (now, later) = (times(*step, node), times(*step + plan.window as u64, node));
            last = last.max(*now.iter().max().unwrap());
            first = first.min(*later.iter().max().unwrap());
            inside &= now.iter().max() < later.iter().min();
        }
        inside && first > last
    };
    (1..=plan.steps).filter(|step| can(step)).count() as f64 / plan.steps as f64
}

#[test]
fn agreed_share_is_what_the_drift_allows() {
    let mut shares = Vec::new();
    for (noise, reduce_every, window) in [(0.3, 0, 2), (0.3, 0, 3), (0.3, 0, 4), (0.05, 1, 2)] {
        let mut plan = Plan {
            per_node: 32,
            window,
            steps: 200,
            // Rounds must be short beside steps for this comparison.
            patience: 10 * MILLISECOND,
            ..Plan::default()
        };
        plan.work.shape = [8; 3];
        (plan.work.noise, plan.work.reduce_every) = (noise, reduce_every);
        let expected = bridged(&plan);
        let share = run(plan).share();
        assert!(
            (share - expected).abs() < 0.12,
            "{noise} {window}: {share}, not {expected}"
        );
        shares.push(share);
    }
    assert!(
        shares[0] < shares[1] && shares[1] <= shares[2],
        "{shares:?}"
    );
    assert!(shares[2] > 0.9 && shares[3] > 0.97, "{shares:?}");
}

#[test]
fn appointments_are_kept_whatever_the_drift_between_nodes_is() {
    let mut plan = Plan {
        per_node: 1,
        ..Plan::default()
    };
    plan.work.coupled = false;
    plan.work.imbalance = 0.2;
    let newest = run(plan.clone());
    plan.rule = Rule::Every(NonZeroU64::new(10).unwrap());
    let appointed = run(plan);
    assert!(newest.share() < 0.2, "{}", newest.share());
    let [kept, missed] = appointed.appointments;
    assert!(kept >= 3 && missed == 0, "{kept} kept, {missed} missed");
}
