//! The code that the example programs share: solvers, their parameters and their command lines.
//!
//! Only [`arrays`] uses TCASM. The solvers work on arrays that their callers own, so the same code
//! runs in ordinary memory (`gray_scott_plain`, `md_plain`, `fem_plain`) and in a region that other
//! processes read (`gray_scott`, `gray_scott_mpi`, `md`, `fem`).

mod args;
pub mod arrays;
mod checksum;
mod dump;
mod failure;
pub mod fem;
pub mod md;
mod noise;
mod output;
mod params;
mod planes;
pub mod plate;
mod progress;
mod slices;
mod solver;

pub use args::{RegionArgs, RunArgs, StepArgs, region_name};
pub use checksum::{checksum, checksum_of_planes};
pub use dump::{Dump, Record};
pub use failure::{Failure, Outcome};
pub use noise::Noise;
pub use output::{end_with_reader, say};
pub use params::{Params, ParamsError};
pub use planes::Planes;
pub use progress::{Progress, Summary};
pub use solver::GrayScott;

/// Compiles the programs in the README and in pages of docs/ as doc tests, and runs those that end.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/tutorial.md")]
    struct Tutorial;
    #[doc = include_str!("../../docs/guide.md")]
    struct Guide;
    #[doc = include_str!("../../docs/jobs.md")]
    struct Jobs;
    #[doc = include_str!("../../docs/use-in-your-project.md")]
    struct UseInYourProject;
}
