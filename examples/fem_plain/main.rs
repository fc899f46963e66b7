//! Heat in a plate by finite elements in ordinary memory: the program before it uses TCASM.

use clap::Parser;
use tcasm_examples::fem::{Heat, Plate, Storage};
use tcasm_examples::{Dump, Outcome, StepArgs, say};

/// Compute the heat in an L-shaped plate
#[derive(Parser)]
struct Args {
    /// Points along each square of the plate at the beginning
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u16).range(2..=1000))]
    size: u16,
    /// Refine the mesh every N steps, as long as there is room
    #[arg(long, value_name = "N", default_value_t = 500)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    refine_every: u64,
    #[command(flatten)]
    run: StepArgs,
}

fn main() -> Outcome {
    let args = Args::parse();
    let mut heat = Heat::new(args.size.into(), args.refine_every);
    let mut dump = Dump::create(args.run.dump.as_deref())?;

    let mut arrays = Storage::new(heat.room());
    let mut size = heat.fill(arrays.views());

    for step in 1..=args.run.steps {
        size = heat.step(arrays.views(), size, step);
        if args.run.is_due(step) {
            let plate = Plate::of(arrays.views(), size);
            dump.write(|| plate.record(step))?;
            say(plate.line(step, heat.time(), heat.error(&plate)));
        }
    }
    Ok(())
}
