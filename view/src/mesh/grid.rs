//! The places of the samples of a slice through a rectilinear or curvilinear mesh.

use super::lattice::Lattice;
use super::points::is_usable;
use super::{Bounds, extend, middle, relative};
use crate::image::Image;
use crate::request::Slice;

/// Maximum number of samples of such a slice along an axis.
pub const MAX_SIDE: usize = 768;

/// The corners of the samples of an image. A sample is a quadrilateral between four of them.
///
/// A sample of values in cells has the corners of its cells. A sample of values on points reaches
/// to the middle between its last point and the next one, and ends at the border of the mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Number of rows and columns of corners: one more than the image has samples.
    pub size: [usize; 2],
    /// The place that `corners` are relative to.
    pub origin: [f64; 3],
    /// The least and the greatest coordinates; `None` if no corner has a place.
    pub bounds: Option<Bounds>,
    /// Number of corners that cannot be drawn, because of their coordinates.
    pub invalid_points: usize,
    /// The coordinates x, y, z of the corners minus `origin`, row by row; NaN for those without a
    /// place.
    pub corners: Vec<[f32; 3]>,
}

/// The points around a corner: two indices along each axis (z, y, x). The corner is in the middle.
type Neighbours = [[usize; 2]; 3];

/// Returns the corners of the samples of `image`, which is the slice `slice` of a field on these
/// points, or in the cells between them. A field of `count` axes has the last ones of the mesh.
pub fn grid(
    lattice: &Lattice<'_>,
    count: usize,
    cells: bool,
    slice: &Slice,
    image: &Image,
) -> Grid {
    let counts = lattice.counts();
    let lacking = 3_usize.saturating_sub(count);
    let mut around: Neighbours = [[0; 2]; 3];
    for (axis, at) in slice.at.iter().enumerate().take(count) {
        if let Some(two) = around.get_mut(axis + lacking) {
            *two = [*at, at + usize::from(cells)];
        }
    }
    let [rows, cols] = slice.axes.map(|axis| (axis + lacking).min(2));
    let edges = |side: usize, axis: usize| -> Vec<[usize; 2]> {
        let ends = 0..=image.size[side];
        ends.map(|number| edge(image, side, number, cells, counts[axis]))
            .collect()
    };
    let (down, across) = (edges(0, rows), edges(1, cols));
    let mut corners = Vec::with_capacity(down.len() * across.len());
    for row in &down {
        for col in &across {
            (around[rows], around[cols]) = (*row, *col);
            corners.push(corner(lattice, counts, around));
        }
    }
    Grid::new([down.len(), across.len()], &corners)
}

/// Returns the two points between which the edge `number` of the samples of a side lies.
fn edge(image: &Image, side: usize, number: usize, cells: bool, points: usize) -> [usize; 2] {
    let [first, end] = image.window[side];
    let at = (first + number * image.block[side]).min(end);
    match cells {
        true => [at; 2],
        // The edges at the border of the mesh are there, not between two points.
        false if at == 0 || at >= points => [at.saturating_sub(usize::from(at > 0)); 2],
        false => [at - 1, at],
    }
}

/// Returns the place of a corner: the middle of the points around it.
fn corner(lattice: &Lattice<'_>, counts: [usize; 3], around: Neighbours) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for number in 0..8_usize {
        let index = |axis: usize| {
            let at = around[axis][(number >> axis) & 1];
            at.min(counts[axis].saturating_sub(1))
        };
        let point = lattice.point([index(0), index(1), index(2)]);
        for (sum, x) in sum.iter_mut().zip(point) {
            *sum += x / 8.0;
        }
    }
    sum
}

impl Grid {
    /// Returns the axes along which the slice is longest: the one that goes up, and the one to the
    /// right, which comes first in the order x (0), y (1), z (2).
    pub fn axes(&self) -> [usize; 2] {
        let [low, high] = self.bounds.unwrap_or_default();
        let length = |axis: usize| high[axis] - low[axis];
        let mut axes = (0..3).rev();
        let first = axes.next().unwrap_or(2);
        let thin = axes.fold(first, |thin, axis| match length(axis) < length(thin) {
            true => axis,
            false => thin,
        });
        match thin {
            0 => [2, 1],
            1 => [2, 0],
            _ => [1, 0],
        }
    }

    fn new(size: [usize; 2], places: &[[f64; 3]]) -> Self {
        let mut bounds = None;
        for place in places.iter().filter(|place| is_usable(**place)) {
            extend(&mut bounds, *place);
        }
        let origin = bounds.as_ref().map_or([0.0; 3], middle);
        let corner = |place: &[f64; 3]| match is_usable(*place) {
            true => relative(*place, origin),
            false => [f32::NAN; 3],
        };
        let corners: Vec<[f32; 3]> = places.iter().map(corner).collect();
        Grid {
            size,
            origin,
            bounds,
            invalid_points: corners.iter().filter(|corner| corner[0].is_nan()).count(),
            corners,
        }
    }
}

/// Returns the coordinates of the samples of a line along `axis` of a rectilinear mesh. Each is the
/// middle of the first and the last of its `block` points or cells. Empty for other meshes.
pub fn places(
    lattice: &Lattice<'_>,
    count: usize,
    cells: bool,
    axis: usize,
    block: usize,
    samples: usize,
) -> Vec<f64> {
    let axis = axis + 3_usize.saturating_sub(count);
    let Lattice::Axes(axes) = lattice else {
        return Vec::new();
    };
    if axes.get(axis).is_none_or(Option::is_none) {
        return Vec::new();
    }
    let points = lattice.counts()[axis];
    let coordinate = |at: usize| {
        let mut index = [0; 3];
        index[axis] = at.min(points.saturating_sub(1));
        lattice.point(index)[2 - axis]
    };
    let extent = points.saturating_sub(usize::from(cells)).max(1);
    let place = |sample: usize| {
        let (first, end) = (sample * block, ((sample + 1) * block).min(extent));
        let last = end.max(first + 1) - 1 + usize::from(cells);
        coordinate(first) / 2.0 + coordinate(last) / 2.0
    };
    (0..samples).map(place).collect()
}
