//! Checkpoints of jobs: nodes are folders and threads.

mod connecting;
mod descriptors;
mod drained;
mod forged;
mod formats;
mod increments;
mod kills;
mod losses;
mod meshes;
mod paraview;
mod ranks;
mod together;
mod trouble;
mod world;
