//! The live view beside a simulation: how long until pages have what was published, what the server takes, and what the simulation
//! notices.

pub mod pixels;
mod steady;

use super::gray_scott::{Both, Outcome, stretch};
use super::{Bar, Unit};
use crate::pages::{self, Pages, Site, Taken};
use crate::samples::Samples;
use serde_json::{Value, json};
use std::time::Duration;
use steady::{RATE, SIDE, Steady};

/// Steps of a stretch of the solver, and how many pairs of stretches.
const STRETCH: u64 = 20;
const PAIRS: u64 = 24;
const WARM_UP: u64 = 2;

/// Latency and load for one page and ten; what ten pages add to a step of the solver.
pub fn measure() -> Vec<Bar> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let all = || -> Outcome<Vec<Bar>> { Ok([load(1)?, load(10)?, added()?].concat()) };
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

/// The solver with one thread, every step published, while ten pages look and while nobody does, in turns.
fn added() -> Outcome<Vec<Bar>> {
    let name = format!("bars-view-{}", std::process::id());
    let mut both = Both::new(&name)?;
    both.published_step(1)?;
    let site = of_pages(Site::start(&name))?;
    let [mut alone, mut seen] = [Samples::default(), Samples::default()];
    let mut added = Vec::new();
    let mut frames = 0;
    for pair in 0..PAIRS + WARM_UP {
        if pair == WARM_UP {
            (alone, seen, added) = Default::default();
        }
        let mut step = 2 + 2 * pair * STRETCH;
        let mut run = |samples: &mut Samples| {
            let steps = step..step + STRETCH;
            step += STRETCH;
            stretch(samples, steps, |step| both.published_step(step))
        };
        let without = run(&mut alone)?;
        let pages = of_pages(Pages::open(&site, 10, &look("v", 128)))?;
        let with = run(&mut seen)?;
        frames += of_pages(pages.close())?.frames;
        added.push((with / without - 1.0) * 100.0);
    }
    added.sort_by(f64::total_cmp);
    let images = frames / (10 * (PAIRS + WARM_UP));
    Ok(vec![
        Bar::limit(
            "gray_scott, 128^3, one thread, every step published, nobody looks: a step",
            &alone,
        ),
        Bar::limit(
            &format!(
                "the same while ten pages look (each gets {images} images in {STRETCH} steps)"
            ),
            &seen,
        ),
        Bar::new(
            "the same: added to the step, median of paired stretches",
            added[added.len() / 2],
            1.0,
            Unit::Percent,
        ),
    ])
}
