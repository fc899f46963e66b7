//! Heat in a plate with a moving hot point: a program that continues where the last run ended,
//! however that ended.

use clap::Parser;
use ndarray::Ix2;
use std::io::{Write, stderr};
use std::path::PathBuf;
use tcasm_examples::{Failure, Outcome, plate, say};
use tcasm_producer::Producer;
use tcasm_restart::{Continue, Start};

/// Compute the heat in a plate, starting where the last run of this program ended
#[derive(Parser)]
struct Args {
    /// Name of the region; observers attach by this name
    #[arg(long, default_value = "plate")]
    name: String,
    /// Points along each side of the plate
    #[arg(
        long,
        value_name = "N",
        default_value_t = 256,
        value_parser = clap::value_parser!(u16).range(4..)
    )]
    size: u16,
    /// Number of the last step
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    steps: u64,
    /// Publish every N steps
    #[arg(long, value_name = "N", default_value = "10")]
    publish_every: std::num::NonZeroU64,
    /// The folders of the checkpoints, the fastest one first
    #[arg(value_name = "DIR")]
    checkpoints: Vec<PathBuf>,
}

fn main() -> Outcome {
    let args = Args::parse();
    let (mut producer, first) = begin(&args)?;
    let t = producer.handle::<f64, Ix2>("t")?;
    for step in first + 1..=args.steps {
        plate::step(producer.view_mut(t)?, step);
        if step % args.publish_every == 0 || step == args.steps {
            producer.publish(step, plate::time(step))?;
        }
    }
    say(format_args!("ended with step {}", args.steps));
    Ok(())
}

/// Returns the region and its step: restored from memory or from files, or else at the beginning.
fn begin(args: &Args) -> Result<(Producer, u64), Failure> {
    let side = usize::from(args.size);
    let builder = Producer::builder(&args.name).capacity(side * side * size_of::<f64>());
    match builder.restore_or_begin(&args.checkpoints)? {
        Start::Restored(last) => {
            for (file, why) in &last.passed_over {
                let _ = writeln!(stderr(), "passed over {}: {why}", file.display());
            }
            let (step, from) = (last.stamp.step, last.from.display());
            say(format_args!("goes on from step {step}, from {from}"));
            Ok((last.producer, step))
        }
        Start::New(mut producer) => {
            let t = producer.field("t", [side, side]).unit("K").add()?;
            plate::initialise(producer.view_mut(t)?);
            say("begins");
            Ok((producer, 0))
        }
    }
}
