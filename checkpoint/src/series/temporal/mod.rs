//! Time series that grow with a running simulation. A series is one temporal VTKHDF file, which
//! VTK, ParaView, PyVista and h5py can read at any moment.
//!
//! ```text
//! run.vtkhdf                  the file that others open: small, its arrays are virtual
//! run.steps/00000001.h5 ...   the rows that make up the arrays
//! ```
//!
//! HDF5 makes no promise about a file whose writer is killed, and readers lock files that are being
//! written. So no file is ever changed in place. A new version is a new file of rows, then a new
//! `run.vtkhdf` that replaces the old one. A reader never waits and blocks nobody. `run.vtkhdf` is
//! complete even if the writer is killed at any moment. Other files that a killed writer leaves are
//! removed at the next start.
//!
//! A field that has not changed is not stored again: several rows then refer to the same file.
//!
//! With named meshes, `run.vtkhdf` has a data set for each. Their lengths may change from version
//! to version: see [`arrays`].

mod arrays;
mod chapter;
mod contents;
mod index;
mod mapping;
mod meshes;
mod options;
mod part;
mod place;
mod row;
mod rows;
mod versions;
mod writer;

pub use options::SeriesOptions;
pub use writer::{Appended, FilledRow, TimeSeries};
