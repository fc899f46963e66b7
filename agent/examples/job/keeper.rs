//! A keeper: it holds the memory of a rank that dies for the next start, as `tcasm keep` does.

use crate::{Failure, host, say};
use std::time::Duration;
use tcasm_restart::{Event, Holder};

pub fn keep(region: &str) -> Result<(), Failure> {
    say(&format!(
        "keeper host={} pid={}",
        host(),
        std::process::id()
    ));
    let holder = Holder::new(region, 1)?;
    loop {
        // A rank may be too slow to answer.
        if let Err(error) = holder.run(|| true, |event| say(&text(&event))) {
            eprintln!("keeper of {region}: {error}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn text(event: &Event) -> String {
    match event {
        Event::Attached { .. } => "attached".to_owned(),
        Event::Holds { stamps, .. } => match stamps.last() {
            Some(stamp) => format!("held step={}", stamp.step),
            None => "held nothing".to_owned(),
        },
        Event::Nothing => "held nothing".to_owned(),
        other => format!("{other:?}"),
    }
}
