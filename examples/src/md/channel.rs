//! The channel that the gas flows through.

/// A channel along x, which is periodic along y and z. It begins with a wall at x = 0.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    /// The lengths along x, y and z, in nm.
    pub sides: [f64; 3],
    /// True if atoms leave at its end. Otherwise there is a second wall.
    pub open: bool,
}

impl Channel {
    /// Returns the vector from `b` to `a`, or to the image of `a` that is nearest to `b`.
    pub fn between(&self, b: [f64; 3], a: [f64; 3]) -> [f64; 3] {
        let [x, y, z] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
        let [_, width, height] = self.sides;
        let nearest = |d: f64, side: f64| d - side * (d / side).round();
        [x, nearest(y, width), nearest(z, height)]
    }

    /// Reflects an atom that has passed a wall, and moves one that has left through a periodic side
    /// to its image inside.
    pub fn confine(&self, x: &mut [f64; 3], v: &mut [f64; 3]) {
        let end = self.sides[0];
        if x[0] < 0.0 {
            (x[0], v[0]) = (-x[0], -v[0]);
        } else if !self.open && x[0] > end {
            (x[0], v[0]) = (2.0 * end - x[0], -v[0]);
        }
        for (x, side) in x.iter_mut().zip(self.sides).skip(1) {
            *x = x.rem_euclid(side);
        }
    }

    /// Returns true if an atom at `x` has left through the open end.
    pub fn is_outside(&self, x: [f64; 3]) -> bool {
        self.open && x[0] >= self.sides[0]
    }
}
