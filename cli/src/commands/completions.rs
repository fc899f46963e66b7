//! `tcasm completions`: prints the completion script for a shell.

use crate::args::{Cli, Shell};
use crate::failure::Failure;
use crate::output;
use clap::CommandFactory;
use clap_complete::{Shell as Script, generate};

pub fn run(shell: Shell) -> Result<(), Failure> {
    let script = match shell {
        Shell::Bash => Script::Bash,
        Shell::Zsh => Script::Zsh,
        Shell::Fish => Script::Fish,
    };
    let mut text = Vec::new();
    generate(script, &mut Cli::command(), "tcasm", &mut text);
    output::raw(&String::from_utf8_lossy(&text))
}
