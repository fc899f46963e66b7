//! The time that ten pages of the live view add to a step of the solver.
//!
//! For comparison, it also measures what a thread adds that computes for as long as the server, and
//! touches no memory.

use super::super::bar::{Bar, Unit};
use super::super::gray_scott::{Both, stretch};
use super::super::spinner::Spinner;
use super::common::{of_pages, view_request};
use crate::outcome::Outcome;
use crate::pages::{Pages, Site};
use crate::samples::Samples;
use std::time::Instant;

/// Number of steps in a stretch.
const STRETCH: u64 = 40;
/// Number of rounds that are measured. A round has one stretch of each kind.
const ROUNDS: u64 = 24;
/// Number of rounds at the start that are not counted.
const WARM_UP: u64 = 2;

/// Measured values of all rounds. The index is the kind of stretch: without pages (0), with ten
/// pages (1), with a thread that computes (2).
#[derive(Default)]
struct Seen {
    steps: [Samples; 3],
    seconds: [Vec<f64>; 3],
    images: u64,
}

/// Runs the solver with one thread and publishes every step. Each kind of stretch is the first,
/// second and last one of a round equally often.
pub fn measure() -> Outcome<Vec<Bar>> {
    let name = format!("bars-view-{}", std::process::id());
    let mut both = Both::new(&name)?;
    both.published_step(1)?;
    let mut beside = Beside {
        site: of_pages(Site::start(&name))?,
        part: 0.0,
    };
    let mut seen = Seen::default();
    for round in 0..WARM_UP + ROUNDS {
        if round == WARM_UP {
            seen = Seen::default();
        }
        for turn in 0..3 {
            let (kind, first) = ((round + turn) % 3, 2 + (3 * round + turn) * STRETCH);
            beside.run(kind as usize, &mut seen, |samples| {
                stretch(samples, first..first + STRETCH, |step| {
                    both.published_step(step)
                })
            })?;
        }
    }
    Ok(bars(&seen))
}

/// The load beside the solver.
struct Beside {
    site: Site,
    /// The part of a processor that the server used in the last stretch with pages.
    part: f64,
}

impl Beside {
    /// Runs a stretch of this kind and records its times.
    fn run(
        &mut self,
        kind: usize,
        seen: &mut Seen,
        stretch: impl FnOnce(&mut Samples) -> Outcome<f64>,
    ) -> Outcome<()> {
        let samples = &mut seen.steps[kind];
        let seconds = match kind {
            0 => stretch(samples)?,
            1 => {
                let pages = of_pages(Pages::open(&self.site, 10, &view_request("v", 128)))?;
                let (begin, busy) = (Instant::now(), of_pages(self.site.busy())?);
                let seconds = stretch(samples)?;
                let busy = of_pages(self.site.busy())? - busy;
                self.part = busy.as_secs_f64() / begin.elapsed().as_secs_f64();
                seen.images += of_pages(pages.close())?.frames;
                seconds
            }
            _ => {
                let _spinner = Spinner::start(self.part);
                stretch(samples)?
            }
        };
        seen.seconds[kind].push(seconds);
        Ok(())
    }
}

/// Returns the median of the additional time of this kind of stretch over those without load, in
/// per cent.
fn added(seen: &Seen, kind: usize) -> f64 {
    let pairs = seen.seconds[kind].iter().zip(&seen.seconds[0]);
    let mut added: Vec<f64> = pairs
        .map(|(with, without)| (with / without - 1.0) * 100.0)
        .collect();
    added.sort_by(f64::total_cmp);
    added[added.len() / 2]
}

fn bars(seen: &Seen) -> Vec<Bar> {
    let [alone, pages, _] = &seen.steps;
    let images = seen.images as f64 / (10 * ROUNDS) as f64;
    let received = format!("the same: images that each viewer receives in {STRETCH} steps");
    vec![
        Bar::limit(
            "gray_scott, 128^3, one thread, every step published, no viewers: a step",
            alone,
        ),
        Bar::limit("the same with ten viewers", pages),
        Bar::figure(&received, images, Unit::Count),
        Bar::new(
            "the same: added to the step, median of paired stretches",
            added(seen, 1),
            1.0,
            Unit::Percent,
        ),
        Bar::figure(
            "its floor: added by a thread that only computes, for as long as the server, on the \
             other processor",
            added(seen, 2),
            Unit::Percent,
        ),
    ]
}
