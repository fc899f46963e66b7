//! `tcasm info`: describes one region.

mod description;
mod meshes;
mod print;

use crate::args::InfoArgs;
use crate::failure::Failure;
use crate::output;
use crate::wait;
use description::gather;
use std::time::Duration;
use tcasm_observer::{ObserveError, Observer, Status};

/// The interval of `--watch`.
const WATCH: Duration = Duration::from_secs(1);

pub fn run(args: &InfoArgs) -> Result<(), Failure> {
    let Some(mut observer) = attach(args)? else {
        return Ok(());
    };
    loop {
        // Ask for the status first: if the producer has ended, what follows is the last state.
        let status = observer.status()?;
        let info = gather(&mut observer)?;
        match (args.format.json, args.watch) {
            (true, true) => output::json_line(&info)?,
            (true, false) => output::json(&info)?,
            (false, _) => output::text(&print::text(&info))?,
        }
        if !args.watch || status == Status::EndOfStream {
            return Ok(());
        }
        if status == Status::ProducerLost {
            return Err(ObserveError::ProducerLost.into());
        }
        std::thread::sleep(WATCH);
        if !args.format.json {
            output::text("\n")?;
        }
    }
}

/// Attaches to the region. With `--watch`, waits for it.
fn attach(args: &InfoArgs) -> Result<Option<Observer>, Failure> {
    match args.watch {
        true => wait::attach(&args.name, &args.wait, || false, output::note),
        false => Ok(Some(Observer::attach(&args.name)?)),
    }
}
