//! Publishes the steps 1 to 3 of the region `plain`, of which there are files in this folder. It
//! publishes the next step at each line of its input, and ends with the input. It uses only what
//! `tcasm-producer` had before there were named meshes. README.md says how it is run.

use std::io::stdin;
use tcasm_producer::{Complex, Producer};

const ORIGIN: [f64; 3] = [1.0, 2.0, 0.0];
const SPACING: [f64; 3] = [0.5, 0.25, 1.0];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let builder = Producer::builder("plain").capacity(1 << 16);
    let mut producer = builder.attr("beta", 0.5).create()?;
    let u = producer.field::<f64, _>("u", [4, 6]).unit("K");
    let u = u.mesh(ORIGIN, SPACING).add()?;
    let mask = producer.field::<u8, _>("mask", [4, 6]);
    let mask = mask.mesh(ORIGIN, SPACING).add()?;
    let z = producer.field::<Complex<f32>, _>("z", [5]).unit("V");
    let z = z.add()?;
    for ((i, j), value) in producer.view_mut(mask)?.indexed_iter_mut() {
        *value = ((6 * i + j) % 3) as u8;
    }
    for step in 1..=3_u16 {
        for ((i, j), value) in producer.view_mut(u)?.indexed_iter_mut() {
            *value = f64::from(step) * 100.0 + (i * 10 + j) as f64 + 0.5;
        }
        for (k, value) in producer.view_mut(z)?.indexed_iter_mut() {
            let (step, k) = (f32::from(step), k as f32);
            *value = Complex::new(step + k / 4.0, k * step - 1.0);
        }
        producer.publish(step.into(), f64::from(step) / 8.0)?;
        println!("{step}");
        if stdin().read_line(&mut String::new())? == 0 {
            break;
        }
    }
    Ok(())
}
