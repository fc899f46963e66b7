//! Molecular dynamics of argon that flows through a channel.
//!
//! - The atoms interact by the Lennard-Jones potential (Jones, Proc. R. Soc. A 106, 463 (1924))
//!   with the parameters of Rahman (Phys. Rev. 136, A405 (1964)), cut off and shifted to 0 there:
//!
//!   ```text
//!   U(r) = 4 epsilon ((sigma/r)^12 - (sigma/r)^6) - U_cutoff      for r < 2.5 sigma
//!   ```
//!
//! - Velocity Verlet moves them (Verlet, Phys. Rev. 159, 98 (1967); in this form Swope, Andersen,
//!   Berens and Wilson, J. Chem. Phys. 76, 637 (1982)):
//!
//!   ```text
//!   v += f(x) / m dt/2,    x += v dt,    v += f(x) / m dt/2
//!   ```
//!
//! - Cell lists find the pairs (Allen and Tildesley, "Computer Simulation of Liquids", section
//!   5.3).
//! - The channel is periodic along y and z, and has a wall at x = 0. Atoms that reach its other end
//!   leave. A source near the wall adds atoms. So their number changes.
//!
//! Lengths are in nm, times in ps, masses in u (g/mol). So energies are in u nm^2/ps^2 = kJ/mol.
//!
//! The positions, velocities and ids are the whole state of a run: forces are computed from the
//! positions, and the random numbers are a function of the step. So a run that is continued has the
//! same bits as an undisturbed one.

mod atoms;
mod cells;
mod channel;
mod forces;
mod gas;

pub use atoms::{Atoms, Storage, Views};
pub use channel::Channel;
pub use forces::{Forces, lennard_jones};
pub use gas::Gas;

/// Distance at which the energy of two atoms is 0 without the shift, in nm.
pub const SIGMA: f64 = 0.3405;
/// Depth of the potential: 120 K times Boltzmann's constant, in kJ/mol.
pub const EPSILON: f64 = 120.0 * BOLTZMANN;
/// Mass of an atom, in u.
pub const MASS: f64 = 39.948;
/// Boltzmann's constant (of a mole, the gas constant), in kJ/(mol K).
pub const BOLTZMANN: f64 = 8.314_462_618e-3;
/// Distance from which on atoms do not interact, in nm.
pub const CUTOFF: f64 = 2.5 * SIGMA;

/// Adds `factor` times `b` to `a`.
fn add(a: &mut [f64; 3], factor: f64, b: [f64; 3]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

/// Returns the scalar product of a vector with itself.
fn square(a: [f64; 3]) -> f64 {
    a.iter().map(|a| a * a).sum()
}
