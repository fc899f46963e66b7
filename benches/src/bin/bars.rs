//! Measure what must be reached: `bars [GROUP,...]` prints a table.

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
    // Before minutes have gone into the other groups.
    for (_, program) in PROGRAMS.iter().filter(|(group, _)| wanted(group)) {
        programs::find(program)?;
    }
    println!("{HEAD}");
    for (_, measure) in GROUPS.iter().filter(|(name, _)| wanted(name)) {
        measure().iter().for_each(|bar| println!("{bar}"));
    }
    Ok(())
}
