//! Points, and slices of meshes, on a screen of few pixels, such as a terminal.

use super::{Bounds, Grid, Scene};
use crate::image::Image;

/// Pixels, each with the mean of what lies there. Distances along both axes have the same scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    /// Number of rows and columns.
    pub size: [usize; 2],
    /// The axes that go up and to the right: 0 for x, 1 for y, 2 for z.
    pub axes: [usize; 2],
    /// The least and the greatest coordinate of what is drawn, along these axes.
    pub extent: [[f64; 2]; 2],
    /// The pixels row by row, the lowest row first: `None` where there is nothing, NaN where a
    /// value is not finite.
    pub values: Vec<Option<f64>>,
}

/// The work for each pixel, in tests of whether it lies in a quadrilateral. It is enough unless
/// very many of them overlap.
const TESTS: usize = 64;

impl Raster {
    /// Draws points, as they are seen along the axis that is not among `axes` (up, right).
    pub fn of_points(scene: &Scene, axes: [usize; 2], size: [usize; 2]) -> Raster {
        let mut raster = Raster::empty(scene.bounds, axes, size);
        let map = Map::new(&raster);
        let mut counts = vec![0_u32; raster.values.len()];
        for (position, value) in scene.positions.iter().zip(&scene.values) {
            let Some(pixel) = map.pixel(map.place(scene.origin, *position)) else {
                continue;
            };
            counts[pixel] += 1;
            let sum = raster.values[pixel].get_or_insert(0.0);
            *sum += scene.base + f64::from(*value);
        }
        for (value, count) in raster.values.iter_mut().zip(counts) {
            *value = value.map(|sum| finite(sum) / f64::from(count));
        }
        raster
    }

    /// Draws the samples of a slice at their places, along its [axes](Grid::axes).
    pub fn of_grid(image: &Image, grid: &Grid, size: [usize; 2]) -> Raster {
        let mut raster = Raster::empty(grid.bounds, grid.axes(), size);
        let map = Map::new(&raster);
        let mut tests = TESTS * raster.values.len();
        let columns = grid.size[1];
        let [rows, cols] = image.size;
        for (number, sample) in image.samples.iter().enumerate().take(rows * cols) {
            let first = number / cols * columns + number % cols;
            let corners = [first, first + 1, first + columns + 1, first + columns];
            let corners = corners.map(|corner| {
                let corner = grid.corners.get(corner).copied().unwrap_or([f32::NAN; 3]);
                map.place(grid.origin, corner)
            });
            let value = finite(image.base + f64::from(*sample));
            raster.fill(&map, corners, value, &mut tests);
        }
        raster
    }

    fn empty(bounds: Option<Bounds>, axes: [usize; 2], size: [usize; 2]) -> Raster {
        let [low, high] = bounds.unwrap_or_default();
        Raster {
            size,
            axes,
            extent: axes.map(|axis| [low[axis], high[axis]]),
            values: vec![None; size[0] * size[1]],
        }
    }

    /// Fills the pixels whose middles lie in a quadrilateral, and the pixel at its middle. `tests`
    /// is the work that is left.
    fn fill(&mut self, map: &Map, corners: [[f64; 2]; 4], value: f64, tests: &mut usize) {
        let middle = [0, 1].map(|side| corners.iter().map(|c| c[side]).sum::<f64>() / 4.0);
        if let Some(pixel) = map.pixel(middle) {
            self.values[pixel] = Some(value);
        }
        let ends = |side: usize| {
            let places = || corners.iter().map(|corner| corner[side]);
            let low = places().fold(f64::INFINITY, f64::min).floor();
            let high = places().fold(f64::NEG_INFINITY, f64::max).ceil();
            low as usize..(high as usize).min(self.size[side])
        };
        let (rows, cols) = (ends(0), ends(1));
        let work = rows.len() * cols.len();
        if work > *tests || middle.iter().any(|x| x.is_nan()) {
            return;
        }
        *tests -= work;
        for row in rows {
            for col in cols.clone() {
                if contains(&corners, [row as f64 + 0.5, col as f64 + 0.5]) {
                    self.values[row * self.size[1] + col] = Some(value);
                }
            }
        }
    }

    /// Returns the least and the greatest finite value.
    pub fn range(&self) -> Option<[f64; 2]> {
        crate::image::range_of(self.values.iter().flatten())
    }
}

/// Returns a value, or NaN for an infinite one.
fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { f64::NAN }
}

/// The mapping from coordinates to pixels.
struct Map {
    axes: [usize; 2],
    size: [usize; 2],
    /// The coordinates at the middle.
    middle: [f64; 2],
    /// The length of a pixel.
    pixel: f64,
}

impl Map {
    fn new(raster: &Raster) -> Self {
        let length = |side: usize| {
            let [low, high] = raster.extent[side];
            (high - low) / raster.size[side].max(1) as f64
        };
        let pixel = length(0).max(length(1));
        Map {
            axes: raster.axes,
            size: raster.size,
            middle: raster.extent.map(|[low, high]| low / 2.0 + high / 2.0),
            // If all points are at one place, they are in the middle.
            pixel: if pixel > 0.0 { pixel } else { 1.0 },
        }
    }

    /// Returns the place of a point on the screen, in pixels up and to the right.
    fn place(&self, origin: [f64; 3], position: [f32; 3]) -> [f64; 2] {
        [0, 1].map(|side| {
            let axis = self.axes[side];
            let away = origin[axis] - self.middle[side] + f64::from(position[axis]);
            away / self.pixel + self.size[side] as f64 / 2.0
        })
    }

    /// Returns the number of the pixel at a place. The border belongs to the screen.
    fn pixel(&self, place: [f64; 2]) -> Option<usize> {
        let index = |side: usize| {
            let most = self.size[side] as f64;
            // A point at the border may be rounded to a place beyond it.
            let inside = (-0.01..=most + 0.01).contains(&place[side]);
            inside.then(|| (place[side] as usize).min(self.size[side].saturating_sub(1)))
        };
        let (row, col) = (index(0)?, index(1)?);
        (row < self.size[0] && col < self.size[1]).then(|| row * self.size[1] + col)
    }
}

/// Returns true if a place lies in a quadrilateral, or on its border.
fn contains(corners: &[[f64; 2]; 4], place: [f64; 2]) -> bool {
    let mut inside = false;
    for (i, a) in corners.iter().enumerate() {
        let b = &corners[(i + 3) % 4];
        // A line upwards from the place crosses the borders an odd number of times.
        let crosses = (a[1] > place[1]) != (b[1] > place[1]);
        if crosses && place[0] < a[0] + (place[1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]) {
            inside = !inside;
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(places: &[[f32; 3]], values: &[f32]) -> Scene {
        let mut bounds = None;
        for place in places {
            super::super::extend(&mut bounds, place.map(f64::from));
        }
        Scene {
            mesh: "atoms".to_owned(),
            cells: false,
            all: places.len(),
            invalid_points: 0,
            why: None,
            origin: [0.0; 3],
            bounds,
            positions: places.to_vec(),
            numbers: (0..places.len() as u32).collect(),
            surface: None,
            base: 10.0,
            range: None,
            not_finite: 0,
            values: values.to_vec(),
        }
    }

    #[test]
    fn pixel_has_the_mean_of_its_points() {
        let places = [
            [0.0, 0.0, 5.0],
            [0.1, 0.1, 0.0],
            [4.0, 0.0, 0.0],
            [4.0, 4.0, 0.0],
        ];
        let scene = points(&places, &[1.0, 2.0, 4.0, f32::INFINITY]);
        let raster = Raster::of_points(&scene, [1, 0], [4, 4]);
        assert_eq!(raster.values[0], Some(11.5));
        assert_eq!(raster.values[3], Some(14.0));
        assert!(raster.values[15].is_some_and(f64::is_nan));
        assert_eq!(raster.values.iter().flatten().count(), 3);
        assert_eq!(
            (raster.range(), raster.extent[1]),
            (Some([11.5, 14.0]), [0.0, 4.0])
        );
        let side = Raster::of_points(&scene, [2, 1], [5, 4]);
        assert_eq!(
            side.values[4 * 4],
            Some(11.0),
            "the point that is highest along z"
        );
    }

    #[test]
    fn points_at_one_place_are_in_the_middle() {
        let raster = Raster::of_points(&points(&[[7.0; 3]], &[0.0]), [1, 0], [3, 3]);
        assert_eq!(raster.values[4], Some(10.0));
        assert!(
            Raster::of_points(&points(&[], &[]), [1, 0], [0, 0])
                .values
                .is_empty()
        );
    }

    /// Returns a slice of two samples, the second three times as wide as the first.
    fn slice(last: f32) -> (Image, Grid) {
        let image = Image {
            size: [1, 2],
            block: [1, 1],
            window: [[0, 1], [0, 2]],
            base: 0.0,
            range: Some([1.0, 2.0]),
            samples: vec![1.0, 2.0],
            not_finite: 0,
            envelope: Vec::new(),
        };
        let row = |y: f32| [[0.0, y, 0.0], [1.0, y, 0.0], [last, y, 0.0]];
        let corners = [row(0.0), row(2.0)].concat();
        let mut bounds = None;
        for corner in corners.iter().filter(|corner| corner[0].is_finite()) {
            super::super::extend(&mut bounds, corner.map(f64::from));
        }
        let grid = Grid {
            size: [2, 3],
            origin: [0.0; 3],
            bounds,
            invalid_points: 0,
            corners,
        };
        (image, grid)
    }

    #[test]
    fn samples_are_where_their_corners_are() {
        let (image, grid) = slice(4.0);
        let raster = Raster::of_grid(&image, &grid, [4, 8]);
        let row = [1.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0].map(Some);
        assert_eq!(raster.values, [row; 4].concat());
        assert_eq!(raster.axes, [1, 0]);
    }

    #[test]
    fn samples_without_a_place_are_not_drawn() {
        let (image, grid) = slice(f32::NAN);
        let raster = Raster::of_grid(&image, &grid, [8, 4]);
        assert_eq!(raster.values, vec![Some(1.0); 32]);
    }
}
