//! The kernels, and what they need besides the memory under test. All of that is plain memory.

use super::memory::Memory;
use super::{ELEMENTS, IN_PAGE};
use crate::kernels::{self, Csr};
use crate::plain::huge_array;
use crate::workload::Random;
use ndarray::Array1;

/// Shape of the data as an array with three dimensions.
const SHAPE: [usize; 3] = [128, 256, 256];
/// An inner point in the middle of this array.
const MIDDLE: usize = (64 * SHAPE[1] + 128) * SHAPE[2] + 128;
/// Number of elements that are gathered, or scattered.
const SCATTERED: usize = 1 << 22;
/// Number of links that are followed.
const LINKS: usize = 1 << 18;
/// Number of rows of the matrix, and of elements in each.
const ROWS: usize = 1 << 19;
const IN_ROW: usize = 8;

const _: () = assert!(SHAPE[0] * SHAPE[1] * SHAPE[2] == ELEMENTS);

/// A kernel that runs over the data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Triad,
    Stencil,
    Gather,
    Chase,
    Spmv,
    Scatter,
}

impl Kernel {
    /// All kernels. The one that writes the data is the last, because it destroys the links.
    pub(super) const ALL: [Kernel; 6] = [
        Kernel::Triad,
        Kernel::Stencil,
        Kernel::Gather,
        Kernel::Chase,
        Kernel::Spmv,
        Kernel::Scatter,
    ];

    /// Returns the name in the table.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kernel::Triad => "STREAM triad",
            Kernel::Stencil => "7-point stencil",
            Kernel::Gather => "random gather",
            Kernel::Chase => "pointer chase",
            Kernel::Spmv => "sparse matrix times vector",
            Kernel::Scatter => "histogram scatter",
        }
    }

    /// Returns true if the kernel writes the data.
    pub(super) fn writes(self) -> bool {
        self == Kernel::Scatter
    }
}

/// Indices, the matrix, and the output of kernels that do not write the data.
pub(super) struct Work {
    at: Vec<u32>,
    matrix: Csr,
    out: Array1<f64>,
    unrelated: Vec<f64>,
}

impl Work {
    pub(super) fn new(random: &mut Random) -> Self {
        let elements = ROWS * IN_ROW;
        let column = |_| random.below(ELEMENTS) as u32;
        let matrix = Csr {
            starts: (0..=ROWS).map(|row| row * IN_ROW).collect(),
            columns: (0..elements).map(column).collect(),
            values: vec![0.5; elements],
        };
        Work {
            at: vec![0; SCATTERED],
            matrix,
            out: huge_array(ELEMENTS),
            unrelated: vec![1.0; ELEMENTS],
        }
    }

    /// Draws the elements that are gathered and scattered, all of them in these pages.
    pub(super) fn draw(&mut self, random: &mut Random, pages: &[usize]) {
        for at in &mut self.at {
            let page = pages[random.below(pages.len())];
            *at = (page * IN_PAGE + random.below(IN_PAGE)) as u32;
        }
    }

    /// Reads other memory of the size of the data, so that both runs of a pair find as little in
    /// the caches.
    pub(super) fn clear_cache(&self) {
        std::hint::black_box(self.unrelated.iter().sum::<f64>());
    }

    /// Runs a kernel. Returns its result, or one element of it.
    pub(super) fn run(&mut self, kernel: Kernel, memory: &mut dyn Memory) -> f64 {
        let out = self.out.as_slice_mut().expect("contiguous");
        match kernel {
            Kernel::Triad => {
                let (b, c) = memory.read().split_at(ELEMENTS / 2);
                kernels::triad(out, b, c, 0.5);
                out[ELEMENTS / 4]
            }
            Kernel::Stencil => {
                kernels::stencil(out, memory.read(), SHAPE);
                out[MIDDLE]
            }
            Kernel::Gather => kernels::gather(memory.read(), &self.at),
            Kernel::Chase => kernels::chase(memory.read(), self.at[0] as usize, LINKS) as f64,
            Kernel::Spmv => {
                kernels::spmv(&self.matrix, memory.read(), out);
                out[ROWS / 2]
            }
            Kernel::Scatter => {
                let bins = memory.write();
                kernels::scatter(bins, &self.at);
                bins[self.at[0] as usize]
            }
        }
    }
}
