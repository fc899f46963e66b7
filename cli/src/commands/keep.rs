//! `tcasm keep`: holds what simulations leave in memory when they die, for their next start.

use crate::args::KeepArgs;
use crate::failure::Failure;
use crate::output;
use crate::region;
use crate::several;
use crate::signals::Signals;
use crate::wait;
use tcasm_restart::{Event, Holder};

pub fn run(args: &KeepArgs) -> Result<(), Failure> {
    let signals = Signals::catch()?;
    several::each(&args.names, |name| {
        // An error is printed at once, because the versions of the other regions are still held.
        hold(name, args, &signals).map_err(|failure| {
            output::note(&failure.message);
            Failure::new(failure.code, "")
        })
    })
}

/// Holds the versions of one region until a signal arrives.
fn hold(name: &str, args: &KeepArgs, signals: &Signals) -> Result<(), Failure> {
    let holder = Holder::new(name, args.versions as usize)?.after_end(args.after_end);
    if !wait::expect(name, &args.wait, || signals.end(), output::note)? {
        return Ok(());
    }
    let print = |event| {
        // Ignore errors of the output: the versions must be held even if nobody reads it any more.
        let _ = output::line(&text(name, &event));
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
        Event::Ended => format!("{name} has ended; nothing is held"),
        Event::Nothing => format!("{name} is gone, and had published nothing"),
        Event::TakenOver { by } => {
            let by = region::stamp_text(by);
            format!("{name} goes on with {by}; the versions that were held are released")
        }
        Event::Trouble { why } => format!("{name}: trying again: {why}"),
    }
}
