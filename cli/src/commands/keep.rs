//! `tcasm keep`: hold what a simulation leaves in memory when it dies, for its next start.

use crate::args::KeepArgs;
use crate::exit::Failure;
use crate::output;
use crate::region;
use crate::signals::Signals;
use tcasm_restart::{Event, Keeper};

pub fn run(args: &KeepArgs) -> Result<(), Failure> {
    let signals = Signals::catch()?;
    let keeper = Keeper::new(&args.name, args.versions as usize)?;
    let tell = |event| {
        // A reader that went away is no reason to let go of what is held.
        let _ = output::line(&text(&args.name, &event));
    };
    Ok(keeper.run(|| !signals.end(), tell)?)
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
            format!("{name} goes on with {by}; what was held is let go of")
        }
        Event::Trouble { why } => format!("trying again: {why}"),
    }
}
