//! Measures checkpoints: `checkpoints [--dir DIR] [GROUP,...]` prints tables.
//!
//! Writes files below DIR (default: the folder of this program), and removes them.

use std::path::PathBuf;
use std::process::ExitCode;
use tcasm_benches::bars::{Bar, HEAD};
use tcasm_benches::checkpoints::{GROUPS, Outcome};
use tcasm_benches::programs;

fn main() -> ExitCode {
    programs::outcome(run())
}

fn run() -> Outcome<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let dir = match args.iter().position(|arg| arg == "--dir") {
        Some(at) if at + 1 < args.len() => {
            PathBuf::from(args.drain(at..at + 2).nth(1).unwrap_or_default())
        }
        Some(_) => return Err("--dir needs a folder".into()),
        None => programs::folder(),
    };
    programs::find("tcasm")?;
    let wanted = |name: &str| {
        args.first()
            .is_none_or(|all| all.split(',').any(|w| w == name))
    };
    let mut bars: Vec<Bar> = Vec::new();
    for (_, title, measure) in GROUPS.iter().filter(|(name, ..)| wanted(name)) {
        let figures = measure(&dir)?;
        println!("### {title}\n\n{}", figures.text);
        bars.extend(figures.bars);
    }
    println!("### Goals\n\n{HEAD}");
    bars.iter().for_each(|bar| println!("{bar}"));
    Ok(())
}
