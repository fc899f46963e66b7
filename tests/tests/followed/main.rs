//! Simulations with particles and with an unstructured mesh, whose lengths change from version to
//! version, with the programs that users run. VTK and openPMD-api read back what the simulations
//! have written into a plain file themselves, bit by bit. A simulation that was killed continues to
//! the same bits.

mod exported;
mod restarted;
mod simulation;

use std::path::Path;
use tcasm_tests::child::Child;
use tcasm_tests::{child, runtime_dir};

/// Starts a program of the workspace with the folder of sockets of this test.
fn start(program: &str, args: &[&str]) -> Child {
    runtime_dir();
    let dir = tcasm_observer::runtime_dir();
    Child::start(&child::program(program), args, &dir, &[])
}

/// Returns a path as text.
fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}
