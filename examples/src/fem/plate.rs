//! The arrays of the plate: its mesh, and the values on it. They have room for a finer mesh.

use crate::dump::Record;
use crate::slices::{flat, rows};
use ndarray::{Array1, Array2, ArrayViewMut1, ArrayViewMut2};

/// Views of the arrays: points, triangles, temperatures of the points, heat flux in the triangles.
pub type Views<'a> = (
    ArrayViewMut2<'a, f64>,
    ArrayViewMut2<'a, i64>,
    ArrayViewMut1<'a, f64>,
    ArrayViewMut2<'a, f64>,
);

/// The size of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// The number of points.
    pub points: usize,
    /// The number of triangles.
    pub triangles: usize,
}

impl Size {
    /// Returns the bytes of arrays with room for such a mesh.
    pub fn bytes(self) -> usize {
        let vector = size_of::<[f64; 3]>();
        self.points * (vector + size_of::<f64>()) + self.triangles * 2 * vector
    }
}

/// The arrays in ordinary memory.
#[derive(Clone, Debug)]
pub struct Storage {
    points: Array2<f64>,
    triangles: Array2<i64>,
    temperature: Array1<f64>,
    flux: Array2<f64>,
}

impl Storage {
    /// Creates arrays with room for a mesh of this size.
    pub fn new(capacity: Size) -> Self {
        Storage {
            points: Array2::zeros([capacity.points, 3]),
            triangles: Array2::zeros([capacity.triangles, 3]),
            temperature: Array1::zeros(capacity.points),
            flux: Array2::zeros([capacity.triangles, 3]),
        }
    }

    /// Returns views of the arrays.
    pub fn views(&mut self) -> Views<'_> {
        (
            self.points.view_mut(),
            self.triangles.view_mut(),
            self.temperature.view_mut(),
            self.flux.view_mut(),
        )
    }
}

/// A mesh of triangles with the temperature of each point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// The coordinates of the points, in m.
    pub points: Vec<[f64; 3]>,
    /// The points of each triangle, counter-clockwise. The first two are the ends of the edge that
    /// is bisected next.
    pub triangles: Vec<[i64; 3]>,
    /// The temperatures of the points, in K.
    pub temperature: Vec<f64>,
}

impl Mesh {
    /// Returns the size.
    pub fn size(&self) -> Size {
        Size {
            points: self.points.len(),
            triangles: self.triangles.len(),
        }
    }
}

/// The mesh in the first elements of the arrays, and the values on it.
pub struct Plate<'a> {
    /// The coordinates of the points, in m.
    pub points: &'a mut [[f64; 3]],
    /// The points of each triangle, as in [`Mesh`].
    pub triangles: &'a mut [[i64; 3]],
    /// The temperatures of the points, in K.
    pub temperature: &'a mut [f64],
    /// The heat flux in each triangle, in W/m^2.
    pub flux: &'a mut [[f64; 3]],
}

impl<'a> Plate<'a> {
    /// Takes a mesh of this size from arrays.
    pub fn of((points, triangles, temperature, flux): Views<'a>, size: Size) -> Self {
        Plate {
            points: &mut rows(points)[..size.points],
            triangles: &mut rows(triangles)[..size.triangles],
            temperature: &mut flat(temperature)[..size.points],
            flux: &mut rows(flux)[..size.triangles],
        }
    }

    /// Writes `mesh` into arrays, without heat flux. Returns `None`, and changes nothing, if they
    /// have too little room.
    pub fn write(views: Views<'a>, mesh: &Mesh) -> Option<Self> {
        let (size, [points, triangles]) = (mesh.size(), [views.0.nrows(), views.1.nrows()]);
        if size.points > points || size.triangles > triangles {
            return None;
        }
        let plate = Self::of(views, size);
        plate.points.copy_from_slice(&mesh.points);
        plate.triangles.copy_from_slice(&mesh.triangles);
        plate.temperature.copy_from_slice(&mesh.temperature);
        plate.flux.fill([0.0; 3]);
        Some(plate)
    }

    /// Returns the size of the mesh.
    pub fn size(&self) -> Size {
        Size {
            points: self.points.len(),
            triangles: self.triangles.len(),
        }
    }

    /// Returns the line of progress of a step.
    pub fn line(&self, step: u64, time: f64, error: f64) -> String {
        let Size { points, triangles } = self.size();
        format!(
            "step {step:>7}  time {time:>10.4} s  points {points:>6}  \
             triangles {triangles:>6}  error {error:>9.6} K"
        )
    }

    /// Returns what `--dump` writes: the step, the numbers of points and triangles, then points,
    /// triangles, temperatures and heat flux.
    pub fn record(&self, step: u64) -> Record {
        let Size { points, triangles } = self.size();
        Record::default()
            .counts(&[step, points as u64, triangles as u64])
            .floats(self.points.as_flattened())
            .indices(self.triangles.as_flattened())
            .floats(self.temperature)
            .floats(self.flux.as_flattened())
    }
}
