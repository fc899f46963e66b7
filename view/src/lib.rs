//! The live view of a running simulation, for browsers and terminals.
//!
//! A [`Hub`] is one observer of one region for any number of clients. Each client sends a
//! [`ViewRequest`] and gets [`Frame`]s. A frame holds the data that a screen can show of the newest
//! version, or of a version that the request names. The hub computes data that several clients want
//! only once, and releases its pins immediately. A slow client gets fewer frames.
//!
//! The module `server` (feature `server`) sends the frames to browsers; `PROTOCOL.md` defines the
//! messages. A program can also be a client itself.
#![deny(unsafe_code)]

pub mod colormaps;
pub mod frame;
pub mod hub;
pub mod image;
pub mod mesh;
pub mod region;
pub mod request;
#[cfg(feature = "server")]
pub mod server;

pub use frame::Frame;
pub use hub::{Client, Hub, Options, Update};
pub use image::Image;
pub use region::{Region, State};
pub use request::{ClientMessage, MessageError, SceneRequest, ViewRequest};
