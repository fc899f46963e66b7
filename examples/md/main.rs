//! Molecular dynamics of argon in a TCASM region: particles whose number changes, and a run that
//! continues where it ended.

use clap::Parser;
use ndarray::{Ix1, Ix2};
use std::path::PathBuf;
use tcasm_examples::md::{Atoms, Gas};
use tcasm_examples::{Dump, Failure, Outcome, StepArgs, say};
use tcasm_producer::Producer;
use tcasm_restart::{Continue, Start};

/// Compute argon atoms that flow through a channel
#[derive(Parser)]
struct Args {
    /// Name of the region; observers attach by this name
    #[arg(long, default_value = "md")]
    name: String,
    /// Atoms across the channel at the beginning
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(4..=100))]
    size: u16,
    #[command(flatten)]
    run: StepArgs,
    /// The folders of the checkpoints, the fastest one first
    #[arg(value_name = "DIR")]
    checkpoints: Vec<PathBuf>,
}

fn main() -> Outcome {
    let args = Args::parse();
    let mut gas = Gas::new(args.size.into());
    let mut dump = Dump::create(args.run.dump.as_deref())?;

    let (mut producer, first) = begin(&args, &gas)?;
    let x = producer.handle::<f64, Ix2>("position")?;
    let v = producer.handle::<f64, Ix2>("velocity")?;
    let kinetic = producer.handle::<f64, Ix1>("kinetic_energy")?;
    let id = producer.handle::<u64, Ix1>("id")?;
    let energy = producer.handle::<f64, Ix1>("energy")?;
    let (kinetic, id, energy) = (kinetic.buffer(), id.buffer(), energy.buffer());
    let arrays = (x.buffer(), v.buffer(), kinetic, id, energy);
    let mut n = match first {
        0 => gas.fill(producer.views_mut(arrays)?),
        _ => producer.len(x)?, // as many as in the version that was restored
    };

    gas.begin(producer.views_mut(arrays)?, n);
    for step in first + 1..=args.run.steps {
        n = gas.step(producer.views_mut(arrays)?, n, step);
        if args.run.is_due(step) {
            let atoms = Atoms::of(producer.views_mut(arrays)?, n);
            dump.write(|| atoms.record(step))?;
            let line = atoms.line(step);
            producer.set_len(x, n)?; // of all fields of the atoms
            producer.publish(step, gas.time(step))?;
            say(line);
        }
    }
    Ok(())
}

/// Returns the region and its step: restored from memory or from files, or else at the beginning.
fn begin(args: &Args, gas: &Gas) -> Result<(Producer, u64), Failure> {
    let builder = Producer::builder(&args.name).capacity(gas.bytes());
    let mut producer = match builder.restore_or_begin(&args.checkpoints)? {
        Start::Restored(last) => {
            let (step, from) = (last.stamp.step, last.from.display());
            say(format_args!("goes on from step {step}, from {from}"));
            return Ok((last.producer, step));
        }
        Start::New(producer) => producer,
    };
    add_fields(&mut producer, gas.capacity())?;
    say("begins");
    Ok((producer, 0))
}

/// Adds the mesh, whose points are the atoms, and the fields on it. Their length is the number of
/// atoms: 0 at first, and at most `most`.
fn add_fields(producer: &mut Producer, most: usize) -> Outcome {
    let x = producer.field::<f64, _>("position", [most, 3]).vector();
    let x = x.variable().unit("nm").add()?;
    let atoms = producer.particles("atoms", &x).add()?;

    let v = producer.field::<f64, _>("velocity", [most, 3]).vector();
    v.variable().on(&atoms).unit("nm/ps").add()?;
    let kinetic = producer.field::<f64, _>("kinetic_energy", [most]);
    kinetic.variable().on(&atoms).unit("kJ/mol").add()?;
    let id = producer.field::<u64, _>("id", [most]);
    id.variable().on(&atoms).unit("1").add()?;
    // A table of all atoms together: their kinetic and their potential energy.
    let energy = producer.field::<f64, _>("energy", [2]);
    energy.on(&atoms).no_centring().unit("kJ/mol").add()?;
    Ok(())
}
