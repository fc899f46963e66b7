//! `tcasm keep`: holds what a simulation leaves in memory when it dies, for its next start.

use crate::args::KeepArgs;
use crate::failure::Failure;
use crate::output;
use crate::region;
use crate::signals::Signals;
use tcasm_restart::{Event, Holder};

pub fn run(args: &KeepArgs) -> Result<(), Failure> {
    let signals = Signals::catch()?;
    let holder = Holder::new(&args.name, args.versions as usize)?;
    let print = |event| {
        // Ignore errors of the output: the versions must be held even if nobody reads it any more.
        let _ = output::line(&text(&args.name, &event));
    };
    Ok(holder.run(|| !signals.end(), print)?)
}

fn text(name: &str, event: &Event) -> String {
    match event {
        Event::Attached { pid } => format!("attached to {name}, process {pid}"),
        Event::Holds { stamps, closed } => {
            let stamps: Vec<String> = stamps.iter().map(region::stamp_text).collect();
            let how = if *closed { "has ended" } else { "has died" };
            format!("{name} {how}; held: {}", stamps.join(", "))
        }
        Event::Nothing => format!("{name} is gone, and had published nothing"),
        Event::TakenOver { by } => {
            let by = region::stamp_text(by);
            format!("{name} goes on with {by}; the versions that were held are released")
        }
        Event::Trouble { why } => format!("trying again: {why}"),
    }
}
