//! The steps of the simulation.

use super::atoms::{Atoms, Views};
use super::channel::Channel;
use super::forces::Forces;
use super::{BOLTZMANN, MASS, SIGMA, add, square};
use crate::noise::Noise;
use std::f64::consts::PI;

/// Distance of the atoms at the beginning, when they are on a lattice, in nm.
const SPACING: f64 = 2.0 * SIGMA;
/// Temperature of the gas at the beginning, and of the source, in K.
const TEMPERATURE: f64 = 240.0;
/// Mean velocity along x of the atoms of the source, in nm/ps.
const DRIFT: f64 = 0.5;
/// The source adds atoms every so many steps.
const SOURCE_EVERY: u64 = 10;
/// The channel at the beginning is so many times as long as it is wide.
const LENGTH: usize = 3;
/// There is room for so many times the atoms of the beginning.
const ROOM: usize = 2;
/// The seeds of the velocities, and of the places where atoms are added.
const SEEDS: [u64; 2] = [1, 2];

/// A gas in a channel: the parameters of a run, and the forces.
#[derive(Clone, Debug)]
pub struct Gas {
    size: usize,
    channel: Channel,
    forces: Forces,
    /// The length of a step, in ps.
    pub dt: f64,
}

impl Gas {
    /// Creates a gas with `size` atoms across a channel that is open at its end and has a source.
    ///
    /// # Panics
    /// Panics if `size` is less than 4: the channel would be narrower than three cells.
    pub fn new(size: usize) -> Self {
        Self::in_channel(size, true)
    }

    /// Creates a gas in a closed channel without a source, where the energy is conserved.
    ///
    /// # Panics
    /// Panics if `size` is less than 4.
    pub fn closed(size: usize) -> Self {
        Self::in_channel(size, false)
    }

    fn in_channel(size: usize, open: bool) -> Self {
        let side = size as f64 * SPACING;
        let sides = [LENGTH as f64 * side, side, side];
        let channel = Channel { sides, open };
        Gas {
            size,
            channel,
            forces: Forces::new(channel),
            dt: 0.005,
        }
    }

    /// Returns the channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Returns the number of atoms at the beginning.
    pub fn beginning(&self) -> usize {
        LENGTH * self.size.pow(3)
    }

    /// Returns the largest number of atoms. The source pauses there.
    pub fn capacity(&self) -> usize {
        ROOM * self.beginning()
    }

    /// Returns the bytes of all arrays.
    pub fn bytes(&self) -> usize {
        self.capacity() * (2 * size_of::<[f64; 3]>() + 2 * 8) + 2 * 8
    }

    /// Returns the time after a step, in ps.
    pub fn time(&self, step: u64) -> f64 {
        step as f64 * self.dt
    }

    /// Places atoms on a lattice, with random velocities. Returns their number.
    pub fn fill(&self, views: Views<'_>) -> usize {
        let mut atoms = Atoms::of(views, 0);
        let (size, noise) = (self.size, Noise::new(SEEDS[0], 0));
        for i in 0..self.beginning() {
            let site = [i / (size * size), i / size % size, i % size];
            let x = site.map(|n| (n as f64 + 0.5) * SPACING);
            atoms.push(x, thermal(noise, i as u64), i as u64);
        }
        atoms.n
    }

    /// Computes what no array has: the forces on the first `n` atoms. To be called once before the
    /// first step, also after a restart.
    pub fn begin(&mut self, views: Views<'_>, n: usize) {
        let mut atoms = Atoms::of(views, n);
        let potential = self.forces.compute(&atoms.x[..n]);
        atoms.measure(potential);
    }

    /// Computes step `step` (1, 2, 3, ...) in place. Returns the new number of atoms.
    ///
    /// # Panics
    /// Panics if the forces are those of another number of atoms: see [`Gas::begin`].
    pub fn step(&mut self, views: Views<'_>, n: usize, step: u64) -> usize {
        assert_eq!(self.forces.on_atoms().len(), n, "begin() comes before");
        let mut atoms = Atoms::of(views, n);
        self.kick(&mut atoms);
        self.drift(&mut atoms);
        self.let_leave(&mut atoms);
        self.inject(&mut atoms, step);
        let potential = self.forces.compute(&atoms.x[..atoms.n]);
        self.kick(&mut atoms);
        atoms.measure(potential);
        atoms.n
    }

    /// Accelerates the atoms for half a step.
    fn kick(&self, atoms: &mut Atoms<'_>) {
        for (v, force) in atoms.v.iter_mut().zip(self.forces.on_atoms()) {
            add(v, 0.5 * self.dt / MASS, *force);
        }
    }

    /// Moves the atoms for a step.
    fn drift(&self, atoms: &mut Atoms<'_>) {
        for (x, v) in atoms.x.iter_mut().zip(&mut *atoms.v).take(atoms.n) {
            add(x, self.dt, *v);
            self.channel.confine(x, v);
        }
    }

    fn let_leave(&self, atoms: &mut Atoms<'_>) {
        let mut i = 0;
        while i < atoms.n {
            match self.channel.is_outside(atoms.x[i]) {
                true => atoms.remove(i),
                false => i += 1,
            }
        }
    }

    /// Adds atoms at random places near the wall, where there is room. Ids are a function of the
    /// step, so that no counter must be saved.
    fn inject(&self, atoms: &mut Atoms<'_>, step: u64) {
        if !self.channel.open || !step.is_multiple_of(SOURCE_EVERY) {
            return;
        }
        let [velocities, places] = SEEDS.map(|seed| Noise::new(seed, step));
        let tries = (self.size.pow(2) / 25).max(1) as u64;
        let first_id = self.beginning() as u64 + (step / SOURCE_EVERY - 1) * tries;
        for i in 0..tries {
            let x = self.inlet(places, i);
            if !atoms.is_full() && self.is_free(atoms, x) {
                let mut v = thermal(velocities, i);
                v[0] += DRIFT;
                atoms.push(x, v, first_id + i);
            }
        }
    }

    /// Returns a random place near the wall.
    fn inlet(&self, noise: Noise, i: u64) -> [f64; 3] {
        let [_, width, height] = self.channel.sides;
        let part = |n| 0.5 * (noise.at(n) + 1.0);
        [SIGMA, width * part(2 * i), height * part(2 * i + 1)]
    }

    /// Returns true if no atom is so near to `x` that it would repel one there.
    fn is_free(&self, atoms: &Atoms<'_>, x: [f64; 3]) -> bool {
        let apart = |other: &[f64; 3]| square(self.channel.between(*other, x));
        let mut others = atoms.x[..atoms.n].iter();
        others.all(|other| apart(other) >= SIGMA * SIGMA)
    }
}

/// Returns the velocity of atom `i` at the temperature of the gas: each component is normally
/// distributed (Maxwell and Boltzmann).
fn thermal(noise: Noise, i: u64) -> [f64; 3] {
    let deviation = (BOLTZMANN * TEMPERATURE / MASS).sqrt();
    [0, 1, 2].map(|axis| deviation * normal(noise, 3 * i + axis))
}

/// Returns a normally distributed random number, by the method of Box and Muller (Ann. Math. Stat.
/// 29, 610 (1958)).
fn normal(noise: Noise, i: u64) -> f64 {
    let (radius, angle) = (0.5 * (1.0 - noise.at(2 * i)), PI * noise.at(2 * i + 1));
    (-2.0 * radius.ln()).sqrt() * angle.cos()
}
