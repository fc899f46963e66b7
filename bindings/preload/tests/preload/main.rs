//! Runs programs under the preload library, and looks at what they publish as observers do.

mod common;
mod descriptions;
mod files;
mod forks;
mod harmless;
mod languages;
mod mapping;
mod publishing;
