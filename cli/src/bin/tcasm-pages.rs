//! Writes the manual pages and the completion scripts of `tcasm` into a folder. `make install` runs
//! it, and does not install it.
#![deny(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: tcasm-pages DIR");
        return ExitCode::from(2);
    };
    match tcasm::pages::write(&dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tcasm-pages: cannot write into {dir:?}: {error}");
            ExitCode::FAILURE
        }
    }
}
