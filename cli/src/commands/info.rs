//! `tcasm info`: describes one region, or a group.

mod description;
mod group;
mod meshes;
mod print;

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::named::{self, Named};
use crate::output;
use crate::wait;
use description::gather;
use serde::Serialize;
use std::time::Duration;
use tcasm_observer::{GroupObserver, ObserveError, Observer, Status};

/// The interval of `--watch`.
const WATCH: Duration = Duration::from_secs(1);

pub fn run(args: &InfoArgs) -> Result<(), Failure> {
    match attach(args)? {
        Some(Named::Region(observer)) => of_region(args, observer),
        Some(Named::Group(group)) => of_group(args, group),
        None => Ok(()),
    }
}

fn of_region(args: &InfoArgs, mut observer: Observer) -> Result<(), Failure> {
    loop {
        // Ask for the status first: if the producer has ended, what follows is the last state.
        let status = observer.status()?;
        let info = gather(&mut observer)?;
        show(args, &info, || print::text(&info))?;
        if !args.watch || status == Status::EndOfStream {
            return Ok(());
        }
        if status == Status::ProducerLost {
            return Err(ObserveError::ProducerLost.into());
        }
        pause(args)?;
    }
}

fn of_group(args: &InfoArgs, mut observer: GroupObserver) -> Result<(), Failure> {
    loop {
        // As above: if all ranks have ended, what follows is the last state.
        let statuses: Vec<Status> = observer
            .members()
            .map(|(_, member)| member.status())
            .collect::<Result<_, _>>()?;
        let info = group::gather(&mut observer)?;
        show(args, &info, || group::text(&info))?;
        if !args.watch || statuses.iter().all(|s| *s == Status::EndOfStream) {
            return Ok(());
        }
        let ended = |s: &Status| matches!(s, Status::EndOfStream | Status::ProducerLost);
        if statuses.iter().all(ended) {
            return Err(ObserveError::ProducerLost.into());
        }
        pause(args)?;
    }
}

fn show(args: &InfoArgs, info: &impl Serialize, text: impl Fn() -> String) -> Result<(), Failure> {
    match (args.format.json, args.watch) {
        (true, true) => output::json_line(info),
        (true, false) => output::json(info),
        (false, _) => output::text(&text()),
    }
}

/// Waits until the next look.
fn pause(args: &InfoArgs) -> Result<(), Failure> {
    std::thread::sleep(WATCH);
    match args.format.json {
        true => Ok(()),
        false => output::text("\n"),
    }
}

/// Attaches to the region or the group. With `--watch`, waits for the region.
fn attach(args: &InfoArgs) -> Result<Option<Named>, Failure> {
    match args.watch {
        true => wait::attach_any(&args.name, &args.wait, || false, output::note),
        false => Ok(Some(named::attach(&args.name)?)),
    }
}
