//! Simulates jobs of many ranks and prints tables of the results: how many steps are agreed, how
//! far the ranks are ahead then, what that costs in memory, and how many steps a failure costs.
//!
//! The tables of `docs/jobs-model.md` are printed without options. Rows of 97 336 ranks take
//! minutes: a row needs three to five simulations, and the invariants are checked after each turn
//! of each of the 1521 agents.

mod failing;
mod files;
mod scale;
mod skipping;

use clap::Parser;
use std::process::ExitCode;
use tcasm_jobs::checker::Violation;

/// Simulate jobs of many ranks: the real agents, over virtual ranks and a virtual network
#[derive(Parser)]
#[command(name = "simulate")]
struct Args {
    /// Ranks in each direction of the torus, for each size of a job
    #[arg(long, value_delimiter = ',', default_values_t = [10, 22, 46])]
    sides: Vec<usize>,
    /// Steps of each simulation
    #[arg(long, default_value_t = 300)]
    steps: u64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Tables to print: all without this
    #[arg(long, value_delimiter = ',', value_parser = ["scale", "skips", "failures", "files"])]
    tables: Vec<String>,
    /// State of a node, in GiB, in the table of files
    #[arg(long, default_value_t = 64.0)]
    state: f64,
    /// Messages that a node sends, in GiB per second, in the table of files
    #[arg(long, default_value_t = 10.0)]
    network: f64,
    /// Time from one checkpoint to the next, in seconds, in the table of files
    #[arg(long, default_value_t = 600.0)]
    interval: f64,
}

fn main() -> ExitCode {
    match print(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(violation) => {
            eprintln!("simulate: an invariant does not hold: {violation}");
            ExitCode::FAILURE
        }
    }
}

fn print(args: &Args) -> Result<(), Violation> {
    let wanted = |table: &str| args.tables.is_empty() || args.tables.iter().any(|t| t == table);
    if wanted("scale") {
        scale::print(args)?;
    }
    if wanted("skips") {
        skipping::print(args)?;
    }
    if wanted("failures") {
        failing::print(args)?;
    }
    if wanted("files") {
        files::print(args);
    }
    Ok(())
}

impl Args {
    /// Returns the plan of a job with so many ranks in each direction, 64 on each node.
    fn plan(&self, side: usize) -> tcasm_jobs::plan::Plan {
        let mut plan = tcasm_jobs::plan::Plan {
            per_node: 64,
            steps: self.steps,
            seed: self.seed,
            ..Default::default()
        };
        plan.work.shape = [side; 3];
        plan
    }
}

/// Returns a part as a text in per cent.
fn percent(part: f64) -> String {
    format!("{:.0}", 100.0 * part)
}
