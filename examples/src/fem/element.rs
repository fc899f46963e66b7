//! A linear triangle: its area, and the gradients of its basis functions.

/// A triangle with counter-clockwise points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Element {
    /// The area, in m^2.
    pub area: f64,
    /// The gradient of the basis function of each point, which is 1 there and 0 at the other two,
    /// in 1/m.
    pub gradients: [[f64; 2]; 3],
}

impl Element {
    /// Returns the triangle of three of the points.
    pub fn of(points: &[[f64; 3]], triangle: [i64; 3]) -> Self {
        let [a, b, c] = triangle.map(|i| points[i as usize]);
        let twice = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]);
        // The gradient is perpendicular to the opposite edge.
        let gradient = |from: [f64; 3], to: [f64; 3]| {
            let edge = [to[0] - from[0], to[1] - from[1]];
            [-edge[1] / twice, edge[0] / twice]
        };
        Element {
            area: 0.5 * twice,
            gradients: [gradient(b, c), gradient(c, a), gradient(a, b)],
        }
    }

    /// Returns the gradient of the linear function that has these values at the points.
    pub fn gradient(&self, values: [f64; 3]) -> [f64; 2] {
        let mut sum = [0.0; 2];
        for (value, [x, y]) in values.into_iter().zip(self.gradients) {
            sum = [sum[0] + value * x, sum[1] + value * y];
        }
        sum
    }

    /// Returns a bound of the eigenvalues of the triangle's conduction with its lumped mass, for a
    /// diffusivity of 1: the trace of its matrix, in 1/m^2.
    pub fn largest_eigenvalue(&self) -> f64 {
        let squares = self.gradients.iter().map(|[x, y]| x * x + y * y);
        // Conduction is the area times the products of gradients, mass a third of the area.
        3.0 * squares.sum::<f64>()
    }
}
