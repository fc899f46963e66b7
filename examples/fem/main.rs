//! Heat in a plate by finite elements in a TCASM region: an unstructured mesh that is refined while
//! other programs read it.

use clap::Parser;
use tcasm_examples::fem::{Heat, Plate};
use tcasm_examples::{Dump, Outcome, StepArgs, say};
use tcasm_producer::{CellType, Producer};

/// Compute the heat in an L-shaped plate
#[derive(Parser)]
struct Args {
    /// Name of the region; observers attach by this name
    #[arg(long, default_value = "fem")]
    name: String,
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

    let room = heat.room();
    let builder = Producer::builder(&args.name).capacity(room.bytes());
    let mut producer = builder.create()?;
    let x = producer.field::<f64, _>("points", [room.points, 3]);
    let x = x.vector().variable().unit("m").add()?;
    let cells = producer.field::<i64, _>("triangles", [room.triangles, 3]);
    let cells = cells.vector().variable().add()?;
    let mesh = producer.unstructured_mesh("plate", &x, CellType::TRIANGLE, &cells);
    let mesh = mesh.add()?;
    let t = producer.field::<f64, _>("temperature", [room.points]);
    let t = t.variable().on(&mesh).unit("K").add()?;
    let flux = producer.field::<f64, _>("heat_flux", [room.triangles, 3]);
    let flux = flux.vector().variable().on(&mesh).cell_centred();
    let flux = flux.unit("W/m^2").add()?;
    let arrays = (x.buffer(), cells.buffer(), t.buffer(), flux.buffer());
    let mut size = heat.fill(producer.views_mut(arrays)?);

    for step in 1..=args.run.steps {
        size = heat.step(producer.views_mut(arrays)?, size, step);
        if args.run.is_due(step) {
            let plate = Plate::of(producer.views_mut(arrays)?, size);
            dump.write(|| plate.record(step))?;
            let line = plate.line(step, heat.time(), heat.error(&plate));
            producer.set_len(x, size.points)?; // and of the temperatures
            producer.set_len(cells, size.triangles)?; // and of the heat flux
            producer.publish(step, heat.time())?;
            say(line);
        }
    }
    Ok(())
}
