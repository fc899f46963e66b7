//! The live view beside a simulation: the time until pages receive a published version, the load
//! of the server, and the effect on the simulation.

mod added;
mod common;
pub mod meshes;
mod moving;
pub mod pixels;
mod steady;

use super::bar::{Bar, Unit};
use crate::outcome::Outcome;
use crate::pages::{Pages, Site, Taken};
use common::{of_pages, view_request};
use std::time::Duration;
use steady::{RATE, SIDE, Steady};

/// Measures latency and load for one page and for ten, and the time that ten pages add to a step of
/// the solver.
pub fn measure() -> Vec<Bar> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let all = || -> Outcome<Vec<Bar>> { Ok([load(1)?, load(10)?, added::measure()?].concat()) };
    one.expect("a thread").install(|| all().expect("measured"))
}

/// Measures pages that show a field that changes everywhere.
fn load(pages: usize) -> Outcome<Vec<Bar>> {
    let name = format!("bars-view-{}-{pages}", std::process::id());
    let mut steady = Steady::start(&name)?;
    let site = of_pages(Site::start(&name))?;
    let open = of_pages(Pages::open(&site, pages, &view_request("t", SIDE)))?;
    let busy = of_pages(site.busy())?;
    let took = steady.run()?;
    let busy = of_pages(site.busy())? - busy;
    let taken = of_pages(open.close())?;
    let viewers = match pages {
        1 => "one page".to_owned(),
        n => format!("{n} pages"),
    };
    let what = format!("{SIDE}^3 doubles, {RATE} versions a second, seen by {viewers}");
    Ok(load_bars(&what, pages, [took, busy], &taken))
}

/// Returns the rows for pages that were open for the time `took`, while the server computed for the
/// time `busy`.
fn load_bars(what: &str, pages: usize, [took, busy]: [Duration; 2], taken: &Taken) -> Vec<Bar> {
    let seconds = took.as_secs_f64();
    let each = |of_all: u64| of_all as f64 / pages as f64 / seconds;
    vec![
        Bar::limit(
            &format!("{what}: from publish until a page has the image"),
            &taken.latencies,
        ),
        Bar::figure(
            "the same: images that a page receives per second",
            each(taken.frames),
            Unit::Count,
        ),
        Bar::figure(
            "the same: data sent to each page",
            each(taken.bytes) / 1e6,
            Unit::MBs,
        ),
        Bar::figure(
            "the same: processor time of the server, of one processor",
            busy.as_secs_f64() / seconds * 100.0,
            Unit::Percent,
        ),
    ]
}
