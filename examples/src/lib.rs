//! The code that the example programs share: a Gray-Scott solver, its parameters and its command
//! line.
//!
//! Only [`arrays`] uses TCASM. The solver works on arrays that its caller owns, so the same code
//! runs in ordinary memory (`gray_scott_plain`) and in a region that other processes read
//! (`gray_scott`).

mod args;
pub mod arrays;
mod checksum;
mod failure;
mod noise;
mod output;
mod params;
pub mod plate;
mod progress;
mod solver;

pub use args::{RegionArgs, RunArgs, region_name};
pub use checksum::checksum;
pub use failure::{Failure, Outcome};
pub use noise::Noise;
pub use output::{end_with_reader, say};
pub use params::{Params, ParamsError};
pub use progress::Progress;
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
    #[doc = include_str!("../../docs/use-in-your-project.md")]
    struct UseInYourProject;
}
