//! Agreed steps, lag and memory by the size of the job, its noise, and the window.

use crate::{Args, percent};
use tcasm_jobs::checker::Violation;
use tcasm_jobs::world::simulate;

/// Noise as a part of a step, and the number of steps between two reductions.
const LOADS: [(f64, u64); 5] = [(0.05, 0), (0.05, 10), (0.05, 1), (0.3, 0), (1.0, 0)];
const WINDOWS: [usize; 4] = [2, 3, 4, 8];
/// The window whose lag and memory are printed.
const USUAL: usize = 4;

/// Prints the table.
pub fn print(args: &Args) -> Result<(), Violation> {
    println!(
        "| ranks | nodes | noise | reduction | agreed, window 2 / 3 / 4 / 8 (%) | lag, steps \
         (most) | pinned versions (most) | last publish to decision, ms (most) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for side in &args.sides {
        for load in LOADS {
            row(args, *side, load)?;
        }
    }
    println!();
    Ok(())
}

fn row(args: &Args, side: usize, (noise, reduce_every): (f64, u64)) -> Result<(), Violation> {
    let mut shares = Vec::new();
    let mut usual = None;
    for window in WINDOWS {
        let mut plan = args.plan(side);
        plan.window = window;
        plan.work.noise = noise;
        plan.work.reduce_every = reduce_every;
        let report = simulate(plan)?;
        shares.push(percent(report.share()));
        usual = usual.or((window == USUAL).then_some(report));
    }
    let report = usual.unwrap_or_default();
    let reduction = match reduce_every {
        0 => "none".to_owned(),
        1 => "each step".to_owned(),
        n => format!("each {n}th"),
    };
    println!(
        "| {} | {} | {} % | {reduction} | {} | {:.1} ({}) | {:.1} ({}) | {:.1} ({:.1}) |",
        side.pow(3),
        report.nodes,
        percent(noise),
        shares.join(" / "),
        report.lag.mean(),
        report.lag.most,
        report.pinned.mean(),
        report.pinned.most,
        report.delay.mean() / 1e6,
        report.delay.most / 1e6,
    );
    Ok(())
}
