//! The command `tcasm`.
#![deny(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    tcasm::run()
}
