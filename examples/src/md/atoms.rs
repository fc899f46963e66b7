//! The arrays of the atoms. They have room for more atoms than there are.

use super::{MASS, square};
use crate::dump::Record;
use crate::slices::{flat, rows};
use ndarray::{Array1, Array2, ArrayViewMut1, ArrayViewMut2};

/// Views of the arrays: positions, velocities, kinetic energies and ids of the atoms, and the
/// energies of all of them.
pub type Views<'a> = (
    ArrayViewMut2<'a, f64>,
    ArrayViewMut2<'a, f64>,
    ArrayViewMut1<'a, f64>,
    ArrayViewMut1<'a, u64>,
    ArrayViewMut1<'a, f64>,
);

/// The arrays in ordinary memory.
#[derive(Clone, Debug)]
pub struct Storage {
    x: Array2<f64>,
    v: Array2<f64>,
    kinetic: Array1<f64>,
    id: Array1<u64>,
    energy: Array1<f64>,
}

impl Storage {
    /// Creates arrays with room for `capacity` atoms.
    pub fn new(capacity: usize) -> Self {
        Storage {
            x: Array2::zeros([capacity, 3]),
            v: Array2::zeros([capacity, 3]),
            kinetic: Array1::zeros(capacity),
            id: Array1::zeros(capacity),
            energy: Array1::zeros(2),
        }
    }

    /// Returns views of the arrays.
    pub fn views(&mut self) -> Views<'_> {
        (
            self.x.view_mut(),
            self.v.view_mut(),
            self.kinetic.view_mut(),
            self.id.view_mut(),
            self.energy.view_mut(),
        )
    }
}

/// The first `n` atoms of the arrays.
pub struct Atoms<'a> {
    /// The positions, in nm.
    pub x: &'a mut [[f64; 3]],
    /// The velocities, in nm/ps.
    pub v: &'a mut [[f64; 3]],
    /// The kinetic energy of each atom, in kJ/mol.
    pub kinetic: &'a mut [f64],
    /// The id of each atom, which no other atom of the run has.
    pub id: &'a mut [u64],
    /// The kinetic and the potential energy of all atoms, in kJ/mol.
    pub energy: &'a mut [f64],
    /// The number of atoms. The arrays may be longer.
    pub n: usize,
}

impl<'a> Atoms<'a> {
    /// Takes the first `n` atoms of arrays.
    pub fn of((x, v, kinetic, id, energy): Views<'a>, n: usize) -> Self {
        Atoms {
            x: rows(x),
            v: rows(v),
            kinetic: flat(kinetic),
            id: flat(id),
            energy: flat(energy),
            n,
        }
    }

    /// Returns true if there is no room for another atom.
    pub fn is_full(&self) -> bool {
        self.n == self.x.len()
    }

    /// Adds an atom after the last one.
    pub(super) fn push(&mut self, x: [f64; 3], v: [f64; 3], id: u64) {
        (self.x[self.n], self.v[self.n], self.id[self.n]) = (x, v, id);
        self.n += 1;
    }

    /// Removes an atom. The last one takes its place.
    pub(super) fn remove(&mut self, i: usize) {
        self.n -= 1;
        self.x.swap(i, self.n);
        self.v.swap(i, self.n);
        self.id.swap(i, self.n);
    }

    /// Computes the energies: of each atom m v^2 / 2, and their sum beside the potential energy.
    pub(super) fn measure(&mut self, potential: f64) {
        let mut sum = 0.0;
        for (kinetic, v) in self.kinetic.iter_mut().zip(&*self.v).take(self.n) {
            *kinetic = 0.5 * MASS * square(*v);
            sum += *kinetic;
        }
        self.energy.copy_from_slice(&[sum, potential]);
    }

    /// Returns the line of progress of a step.
    pub fn line(&self, step: u64) -> String {
        let (n, kinetic, potential) = (self.n, self.energy[0], self.energy[1]);
        format!(
            "step {step:>7}  atoms {n:>6}  kinetic {kinetic:>12.6} kJ/mol  \
             potential {potential:>12.6} kJ/mol"
        )
    }

    /// Returns what `--dump` writes: the step, the number of atoms, then positions, velocities,
    /// kinetic energies and ids of all atoms, and the two sums of energies.
    pub fn record(&self, step: u64) -> Record {
        let n = self.n;
        Record::default()
            .counts(&[step, n as u64])
            .floats(self.x[..n].as_flattened())
            .floats(self.v[..n].as_flattened())
            .floats(&self.kinetic[..n])
            .counts(&self.id[..n])
            .floats(self.energy)
    }
}
