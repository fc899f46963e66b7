//! The live view beside a simulation: how long until pages have what was published, what the server takes, and what the simulation
//! notices.

mod added;
pub mod pixels;
mod spinner;
mod steady;

use super::gray_scott::Outcome;
use super::{Bar, Unit};
use crate::pages::{self, Pages, Site, Taken};
use serde_json::{Value, json};
use std::time::Duration;
use steady::{RATE, SIDE, Steady};

/// Latency and load for one page and ten; what ten pages add to a step of the solver.
pub fn measure() -> Vec<Bar> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let all = || -> Outcome<Vec<Bar>> { Ok([load(1)?, load(10)?, added::measure()?].concat()) };
    one.expect("a thread").install(|| all().expect("measured"))
}

/// Errors of pages can go from thread to thread; the others need not.
fn of_pages<T>(result: pages::Outcome<T>) -> Outcome<T> {
    result.map_err(|error| error.to_string().into())
}

/// What a page shows when it is opened: a slice through the middle, the field's histogram, the changed pages.
fn look(field: &str, side: usize) -> Value {
    json!({
        "type": "look", "id": 1, "field": field, "histogram": 64, "pages": true,
        "slice": {"axes": [1, 2], "at": [side / 2, 0, 0], "pixels": [600, 800]},
    })
}

/// Pages that look at a field that changes everywhere.
fn load(pages: usize) -> Outcome<Vec<Bar>> {
    let name = format!("bars-view-{}-{pages}", std::process::id());
    let mut steady = Steady::start(&name)?;
    let site = of_pages(Site::start(&name))?;
    let open = of_pages(Pages::open(&site, pages, &look("t", SIDE)))?;
    let busy = of_pages(site.busy())?;
    let took = steady.run()?;
    let busy = of_pages(site.busy())? - busy;
    let taken = of_pages(open.close())?;
    Ok(load_bars(pages, took, busy, &taken))
}

fn load_bars(pages: usize, took: Duration, busy: Duration, taken: &Taken) -> Vec<Bar> {
    let seconds = took.as_secs_f64();
    let each = |of_all: u64| of_all as f64 / pages as f64 / seconds;
    let who = match pages {
        1 => "one page".to_owned(),
        n => format!("{n} pages"),
    };
    let what = format!("{SIDE}^3 doubles, {RATE} versions a second, seen by {who}");
    vec![
        Bar::limit(
            &format!("{what}: from publish until a page has the image"),
            &taken.latencies,
        ),
        Bar::figure(
            "the same: images a page gets in a second",
            each(taken.frames),
            Unit::Count,
        ),
        Bar::figure(
            "the same: bytes for each page",
            each(taken.bytes) / 1e6,
            Unit::MBs,
        ),
        Bar::figure(
            "the same: the server, of one processor",
            busy.as_secs_f64() / seconds * 100.0,
            Unit::Percent,
        ),
    ]
}
