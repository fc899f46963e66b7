//! A producer of particles whose number changes.
//!
//! `swarm NAME` obeys commands, one per line. A number sets the number of particles, writes all of
//! them, and publishes. The answer is `ok version=N`, or `error` with the reason.

use ndarray::Ix2;
use std::io::BufRead;
use tcasm_producer::{Field, MeshHandle, Producer};
use tcasm_tests::PublishVisible;

/// The most particles.
const MOST: usize = 3000;

struct Swarm {
    producer: Producer,
    atoms: MeshHandle,
    x: Field<f64, Ix2>,
    id: Field<u32, ndarray::Ix1>,
    step: u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tcasm_tests::child::die_with_parent();
    let name = std::env::args().nth(1).ok_or("swarm NAME")?;
    let mut swarm = Swarm::create(&name)?;
    for line in std::io::stdin().lock().lines() {
        match swarm.step(&line?) {
            Ok(version) => println!("ok version={version}"),
            Err(error) => println!("error {error}"),
        }
    }
    Ok(())
}

impl Swarm {
    fn create(name: &str) -> Result<Swarm, Box<dyn std::error::Error>> {
        let builder = Producer::builder(name).capacity(1 << 20).versions(16);
        let mut producer = builder.create()?;
        let x = producer.field("x", [MOST, 3]).vector().variable();
        let x = x.unit("nm").add()?;
        let atoms = producer.particles("atoms", &x).add()?;
        let id = producer.field("id", [MOST]).variable().on(&atoms).add()?;
        Ok(Swarm {
            producer,
            atoms,
            x,
            id,
            step: 0,
        })
    }

    /// Publishes a version with as many particles as `line` says.
    fn step(&mut self, line: &str) -> Result<u64, Box<dyn std::error::Error>> {
        let len: usize = line.trim().parse()?;
        self.producer.set_len(self.atoms, len)?;
        self.step += 1;
        let step = self.step;
        let mut x = self.producer.view_mut(self.x)?;
        let rows = x.outer_iter_mut().take(len).enumerate();
        rows.for_each(|(i, mut row)| row.fill((step * 10_000 + i as u64) as f64));
        let mut id = self.producer.view_mut(self.id)?;
        let ids = id.iter_mut().take(len).enumerate();
        ids.for_each(|(i, id)| *id = (step * 10_000) as u32 + i as u32);
        let receipt = self.producer.publish_visible(step, step as f64)?;
        Ok(receipt.version().ok_or("the version was skipped")?)
    }
}
