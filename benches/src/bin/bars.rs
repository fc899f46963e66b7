//! Measures the goals of TCASM: `bars [GROUP,...]` prints a table of all groups, or of those that
//! are given.

use std::process::ExitCode;
use tcasm_benches::bars::{GROUPS, HEAD, PROGRAMS};
use tcasm_benches::programs;

fn main() -> ExitCode {
    programs::outcome(run())
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = std::env::args().nth(1);
    let wanted = |name: &str| {
        wanted
            .as_deref()
            .is_none_or(|w| w.split(',').any(|w| w == name))
    };
    // A missing program is reported now, and not after minutes of measuring other groups.
    for (_, program) in PROGRAMS.iter().filter(|(group, _)| wanted(group)) {
        programs::find(program)?;
    }
    println!("{HEAD}");
    for (_, measure) in GROUPS.iter().filter(|(name, _)| wanted(name)) {
        measure().iter().for_each(|bar| println!("{bar}"));
    }
    Ok(())
}
