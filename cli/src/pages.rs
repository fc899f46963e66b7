//! The manual pages and the completion scripts of the command, made from its definition.

use crate::args::Cli;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate_to};
use clap_mangen::Man;
use std::io;
use std::path::Path;

/// The program and its version, at the foot of each page.
const SOURCE: &str = concat!("tcasm ", env!("CARGO_PKG_VERSION"));

/// Writes the pages (`tcasm.1`, and `tcasm-ls.1` and so on for each subcommand) and the scripts
/// (`tcasm.bash`, `_tcasm`, `tcasm.fish`) into the folder `dir`, which must exist.
pub fn write(dir: &Path) -> io::Result<()> {
    let mut tcasm = Cli::command().disable_help_subcommand(true);
    // Fills in the names of subcommands, which the pages are named after.
    tcasm.build();
    write_page(&tcasm, dir)?;
    for command in tcasm.get_subcommands().filter(|c| !c.is_hide_set()) {
        write_page(command, dir)?;
    }
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        generate_to(shell, &mut Cli::command(), "tcasm", dir)?;
    }
    Ok(())
}

fn write_page(command: &Command, dir: &Path) -> io::Result<()> {
    let page = Man::new(command.clone()).source(SOURCE).manual("TCASM");
    page.generate_to(dir)?;
    Ok(())
}
