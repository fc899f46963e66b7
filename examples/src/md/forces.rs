//! The Lennard-Jones forces between all atoms.

use super::cells::Cells;
use super::channel::Channel;
use super::{CUTOFF, EPSILON, SIGMA, add, square};

/// (sigma / cutoff)^6
const S6_AT_CUTOFF: f64 = 1.0 / (2.5 * 2.5 * 2.5 * 2.5 * 2.5 * 2.5);
/// The energy at the cutoff, which is subtracted, so that it does not jump there.
const SHIFT: f64 = 4.0 * EPSILON * (S6_AT_CUTOFF * S6_AT_CUTOFF - S6_AT_CUTOFF);

/// Computes forces, and has those on each atom.
#[derive(Clone, Debug)]
pub struct Forces {
    channel: Channel,
    cells: Cells,
    on: Vec<[f64; 3]>,
}

impl Forces {
    /// Creates forces between no atoms.
    pub fn new(channel: Channel) -> Self {
        Forces {
            channel,
            cells: Cells::new(&channel),
            on: Vec::new(),
        }
    }

    /// Returns the force on each atom, in kJ/(mol nm).
    pub fn on_atoms(&self) -> &[[f64; 3]] {
        &self.on
    }

    /// Computes the forces between the atoms at `x`. Returns the potential energy, in kJ/mol.
    ///
    /// The result depends on `x` and its order only, so it has the same bits after a restart.
    pub fn compute(&mut self, x: &[[f64; 3]]) -> f64 {
        let Forces { channel, cells, on } = self;
        cells.sort(x);
        on.clear();
        on.resize(x.len(), [0.0; 3]);
        let mut potential = 0.0;
        for (i, a) in x.iter().enumerate() {
            for j in cells.near(*a).filter(|j| *j < i) {
                let apart = channel.between(x[j], *a);
                let r2 = square(apart);
                if r2 < CUTOFF * CUTOFF {
                    let (energy, force) = lennard_jones(r2);
                    potential += energy;
                    add(&mut on[i], force, apart);
                    add(&mut on[j], -force, apart);
                }
            }
        }
        potential
    }
}

/// Returns the energy U(r) of two atoms at the squared distance `r2`, in kJ/mol, and -U'(r)/r. The
/// force on an atom is this number times the vector from the other atom to it.
pub fn lennard_jones(r2: f64) -> (f64, f64) {
    let s2 = SIGMA * SIGMA / r2;
    let s6 = s2 * s2 * s2;
    let energy = 4.0 * EPSILON * (s6 * s6 - s6) - SHIFT;
    (energy, 24.0 * EPSILON * (2.0 * s6 * s6 - s6) / r2)
}
