//! Waves on a pond: the wave equation, with a drop of rain at regular intervals.

use ndarray::{ArrayView2, ArrayViewMut2};

/// Points along each side.
pub const SIZE: usize = 256;
/// Square of the Courant number where the pond is deepest. The scheme is stable below 1/2.
const COURANT: f64 = 0.3;
/// Factor by which a wave shrinks in each step.
const DAMPING: f64 = 0.998;
/// Change of the height at the centre of a drop, in the step in which it falls.
const DROP: f64 = 0.3;
/// Steps between drops.
const DROPS: u64 = 40;

/// The part of the state that is not in fields.
pub struct Pond {
    step: u64,
    random: u64,
}

impl Pond {
    /// Creates a pond that is deepest in its middle. Sets `depth`, which never changes afterwards.
    pub fn new(mut depth: ArrayViewMut2<'_, f64>) -> Self {
        for ((j, i), d) in depth.indexed_iter_mut() {
            *d = 1.0 - 0.8 * distance([j, i], [SIZE / 2; 2]) / SIZE as f64;
        }
        Pond { step: 0, random: 1 }
    }

    /// Computes the next step from `now` and the step before it, which `next` holds, into `next`.
    pub fn step(
        &mut self,
        now: ArrayView2<'_, f64>,
        mut next: ArrayViewMut2<'_, f64>,
        depth: ArrayView2<'_, f64>,
    ) {
        for j in 1..SIZE - 1 {
            for i in 1..SIZE - 1 {
                let around = now[[j - 1, i]] + now[[j + 1, i]] + now[[j, i - 1]] + now[[j, i + 1]];
                let curvature = around - 4.0 * now[[j, i]];
                let free = 2.0 * now[[j, i]] - next[[j, i]] + COURANT * depth[[j, i]] * curvature;
                next[[j, i]] = DAMPING * free;
            }
        }
        if self.step.is_multiple_of(DROPS) {
            self.drop_into(next);
        }
        self.step += 1;
    }

    /// Adds a drop at a random place away from the edge.
    fn drop_into(&mut self, mut height: ArrayViewMut2<'_, f64>) {
        let centre = [(); 2].map(|()| SIZE / 8 + self.random(SIZE * 3 / 4));
        for ((j, i), h) in height.indexed_iter_mut() {
            let r = distance([j, i], centre) / 4.0;
            let inner = (1..SIZE - 1).contains(&j) && (1..SIZE - 1).contains(&i);
            if r < 4.0 && inner {
                *h -= DROP * (-r * r).exp();
            }
        }
    }

    /// Returns a pseudo-random number below `below`. The sequence is the same in every run.
    fn random(&mut self, below: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.random >> 33) as usize % below
    }
}

fn distance(a: [usize; 2], b: [usize; 2]) -> f64 {
    let [dy, dx] = [0, 1].map(|k| a[k] as f64 - b[k] as f64);
    dy.hypot(dx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn waves_cross_the_pond_and_stay_bounded() {
        let (mut depth, mut now) = (Array2::zeros([SIZE; 2]), Array2::zeros([SIZE; 2]));
        let mut next = now.clone();
        let mut pond = Pond::new(depth.view_mut());
        for _ in 0..300 {
            pond.step(now.view(), next.view_mut(), depth.view());
            std::mem::swap(&mut now, &mut next);
        }
        let wet = now.iter().filter(|h| h.abs() > 1e-6).count();
        assert!(wet > SIZE * SIZE / 2, "waves have reached {wet} points");
        assert!(now.iter().all(|h| h.abs() < 2.0));
        assert!(
            now.row(0).iter().all(|h| *h == 0.0),
            "the shore stands still"
        );
    }
}
