//! The agent of one node of a job: see [`tcasm_agent::program`].

use clap::Parser;
use tcasm_agent::program::{Arguments, run};

fn main() {
    let status = run(Arguments::parse(), |_| Ok(Vec::new()));
    std::process::exit(status);
}
