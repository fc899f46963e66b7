//! The simulation that checkpoints are written of: two fields of 128 MiB, each computed anew from both in every step.

use super::Outcome;
use crate::plain::huge_array;
use ndarray::{Array3, ArrayView3, ArrayViewMut3, Zip};
use std::path::Path;
use tcasm_checkpoint::{Compression, Options, Snapshot, write};
use tcasm_core::field::{DType, FieldDesc, FieldTable};
use tcasm_core::stamp::Stamp;

/// Of both fields.
pub const SHAPE: [usize; 3] = [256; 3];
/// Of both fields together.
pub const BYTES: usize = 2 * (SHAPE[0] * SHAPE[1] * SHAPE[2]) * size_of::<f64>();
/// What they are called.
pub const NAMES: [&str; 2] = ["u", "v"];

/// How all files are written here: HDF5 as fast as it goes.
pub fn options() -> Options {
    Options {
        compression: Compression::None,
        ..Options::default()
    }
}

/// What bounds a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Reading and writing the fields.
    Memory,
    /// Arithmetic on each value.
    Arithmetic,
}

/// Square roots for each value besides the one, where arithmetic is to be what takes the time.
const ROOTS: usize = 4;

/// One step, with one thread.
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

/// The state before the first step: no two values alike.
pub fn initialise(u: &mut ArrayViewMut3<'_, f64>, v: &mut ArrayViewMut3<'_, f64>) {
    let number = |i: usize| i as f64;
    u.iter_mut().enumerate().for_each(|(i, u)| *u = number(i));
    v.iter_mut()
        .enumerate()
        .for_each(|(i, v)| *v = 0.5 * number(i));
}

/// It in ordinary memory.
pub struct Plain {
    work: Work,
    /// u, v, and what they will be.
    arrays: [Array3<f64>; 4],
}

impl Plain {
    /// Before the first step.
    pub fn new(work: Work) -> Self {
        let mut arrays = [(); 4].map(|()| huge_array(SHAPE));
        let [u, v, ..] = &mut arrays;
        initialise(&mut u.view_mut(), &mut v.view_mut());
        Plain { work, arrays }
    }

    /// Compute a step.
    pub fn step(&mut self, step: u64) {
        let [u, v, u_next, v_next] = self.arrays.each_mut().map(|a| a.view_mut());
        compute(self.work, u.view(), v.view(), u_next, v_next, step);
        self.arrays.rotate_left(2);
    }

    /// u and v as they are.
    pub fn now(&self) -> [&Array3<f64>; 2] {
        let [u, v, ..] = &self.arrays;
        [u, v]
    }
}

/// Write these arrays to `path`, fsync included.
pub fn save(path: &Path, step: u64, arrays: [&Array3<f64>; 2]) -> Outcome<u64> {
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
        &options(),
    )?)
}
