//! Checkpoints of jobs: nodes are folders and threads.

mod drained;
mod formats;
mod increments;
mod kills;
mod losses;
mod meshes;
mod paraview;
mod ranks;
mod trouble;
mod world;
