//! Inner loops of numerical programs, over slices.

use crate::workload::Random;

/// A sparse matrix in compressed rows (CSR).
pub struct Csr {
    /// For each row the index of its first element in the other two, and at last their length.
    pub starts: Vec<usize>,
    /// The column of each element.
    pub columns: Vec<u32>,
    /// The value of each element.
    pub values: Vec<f64>,
}

/// Computes `a = b + factor * c`, as the triad of STREAM does. The shortest slice ends it.
pub fn triad(a: &mut [f64], b: &[f64], c: &[f64], factor: f64) {
    for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
        *a = b + factor * c;
    }
}

/// Computes the sum of the six neighbours of each inner point, minus six times the point. Leaves
/// the other points of `into` as they are. Each extent of `shape` is at least 2.
pub fn stencil(into: &mut [f64], from: &[f64], shape: [usize; 3]) {
    let [depth, rows, columns] = shape;
    assert!(shape.iter().all(|extent| *extent >= 2), "{shape:?}");
    let (plane, width) = (rows * columns, columns - 2);
    let row = |first: usize| &from[first..][..width];
    for z in 1..depth - 1 {
        for y in 1..rows - 1 {
            let at = z * plane + y * columns + 1;
            let [here, west, east] = [at, at - 1, at + 1].map(row);
            let [north, south] = [at - columns, at + columns].map(row);
            let [below, above] = [at - plane, at + plane].map(row);
            let out = &mut into[at..][..width];
            for x in 0..width {
                let around = west[x] + east[x] + north[x] + south[x] + below[x] + above[x];
                out[x] = around - 6.0 * here[x];
            }
        }
    }
}

/// Returns the sum of the elements at these indices.
pub fn gather(from: &[f64], at: &[u32]) -> f64 {
    at.iter().map(|i| from[*i as usize]).sum()
}

/// Multiplies a matrix by the vector `x`.
pub fn spmv(matrix: &Csr, x: &[f64], y: &mut [f64]) {
    for (y, bounds) in y.iter_mut().zip(matrix.starts.windows(2)) {
        let row = bounds[0]..bounds[1];
        let elements = matrix.columns[row.clone()].iter();
        let elements = elements.zip(&matrix.values[row]);
        *y = elements.map(|(i, value)| value * x[*i as usize]).sum();
    }
}

/// Adds 1 to the bins at these indices, once for each time that an index occurs.
pub fn scatter(bins: &mut [f64], at: &[u32]) {
    for i in at {
        bins[*i as usize] += 1.0;
    }
}

/// Follows links (see [`link`]), beginning with the element `start`. Returns the index of the last
/// element.
pub fn chase(links: &[f64], start: usize, steps: usize) -> usize {
    (0..steps).fold(start, |at, _| links[at].to_bits() as u32 as usize)
}

/// Returns a number from 1 to 2 whose lowest 32 bits are `next`, so that the same data suit
/// arithmetic and [`chase`]. The lowest 12 bits of `mark` make it another number with the same
/// `next`.
pub fn link(next: u32, mark: u64) -> f64 {
    let mark = (mark & 0xFFF) << 40;
    f64::from_bits(1f64.to_bits() | mark | u64::from(next))
}

/// Returns for each of `n` elements the next one in a random cycle through all of them (Sattolo's
/// algorithm).
pub fn cycle(n: u32, random: &mut Random) -> Vec<u32> {
    let mut next: Vec<u32> = (0..n).collect();
    for i in (1..next.len()).rev() {
        next.swap(i, random.below(i));
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triad_adds_a_multiple() {
        let mut a = [0.0; 3];
        triad(&mut a, &[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0], 0.5);
        assert_eq!(a, [6.0, 12.0, 18.0]);
    }

    #[test]
    fn stencil_gives_the_second_differences_of_inner_points() {
        let shape = [4, 5, 6];
        let index = |z: usize, y: usize, x: usize| (z * 5 + y) * 6 + x;
        let mut from = vec![0.0; 120];
        for (z, y, x) in points(shape) {
            // The second differences of these squares are 2, 4 and 8.
            from[index(z, y, x)] = (x * x + 2 * y * y + 4 * z * z + x * y) as f64;
        }
        let mut into = vec![-1.0; 120];
        stencil(&mut into, &from, shape);
        for (z, y, x) in points(shape) {
            let inner = (1..3).contains(&z) && (1..4).contains(&y) && (1..5).contains(&x);
            let expected = if inner { 14.0 } else { -1.0 };
            assert_eq!(into[index(z, y, x)], expected, "{z} {y} {x}");
        }
    }

    fn points([depth, rows, columns]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..depth * rows * columns)
            .map(move |i| (i / (rows * columns), i / columns % rows, i % columns))
    }

    #[test]
    fn gather_sums_elements_as_often_as_they_are_asked_for() {
        assert_eq!(gather(&[1.0, 10.0, 100.0], &[2, 0, 2]), 201.0);
    }

    #[test]
    fn spmv_multiplies_rows_of_different_lengths() {
        let matrix = Csr {
            starts: vec![0, 2, 2, 3],
            columns: vec![0, 2, 1],
            values: vec![1.0, 2.0, 3.0],
        };
        let mut y = [-1.0; 3];
        spmv(&matrix, &[1.0, 10.0, 100.0], &mut y);
        assert_eq!(y, [201.0, 0.0, 30.0]);
    }

    #[test]
    fn scatter_counts_repeated_bins() {
        let mut bins = [0.0, 5.0, 0.0];
        scatter(&mut bins, &[1, 0, 1]);
        assert_eq!(bins, [1.0, 7.0, 0.0]);
    }

    #[test]
    fn chase_visits_all_elements_of_a_cycle_before_it_returns() {
        let links: Vec<f64> = cycle(100, &mut Random(3))
            .into_iter()
            .map(|next| link(next, 77))
            .collect();
        let mut seen: Vec<usize> = (0..100).map(|steps| chase(&links, 5, steps)).collect();
        assert_eq!(chase(&links, 5, 100), 5);
        seen.sort_unstable();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn links_are_numbers_from_1_to_2_that_differ_by_their_marks() {
        let links = [0, 1, 0xFFF].map(|mark| link(u32::MAX, mark));
        assert!(links.iter().all(|link| (1.0..2.0).contains(link)));
        assert!(links.is_sorted_by(|a, b| a < b));
    }
}
