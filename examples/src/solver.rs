//! The Gray-Scott equations on a periodic 3-d grid:
//!
//! ```text
//! du/dt = Du lap(u) - u v^2 + F (1 - u) + noise
//! dv/dt = Dv lap(v) + u v^2 - (F + k) v
//! ```
//!
//! Explicit Euler steps, from one pair of arrays into another. Each cell is computed by one thread,
//! only from the old arrays, and always with the same order of operations. So every bit of the
//! result is independent of the number of threads.

use crate::noise::Noise;
use crate::params::Params;
use ndarray::{ArrayView3, ArrayViewMut2, ArrayViewMut3, Axis, Zip, s};

/// A solver with its parameters. It has no other state: u, v and the number of the step are the
/// whole state of a run.
#[derive(Clone, Debug)]
pub struct GrayScott {
    params: Params,
}

impl GrayScott {
    /// Creates a solver for `params`.
    pub fn new(params: Params) -> Self {
        GrayScott { params }
    }

    /// Returns the simulated time at the end of `step`.
    pub fn time(&self, step: u64) -> f64 {
        step as f64 * self.params.dt
    }

    /// Sets the state before step 1: u = 1 and v = 0, except in a cube in the middle that starts
    /// the reaction.
    pub fn initialise(&self, u: ArrayViewMut3<'_, f64>, v: ArrayViewMut3<'_, f64>) {
        let planes = u.len_of(Axis(0));
        self.initialise_planes(u, v, 0, planes);
    }

    /// Sets the state before step 1 in a part of the grid: planes of constant z, from plane `first`
    /// of the `total` planes on.
    pub fn initialise_planes(
        &self,
        mut u: ArrayViewMut3<'_, f64>,
        mut v: ArrayViewMut3<'_, f64>,
        first: usize,
        total: usize,
    ) {
        u.fill(1.0);
        v.fill(0.0);
        let (planes, ny, nx) = u.dim();
        let [cube, y, x] = [total, ny, nx].map(middle);
        let local = |z: usize| z.saturating_sub(first).min(planes);
        let z = local(cube.start)..local(cube.end);
        u.slice_mut(s![z.clone(), y.clone(), x.clone()]).fill(0.25);
        v.slice_mut(s![z, y, x]).fill(0.33);
    }

    /// Computes step `step` (1, 2, 3, ...) from `u` and `v` into `u_next` and `v_next`.
    ///
    /// # Panics
    /// Panics if the four arrays differ in shape, or if their last index is not the fastest one in
    /// memory.
    pub fn step(
        &self,
        u: ArrayView3<'_, f64>,
        v: ArrayView3<'_, f64>,
        mut u_next: ArrayViewMut3<'_, f64>,
        mut v_next: ArrayViewMut3<'_, f64>,
        step: u64,
    ) {
        assert_eq!(u.dim(), v.dim(), "u and v differ in shape");
        assert_eq!(u.dim(), u_next.dim(), "u and u_next differ in shape");
        assert_eq!(u.dim(), v_next.dim(), "u and v_next differ in shape");
        let noise = Noise::new(self.params.seed, step);
        Zip::indexed(u_next.axis_iter_mut(Axis(0)))
            .and(v_next.axis_iter_mut(Axis(0)))
            .par_for_each(|z, u_plane, v_plane| {
                self.plane((u, v, z), (u_plane, v_plane), z, noise)
            });
    }

    /// Computes step `step` of a part of the grid: planes of constant z, of which the first one is
    /// plane `first` of the grid. All four arrays have one more plane at each end of z, a *ghost*.
    /// The ghosts of `u` and `v` hold the planes beside the part. Those of `u_next` and `v_next`
    /// are not written.
    ///
    /// The result has the same bits as that of [`step`](Self::step) over the whole grid.
    ///
    /// # Panics
    /// Panics if the four arrays differ in shape, have no plane between the ghosts, or if their
    /// last index is not the fastest one in memory.
    pub fn step_planes(
        &self,
        u: ArrayView3<'_, f64>,
        v: ArrayView3<'_, f64>,
        mut u_next: ArrayViewMut3<'_, f64>,
        mut v_next: ArrayViewMut3<'_, f64>,
        step: u64,
        first: usize,
    ) {
        assert_eq!(u.dim(), v.dim(), "u and v differ in shape");
        assert_eq!(u.dim(), u_next.dim(), "u and u_next differ in shape");
        assert_eq!(u.dim(), v_next.dim(), "u and v_next differ in shape");
        assert!(u.len_of(Axis(0)) > 2, "no plane between the ghosts");
        let noise = Noise::new(self.params.seed, step);
        let inner = s![1..u.len_of(Axis(0)) - 1, .., ..];
        Zip::indexed(u_next.slice_mut(inner).axis_iter_mut(Axis(0)))
            .and(v_next.slice_mut(inner).axis_iter_mut(Axis(0)))
            .par_for_each(|z, u_plane, v_plane| {
                self.plane((u, v, z + 1), (u_plane, v_plane), first + z, noise)
            });
    }

    /// Computes one plane of constant z, the unit of work of a thread. Its place is `z` in the
    /// arrays, and `global` in the grid.
    fn plane(
        &self,
        (u, v, z): (ArrayView3<'_, f64>, ArrayView3<'_, f64>, usize),
        (mut u_next, mut v_next): (ArrayViewMut2<'_, f64>, ArrayViewMut2<'_, f64>),
        global: usize,
        noise: Noise,
    ) {
        let (_, ny, nx) = u.dim();
        for y in 0..ny {
            let old = (Stencil::at(u, z, y), Stencil::at(v, z, y));
            let new = (row_mut(&mut u_next, y), row_mut(&mut v_next, y));
            self.row(old, new, ((global * ny + y) * nx) as u64, noise);
        }
    }

    /// Computes one row along x. Only its two ends wrap around; the rest is a loop that the
    /// compiler can vectorise.
    fn row(
        &self,
        (u, v): (Stencil<'_>, Stencil<'_>),
        (u_next, v_next): (&mut [f64], &mut [f64]),
        first_cell: u64,
        noise: Noise,
    ) {
        let n = u_next.len();
        let (u, v, v_next) = (u.cut(n), v.cut(n), &mut v_next[..n]);
        let mut cell = |left: usize, x: usize, right: usize| {
            let (u_lap, v_lap) = (u.laplacian(left, x, right), v.laplacian(left, x, right));
            let random = noise.at(first_cell + x as u64);
            (u_next[x], v_next[x]) = self.cell(u.here[x], v.here[x], u_lap, v_lap, random);
        };
        cell(n - 1, 0, 1 % n);
        for x in 1..n.saturating_sub(1) {
            cell(x - 1, x, x + 1);
        }
        if n > 1 {
            cell(n - 2, n - 1, 0);
        }
    }

    /// Applies the equations to one cell.
    #[inline(always)]
    fn cell(&self, u: f64, v: f64, u_lap: f64, v_lap: f64, random: f64) -> (f64, f64) {
        let p = &self.params;
        let reaction = u * v * v;
        let u_rate = p.diffusion_u * u_lap - reaction + p.feed * (1.0 - u) + p.noise * random;
        let v_rate = p.diffusion_v * v_lap + reaction - (p.feed + p.kill) * v;
        (u + p.dt * u_rate, v + p.dt * v_rate)
    }
}

/// Returns the cells in the middle of an axis: 12 of them, or half of a small grid.
fn middle(n: usize) -> std::ops::Range<usize> {
    let half = (n / 4).clamp(1, 6).min(n / 2);
    n / 2 - half..n / 2 + half
}

/// The row of cells at (z, y) and the four rows next to it.
#[derive(Clone, Copy)]
struct Stencil<'a> {
    here: &'a [f64],
    sides: [&'a [f64]; 4],
}

impl<'a> Stencil<'a> {
    fn at(cells: ArrayView3<'a, f64>, z: usize, y: usize) -> Self {
        let (nz, ny, _) = cells.dim();
        let sides = [
            ((z + nz - 1) % nz, y),
            ((z + 1) % nz, y),
            (z, (y + ny - 1) % ny),
            (z, (y + 1) % ny),
        ];
        Stencil {
            here: row(cells, z, y),
            sides: sides.map(|(z, y)| row(cells, z, y)),
        }
    }

    /// Shortens every row to `n` cells. The compiler then knows the length and omits index checks.
    #[inline(always)]
    fn cut(self, n: usize) -> Self {
        Stencil {
            here: &self.here[..n],
            sides: self.sides.map(|side| &side[..n]),
        }
    }

    /// Returns the mean of the six neighbours minus the cell.
    #[inline(always)]
    fn laplacian(&self, left: usize, x: usize, right: usize) -> f64 {
        let [a, b, c, d] = self.sides;
        let sum = self.here[left] + self.here[right] + a[x] + b[x] + c[x] + d[x];
        (sum - 6.0 * self.here[x]) / 6.0
    }
}

fn row<'a>(cells: ArrayView3<'a, f64>, z: usize, y: usize) -> &'a [f64] {
    cells
        .slice_move(s![z, y, ..])
        .to_slice()
        .expect("the last index is the fastest one in memory")
}

fn row_mut<'a>(plane: &'a mut ArrayViewMut2<'_, f64>, y: usize) -> &'a mut [f64] {
    plane
        .slice_mut(s![y, ..])
        .into_slice()
        .expect("the last index is the fastest one in memory")
}
