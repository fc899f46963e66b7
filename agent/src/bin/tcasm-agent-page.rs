//! Prints the manual page of `tcasm-agent`. `make install AGENT=1` runs it and does not install it.
#![deny(unsafe_code)]

use clap::CommandFactory;
use clap_mangen::Man;
use std::io;
use tcasm_agent::program::Arguments;

/// The program and its version, at the foot of the page.
const SOURCE: &str = concat!("tcasm ", env!("CARGO_PKG_VERSION"));

fn main() -> io::Result<()> {
    let page = Man::new(Arguments::command());
    page.source(SOURCE)
        .manual("TCASM")
        .render(&mut io::stdout())
}
