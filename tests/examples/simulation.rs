//! A simulation for the tests of the Python package: publishes a step for each line of its
//! input, and writes a checkpoint of it. If the line is a name, the checkpoint is that of a version
//! which has lost the field of this name. Usage: simulation FOLDER

use std::io::BufRead;
use tcasm_checkpoint::{Checkpointer, Options, Snapshot};
use tcasm_observer::Observer;
use tcasm_producer::Producer;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("give the folder of the checkpoints")?;
    let mut producer = Producer::builder("rust").capacity(1 << 20).create()?;
    let u = producer.field::<f64, _>("u", [2, 3, 4]).unit("K").add()?;
    let f = producer
        .field::<i32, _>("f", [2, 3, 4])
        .fortran_order()
        .add()?;
    let v = producer
        .field::<f32, _>("v", [4, 5, 3])
        .vector()
        .ghosts(&[[1, 1], [1, 0]])
        .add()?;
    let mut checkpointer = Checkpointer::new(&folder, "rust", Options::default())?;
    let mut observer = Observer::attach("rust")?;
    println!("ready");
    for (step, line) in (1..).zip(std::io::stdin().lock().lines()) {
        let lost = line?;
        let (mut u, mut f, mut v) = producer.views_mut((u.buffer(), f.buffer(), v.buffer()))?;
        for ((i, j, k), value) in u.indexed_iter_mut() {
            *value = (step as usize * 1000 + i * 100 + j * 10 + k) as f64;
        }
        f.assign(&u.mapv(|value| value as i32));
        v.fill(step as f32);
        producer.publish(step, step as f64 / 4.0)?;
        let version = observer.wait_newer(std::time::Duration::from_secs(60))?;
        let view = version.view()?;
        let bytes = |name: &str| view.bytes(name).unwrap_or_default();
        let mut table = version.table().clone();
        for field in &mut table.fields {
            field.lost = field.name == lost;
        }
        let table = table.without_lost();
        let snapshot = Snapshot::new("rust", version.stamp(), &table, |d| bytes(&d.name));
        checkpointer.write(&snapshot)?;
        println!("{step}");
    }
    Ok(())
}
