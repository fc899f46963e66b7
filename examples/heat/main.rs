//! Heat in a plate, in a region. The edges are cold, and the middle is heated. Each step is
//! published: look at it with `tcasm view heat`.

use tcasm_producer::Producer;
use tcasm_producer::ndarray::{ArrayView2, ArrayViewMut2};

const N: usize = 128;
const STEPS: u64 = 1000;

/// Computes the next temperatures from those of now.
fn step(now: ArrayView2<f64>, mut next: ArrayViewMut2<f64>) {
    for i in 1..N - 1 {
        for j in 1..N - 1 {
            next[[i, j]] = now[[i, j]]
                + 0.2
                    * (now[[i - 1, j]] + now[[i + 1, j]] + now[[i, j - 1]] + now[[i, j + 1]]
                        - 4.0 * now[[i, j]]);
        }
    }
    next[[N / 2, N / 2]] = 100.0;
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut heat = Producer::builder("heat").capacity(1 << 20).create()?;
    let t = heat.field::<f64, _>("t", [N, N]).add()?;
    let (mut now, mut next) = (t.buffer(), heat.buffer_like(t)?);

    for n in 1..=STEPS {
        let (from, to) = heat.views_mut((now.read(), next))?;
        step(from, to);
        now = next;
        next = heat.bind(t, next)?;
        heat.publish(n, 0.1 * n as f64)?;
    }
    println!("{}", heat.view(now)?[[N / 2, N / 2 + 10]]);
    Ok(())
}
