//! Checkpoints of jobs: nodes are folders and threads.

mod apart;
mod connecting;
mod descriptors;
mod drained;
mod fewer;
mod forged;
mod formats;
mod increments;
mod kills;
mod known;
mod losses;
mod meshes;
mod node;
mod paraview;
mod ranks;
mod state;
mod together;
mod trouble;
mod world;
