//! Tests of the server with real producers. The pages are programs. They must get what was
//! published, and their errors must not affect others.

mod flood;
mod frames;
mod greeting;
mod meshes;
mod page;
mod refused;
mod relay;
mod runs;
mod slow;
mod wholes;
