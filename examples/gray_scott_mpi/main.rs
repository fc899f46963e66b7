//! Gray-Scott reaction-diffusion on the ranks of a job. Each rank has some planes of the grid, and
//! publishes them as a block of a global array.

mod halo;
mod messages;
mod restart;

use clap::Parser;
use halo::Halo;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;
use std::path::PathBuf;
use tcasm_examples::{GrayScott, Outcome, Planes, Progress, RunArgs, arrays};
use tcasm_producer::{Group, Producer};

/// Compute Gray-Scott reaction-diffusion on several ranks: start it with mpirun
#[derive(Parser)]
struct Args {
    #[command(flatten)]
    run: RunArgs,
    /// Name of the group; rank 3 has the region NAME.3
    #[arg(long, default_value = "gray_scott")]
    name: String,
    /// Continue from the newest checkpoint of the job that can be read, written on any number of
    /// ranks: the slow folder, then the folder of this host
    #[arg(long, value_name = "DIR", num_args = 1..)]
    restart: Vec<PathBuf>,
    /// How the computed arrays become part of a version
    #[arg(long, value_name = "MODE", default_value = "hand-over")]
    capture: arrays::Capture,
}

fn main() -> Outcome {
    let args = Args::parse();
    let universe = mpi::initialize().ok_or(JobError::NoMpi)?;
    let world = universe.world();
    if let Err(failure) = run(&args, &world) {
        // The other ranks may wait for this one, and would wait for ever.
        eprintln!("Error: {failure:?}");
        world.abort(1);
    }
    Ok(())
}

fn run(args: &Args, world: &SimpleCommunicator) -> Outcome {
    let solver = GrayScott::new(args.run.params()?);
    let planes = planes(&args.run, world)?;
    let halo = Halo::new(world, planes);

    // u and v of the current step, and of the next step, each with a ghost plane at both ends.
    let bytes = planes.shape_with_ghosts().iter().product::<usize>() * size_of::<f64>();
    let mut producer = Producer::builder(&args.name)
        .group(Group::from_env()?)
        .capacity(arrays::room_for(bytes) * 2)
        .history(4)
        .versions(12)
        .create()?;
    let mut arrays = arrays::create_planes(&mut producer, planes, args.capture)?;

    let [mut u, mut v] = arrays.initial(&mut producer)?;
    let (first, total) = (planes.first, planes.grid[0]);
    solver.initialise_planes(halo.inner(&mut u), halo.inner(&mut v), first, total);
    let mut step = 0;
    if let [slow, nodes @ ..] = &args.restart[..] {
        let fields = [("u", halo.inner(&mut u)), ("v", halo.inner(&mut v))];
        step = restart::read(world, &args.name, (slow, nodes), planes, fields)?;
    }
    halo.exchange(u);
    halo.exchange(v);

    let mut progress = Progress::new(planes.grid, step);
    while step < args.run.steps {
        step += 1;
        let (u, v, mut u_next, mut v_next) = arrays.views(&mut producer)?;
        let (u_out, v_out) = (u_next.view_mut(), v_next.view_mut());
        solver.step_planes(u, v, u_out, v_out, step, planes.first);
        halo.exchange(u_next.view_mut());
        halo.exchange(v_next.view_mut());
        if args.run.is_due(step) {
            let summary = halo.summary(halo.inner(&mut u_next), halo.inner(&mut v_next));
            if world.rank() == 0 {
                progress.print_summary(step, summary);
            }
            arrays.show(&mut producer)?;
            producer.publish(step, solver.time(step))?;
        }
        arrays.swap();
    }
    Ok(())
}

/// Returns the planes of this rank.
fn planes(run: &RunArgs, world: &impl Communicator) -> Result<Planes, JobError> {
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let [planes, ..] = run.shape();
    Planes::of_rank(run.shape(), rank, ranks).ok_or(JobError::TooManyRanks { planes, ranks })
}

/// The job cannot start.
#[derive(Debug, thiserror::Error)]
enum JobError {
    #[error("MPI does not start: start this program with mpirun")]
    NoMpi,
    #[error("{planes} planes cannot be divided among {ranks} ranks; start fewer, or set --size")]
    TooManyRanks { planes: usize, ranks: usize },
}
