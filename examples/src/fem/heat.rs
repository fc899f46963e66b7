//! The steps of the simulation.

use super::element::Element;
use super::l_shape::l_shape;
use super::plate::{Mesh, Plate, Size, Views};
use super::problem::{self, CAPACITY, CONDUCTIVITY, EDGE};
use super::refine::{boundary, refine};

/// The arrays have room for so many times the triangles of the first mesh.
const ROOM: usize = 16;
/// The part of the longest step that is surely stable.
const SAFETY: f64 = 0.9;
/// Triangles are refined if the temperature varies in them by more than this part of the largest
/// variation.
const MARK: f64 = 0.5;

/// The parameters of a run, and what is computed from the mesh.
#[derive(Clone, Debug)]
pub struct Heat {
    first_mesh: Mesh,
    refine_every: u64,
    time: f64,
    dt: f64,
    /// The heat capacity of each point, for a plate of 1 m thickness, in J/K.
    capacity: Vec<f64>,
    /// The heat that flows to each point, for a plate of 1 m thickness, in W.
    inflow: Vec<f64>,
    pattern: Vec<f64>,
    is_edge: Vec<bool>,
}

impl Heat {
    /// Creates a run whose first mesh has `n` points along each square of the plate, and is refined
    /// every `refine_every` steps as long as there is room.
    pub fn new(n: usize, refine_every: u64) -> Self {
        Heat {
            first_mesh: l_shape(n),
            refine_every,
            time: 0.0,
            dt: 0.0,
            capacity: Vec::new(),
            inflow: Vec::new(),
            pattern: Vec::new(),
            is_edge: Vec::new(),
        }
    }

    /// Returns the size of the largest mesh. A mesh without holes has at most two points more than
    /// triangles.
    pub fn room(&self) -> Size {
        let triangles = ROOM * self.first_mesh.triangles.len();
        Size {
            points: triangles + 2,
            triangles,
        }
    }

    /// Returns the simulated time, in s.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Returns the length of a step on this mesh, in s.
    pub fn dt(&self) -> f64 {
        self.dt
    }

    /// Writes the first mesh into the arrays, and the temperature at time 0. Returns the size of
    /// the mesh.
    ///
    /// # Panics
    /// Panics if the arrays have less room than that.
    pub fn fill(&mut self, views: Views<'_>) -> Size {
        let plate = Plate::write(views, &self.first_mesh);
        let mut plate = plate.expect("arrays have room for the first mesh");
        self.prepare(&mut plate);
        plate.size()
    }

    /// Computes step `step` (1, 2, 3, ...) in place, and refines the mesh if it is time. Returns
    /// the size of the mesh.
    pub fn step(&mut self, mut views: Views<'_>, size: Size, step: u64) -> Size {
        let (points, triangles, temperature, flux) = &mut views;
        let parts = (
            points.view_mut(),
            triangles.view_mut(),
            temperature.view_mut(),
            flux.view_mut(),
        );
        let mut plate = Plate::of(parts, size);
        self.advance(&mut plate, self.dt);
        if !step.is_multiple_of(self.refine_every) {
            return size;
        }
        let finer = refine(&plate, &wanted(&plate));
        let Some(mut plate) = Plate::write(views, &finer) else {
            return size;
        };
        self.prepare(&mut plate);
        plate.size()
    }

    /// Computes an Euler step of `dt` seconds in place.
    pub fn advance(&mut self, plate: &mut Plate<'_>, dt: f64) {
        self.collect_inflow(plate);
        for (i, t) in plate.temperature.iter_mut().enumerate() {
            if !self.is_edge[i] {
                let source = problem::source(self.pattern[i], self.time) / CAPACITY;
                *t += dt * (self.inflow[i] / self.capacity[i] + source);
            }
        }
        self.time += dt;
        measure_flux(plate);
    }

    /// Returns the error of the temperature, in K: its root mean square over the plate.
    pub fn error(&self, plate: &Plate<'_>) -> f64 {
        let mut sum = 0.0;
        for (i, t) in plate.temperature.iter().enumerate() {
            let exact = problem::temperature(self.pattern[i], self.time);
            sum += self.capacity[i] * (t - exact) * (t - exact);
        }
        (sum / self.capacity.iter().sum::<f64>()).sqrt()
    }

    /// Computes everything that depends on the mesh only, and the heat flux on it.
    fn prepare(&mut self, plate: &mut Plate<'_>) {
        self.capacity = vec![0.0; plate.points.len()];
        let mut largest = 0.0_f64;
        for triangle in &*plate.triangles {
            let element = Element::of(plate.points, *triangle);
            largest = largest.max(element.largest_eigenvalue());
            for i in *triangle {
                self.capacity[i as usize] += CAPACITY * element.area / 3.0;
            }
        }
        self.dt = SAFETY * 2.0 / (CONDUCTIVITY / CAPACITY * largest);
        self.pattern = plate.points.iter().map(|x| problem::pattern(*x)).collect();
        self.is_edge = boundary(plate);
        let points = plate.temperature.iter_mut().zip(&self.is_edge);
        for (t, _) in points.filter(|(_, is_edge)| **is_edge) {
            *t = EDGE;
        }
        measure_flux(plate);
    }

    /// Sums the heat that flows to each point from the triangles around it.
    fn collect_inflow(&mut self, plate: &Plate<'_>) {
        self.inflow.clear();
        self.inflow.resize(plate.points.len(), 0.0);
        for (triangle, flux) in plate.triangles.iter().zip(&*plate.flux) {
            let element = Element::of(plate.points, *triangle);
            for (i, [x, y]) in triangle.iter().zip(element.gradients) {
                self.inflow[*i as usize] += element.area * (flux[0] * x + flux[1] * y);
            }
        }
    }
}

/// Computes the heat flux -k grad T in each triangle.
fn measure_flux(plate: &mut Plate<'_>) {
    for (triangle, flux) in plate.triangles.iter().zip(&mut *plate.flux) {
        let values = triangle.map(|i| plate.temperature[i as usize]);
        let [x, y] = Element::of(plate.points, *triangle).gradient(values);
        *flux = [-CONDUCTIVITY * x, -CONDUCTIVITY * y, 0.0];
    }
}

/// Returns for each triangle whether it is to be refined: the temperature varies much in it.
fn wanted(plate: &Plate<'_>) -> Vec<bool> {
    let variation = |triangle: &[i64; 3]| {
        let [a, b, c] = triangle.map(|i| plate.temperature[i as usize]);
        a.max(b).max(c) - a.min(b).min(c)
    };
    let all: Vec<f64> = plate.triangles.iter().map(variation).collect();
    let largest = all.iter().copied().fold(0.0, f64::max);
    all.into_iter().map(|t| t > MARK * largest).collect()
}
