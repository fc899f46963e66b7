//! Runs the command as users do. Most producers are in the process of the test.

mod blocks;
mod changing;
mod checkpoint;
mod clean;
mod common;
mod cut_meshes;
mod deferred;
mod demo;
mod dump;
mod escapes;
mod exported_meshes;
mod failures;
mod follow;
mod look;
mod lossy;
mod meshes;
mod misuse;
mod named;
mod paraview;
mod part;
mod shown;
mod stats;
mod tiers;
mod view;
mod waiting;
mod watch;
