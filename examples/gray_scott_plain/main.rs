//! Gray-Scott reaction-diffusion in ordinary memory: the program before it uses TCASM.

use clap::Parser;
use tcasm_examples::{GrayScott, Outcome, Progress, RunArgs};

/// Compute Gray-Scott reaction-diffusion
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    run: RunArgs,
}

fn main() -> Outcome {
    let args = Args::parse();
    let solver = GrayScott::new(args.run.params()?);
    let shape = args.run.shape();

    // u and v of the current step, and of the next step.
    let mut arrays = [(); 4].map(|()| ndarray::Array3::zeros(shape));

    let [u, v, ..] = &mut arrays;
    solver.initialise(u.view_mut(), v.view_mut());
    let mut step = 0;

    let mut progress = Progress::new(shape, step);
    while step < args.run.steps {
        step += 1;
        let [u, v, u_next, v_next] = &mut arrays;
        solver.step(
            u.view(),
            v.view(),
            u_next.view_mut(),
            v_next.view_mut(),
            step,
        );
        if args.run.is_due(step) {
            progress.print(step, u_next.view(), v_next.view());
        }
        arrays.rotate_left(2);
    }
    Ok(())
}
