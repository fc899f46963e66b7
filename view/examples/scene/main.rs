//! A simulation for the tests of the page. It publishes a version for each empty line of its
//! standard input, revokes the lease of process PID at a line `revoke PID`, and ends with its
//! input.
//!
//! Usage: `scene NAME [HISTORY [rare | meshes | blocks]]`. The field `plane` is a bump that wanders
//! over a mesh, with a corner of NaN; `block` is the same in three dimensions; `wind` has three
//! components; `profile` is a line. With `rare` there are five more fields: `wave` is complex,
//! `stack` has four axes, `energy` has none; `speck` is a large plane with one NaN, `spike` a long
//! line with one large value. With `meshes` there are fields on named meshes (`meshes.rs`), with
//! `blocks` a field on the blocks of a block-structured mesh (`blocks.rs`).

mod blocks;
mod meshes;

use blocks::Blocks;
use meshes::Meshes;
use ndarray::{
    ArrayViewMut1, ArrayViewMut2, ArrayViewMut3, ArrayViewMut4, Ix0, Ix1, Ix2, Ix3, Ix4,
};
use std::error::Error;
use std::io::BufRead;
use tcasm_producer::{Complex, Field, Producer};

const PLANE: [usize; 2] = [48, 64];
const BLOCK: [usize; 3] = [20, 24, 32];
const WIND: [usize; 3] = [24, 32, 3];
const PROFILE: usize = 200;

const WAVE: [usize; 2] = [16, 24];
const STACK: [usize; 4] = [3, 4, 12, 16];
const SPECK: [usize; 2] = [1024, 1024];
const SPIKE: usize = 100_000;
/// A unit with all that a page, a terminal or a table of numbers could interpret.
const UNIT: &str = "<b id=\"forged\">K</b>&lt;\u{202e}\x1b[31m\n1,2";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments
        .next()
        .ok_or("usage: scene NAME [HISTORY [rare | meshes | blocks]]")?;
    let history = arguments.next().map_or(Ok(8), |text| text.parse())?;
    let more = arguments.next().unwrap_or_default();
    let mut producer = Producer::builder(&name)
        .capacity(16 << 20)
        .history(history)
        .versions(history + 4)
        .create()?;
    let scene = Scene::new(&mut producer, more == "rare")?;
    let meshes = (more == "meshes").then(|| Meshes::new(&mut producer));
    let meshes = meshes.transpose()?;
    let blocks = (more == "blocks").then(|| Blocks::new(&mut producer));
    let blocks = blocks.transpose()?;
    let mut step = 0;
    for line in std::io::stdin().lock().lines() {
        if let Some(pid) = line?.strip_prefix("revoke ") {
            producer.revoke(pid.parse()?);
            continue;
        }
        step += 1;
        scene.paint(&mut producer, 0.1 * step as f64)?;
        if let Some(meshes) = &meshes {
            meshes.paint(&mut producer, step)?;
        }
        if let Some(blocks) = &blocks {
            blocks.place(&mut producer, step)?;
        }
        producer.publish(step, 0.1 * step as f64)?;
        println!("{step}");
    }
    Ok(())
}

/// Fields with complex numbers, with four axes, and with a single value, and large fields with a
/// single value that must be seen.
#[derive(Clone, Copy)]
struct Rare {
    wave: Field<Complex<f64>, Ix2>,
    stack: Field<f64, Ix4>,
    energy: Field<f64, Ix0>,
    speck: Field<f32, Ix2>,
    spike: Field<f64, Ix1>,
}

impl Rare {
    fn new(producer: &mut Producer) -> Result<Self, Box<dyn Error>> {
        Ok(Rare {
            wave: producer.field::<Complex<f64>, _>("wave", WAVE).add()?,
            stack: producer.field::<f64, _>("stack", STACK).add()?,
            energy: producer.field::<f64, _>("energy", ()).unit("J").add()?,
            speck: producer.field::<f32, _>("speck", SPECK).unit(UNIT).add()?,
            spike: producer.field::<f64, _>("spike", [SPIKE]).add()?,
        })
    }

    fn paint(self, producer: &mut Producer, time: f64) -> Result<(), Box<dyn Error>> {
        paint_wave(producer.view_mut(self.wave)?, time);
        paint_stack(producer.view_mut(self.stack)?, time);
        producer.view_mut(self.energy)?.fill(1.0 + time);
        let mut speck = producer.view_mut(self.speck)?;
        for ((_, x), value) in speck.indexed_iter_mut() {
            *value = x as f32;
        }
        speck[[301, 77]] = f32::NAN;
        let mut spike = producer.view_mut(self.spike)?;
        spike.fill(1.0);
        spike[41_000] = 1000.0;
        Ok(())
    }
}

/// The fields.
struct Scene {
    plane: Field<f64, Ix2>,
    block: Field<f64, Ix3>,
    wind: Field<f32, Ix3>,
    profile: Field<f64, Ix1>,
    rare: Option<Rare>,
}

impl Scene {
    fn new(producer: &mut Producer, rare: bool) -> Result<Self, Box<dyn Error>> {
        let plane = producer.field::<f64, _>("plane", PLANE).unit("K");
        let plane = plane.mesh([0.0; 3], [0.5; 3]).add()?;
        let block = producer.field::<f64, _>("block", BLOCK).unit("kg/m\u{b3}");
        let block = block.mesh([0.0; 3], [0.1; 3]).add()?;
        let wind = producer.field::<f32, _>("wind", WIND).unit("m/s");
        let wind = wind.vector().cell_centred().add()?;
        let profile = producer.field::<f64, _>("profile", [PROFILE]).add()?;
        let rare = rare.then(|| Rare::new(producer)).transpose()?;
        Ok(Scene {
            plane,
            block,
            wind,
            profile,
            rare,
        })
    }

    fn paint(&self, producer: &mut Producer, time: f64) -> Result<(), Box<dyn Error>> {
        paint_plane(producer.view_mut(self.plane)?, time);
        paint_block(producer.view_mut(self.block)?, time);
        paint_wind(producer.view_mut(self.wind)?, time);
        paint_profile(producer.view_mut(self.profile)?, time);
        match self.rare {
            Some(rare) => rare.paint(producer, time),
            None => Ok(()),
        }
    }
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

fn paint_wave(mut values: ArrayViewMut2<'_, Complex<f64>>, time: f64) {
    for ((y, x), value) in values.indexed_iter_mut() {
        *value = Complex::from_polar(1.0 + y as f64, x as f64 / 3.0 + time);
    }
}

fn paint_stack(mut values: ArrayViewMut4<'_, f64>, time: f64) {
    for ((w, z, y, x), value) in values.indexed_iter_mut() {
        *value = (1000 * w + 100 * z + 10 * y) as f64 + x as f64 / 4.0 + time;
    }
}

/// Returns 1 at the middle of the bump, and almost 0 far from it.
fn bump(dx: f64, dy: f64) -> f64 {
    (-(dx * dx + dy * dy) / 60.0).exp()
}
