//! Molecular dynamics of argon in ordinary memory: the program before it uses TCASM.

use clap::Parser;
use tcasm_examples::md::{Atoms, Gas, Storage};
use tcasm_examples::{Dump, Outcome, StepArgs, say};

/// Compute argon atoms that flow through a channel
#[derive(Parser)]
struct Args {
    /// Atoms across the channel at the beginning
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(4..=100))]
    size: u16,
    #[command(flatten)]
    run: StepArgs,
}

fn main() -> Outcome {
    let args = Args::parse();
    let mut gas = Gas::new(args.size.into());
    let mut dump = Dump::create(args.run.dump.as_deref())?;

    let mut arrays = Storage::new(gas.capacity());
    let mut n = gas.fill(arrays.views());

    gas.begin(arrays.views(), n);
    for step in 1..=args.run.steps {
        n = gas.step(arrays.views(), n, step);
        if args.run.is_due(step) {
            let atoms = Atoms::of(arrays.views(), n);
            dump.write(|| atoms.record(step))?;
            say(atoms.line(step));
        }
    }
    Ok(())
}
