//! The program `tcasm-agent`: its arguments, its exit statuses, and its life.
//!
//! A program with uses of its own is `run` with them:
//!
//! ```no_run
//! use clap::Parser;
//! use tcasm_agent::program::{Arguments, run};
//!
//! let status = run(Arguments::parse(), |_job| Ok(Vec::new()));
//! std::process::exit(status);
//! ```

mod arguments;
mod introduction;
mod life;
mod signals;
mod status;

pub use arguments::Arguments;
pub use life::{MadeUses, Place, run};
pub use status::Status;
