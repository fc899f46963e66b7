//! Gray-Scott reaction-diffusion in a TCASM region, where other programs look at it while it runs.

use clap::Parser;
use tcasm_checkpoint::Checkpoint;
use tcasm_examples::{GrayScott, Outcome, Progress, RunArgs};
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

    // u and v as they are, and room for what they will be after the next step.
    let builder = Producer::builder(&args.region.name).capacity(args.run.bytes() * 4);
    let mut producer = builder.create()?;
    let u_field = producer.field::<f64, _>("u", shape).unit("1").add()?;
    let v_field = producer.field::<f64, _>("v", shape).unit("1").add()?;
    let u2 = producer.buffer_like(u_field)?;
    let v2 = producer.buffer_like(v_field)?;
    let mut arrays = [u_field.buffer(), v_field.buffer(), u2, v2];

    let [mut u, mut v, ..] = producer.views_mut(arrays)?;
    solver.initialise(u.view_mut(), v.view_mut());
    let mut step = 0;
    if let Some(path) = args.region.restart {
        let checkpoint = Checkpoint::open(path)?;
        checkpoint.read_array("u", u.into_dyn())?;
        checkpoint.read_array("v", v.into_dyn())?;
        step = checkpoint.stamp().step;
    }

    let mut progress = Progress::new(shape, step);
    while step < args.run.steps {
        step += 1;
        let [u, v, mut u_next, mut v_next] = producer.views_mut(arrays)?;
        solver.step(
            u.view(),
            v.view(),
            u_next.view_mut(),
            v_next.view_mut(),
            step,
        );
        if args.run.is_due(step) {
            progress.print(step, u_next.view(), v_next.view());
            producer.bind(u_field, arrays[2])?;
            producer.bind(v_field, arrays[3])?;
            producer.publish(step, solver.time(step))?;
        }
        arrays.rotate_left(2);
    }
    Ok(())
}
