//! Agreed steps if ranks skip versions, with appointments and without, and for ranks that wait for
//! nobody.

use crate::{Args, percent};
use std::num::NonZeroU64;
use tcasm_agent::Rule;
use tcasm_jobs::checker::Violation;
use tcasm_jobs::plan::Plan;
use tcasm_jobs::report::Report;
use tcasm_jobs::world::simulate;

/// The steps between two appointments.
const EVERY: u64 = 10;
const SKIPS: [f64; 4] = [0.0, 1e-6, 1e-5, 1e-4];

/// Prints the table.
pub fn print(args: &Args) -> Result<(), Violation> {
    println!(
        "| ranks | coupled | skipped | (1 - p)^ranks (%) | agreed (%) | appointments every \
         {EVERY}th step: kept | with a reserve: kept | pinned versions (most) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for side in &args.sides {
        for skip in SKIPS {
            row(args, *side, true, skip)?;
        }
        row(args, *side, false, 0.0)?;
    }
    println!();
    Ok(())
}

fn row(args: &Args, side: usize, coupled: bool, skip: f64) -> Result<(), Violation> {
    let mut plan = args.plan(side);
    plan.work.coupled = coupled;
    plan.skip = skip;
    let newest = simulate(plan.clone())?;
    let appointed = simulate(with_appointments(&plan))?;
    let reserved = simulate(Plan {
        reserve: Some(EVERY),
        ..with_appointments(&plan)
    })?;
    let ranks = side.pow(3);
    println!(
        "| {ranks} | {} | {skip:.0e} | {} | {} | {} | {} | {:.1} ({}) |",
        if coupled { "yes" } else { "no" },
        percent((1.0 - skip).powi(ranks as i32)),
        percent(newest.share()),
        kept(&appointed),
        kept(&reserved),
        reserved.pinned.mean(),
        reserved.pinned.most,
    );
    Ok(())
}

fn with_appointments(plan: &Plan) -> Plan {
    Plan {
        rule: NonZeroU64::new(EVERY).map_or(Rule::Never, Rule::Every),
        ..plan.clone()
    }
}

/// Returns how many appointments were kept, of how many.
fn kept(report: &Report) -> String {
    let [kept, missed] = report.appointments;
    format!("{kept} of {}", kept + missed)
}
