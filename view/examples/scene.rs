//! A simulation for the tests of the page: it publishes a version for each line of its standard input, and ends with it.
//!
//! `scene NAME [HISTORY]`: `plane` is a bump that wanders over a mesh, with a corner of NaN; `block` the same in three
//! dimensions; `wind` has three components; `profile` is a line.

use ndarray::{ArrayViewMut1, ArrayViewMut2, ArrayViewMut3};
use std::error::Error;
use std::io::BufRead;
use tcasm_producer::Producer;

const PLANE: [usize; 2] = [48, 64];
const BLOCK: [usize; 3] = [20, 24, 32];
const WIND: [usize; 3] = [24, 32, 3];
const PROFILE: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("usage: scene NAME [HISTORY]")?;
    let history = arguments.next().map_or(Ok(8), |text| text.parse())?;
    let mut producer = Producer::builder(&name)
        .capacity(4 << 20)
        .history(history)
        .versions(history + 4)
        .create()?;
    let plane = producer.field::<f64, _>("plane", PLANE).unit("K");
    let plane = plane.mesh([0.0; 3], [0.5; 3]).add()?;
    let block = producer.field::<f64, _>("block", BLOCK).unit("kg/m³");
    let block = block.mesh([0.0; 3], [0.1; 3]).add()?;
    let wind = producer.field::<f32, _>("wind", WIND).unit("m/s");
    let wind = wind.vector().cell_centred().add()?;
    let profile = producer.field::<f64, _>("profile", [PROFILE]).add()?;
    for (step, line) in (1..).zip(std::io::stdin().lock().lines()) {
        line?;
        let time = 0.1 * step as f64;
        paint_plane(producer.view_mut(plane)?, time);
        paint_block(producer.view_mut(block)?, time);
        paint_wind(producer.view_mut(wind)?, time);
        paint_profile(producer.view_mut(profile)?, time);
        producer.publish(step, time)?;
        println!("{step}");
    }
    Ok(())
}

fn paint_plane(mut values: ArrayViewMut2<'_, f64>, time: f64) {
    for ((y, x), value) in values.indexed_iter_mut() {
        let distance = bump(x as f64 - 32.0 - 14.0 * time.cos(), y as f64 - 24.0);
        let corner = x < 6 && y < 4;
        *value = if corner { f64::NAN } else { distance + 0.01 };
    }
}

fn paint_block(mut values: ArrayViewMut3<'_, f64>, time: f64) {
    for ((z, y, x), value) in values.indexed_iter_mut() {
        let round = bump(x as f64 - 16.0 - 8.0 * time.cos(), y as f64 - 12.0);
        let ripple = 0.2 * (x as f64 / 3.0 + time).sin() * (y as f64 / 4.0).cos();
        *value = round * bump(0.0, z as f64 - 8.0) + ripple + 0.001 * z as f64;
    }
}

fn paint_wind(mut values: ArrayViewMut3<'_, f32>, time: f64) {
    for ((y, x, component), value) in values.indexed_iter_mut() {
        let phase = [x, y, x + y][component] as f64;
        *value = (phase / 5.0 + time).sin() as f32;
    }
}

fn paint_profile(mut values: ArrayViewMut1<'_, f64>, time: f64) {
    for (x, value) in values.indexed_iter_mut() {
        *value = (x as f64 / 12.0 + time).sin();
    }
}

/// One at its middle, and nothing far from it.
fn bump(dx: f64, dy: f64) -> f64 {
    (-(dx * dx + dy * dy) / 60.0).exp()
}
