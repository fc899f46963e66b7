//! Simulations on named meshes with millions of points, published at a steady rate.

use crate::outcome::Outcome;
use std::time::{Duration, Instant};
use tcasm_core::field::CellType;
use tcasm_producer::Producer;

/// Number of particles.
pub const PARTICLES: usize = 10_000_000;
/// Number of hexahedra along each side of a cube, which makes 5 million.
const SIDE: usize = 171;
/// Number of hexahedra.
pub const CELLS: usize = SIDE.pow(3);
/// Number of versions per second.
pub const RATE: u32 = 2;
/// Number of versions that are published.
const VERSIONS: u32 = 60;

/// Changes the fields before a version is published. The number is that of the step.
type Change = Box<dyn FnMut(&mut Producer, u64) -> Outcome<()>>;

/// A simulation that has published its first version.
pub struct Moving {
    producer: Producer,
    change: Change,
    step: u64,
}

impl Moving {
    /// Creates the particles `dust`, which all move, with a value `v` each, which changes.
    pub fn particles(name: &str) -> Outcome<Self> {
        let mut producer = producer(name, PARTICLES * 4 * size_of::<f64>())?;
        let x = producer.field::<f64, _>("x", [PARTICLES, 3]).vector();
        let x = x.add()?;
        let dust = producer.particles("dust", &x).add()?;
        let v = producer.field::<f64, _>("v", [PARTICLES]).on(&dust);
        let v = v.add()?;
        let side = (PARTICLES as f64).cbrt().ceil() as usize;
        for ((i, axis), place) in producer.view_mut(x)?.indexed_iter_mut() {
            *place = [i % side, i / side % side, i / (side * side)][axis] as f64;
        }
        let change = move |producer: &mut Producer, step: u64| -> Outcome<()> {
            let away = if step.is_multiple_of(2) { 0.4 } else { -0.4 };
            let mut places = producer.view_mut(x)?;
            places.iter_mut().for_each(|place| *place += away);
            let mut values = producer.view_mut(v)?;
            for (i, value) in values.iter_mut().enumerate() {
                *value = (i % 1000) as f64 + step as f64;
            }
            Ok(())
        };
        Moving::begin(producer, Box::new(change))
    }

    /// Creates a cube of hexahedra, whose points and cells stay, with a value `t` at each point,
    /// which changes.
    pub fn cells(name: &str) -> Outcome<Self> {
        let points = (SIDE + 1).pow(3);
        let bytes = points * 4 * size_of::<f64>() + CELLS * 8 * size_of::<i32>();
        let mut producer = producer(name, bytes)?;
        let p = producer.field::<f64, _>("p", [points, 3]).vector();
        let p = p.add()?;
        let c = producer.field::<i32, _>("c", [CELLS, 8]).vector();
        let c = c.add()?;
        let cube = producer.unstructured_mesh("cube", &p, CellType::HEXAHEDRON, &c);
        let cube = cube.add()?;
        let t = producer.field::<f64, _>("t", [points]).on(&cube);
        let t = t.add()?;
        for ((i, axis), place) in producer.view_mut(p)?.indexed_iter_mut() {
            *place = place_of(i, SIDE + 1)[axis] as f64;
        }
        for ((cell, corner), point) in producer.view_mut(c)?.indexed_iter_mut() {
            *point = corner_of(cell, corner) as i32;
        }
        let change = move |producer: &mut Producer, step: u64| -> Outcome<()> {
            let mut values = producer.view_mut(t)?;
            for (i, value) in values.iter_mut().enumerate() {
                *value = (i % SIDE) as f64 + step as f64;
            }
            Ok(())
        };
        Moving::begin(producer, Box::new(change))
    }

    fn begin(producer: Producer, change: Change) -> Outcome<Self> {
        let mut moving = Moving {
            producer,
            change,
            step: 0,
        };
        moving.write()?;
        moving.publish()?;
        Ok(moving)
    }

    /// Publishes all versions. Returns the time that it took, including a pause after the last one.
    pub fn run(&mut self) -> Outcome<Duration> {
        let begin = Instant::now();
        for count in 1..=VERSIONS {
            self.write()?;
            let due = begin + Duration::from_secs(1) * count / RATE;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            self.publish()?;
        }
        std::thread::sleep(Duration::from_secs(1) / RATE);
        Ok(begin.elapsed())
    }

    fn write(&mut self) -> Outcome<()> {
        self.step += 1;
        (self.change)(&mut self.producer, self.step)
    }

    fn publish(&mut self) -> Outcome<()> {
        self.producer.publish(self.step, self.step as f64)?;
        Ok(())
    }
}

/// Creates a producer for this many bytes.
fn producer(name: &str, bytes: usize) -> Outcome<Producer> {
    const ROUNDING: usize = 16 << 20;
    let builder = Producer::builder(name).capacity(bytes + ROUNDING);
    Ok(builder.create()?)
}

/// Returns the indices along x, y and z of the item `number` of a cube.
fn place_of(number: usize, side: usize) -> [usize; 3] {
    [number % side, number / side % side, number / (side * side)]
}

/// Returns the number of a corner of a hexahedron, in VTK's order.
fn corner_of(cell: usize, corner: usize) -> usize {
    let [x, y, z] = place_of(cell, SIDE);
    let [dx, dy] = [[0, 0], [1, 0], [1, 1], [0, 1]][corner % 4];
    let across = SIDE + 1;
    x + dx + across * (y + dy + across * (z + corner / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_of_a_hexahedron_are_around_it() {
        let corners: Vec<usize> = (0..8).map(|corner| corner_of(CELLS - 1, corner)).collect();
        let last = (SIDE + 1).pow(3) - 1;
        let (row, layer) = (SIDE + 1, (SIDE + 1).pow(2));
        let upper = [last - row - 1, last - row, last, last - 1];
        assert_eq!(corners[4..], upper);
        assert_eq!(corners[..4], upper.map(|corner| corner - layer));
    }
}
