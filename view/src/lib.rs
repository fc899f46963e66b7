//! Look at a running simulation: in a browser, in a terminal.
//!
//! A [`Hub`] is one observer of one region for any number of clients. Each says what it wants to see (a [`Look`]) and gets [`Frame`]s:
//! what a screen can show of the newest version, or of one that it names. What several clients want is computed once, pins are let
//! go of at once, and a client that is slow gets fewer frames. [`server`] gives the frames to browsers (`PROTOCOL.md` says how); a program may
//! as well be a client itself.
#![deny(unsafe_code)]

pub mod colormaps;
pub mod frame;
pub mod hub;
pub mod image;
pub mod look;
pub mod region;
#[cfg(feature = "server")]
pub mod server;

pub use frame::Frame;
pub use hub::{Client, Hub, Options, Update};
pub use image::Image;
pub use look::{Look, Said, SaidError};
pub use region::{Region, State};
