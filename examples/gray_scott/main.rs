//! Gray-Scott reaction-diffusion in a TCASM region, where other programs can read it while it runs.

use clap::Parser;
use tcasm_checkpoint::Checkpoint;
use tcasm_examples::{GrayScott, Outcome, Progress, RunArgs, arrays};
use tcasm_producer::Producer;

/// Compute Gray-Scott reaction-diffusion
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    region: tcasm_examples::RegionArgs,
}

fn main() -> Outcome {
    let args = Args::parse();
    let solver = GrayScott::new(args.run.params()?);
    let shape = args.run.shape();

    // u and v of the current step, and of the next step.
    let room = arrays::room_for(args.run.bytes()) * 2;
    let mut producer = Producer::builder(&args.region.name)
        .capacity(room)
        .create()?;
    let mut arrays = arrays::create(&mut producer, shape, args.region.capture)?;

    let [mut u, mut v] = arrays.initial(&mut producer)?;
    solver.initialise(u.view_mut(), v.view_mut());
    let mut step = 0;
    if !args.region.restart.is_empty() {
        let checkpoint = Checkpoint::restart(&args.region.restart, None)?;
        checkpoint.read_array("u", u.into_dyn())?;
        checkpoint.read_array("v", v.into_dyn())?;
        step = checkpoint.stamp().step;
    }

    let mut progress = Progress::new(shape, step);
    while step < args.run.steps {
        step += 1;
        let (u, v, mut u_next, mut v_next) = arrays.views(&mut producer)?;
        solver.step(
            u.view(),
            v.view(),
            u_next.view_mut(),
            v_next.view_mut(),
            step,
        );
        if args.run.is_due(step) {
            progress.print(step, u_next.view(), v_next.view());
            arrays.show(&mut producer)?;
            producer.publish(step, solver.time(step))?;
        }
        arrays.swap();
    }
    Ok(())
}
