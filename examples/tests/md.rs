//! Compares the molecular dynamics with a naive one, and checks what physics conserves.

use std::collections::HashSet;
use tcasm_examples::md::{
    Atoms, CUTOFF, Channel, EPSILON, Forces, Gas, MASS, SIGMA, Storage, lennard_jones,
};

/// Computes the gas at its beginning.
fn begun(gas: &mut Gas) -> (Storage, usize) {
    let mut arrays = Storage::new(gas.capacity());
    let n = gas.fill(arrays.views());
    gas.begin(arrays.views(), n);
    (arrays, n)
}

fn run(gas: &mut Gas, arrays: &mut Storage, n: usize, steps: std::ops::Range<u64>) -> usize {
    steps.fold(n, |n, step| gas.step(arrays.views(), n, step))
}

/// Returns the kinetic and the potential energy.
fn energies(arrays: &mut Storage, n: usize) -> [f64; 2] {
    let atoms = Atoms::of(arrays.views(), n);
    [atoms.energy[0], atoms.energy[1]]
}

/// Returns U(r) without the shift, and -U'(r)/r, as in a textbook.
fn textbook(r: f64) -> (f64, f64) {
    let (s6, s12) = ((SIGMA / r).powi(6), (SIGMA / r).powi(12));
    let force = 24.0 * EPSILON / (r * r) * (2.0 * s12 - s6);
    (4.0 * EPSILON * (s12 - s6), force)
}

/// Computes the potential energy and the forces from all pairs, and from all images of one of them.
fn all_pairs(channel: &Channel, x: &[[f64; 3]]) -> (f64, Vec<[f64; 3]>) {
    let [_, width, height] = channel.sides;
    let images = [-1.0, 0.0, 1.0].map(|i| [-1.0, 0.0, 1.0].map(|j| [0.0, i * width, j * height]));
    let (mut potential, mut forces) = (0.0, vec![[0.0; 3]; x.len()]);
    for (i, a) in x.iter().enumerate() {
        for (_, b) in x.iter().enumerate().filter(|(j, _)| *j != i) {
            for image in images.as_flattened() {
                let d: [f64; 3] = std::array::from_fn(|k| a[k] - b[k] + image[k]);
                let r = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
                assert!(r > 0.0, "{a:?} and {b:?} are at the same place");
                if r < CUTOFF {
                    let (energy, force) = textbook(r);
                    potential += 0.5 * (energy - textbook(CUTOFF).0);
                    forces[i] = std::array::from_fn(|k| forces[i][k] + force * d[k]);
                }
            }
        }
    }
    (potential, forces)
}

#[test]
fn forces_from_cell_lists_equal_those_of_all_pairs() {
    let mut gas = Gas::new(5);
    let (mut arrays, n) = begun(&mut gas);
    let n = run(&mut gas, &mut arrays, n, 1..201);
    let atoms = Atoms::of(arrays.views(), n);
    let mut forces = Forces::new(*gas.channel());
    let potential = forces.compute(&atoms.x[..n]);
    let (expected, naive) = all_pairs(gas.channel(), &atoms.x[..n]);
    assert!(
        (potential - expected).abs() < 1e-8,
        "{potential} {expected}"
    );
    assert_eq!(forces.on_atoms().len(), naive.len());
    let all = forces.on_atoms().as_flattened().iter();
    for (a, b) in all.zip(naive.as_flattened()) {
        assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "{a} is not {b}");
    }
    let sum = |axis: usize| forces.on_atoms().iter().map(|f| f[axis]).sum::<f64>();
    assert!((0..3).all(|axis| sum(axis).abs() < 1e-8), "no net force");
}

#[test]
fn force_is_the_derivative_of_the_energy() {
    let energy = |r: f64| lennard_jones(r * r).0;
    let h = 1e-6;
    for r in (18..50).map(|n| f64::from(n) * 0.05 * SIGMA) {
        let slope = (energy(r + h) - energy(r - h)) / (2.0 * h);
        let force = lennard_jones(r * r).1 * r;
        assert!((slope + force).abs() < 1e-5 * (1.0 + force.abs()), "{r}");
    }
    assert!(energy(CUTOFF).abs() < 1e-12);
    let lowest = 2.0_f64.powf(1.0 / 6.0) * SIGMA;
    let depth = EPSILON * (1.0 - 0.016_316_891_136);
    assert!((energy(lowest) + depth).abs() < 1e-12);
}

/// Returns the largest error of the energy of two atoms that swing about the lowest energy.
fn swinging(dt: f64) -> f64 {
    let mut gas = Gas::closed(4);
    gas.dt = dt;
    let mut arrays = Storage::new(gas.capacity());
    let atoms = Atoms::of(arrays.views(), 2);
    let x = [2.0, 1.0, 1.0];
    atoms.x[..2].copy_from_slice(&[x, [x[0] + 1.2 * SIGMA, x[1], x[2]]]);
    gas.begin(arrays.views(), 2);
    let first: f64 = energies(&mut arrays, 2).iter().sum();
    let steps = (4.0 / dt) as u64;
    let error = |step| {
        run(&mut gas, &mut arrays, 2, step..step + 1);
        (energies(&mut arrays, 2).iter().sum::<f64>() - first).abs()
    };
    (1..=steps).map(error).fold(0.0, f64::max)
}

#[test]
fn error_of_the_energy_falls_with_the_square_of_the_step() {
    let [coarse, fine] = [0.01, 0.005].map(swinging);
    let ratio = coarse / fine;
    assert!((3.5..4.5).contains(&ratio), "{coarse} / {fine} = {ratio}");
}

#[test]
fn closed_channel_conserves_energy_and_atoms() {
    let mut gas = Gas::closed(5);
    let (mut arrays, n) = begun(&mut gas);
    let [kinetic, potential] = energies(&mut arrays, n);
    assert_eq!(run(&mut gas, &mut arrays, n, 1..401), n);
    let after: f64 = energies(&mut arrays, n).iter().sum();
    let error = (after - kinetic - potential).abs() / kinetic;
    assert!(error < 1e-3, "the energy has changed by {error}");
}

#[test]
fn atoms_leave_the_open_channel_and_others_come() {
    let mut gas = Gas::new(4);
    let (mut arrays, first) = begun(&mut gas);
    let n = run(&mut gas, &mut arrays, first, 1..1001);
    let atoms = Atoms::of(arrays.views(), n);
    let ids: HashSet<u64> = atoms.id[..n].iter().copied().collect();
    assert_eq!(ids.len(), n, "ids are unique");
    let old = ids.iter().filter(|id| **id < first as u64).count();
    assert!(old < first, "none has left");
    assert!(old < n, "none has come");
    let [length, width, height] = gas.channel().sides;
    for ([x, y, z], v) in atoms.x[..n].iter().zip(&*atoms.v) {
        assert!((0.0..length).contains(x) && (0.0..=width).contains(y));
        assert!((0.0..=height).contains(z) && v.iter().all(|v| v.abs() < 5.0));
    }
    let sum: f64 = atoms.kinetic[..n].iter().sum();
    assert!((sum - atoms.energy[0]).abs() < 1e-9 * sum);
    let [x, y, z] = atoms.v[0];
    let expected = 0.5 * MASS * (x * x + y * y + z * z);
    assert!((atoms.kinetic[0] - expected).abs() < 1e-12 * (1.0 + expected));
}

#[test]
fn continued_run_has_the_bits_of_the_uninterrupted_run() {
    let mut gas = Gas::new(4);
    let (mut arrays, n) = begun(&mut gas);
    let n = run(&mut gas, &mut arrays, n, 1..301);
    let (mut continued, mut other) = (arrays.clone(), Gas::new(4));
    let end = run(&mut gas, &mut arrays, n, 301..501);
    other.begin(continued.views(), n);
    assert_eq!(run(&mut other, &mut continued, n, 301..501), end);
    let record = |arrays: &mut Storage| Atoms::of(arrays.views(), end).record(500);
    assert!(record(&mut arrays) == record(&mut continued));
}
