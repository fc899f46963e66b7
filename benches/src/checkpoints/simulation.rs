//! The simulation whose checkpoints are written. It has two fields of 128 MiB. Each step computes
//! both anew from both.

use crate::outcome::Outcome;
use crate::plain::huge_array;
use ndarray::{Array3, ArrayView3, ArrayViewMut3, Zip};
use std::path::Path;
use tcasm_checkpoint::{Compression, DirectIo, Options, Snapshot, write};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::format::stamp::Stamp;

/// Shape of each of the two fields.
pub const SHAPE: [usize; 3] = [256; 3];
/// Size of both fields together, in bytes.
pub const BYTES: usize = 2 * (SHAPE[0] * SHAPE[1] * SHAPE[2]) * size_of::<f64>();
/// Names of the fields.
pub const NAMES: [&str; 2] = ["u", "v"];

/// Returns the options with which TCASM writes files: no compression, for the highest speed.
pub fn options() -> Options {
    Options {
        compression: Compression::None,
        ..Options::default()
    }
}

/// Returns the options of the other methods, which write through the page cache, as programs that
/// use HDF5 do.
pub fn usual() -> Options {
    Options {
        direct: DirectIo::Off,
        ..options()
    }
}

/// The resource that limits the speed of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Memory bandwidth: the step does little more than read and write the fields.
    Memory,
    /// The processor: the step does much arithmetic on each value.
    Arithmetic,
}

/// Number of additional square roots for each value in a step that is bound by arithmetic.
const ROOTS: usize = 4;

/// Computes a step with one thread.
pub fn compute(
    work: Work,
    u: ArrayView3<'_, f64>,
    v: ArrayView3<'_, f64>,
    u_next: ArrayViewMut3<'_, f64>,
    v_next: ArrayViewMut3<'_, f64>,
    step: u64,
) {
    let source = (step % 1000) as f64;
    let next = Zip::from(u_next).and(v_next).and(u).and(v);
    let mean = |a: f64, b: f64| a + 0.25 * (b - a) + source;
    match work {
        Work::Memory => next.for_each(|u_next, v_next, &u, &v| {
            (*u_next, *v_next) = (mean(u, v).sqrt(), mean(v, u).sqrt());
        }),
        Work::Arithmetic => next.for_each(|u_next, v_next, &u, &v| {
            let roots = |x: f64| (0..=ROOTS).fold(x, |x, _| (x + source).sqrt());
            (*u_next, *v_next) = (roots(mean(u, v)), roots(mean(v, u)));
        }),
    }
}

/// Writes the state before the first step. In each field, all values differ.
pub fn initialise(u: &mut ArrayViewMut3<'_, f64>, v: &mut ArrayViewMut3<'_, f64>) {
    let number = |i: usize| i as f64;
    u.iter_mut().enumerate().for_each(|(i, u)| *u = number(i));
    v.iter_mut()
        .enumerate()
        .for_each(|(i, v)| *v = 0.5 * number(i));
}

/// The simulation in ordinary memory.
pub struct Plain {
    work: Work,
    /// The fields u and v, and their next values.
    arrays: [Array3<f64>; 4],
}

impl Plain {
    /// Creates the state before the first step.
    pub fn new(work: Work) -> Self {
        let mut arrays = [(); 4].map(|()| huge_array(SHAPE));
        let [u, v, ..] = &mut arrays;
        initialise(&mut u.view_mut(), &mut v.view_mut());
        Plain { work, arrays }
    }

    /// Computes a step.
    pub fn step(&mut self, step: u64) {
        let [u, v, u_next, v_next] = self.arrays.each_mut().map(|a| a.view_mut());
        compute(self.work, u.view(), v.view(), u_next, v_next, step);
        self.arrays.rotate_left(2);
    }

    /// Returns the present u and v.
    pub fn now(&self) -> [&Array3<f64>; 2] {
        let [u, v, ..] = &self.arrays;
        [u, v]
    }
}

/// Writes these arrays to `path`, and waits for fsync.
pub fn save(path: &Path, step: u64, arrays: [&Array3<f64>; 2], options: &Options) -> Outcome<u64> {
    let table = FieldTable {
        fields: NAMES
            .map(|name| FieldDesc::new(name, DType::F64, &SHAPE))
            .to_vec(),
        ..FieldTable::default()
    };
    let stamp = Stamp {
        version: step,
        step,
        time: step as f64,
    };
    let bytes = arrays.map(|a| bytemuck::cast_slice(a.as_slice().expect("contiguous")));
    let of = |field: &FieldDesc| bytes[usize::from(field.name == NAMES[1])];
    Ok(write(
        path,
        &Snapshot::new("checkpoints", stamp, &table, of),
        options,
    )?)
}
