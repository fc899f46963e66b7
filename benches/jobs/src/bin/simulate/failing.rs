//! Steps that failures cost.

use crate::Args;
use std::num::NonZeroU64;
use tcasm_agent::Rule;
use tcasm_jobs::MILLISECOND;
use tcasm_jobs::checker::Violation;
use tcasm_jobs::failures::{Failure, Loss};
use tcasm_jobs::random::Random;
use tcasm_jobs::report::Spread;
use tcasm_jobs::world::simulate;

/// The steps between two checkpoints.
const EVERY: u64 = 10;
/// The time that the nodes need to write and protect a checkpoint.
const COPY: u64 = 500 * MILLISECOND;
/// Failures of each kind, each in a simulation of its own.
const TRIES: u64 = 5;

/// Prints the table.
pub fn print(args: &Args) -> Result<(), Violation> {
    println!(
        "| ranks | death of | steps lost by all ranks (most) | steps lost by the fastest rank \
         (most) | seconds until the next agreed step (most) |"
    );
    println!("|---|---|---|---|---|");
    for side in &args.sides {
        let kinds = [
            ("an agent, others stay", Failure::Agent(3)),
            ("an agent, others end", Failure::AllAgents),
            ("a rank", Failure::Rank),
            ("a node", Failure::Node),
        ];
        for (name, failure) in kinds {
            row(args, *side, name, failure)?;
        }
    }
    println!();
    Ok(())
}

fn row(args: &Args, side: usize, name: &str, failure: Failure) -> Result<(), Violation> {
    let [mut lost, mut fastest, mut gap] = [Spread::default(); 3];
    for seed in 0..TRIES {
        if let Some(loss) = loss(args, side, failure, args.seed + seed)? {
            lost.add(loss.lost() as f64);
            fastest.add(loss.lost_by_fastest() as f64);
            gap.add(loss.gap.unwrap_or(0) as f64 / 1e9);
        }
    }
    println!(
        "| {} | {name} | {:.1} ({}) | {:.1} ({}) | {:.2} ({:.2}) |",
        side.pow(3),
        lost.mean(),
        lost.most,
        fastest.mean(),
        fastest.most,
        gap.mean(),
        gap.most
    );
    Ok(())
}

/// Returns what one failure at a random moment costs.
fn loss(args: &Args, side: usize, failure: Failure, seed: u64) -> Result<Option<Loss>, Violation> {
    let mut plan = args.plan(side);
    plan.seed = seed;
    plan.steps = 100;
    plan.copy = Some(COPY);
    plan.rule = NonZeroU64::new(EVERY).map_or(Rule::Never, Rule::Every);
    plan.reserve = Some(EVERY);
    let part = 0.4 + 0.3 * Random::new(seed).unit();
    let at = part * plan.steps as f64 * plan.work.step as f64;
    plan.failures = vec![(at as u64, failure)];
    Ok(simulate(plan)?.losses.last().copied())
}
