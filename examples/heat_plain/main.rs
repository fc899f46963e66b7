//! Heat in a plate, in ordinary memory. The edges are cold, and the middle is heated.

use ndarray::{Array2, ArrayView2, ArrayViewMut2};

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

fn main() {
    let mut now = Array2::<f64>::zeros((N, N));
    let mut next = Array2::<f64>::zeros((N, N));

    for _ in 1..=STEPS {
        step(now.view(), next.view_mut());
        std::mem::swap(&mut now, &mut next);
    }
    println!("{}", now[[N / 2, N / 2 + 10]]);
}
